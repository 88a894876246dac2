// `--set PATH=VALUE`: changes the tree of a job file before it is decoded.
#include "base/format.h"
#include "base/units.h"
#include "domain/job_spec.h"
#include "domain/scalar.h"
#include "domain/tree_builder.h"
#include "domain/words.h"

namespace hearth {
namespace {

constexpr size_t kMostSteps = 16;

Error set_error(std::string_view path, std::string found, std::string allowed, std::string mend) {
  Error error = mistakes_error(
      {{std::string(path), 0, std::move(found), std::move(allowed), std::move(mend)}});
  error.detail = format("--set {}: found {}", path, error.errors[0].found);
  return error;
}

struct Step {
  std::string name;  // of a field; "" for an item
  size_t index = 0;
  size_t end = 0;  // where the path ends with this step
};

Error bad_path(std::string_view path) {
  return set_error(path, format("the path '{}'", shortened(path)),
                   "names with dots between, items as [0]", "write, for example, params.lr=0.1");
}

// "datasets[0].at" -> datasets, 0, at.
Result<std::vector<Step>> steps_of(std::string_view path) {
  std::vector<Step> steps;
  size_t at = 0;
  while (at < path.size()) {
    if (steps.size() == kMostSteps) return bad_path(path);
    if (path[at] == '[') {
      const size_t end = path.find(']', at);
      if (end == std::string_view::npos || steps.empty()) return bad_path(path);
      const auto index = integer_of(path.substr(at + 1, end - at - 1));
      if (!index || *index < 0) return bad_path(path);
      steps.push_back({"", static_cast<size_t>(*index), end + 1});
      at = end + 1;
    } else {
      if (!steps.empty()) {
        if (path[at] != '.') return bad_path(path);
        ++at;
      }
      const size_t end = std::min(path.find_first_of(".[", at), path.size());
      if (end == at) return bad_path(path);
      steps.push_back({std::string(path.substr(at, end - at)), 0, end});
      at = end;
    }
  }
  if (steps.empty()) return bad_path(path);
  return steps;
}

// The type of a value below `type`, or why there is none. `any` is below `any`.
Result<const Type*> type_below(const Type& type, const Step& step, std::string_view path) {
  const std::string_view so_far = path.substr(0, step.end);
  if (step.name.empty()) {
    if (type.kind == Kind::list) return type.item;
    if (type.kind == Kind::object && type.list_field >= 0) {
      const Type* list = type.fields[static_cast<size_t>(type.list_field)].type;
      return list->kind == Kind::list ? list->item : list;
    }
  } else if (type.kind == Kind::map) {
    return type.item;
  } else if (type.kind == Kind::object) {
    for (const Field& field : type.fields)
      if (field.name == step.name) return field.type;
    const std::vector<std::string> names = field_names(type);
    const std::string near = nearest(step.name, names);
    return set_error(
        so_far, format("the unknown field '{}'", shortened(step.name)),
        format("the fields {}", join(names, ", ")),
        near.empty() ? "use one of the fields named" : format("did you mean '{}'?", near));
  }
  if (type.kind == Kind::any) return &type;
  return set_error(so_far, "a part of a value that has none", allowed_words(type, nullptr),
                   "end the path before this part");
}

// Makes a shorthand (`lr: 0.01`) the map that it stands for, so that a field can be set beside it.
void expand(Node& node, const Type& type) {
  if (node.kind == Node::Kind::map) return;
  const int index = node.kind == Node::Kind::list ? type.list_field : type.scalar_field;
  Node map;
  map.kind = Node::Kind::map;
  map.line = node.line;
  if (index >= 0 && !type.one_of && node.kind != Node::Kind::null)
    map.members.push_back(
        {std::string(type.fields[static_cast<size_t>(index)].name), node.line, std::move(node)});
  node = std::move(map);
}

Node* member(Node& node, const std::string& name, bool alone) {
  for (Node::Member& m : node.members)
    if (m.key == name) return &m.value;
  if (alone) node.members.clear();
  return &node.members.emplace_back(Node::Member{name, 0, {}}).value;
}

Result<Node*> child(Node& node, const Type& type, const Step& step, std::string_view path) {
  if (!step.name.empty()) {
    if (type.kind == Kind::object) {
      expand(node, type);
    } else if (node.kind != Node::Kind::map) {
      node = Node{.kind = Node::Kind::map, .line = node.line};
    }
    return member(node, step.name, type.one_of);
  }
  if (node.kind == Node::Kind::map && type.kind == Kind::object) {
    const Field& field = type.fields[static_cast<size_t>(type.list_field)];
    return child(*member(node, std::string(field.name), type.one_of), *field.type, step, path);
  }
  if (node.kind != Node::Kind::list) node = Node{.kind = Node::Kind::list, .line = node.line};
  if (step.index > node.items.size())
    return set_error(path.substr(0, step.end), format("item {}", step.index),
                     format("items 0 to {}", node.items.size()), "count from 0");
  if (step.index == node.items.size()) node.items.emplace_back();
  return &node.items[step.index];
}

Result<Node> value_of(std::string_view text, std::string_view path) {
  if (!text.empty() && (text[0] == '[' || text[0] == '{' || text[0] == '"' || text[0] == '\'')) {
    Result<Node> node = parse_yaml(text);
    if (node.ok()) return node;
    return set_error(
        path, format("'{}'", shortened(text)), "a value as in YAML",
        node.error().errors.empty() ? "write it as in the job file" : node.error().errors[0].mend);
  }
  Node node;
  node.text = text;
  node.kind = text.empty() ? Node::Kind::text : kind_of_plain(text);
  node.quoted = text.empty();
  return node;
}

// `params.lr=0.1` keeps live, min and max of a parameter that is written as a map.
bool stands_for_part(const Node& target, const Type& type, const Node& value) {
  return type.kind == Kind::object && type.scalar_field >= 0 && !type.one_of &&
         target.kind == Node::Kind::map && value.kind != Node::Kind::map &&
         (value.kind != Node::Kind::list || type.list_field == type.scalar_field);
}

// A param that the file does not have is for the script's own defaults; one that is nearly called
// as one of the file's is a slip of the pen, which would train with the wrong value unnoticed.
Result<void> check_param(const Node& root, const std::vector<Step>& steps, std::string_view path) {
  if (steps.size() < 2 || steps[0].name != "params") return {};
  const Node* params = root.find("params");
  if (params == nullptr || params->kind != Node::Kind::map || params->find(steps[1].name))
    return {};
  std::vector<std::string> names;
  for (const Node::Member& m : params->members) names.push_back(m.key);
  const std::string near = nearest(steps[1].name, names);
  if (near.empty()) return {};
  return set_error(
      path.substr(0, steps[1].end),
      format("the param '{}', which the job file does not have", shortened(steps[1].name)),
      format("its params {}, or a name unlike them", join(names, ", ")),
      format("did you mean 'params.{}'? If not, write it into the job file", near));
}

}  // namespace

Result<void> apply_set(Node& root, std::string_view assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return bad_path(assignment);
  const std::string_view path = trim(assignment.substr(0, equals));
  const std::vector<Step> steps = TRY(steps_of(path));
  TRY(check_param(root, steps, path));
  Node value = TRY(value_of(trim(assignment.substr(equals + 1)), path));

  const Type* type = &type_of<JobSpec>();
  std::vector<const Type*> types;
  for (const Step& step : steps) {
    types.push_back(type);
    type = TRY(type_below(*type, step, path));
  }
  Node* node = &root;
  for (size_t i = 0; i < steps.size(); ++i) node = TRY(child(*node, *types[i], steps[i], path));
  if (stands_for_part(*node, *type, value)) {
    const Field& field = type->fields[static_cast<size_t>(type->scalar_field)];
    node = member(*node, std::string(field.name), false);
  }
  value.line = node->line;
  *node = std::move(value);
  return {};
}

Result<const Node*> value_at(const Node& root, std::string_view path) {
  const Type* type = &type_of<JobSpec>();
  const Node* node = &root;
  for (const Step& step : TRY(steps_of(path))) {
    type = TRY(type_below(*type, step, path));
    if (node == nullptr) continue;
    if (!step.name.empty())
      node = node->find(step.name);
    else
      node = step.index < node->items.size() ? &node->items[step.index] : nullptr;
  }
  return node;
}

}  // namespace hearth
