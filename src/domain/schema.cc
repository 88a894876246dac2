#include "domain/schema.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/format.h"
#include "domain/codec.h"
#include "domain/job_spec.h"
#include "domain/scalar.h"
#include "domain/topology.h"
#include "domain/words.h"

namespace hearth {
namespace {

constexpr std::string_view kDialect = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view kSizePattern = "^[0-9]+(\\.[0-9]+)? ?(B|[KMGTP]i?B)$";
constexpr std::string_view kSpanPattern = "^[0-9]+(\\.[0-9]+)? ?(us|ms|s|m|h|d)$";
// What a plain text of a client must not hold (codec.h).
constexpr std::string_view kNoNul = "^[^\\x00]*$";

// Writes the members of a JSON object in order.
class ObjectText {
 public:
  void raw(std::string_view key, std::string_view json) {
    text_ += text_.size() == 1 ? "" : ",";
    write_json_text(key, text_);
    text_ += ':';
    text_ += json;
  }
  void text(std::string_view key, std::string_view value) { raw(key, json_quote(value)); }
  void number(std::string_view key, double value) {
    std::string json;
    write_json_real(value, json);
    raw(key, json);
  }
  // Members of another object's text, "{...}".
  void merge(std::string_view object) {
    if (object.size() <= 2) return;
    text_ += text_.size() == 1 ? "" : ",";
    text_ += object.substr(1, object.size() - 2);
  }
  std::string done() const { return text_ + '}'; }
  bool empty() const { return text_.size() == 1; }

 private:
  std::string text_ = "{";
};

std::string array_text(const std::vector<std::string>& items) {
  return format("[{}]", join(items, ","));
}

class Schemas {
 public:
  Schemas(SchemaFor use, const std::string& prefix, const std::function<void(const Type&)>& need)
      : use_(use), prefix_(prefix), need_(need) {}

  std::string whole(const Type& type) const {
    if (type.kind == Kind::object) return object(type);
    if (type.kind == Kind::enumeration) return enumeration(type);
    return value(type, nullptr);
  }

 private:
  std::string value(const Type& type, const Field* rules) const {
    ObjectText out;
    switch (type.kind) {
      case Kind::boolean:
        out.text("type", "boolean");
        break;
      case Kind::integer:
        integer(type, rules, out);
        break;
      case Kind::real:
        real(rules, out);
        break;
      case Kind::text:
        text(rules, out);
        break;
      case Kind::time:
        out.text("type", "string");
        out.text("format", "date-time");
        break;
      case Kind::size:
      case Kind::span:
        out.text("type", "string");
        out.text("pattern", type.kind == Kind::size ? kSizePattern : kSpanPattern);
        break;
      case Kind::list:
        list(type, rules, out);
        break;
      case Kind::map:
        map(type, rules, out);
        break;
      case Kind::enumeration:
      case Kind::object:
        need_(type);
        out.text("$ref", format("{}{}", prefix_, type.name));
        break;
      case Kind::any:
        break;
    }
    return out.done();
  }

  static void bounds(const Field* rules, std::string_view least, std::string_view most,
                     ObjectText& out) {
    if (rules && rules->least) out.number(least, *rules->least);
    if (rules && rules->most) out.number(most, *rules->most);
  }
  void integer(const Type& type, const Field* rules, ObjectText& out) const {
    if (use_ == SchemaFor::file)
      out.raw("type", R"(["integer","string"])");
    else
      out.text("type", "integer");
    out.text("format", type.highest > INT32_MAX ? "int64" : "int32");
    bounds(rules, "minimum", "maximum", out);
  }
  void real(const Field* rules, ObjectText& out) const {
    const bool is_bounded = rules && (rules->least || rules->most);
    if (use_ == SchemaFor::file) {
      out.raw("type", R"(["number","string"])");
    } else if (is_bounded) {
      out.text("type", "number");
    } else {
      out.raw("anyOf", R"([{"type":"number"},{"enum":["NaN","Infinity","-Infinity"]}])");
    }
    bounds(rules, "minimum", "maximum", out);
  }
  void text(const Field* rules, ObjectText& out) const {
    if (use_ == SchemaFor::file)
      out.raw("type", R"(["string","number","boolean"])");
    else
      out.text("type", "string");
    bounds(rules, "minLength", "maxLength", out);
    if (use_ == SchemaFor::output) return;
    if (rules && !rules->pattern.empty())
      out.text("pattern", format("^(?:{})$", rules->pattern));
    else if (use_ == SchemaFor::input)
      out.text("pattern", kNoNul);
  }
  void list(const Type& type, const Field* rules, ObjectText& out) const {
    Field item_rules;
    if (rules) item_rules.pattern = rules->pattern;
    out.text("type", "array");
    out.raw("items", value(*type.item, &item_rules));
    bounds(rules, "minItems", "maxItems", out);
  }
  void map(const Type& type, const Field* rules, ObjectText& out) const {
    out.text("type", "object");
    out.raw("additionalProperties", value(*type.item, nullptr));
    bounds(rules, "minProperties", "maxProperties", out);
    const bool has_pattern = rules && !rules->pattern.empty();
    if (use_ == SchemaFor::output || (use_ == SchemaFor::file && !has_pattern)) return;
    const std::string pattern =
        has_pattern ? format("^(?:{})$", rules->pattern) : std::string(kNoNul);
    out.raw("propertyNames", format("{{\"pattern\":{}}}", json_quote(pattern)));
  }
  static std::string enumeration(const Type& type) {
    std::vector<std::string> words;
    for (const std::string_view word : type.words) words.push_back(json_quote(word));
    ObjectText out;
    out.text("type", "string");
    out.raw("enum", array_text(words));
    return out.done();
  }

