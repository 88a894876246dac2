// From a described struct straight to JSON text.
#include <array>
#include <charconv>

#include "domain/codec.h"
#include "domain/scalar.h"

namespace hearth {
namespace {

void write_value(const Type& type, const void* object, const void* base, std::string& out);

void write_integer(int64_t value, std::string& out) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

void write_list(const Type& type, const void* object, std::string& out) {
  out += '[';
  const size_t size = type.list_size(object);
  for (size_t i = 0; i < size; ++i) {
    if (i > 0) out += ',';
    write_value(*type.item, type.list_at(object, i), type.item->blank, out);
  }
  out += ']';
}

void write_map(const Type& type, const void* object, std::string& out) {
  struct Context {
    const Type& item;
    std::string& out;
    char before = '{';
  } context{*type.item, out};
  type.map_each(object, &context, [](void* opaque, const std::string& key, const void* value) {
    Context& c = *static_cast<Context*>(opaque);
    c.out += c.before;
    c.before = ',';
    write_json_text(key, c.out);
    c.out += ':';
    write_value(c.item, value, c.item.blank, c.out);
  });
  out += context.before == '{' ? "{}" : "}";
}

bool is_empty(const Type& type, const void* object) {
  switch (type.kind) {
    case Kind::text:
      return static_cast<const std::string*>(object)->empty();
    case Kind::any:
      return static_cast<const AnyJson*>(object)->text.empty();
    case Kind::time:
      return static_cast<const Time*>(object)->micros == 0;
    case Kind::list:
      return type.list_size(object) == 0;
    case Kind::map: {
      bool empty = true;
      type.map_each(object, &empty, [](void* e, const std::string&, const void*) {
        *static_cast<bool*>(e) = false;
      });
      return empty;
    }
    default:
      return false;
  }
}

// `base` is the value that a decoder starts from; what equals it may be left out.
bool is_left_out(const Type& type, const Field& field, const void* object, const void* base) {
  if (field.is_secret) return true;
  const void* value = field.in(object);
  if (field.optional_value) return value == nullptr;
  if (field.type->kind == Kind::any && is_empty(*field.type, value)) return true;  // absent
  if (field.is_required) return false;
  if (type.one_of) return field.type->equal(value, field.in(base));
  if (field.type->kind == Kind::object) return field.type->equal(value, field.in(base));
  return is_empty(*field.type, value) && field.type->equal(value, field.in(base));
}

// The index of the field whose value alone says all of the object, in its shorthand; -1: none.
int shorthand_field(const Type& type, const void* object, const void* base) {
  if (type.scalar_field < 0 && type.list_field < 0) return -1;
  int differs = -1;
  for (size_t i = 0; i < type.fields.size(); ++i) {
    const Field& field = type.fields[i];
    if (field.is_secret) continue;
    const void* value = field.in(object);
    const bool same =
        field.optional_value ? value == nullptr : field.type->equal(value, field.in(base));
    if (same) continue;
    if (differs >= 0) return -1;
    differs = static_cast<int>(i);
  }
  if (differs < 0) differs = type.scalar_field;
  if (differs < 0 || (differs != type.scalar_field && differs != type.list_field)) return -1;
  const Field& field = type.fields[static_cast<size_t>(differs)];
  const void* value = field.in(object);
  if (value == nullptr) return -1;
  if (field.type->kind == Kind::any) {
    const std::string& text = static_cast<const AnyJson*>(value)->text;
    if (text.empty() || text[0] == '{' || text[0] == 'n') return -1;
    return text[0] == '[' && differs != type.list_field ? -1 : differs;
  }
  return is_empty(*field.type, value) ? -1 : differs;
}

void write_object(const Type& type, const void* object, const void* base, std::string& out) {
  const int shorthand = shorthand_field(type, object, base);
  if (shorthand >= 0) {
    const Field& field = type.fields[static_cast<size_t>(shorthand)];
    return write_value(*field.type, field.in(object), field.type->blank, out);
  }
  char before = '{';
  for (const Field& field : type.fields) {
    if (is_left_out(type, field, object, base)) continue;
    out += before;
    before = ',';
    out += '"';
    out += field.name;
    out += "\":";
    write_value(*field.type, field.in(object),
                field.optional_value ? field.type->blank : field.in(base), out);
  }
  out += before == '{' ? "{}" : "}";
}

void write_value(const Type& type, const void* object, const void* base, std::string& out) {
  switch (type.kind) {
    case Kind::boolean:
      out += type.get_integer(object) != 0 ? "true" : "false";
      break;
    case Kind::integer:
      write_integer(type.get_integer(object), out);
      break;
    case Kind::real:
      write_json_real(*static_cast<const double*>(object), out);
      break;
    case Kind::text:
      write_json_text(*static_cast<const std::string*>(object), out);
      break;
    case Kind::enumeration: {
      const auto i = static_cast<size_t>(type.get_integer(object));
      CHECK(i < type.words.size());
      write_json_text(type.words[i], out);
      break;
    }
    case Kind::time:
      out.append("\"").append(to_rfc3339(*static_cast<const Time*>(object))).append("\"");
      break;
    case Kind::size:
      out.append("\"").append(exact_size(static_cast<const Size*>(object)->bytes)).append("\"");
      break;
    case Kind::span:
      out.append("\"").append(exact_span(static_cast<const Span*>(object)->duration)).append("\"");
      break;
    case Kind::list:
      write_list(type, object, out);
      break;
    case Kind::map:
      write_map(type, object, out);
      break;
    case Kind::object:
      write_object(type, object, base, out);
      break;
    case Kind::any: {
      const std::string& text = static_cast<const AnyJson*>(object)->text;
      out += text.empty() ? std::string_view("null") : std::string_view(text);
      break;
    }
  }
}

}  // namespace

void encode(const Type& type, const void* object, std::string& out) {
  write_value(type, object, type.blank, out);
}

}  // namespace hearth
