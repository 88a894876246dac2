// From a Node to a described struct. Goes on behind an error, so that all are told at once.
#include "base/format.h"
#include "domain/codec.h"
#include "domain/pattern.h"
#include "domain/scalar.h"
#include "domain/tree_builder.h"
#include "domain/words.h"

namespace hearth {
namespace {

bool is_scalar(const Node& node) {
  return node.kind != Node::Kind::list && node.kind != Node::Kind::map;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

int depth_of(const Node& node) {
  int deepest = 0;
  for (const Node& item : node.items) deepest = std::max(deepest, depth_of(item));
  for (const Node::Member& member : node.members)
    deepest = std::max(deepest, depth_of(member.value));
  return is_scalar(node) ? 0 : deepest + 1;
}

size_t length_in_characters(std::string_view text) {
  size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

class Decoder {
 public:
  explicit Decoder(Origin origin) : origin_(origin) {}

  void value(const Node& node, const Type& type, const Field* rules, void* object) {
    switch (type.kind) {
      case Kind::list:
        return list(node, type, rules, object);
      case Kind::map:
        return map(node, type, rules, object);
      case Kind::object:
        return this->object(node, type, object);
      case Kind::any:
        if (depth_of(node) > kMostDepthOfAny)
          return mistake(node.line, format("a value deeper than {} levels", kMostDepthOfAny),
                         format("at most {} levels", kMostDepthOfAny), "make the value flatter");
        static_cast<AnyJson*>(object)->text = to_json(node);
        return;
      default:
        if (!is_scalar(node) || node.kind == Node::Kind::null) return wrong(node, type, rules);
        return scalar(node, type, rules, object);
    }
  }

  // No text may hold NUL: neither processes nor paths nor every database take it.
  void refuse_nul(const Node& node) {
    if (has_nul(node.text))
      mistake(node.line, "the character NUL", "text without NUL", "take the character away");
    for (const Node::Member& member : node.members) {
      const Step step(path_, member.key);
      if (has_nul(member.key))
        mistake(member.line, "the character NUL in a name", "names without NUL",
                "take the character away");
      refuse_nul(member.value);
    }
    for (size_t i = 0; i < node.items.size(); ++i) {
      const Step step(path_, i);
      refuse_nul(node.items[i]);
    }
  }

  Result<void> finish() {
    if (errors_.empty()) return {};
    return mistakes_error(std::move(errors_), more_);
  }

 private:
  // Appends to the path for the time of a call.
  class Step {
   public:
    Step(std::string& path, std::string_view name) : path_(path), before_(path.size()) {
      if (!path_.empty()) path_ += '.';
      path_ += shortened(name);
    }
    Step(std::string& path, size_t index) : path_(path), before_(path.size()) {
      path_ += format("[{}]", index);
    }
    ~Step() { path_.resize(before_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    std::string& path_;
    size_t before_;
  };

  void mistake(int line, std::string found, std::string allowed, std::string mend) {
    if (errors_.size() >= kMostErrors) {
      ++more_;
      return;
    }
    errors_.push_back({path_.empty() ? "document" : path_, line, std::move(found),
                       std::move(allowed), std::move(mend)});
  }
  void wrong(const Node& node, const Type& type, const Field* rules) {
    if (rules && (rules->is_secret || rules->is_input_only) && is_scalar(node))
      return mistake(node.line, "a value that is not shown", allowed_words(type, rules),
                     "give a value of this form");
    mistake(node.line, found_of(node), allowed_words(type, rules), mend_words(node, type, rules));
  }

  bool in_bounds(double value, const Field* rules) const {
    if (!rules || origin_ == Origin::server) return true;
    return !(rules->least && !(value >= *rules->least)) &&
           !(rules->most && !(value <= *rules->most));
  }

  bool fits_pattern(std::string_view text, const Field* rules) const {
    return !rules || rules->pattern.empty() || origin_ == Origin::server ||
           pattern_matches(rules->pattern, text);
  }

  void scalar(const Node& node, const Type& type, const Field* rules, void* object) {
    if (!read_scalar(node, type, rules, object)) wrong(node, type, rules);
  }

  bool read_scalar(const Node& node, const Type& type, const Field* rules, void* object) {
    const bool may_be_number = node.kind == Node::Kind::integer || node.kind == Node::Kind::real ||
                               (node.kind == Node::Kind::text && !node.typed);
    switch (type.kind) {
      case Kind::boolean:
        if (node.kind != Node::Kind::boolean) return false;
        type.set_integer(object, node.text[0] == 't' || node.text[0] == 'T');
        return true;
      case Kind::integer: {
        const auto number = may_be_number ? integer_of(node.text) : std::nullopt;
        if (!number || *number < type.lowest || *number > type.highest) return false;
        if (!in_bounds(static_cast<double>(*number), rules)) return false;
        type.set_integer(object, *number);
        return true;
      }
      case Kind::real: {
        const bool may = may_be_number || (node.kind == Node::Kind::text && !is_number(node.text));
        const auto number = may ? real_of(node.text) : std::nullopt;
        if (!number || !in_bounds(*number, rules)) return false;
        *static_cast<double*>(object) = *number;
        return true;
      }
      case Kind::text:
        return read_text(node, rules, *static_cast<std::string*>(object));
      case Kind::enumeration:
        for (size_t i = 0; i < type.words.size(); ++i) {
          if (type.words[i] != node.text || (node.typed && node.kind != Node::Kind::text)) continue;
          type.set_integer(object, static_cast<int64_t>(i));
          return true;
        }
        return false;
      case Kind::time:
        return node.kind == Node::Kind::text &&
               store(from_rfc3339(node.text), *static_cast<Time*>(object));
      case Kind::size:
        return node.kind == Node::Kind::text &&
               store(parse_size(node.text), static_cast<Size*>(object)->bytes) &&
               in_bounds(static_cast<double>(static_cast<Size*>(object)->bytes), rules);
      case Kind::span:
        return node.kind == Node::Kind::text &&
               store(parse_duration(node.text), static_cast<Span*>(object)->duration) &&
               in_bounds(static_cast<Span*>(object)->duration.seconds(), rules);
      default:
        return false;
    }
  }

  static bool is_number(std::string_view text) {
    const Node::Kind kind = kind_of_plain(text);
    return kind == Node::Kind::integer || kind == Node::Kind::real;
  }

  template <typename T>
  static bool store(Result<T> result, T& into) {
    if (!result.ok()) return false;
    into = std::move(result).value();
    return true;
  }

  bool read_text(const Node& node, const Field* rules, std::string& into) {
    if (node.typed && node.kind != Node::Kind::text) return false;
    if (rules && !in_bounds(static_cast<double>(length_in_characters(node.text)), rules))
      return false;
    if (!fits_pattern(node.text, rules)) return false;
    into = node.text;
    return true;
  }

  void list(const Node& node, const Type& type, const Field* rules, void* object) {
    if (node.kind != Node::Kind::list) return wrong(node, type, rules);
    if (!in_bounds(static_cast<double>(node.items.size()), rules)) wrong(node, type, rules);
    Field item_rules;
    if (rules) {
      item_rules.pattern = rules->pattern;
      item_rules.allowed = rules->allowed;
      item_rules.is_secret = rules->is_secret || rules->is_input_only;
    }
    type.clear(object);
    for (size_t i = 0; i < node.items.size(); ++i) {
      const Step step(path_, i);
      value(node.items[i], *type.item, &item_rules, type.list_append(object));
    }
  }

  void map(const Node& node, const Type& type, const Field* rules, void* object) {
    if (node.kind != Node::Kind::map) return wrong(node, type, rules);
    if (!in_bounds(static_cast<double>(node.members.size()), rules)) wrong(node, type, rules);
    Field item_rules;
    if (rules) item_rules.is_secret = rules->is_secret || rules->is_input_only;
    type.clear(object);
    for (const Node::Member& member : node.members) {
      const Step step(path_, member.key);
      if (!fits_pattern(member.key, rules))
        mistake(member.line, format("the name '{}'", shortened(member.key)),
                std::string(rules->allowed), "choose another name");
      value(member.value, *type.item, &item_rules, type.map_insert(object, member.key));
    }
  }

  void object(const Node& node, const Type& type, void* object) {
    if (node.kind == Node::Kind::list && type.list_field >= 0)
      return shorthand(node, type, type.list_field, object);
    if (is_scalar(node) && node.kind != Node::Kind::null && type.scalar_field >= 0)
      return shorthand(node, type, type.scalar_field, object);
    if (node.kind != Node::Kind::map) return wrong(node, type, nullptr);
    std::vector<bool> given(type.fields.size());
    size_t given_count = 0;
    for (const Node::Member& member : node.members) {
      const size_t i = index_of(type, member.key);
      const Step step(path_, member.key);
      if (i == type.fields.size()) {
        const size_t meant = unknown(member, type);
        if (meant < given.size()) given[meant] = true;  // one error for it is enough
        continue;
      }
      const Field& field = type.fields[i];
      if (field.is_output_only && origin_ == Origin::client) {
        mistake(member.line, found_of(member.value), "nothing: the server sets this field",
                "leave it out");
        continue;
      }
      given[i] = true;
      ++given_count;
      value(member.value, *field.type, &field, field.in(object));
    }
    if (type.one_of && given_count > 1) too_many(node, type, given);
    if (type.one_of && node.members.empty() && origin_ == Origin::client)
      wrong(node, type, nullptr);
    require(node, type, given);
  }

  // The value of one field in the place of the whole object.
  void shorthand(const Node& node, const Type& type, int index, void* object) {
    const Field& field = type.fields[static_cast<size_t>(index)];
    if (is_scalar(node) && field.type->kind != Kind::any) {
      if (!read_scalar(node, *field.type, &field, field.in(object))) wrong(node, type, nullptr);
    } else {
      value(node, *field.type, &field, field.in(object));
    }
    std::vector<bool> given(type.fields.size());
    given[static_cast<size_t>(index)] = true;
    require(node, type, given);
  }

  static size_t index_of(const Type& type, std::string_view name) {
    size_t i = 0;
    while (i < type.fields.size() && type.fields[i].name != name) ++i;
    return i;
  }

  // The index of the field that was probably meant, or the number of fields.
  size_t unknown(const Node::Member& member, const Type& type) {
    if (origin_ == Origin::server) return type.fields.size();
    const std::vector<std::string> names = field_names(type);
    const std::string near = nearest(member.key, names);
    mistake(member.line, format("the unknown field '{}'", shortened(member.key)),
            format("the fields {}", join(names, ", ")),
            near.empty() ? "take it out, or use one of the fields named"
                         : format("did you mean '{}'?", near));
    return near.empty() ? type.fields.size() : index_of(type, near);
  }

  void too_many(const Node& node, const Type& type, const std::vector<bool>& given) {
    std::vector<std::string_view> names;
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i]) names.push_back(type.fields[i].name);
    mistake(node.line, format("{} together", join(names, " and ")),
            format("one of {}", join(field_names(type), ", ")), "keep one of them");
  }

  void require(const Node& node, const Type& type, const std::vector<bool>& given) {
    if (origin_ == Origin::server) return;
    for (size_t i = 0; i < given.size(); ++i) {
      const Field& field = type.fields[i];
      if (given[i] || !field.is_required || field.is_output_only) continue;
      const Step step(path_, field.name);
      const std::string example = example_of(*field.type, &field);
      mistake(node.line, "nothing", allowed_words(*field.type, &field),
              example.empty() ? format("add the field '{}'", field.name)
                              : format("add, for example, {}: {}", field.name, example));
    }
  }

  Origin origin_;
  std::string path_;
  std::vector<FieldError> errors_;
  size_t more_ = 0;
};

}  // namespace

Result<void> decode(const Node& node, const Type& type, void* object, Origin origin) {
  Decoder decoder(origin);
  if (origin == Origin::client) decoder.refuse_nul(node);
  decoder.value(node, type, nullptr, object);
  return decoder.finish();
}

}  // namespace hearth