  bool is_shown(const Field& field) const {
    return use_ == SchemaFor::output ? !field.is_secret && !field.is_input_only
                                     : !field.is_output_only;
  }
  // What encoding writes in every case.
  static bool is_always_written(const Type& type, const Field& field) {
    if (field.optional_value || type.one_of) return false;
    if (field.is_required) return true;
    switch (field.type->kind) {
      case Kind::boolean:
      case Kind::integer:
      case Kind::real:
      case Kind::enumeration:
      case Kind::size:
      case Kind::span:
        return true;
      case Kind::text:
        return !static_cast<const std::string*>(field.in(type.blank))->empty();
      default:
        return false;
    }
  }

  std::string field(const Type& type, const Field& field) const {
    ObjectText out;
    out.merge(value(*field.type, &field));
    out.text("description", description(field));
    if (const std::string blank = default_text(type, field); !blank.empty())
      out.raw("default", blank);
    if (!field.example.empty()) {
      const Result<Node> example = parse_yaml(field.example);
      if (example.ok()) out.raw("examples", format("[{}]", to_json(*example)));
    }
    if (field.is_output_only) out.raw("readOnly", "true");
    if (field.is_secret || field.is_input_only) out.raw("writeOnly", "true");
    return out.done();
  }
  // JSON Schema has no bounds for sizes and durations; the words have.
  static std::string description(const Field& field) {
    std::string text(field.doc);
    if (field.type->kind == Kind::size || field.type->kind == Kind::span)
      if (const std::string bounds = bounds_words(*field.type, &field); !bounds.empty())
        text += format(";{}", bounds);
    if (!field.allowed.empty()) text += format(" ({})", field.allowed);
    return text;
  }

 public:
  static std::string default_text(const Type& type, const Field& field) {
    if (field.optional_value || field.is_required || field.is_secret) return "";
    const void* value = field.in(type.blank);
    switch (field.type->kind) {
      case Kind::text:
        if (static_cast<const std::string*>(value)->empty()) return "";
        break;
      case Kind::list:
        if (field.type->list_size(value) == 0) return "";
        break;
      case Kind::size:
      case Kind::integer:
      case Kind::real:
      case Kind::boolean:
      case Kind::enumeration:
        break;
      default:
        return "";
    }
    std::string text;
    encode(*field.type, value, text);
    return text;
  }

 private:
  std::string object(const Type& type) const {
    const std::string full = object_form(type);
    std::vector<std::string> forms;
    for (const int index : {type.scalar_field, type.list_field}) {
      if (index < 0) continue;
      const Field& field = type.fields[static_cast<size_t>(index)];
      if (field.type->kind != Kind::any)
        forms.push_back(value(*field.type, &field));
      else if (index == type.list_field && !forms.empty())
        forms.emplace_back(R"({"type":"array"})");
      else
        forms.emplace_back(R"({"type":["string","number","boolean"]})");
    }
    if (forms.empty()) return full;
    forms.push_back(full);
    ObjectText out;
    out.text("description", type.doc);
    out.raw("anyOf", array_text(forms));
    return out.done();
  }

