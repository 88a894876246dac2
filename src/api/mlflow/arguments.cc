#include "api/mlflow/arguments.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "domain/scalar.h"

namespace hearth::api::mlflow {
namespace {

constexpr std::string_view kSeeDocs =
    " See the API docs for more information about request parameters.";
constexpr size_t kMostShown = 500;  // of a wrong value in an error

bool is_empty(const Node& node) {
  return node.kind == Node::Kind::null;
}

// What a query says has no types: each value is a text, a name that comes again makes a list.
Result<Node> tree_of_query(const net::Request& request) {
  Node root;
  root.kind = Node::Kind::map;
  for (auto& [name, value] : request.query_values()) {
    if (!is_utf8(name) || !is_utf8(value)) return Error::invalid("the query is not UTF-8");
    Node text;
    text.kind = Node::Kind::text;
    text.text = value;
    auto known = std::find_if(root.members.begin(), root.members.end(),
                              [&](const Node::Member& m) { return m.key == name; });
    if (known == root.members.end()) {
      root.members.push_back({name, 0, std::move(text)});
      continue;
    }
    if (known->value.kind != Node::Kind::list) {
      Node list;
      list.kind = Node::Kind::list;
      list.items.push_back(std::move(known->value));
      known->value = std::move(list);
    }
    known->value.items.push_back(std::move(text));
  }
  return root;
}

// The first value where a query names one argument twice.
const Node& single(const Node& node) {
  const bool from_query = node.kind == Node::Kind::list && !node.typed && !node.items.empty() &&
                          !node.items.front().typed;
  return from_query ? node.items.front() : node;
}

}  // namespace

Error invalid_value(std::string_view name, const std::string& value_json, std::string_view why) {
  std::string shown = value_json.substr(0, kMostShown);
  if (value_json.size() > kMostShown) shown += "...";
  return Error::invalid(
      format("Invalid value {} for parameter '{}' supplied: {}", to_utf8_lossy(shown), name, why));
}

std::string Fields::full(std::string_view name) const {
  return prefix_.empty() ? std::string(name) : format("{}.{}", prefix_, name);
}

Error Fields::missing(std::string_view name) const {
  return Error::invalid(
      format("Missing value for required parameter '{}'.{}", full(name), kSeeDocs));
}

Error Fields::wrong(std::string_view name, const Node& found) const {
  static constexpr std::array<std::string_view, 7> kTypes{"NoneType", "bool", "int", "float",
                                                          "str",      "list", "dict"};
  const auto type = kTypes.at(static_cast<size_t>(found.kind));
  return invalid_value(full(name), to_json(found),
                       format(" Hint: Value was of type '{}'.{}", type, kSeeDocs));
}

const Node* Fields::find(std::string_view name) const {
  const Node* found = object_.find(name);
  return found == nullptr || is_empty(*found) ? nullptr : found;
}

Result<std::optional<std::string>> Fields::some_text(std::string_view name) const {
  const Node* found = find(name);
  if (found == nullptr) return std::optional<std::string>();
  const Node& value = single(*found);
  if (value.kind != Node::Kind::text) return wrong(name, value);
  return std::optional(value.text);
}

Result<std::string> Fields::text(std::string_view name) const {
  return TRY(some_text(name)).value_or("");
}

Result<std::string> Fields::need_text(std::string_view name) const {
  std::string value = TRY(text(name));
  if (value.empty()) return missing(name);
  return value;
}

Result<std::optional<int64_t>> Fields::integer(std::string_view name) const {
  const Node* found = find(name);
  if (found == nullptr) return std::optional<int64_t>();
  const Node& value = single(*found);
  const bool number = value.kind == Node::Kind::integer || value.kind == Node::Kind::real ||
                      value.kind == Node::Kind::text;
  // Proto JSON takes 64-bit integers as texts too.
  const auto whole = number ? integer_of(value.text) : std::nullopt;
  if (!whole) return wrong(name, value);
  return std::optional(*whole);
}

Result<int64_t> Fields::need_integer(std::string_view name) const {
  const auto value = TRY(integer(name));
  if (!value) return missing(name);
  return *value;
}

Result<double> Fields::need_real(std::string_view name) const {
  const Node* found = find(name);
  if (found == nullptr) return missing(name);
  const Node& value = single(*found);
  const bool number = value.kind == Node::Kind::integer || value.kind == Node::Kind::real ||
                      value.kind == Node::Kind::text;
  const auto real = number ? real_of(value.text) : std::nullopt;
  if (!real) return wrong(name, value);
  return *real;
}

Result<bool> Fields::boolean(std::string_view name, bool otherwise) const {
  const Node* found = find(name);
  if (found == nullptr) return otherwise;
  const Node& value = single(*found);
  const bool is_word = value.kind == Node::Kind::boolean || value.kind == Node::Kind::text;
  if (is_word && (value.text == "true" || value.text == "True")) return true;
  if (is_word && (value.text == "false" || value.text == "False")) return false;
  return wrong(name, value);
}

Result<std::vector<std::string>> Fields::texts(std::string_view name) const {
  std::vector<std::string> all;
  const Node* found = find(name);
  if (found == nullptr) return all;
  if (found->kind == Node::Kind::text && !found->typed) {
    all.push_back(found->text);  // a list of one, in a query
    return all;
  }
  if (found->kind != Node::Kind::list) return wrong(name, *found);
  for (const Node& item : found->items) {
    if (item.kind != Node::Kind::text) return wrong(name, *found);
    all.push_back(item.text);
  }
  return all;
}

Result<std::vector<Fields>> Fields::objects(std::string_view name) const {
  std::vector<Fields> all;
  const Node* found = find(name);
  if (found == nullptr) return all;
  if (found->kind != Node::Kind::list) return wrong(name, *found);
  for (const Node& item : found->items) {
    if (item.kind != Node::Kind::map) return wrong(name, *found);
    all.emplace_back(item, format("{}[{}]", full(name), all.size()));
  }
  return all;
}

Result<std::vector<std::pair<std::string, std::string>>> Fields::pairs(
    std::string_view name) const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Fields& one : TRY(objects(name))) {
    std::string key = TRY(one.need_text("key"));
    all.emplace_back(std::move(key), TRY(one.text("value")));
  }
  return all;
}

Result<std::optional<Fields>> Fields::object(std::string_view name) const {
  const Node* found = find(name);
  if (found == nullptr) return std::optional<Fields>();
  if (found->kind != Node::Kind::map) return wrong(name, *found);
  return std::optional(Fields(*found, full(name)));
}

Result<Arguments> Arguments::of(const net::Request& request) {
  Arguments arguments;
  Node root;
  root.kind = Node::Kind::map;
  if (!request.body.empty()) {
    root = TRY(parse_json(request.body, SIZE_MAX));
    // Old clients send JSON as a text inside JSON.
    if (root.kind == Node::Kind::text) {
      const std::string inner = std::move(root.text);
      root = TRY(parse_json(inner, SIZE_MAX));
    }
  } else {
    root = TRY(tree_of_query(request));
  }
  if (root.kind == Node::Kind::null) root.kind = Node::Kind::map;
  if (root.kind != Node::Kind::map) return Error::invalid("the request's body is no JSON object");
  arguments.root_ = std::make_shared<const Node>(std::move(root));
  return arguments;
}

}  // namespace hearth::api::mlflow
