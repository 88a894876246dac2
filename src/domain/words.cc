#include "domain/words.h"

#include <cmath>

#include "base/format.h"
#include "domain/scalar.h"
#include "domain/tree_builder.h"

namespace hearth {
namespace {

std::string limit_words(const Type& type, double limit) {
  if (type.kind == Kind::size) return exact_size(static_cast<int64_t>(limit));
  if (type.kind == Kind::span) return exact_span(Duration::seconds(limit));
  return number_words(limit);
}

std::string plural_bounds(const Type& type, const Field* rules, std::string_view unit) {
  const std::string bounds = bounds_words(type, rules);
  return bounds.empty() ? "" : format(" ({} {})", bounds.substr(1), unit);
}

std::string object_words(const Type& type) {
  std::string words;
  if (type.scalar_field >= 0) {
    const Field& field = type.fields[static_cast<size_t>(type.scalar_field)];
    words = field.type->kind == Kind::any ? "a value" : allowed_words(*field.type, &field);
  }
  if (type.list_field >= 0) words += words.empty() ? "a list" : ", a list";
  const std::string names = format("{}", join(field_names(type), ", "));
  return format("{}{}a map with {} {}", words, words.empty() ? "" : ", or ",
                type.one_of ? "one of" : "the fields", names);
}

// Its required fields, or else the first that has an example: "{hearth: 1, name: fashion-cnn}".
std::string object_example(const Type& type) {
  if (type.scalar_field >= 0) {
    const Field& field = type.fields[static_cast<size_t>(type.scalar_field)];
    return example_of(*field.type, &field);
  }
  std::vector<std::string> parts;
  for (const Field& field : type.fields) {
    if (!field.is_required || field.is_output_only) continue;
    if (const std::string value = example_of(*field.type, &field); !value.empty())
      parts.push_back(format("{}: {}", field.name, value));
  }
  for (const Field& field : type.fields) {
    if (!parts.empty()) break;
    if (field.is_output_only || field.type->kind == Kind::object) continue;
    if (const std::string value = example_of(*field.type, &field); !value.empty())
      parts.push_back(format("{}: {}", field.name, value));
  }
  return parts.empty() ? "" : format("{{{}}}", join(parts, ", "));
}

// "3" where a number without quotes belongs, and the like.
std::string unquoted(const Node& node, const Type& type) {
  if (node.kind != Node::Kind::text) return "";
  const bool fits = (type.kind == Kind::integer && integer_of(node.text)) ||
                    (type.kind == Kind::real && real_of(node.text)) ||
                    (type.kind == Kind::boolean && kind_of_plain(node.text) == Node::Kind::boolean);
  return fits ? format("write {} without quotes", shortened(node.text)) : "";
}

bool is_wrong_in_number(const Node& node, const Type& type) {
  return (type.kind == Kind::list && node.kind == Node::Kind::list) ||
         (type.kind == Kind::map && node.kind == Node::Kind::map);
}

}  // namespace

std::string number_words(double value) {
  if (value == std::trunc(value) && std::fabs(value) < 1e15) return format("{:.0f}", value);
  return format("{:.6g}", value);
}

std::vector<std::string> field_names(const Type& type) {
  std::vector<std::string> names;
  for (const Field& field : type.fields) names.emplace_back(field.name);
  return names;
}

std::string bounds_words(const Type& type, const Field* rules) {
  if (!rules || (!rules->least && !rules->most)) return "";
  if (!rules->most) return format(" from {}", limit_words(type, *rules->least));
  if (!rules->least) return format(" up to {}", limit_words(type, *rules->most));
  return format(" from {} to {}", limit_words(type, *rules->least),
                limit_words(type, *rules->most));
}

std::string allowed_words(const Type& type, const Field* rules) {
  switch (type.kind) {
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return "a whole number" + bounds_words(type, rules);
    case Kind::real:
      return "a number" + bounds_words(type, rules);
    case Kind::text:
      return (rules && !rules->allowed.empty() ? std::string(rules->allowed) : "text") +
             plural_bounds(type, rules, "characters");
    case Kind::enumeration:
      return format("one of {}", join(type.words, ", "));
    case Kind::time:
      return "a time as in RFC 3339";
    case Kind::size:
      return "a size with its unit" + bounds_words(type, rules);
    case Kind::span:
      return "a duration with its unit" + bounds_words(type, rules);
    case Kind::list:
      return format("a list, each item {}", allowed_words(*type.item, nullptr)) +
             plural_bounds(type, rules, "items");
    case Kind::map:
      return format("a map from names to {}", allowed_words(*type.item, nullptr)) +
             plural_bounds(type, rules, "entries");
    case Kind::object:
      return object_words(type);
    case Kind::any:
      return "any value";
  }
  return "";
}

std::string example_of(const Type& type, const Field* rules) {
  if (rules && !rules->example.empty()) return std::string(rules->example);
  const double least = rules && rules->least ? *rules->least : 1;
  switch (type.kind) {
    case Kind::boolean:
      return "true";
    case Kind::integer:
    case Kind::real:
      return number_words(std::max(least, rules && rules->most ? std::min(1.0, *rules->most) : 1));
    case Kind::enumeration:
      return type.words.empty() ? "" : std::string(type.words.front());
    case Kind::list: {
      const std::string item = example_of(*type.item, nullptr);
      return item.empty() ? "" : format("[{}]", item);
    }
    case Kind::map: {
      const std::string item = example_of(*type.item, nullptr);
      return item.empty() ? "" : format("{{name: {}}}", item);
    }
    case Kind::object:
      return object_example(type);
    case Kind::time:
      return "2026-11-20T05:37:58Z";
    case Kind::size:
      return "4GiB";
    case Kind::span:
      return "90s";
    default:
      return "";
  }
}

std::string mend_words(const Node& node, const Type& type, const Field* rules) {
  if (type.kind == Kind::enumeration) {
    const std::vector<std::string> words(type.words.begin(), type.words.end());
    const std::string near = nearest(node.text, words);
    return near.empty() ? "choose one of them" : format("did you mean '{}'?", near);
  }
  if (std::string words = unquoted(node, type); !words.empty()) return words;
  if (node.kind == Node::Kind::null && rules) return "leave the field out, or give it a value";
  if (type.kind == Kind::size && (node.kind == Node::Kind::integer || real_of(node.text)))
    return format("write the unit, such as {}GiB", shortened(node.text));
  if (type.kind == Kind::span && (node.kind == Node::Kind::integer || real_of(node.text)))
    return format("write the unit, such as {}s", shortened(node.text));
  if (type.kind == Kind::list && node.kind != Node::Kind::map && node.kind != Node::Kind::list)
    return format("write a list: [{}]", shortened(node.text));
  if (type.kind == Kind::text && node.typed && node.kind != Node::Kind::text &&
      node.kind != Node::Kind::list && node.kind != Node::Kind::map)
    return format("put it in quotes: \"{}\"", shortened(node.text));
  if (is_wrong_in_number(node, type)) return "change the number of items";
  const std::string example = example_of(type, rules);
  if (!example.empty()) return format("write, for example, {}", example);
  return type.kind == Kind::text ? "write a text of that form" : "write a value of that form";
}

}  // namespace hearth