  std::string object_form(const Type& type) const {
    ObjectText properties;
    std::vector<std::string> required;
    for (const Field& f : type.fields) {
      if (!is_shown(f)) continue;
      properties.raw(f.name, field(type, f));
      const bool is_needed = use_ == SchemaFor::output ? is_always_written(type, f) : f.is_required;
      if (is_needed) required.push_back(json_quote(f.name));
    }
    ObjectText out;
    out.text("type", "object");
    out.text("description", type.doc);
    out.raw("properties", properties.done());
    if (!required.empty()) out.raw("required", array_text(required));
    if (use_ == SchemaFor::output) return out.done();
    out.raw("additionalProperties", "false");
    if (type.one_of) {
      out.raw("minProperties", "1");
      out.raw("maxProperties", "1");
    }
    return out.done();
  }

  SchemaFor use_;
  const std::string& prefix_;
  const std::function<void(const Type&)>& need_;
};

std::string type_words(const Type& type) {
  switch (type.kind) {
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return "whole number";
    case Kind::real:
      return "number";
    case Kind::text:
      return "text";
    case Kind::enumeration:
      return format("`{}`", join(type.words, "`, `"));
    case Kind::time:
      return "time";
    case Kind::size:
      return "size";
    case Kind::span:
      return "duration";
    case Kind::list:
      return "list: " + type_words(*type.item);
    case Kind::map:
      return "map: " + type_words(*type.item);
    case Kind::object: {
      std::string link(type.name);
      std::transform(link.begin(), link.end(), link.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      return format("[{}](#{})", type.name, link);
    }
    case Kind::any:
      return "any value";
  }
  return "";
}

std::string unit_of_bounds(const Type& type) {
  switch (type.kind) {
    case Kind::text:
      return " characters";
    case Kind::list:
      return " items";
    case Kind::map:
      return " entries";
    default:
      return "";
  }
}

// A table cell must not hold the sign between cells.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

std::string json_schema(const Type& type, SchemaFor use, const std::string& ref_prefix,
                        const std::function<void(const Type&)>& need) {
  return Schemas(use, ref_prefix, need).whole(type);
}

namespace {

std::string file_schema(const Type& type, std::string_view id, std::string_view title,
                        std::string_view one_of) {
  std::vector<const Type*> waiting;
  std::set<std::string_view> seen;
  const std::function<void(const Type&)> need = [&](const Type& nested) {
    if (seen.insert(nested.name).second) waiting.push_back(&nested);
  };
  seen.insert(type.name);
  ObjectText out;
  out.text("$schema", kDialect);
  out.text("$id", id);
  out.text("title", title);
  out.merge(json_schema(type, SchemaFor::file, "#/$defs/", need));
  if (!one_of.empty()) out.raw("oneOf", std::string(one_of));
  ObjectText defs;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const Type& nested = *waiting[i];
    defs.raw(nested.name, json_schema(nested, SchemaFor::file, "#/$defs/", need));
  }
  out.raw("$defs", defs.done());
  return out.done();
}

}  // namespace

std::string job_file_schema() {
  return file_schema(type_of<JobSpec>(), "urn:hearth:job-file:1", "Hearth job file, version 1",
                     R"([{"required":["command"]},{"required":["roles"]}])");
}

std::string topology_file_schema() {
  return file_schema(type_of<TopologyFile>(), "urn:hearth:topology-file:1",
                     "Hearth topology file, version 1", "");
}

std::string markdown_table(const Type& type) {
  std::string out = "| field | type | default | meaning |\n|---|---|---|---|\n";
  for (const Field& field : type.fields) {
    std::string kind = type_words(*field.type);
    if (const std::string bounds = bounds_words(*field.type, &field); !bounds.empty())
      kind += (field.type->item != nullptr ? "," : "") + bounds + unit_of_bounds(*field.type);
    std::string blank = field.is_required ? "required" : Schemas::default_text(type, field);
    if (blank.starts_with('"')) blank = blank.substr(1, blank.size() - 2);
    if (!blank.empty() && !field.is_required) blank = format("`{}`", cell(blank));
    std::string meaning(field.doc);
    if (!field.allowed.empty()) meaning += format(". Allowed: {}", field.allowed);
    if (!field.example.empty()) meaning += format(". Example: `{}`", field.example);
    out += format("| `{}` | {} | {} | {} |\n", field.name, cell(kind), blank, cell(meaning));
  }
  return out;
}

}  // namespace hearth
