#include "domain/job_rules.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/units.h"
#include "domain/scalar.h"
#include "domain/tree_builder.h"

namespace hearth {
namespace {

constexpr std::string_view kReserved = "HEARTH_";
constexpr size_t kLongestLabel = 256;
constexpr size_t kLongestPattern = 4096;
constexpr int64_t kMostTasksOfJob = 4096;
constexpr size_t kLongestVariable = 64 << 10;  // the kernel takes no string over 128 KiB

const Node* find(const Node* node, std::string_view key) {
  return node ? node->find(key) : nullptr;
}
const Node* item(const Node* node, size_t i) {
  return node && i < node->items.size() ? &node->items[i] : nullptr;
}

// The parts of a relative path that stays below where it starts; nothing when it does not.
std::optional<std::vector<std::string>> parts_inside(std::string_view path) {
  if (path.starts_with('/')) return std::nullopt;
  std::vector<std::string> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part == "..") return std::nullopt;
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  if (parts.empty()) return std::nullopt;
  return parts;
}

class Rules {
 public:
  Rules(const Node& root, const JobSpec& spec, std::vector<FieldError>& errors)
      : root_(root), spec_(spec), errors_(errors) {}

  void check() {
    version();
    command_or_roles();
    commands();
    code();
    labels();
    variables();
    params();
    datasets();
    outputs();
    metrics();
    placement();
    gpus();
  }

 private:
  void mistake(std::string path, const Node* node, std::string found, std::string allowed,
               std::string mend) {
    for (const FieldError& error : errors_)
      if (error.path == path) return;
    if (errors_.size() >= kMostErrors) return;
    errors_.push_back({std::move(path), node && node->line > 0 ? node->line : root_.line,
                       std::move(found), std::move(allowed), std::move(mend)});
  }

  // A misspelt field is told of once, not again as missing.
  bool is_meant(std::string_view field) const {
    const std::string mend = format("did you mean '{}'?", field);
    return std::any_of(errors_.begin(), errors_.end(),
                       [&](const FieldError& error) { return error.mend == mend; });
  }

  void placement() {
    const Node* node = find(root_.find("placement"), "spread");
    if (spec_.placement.spread && spec_.placement.within == Within::node && tasks_of(spec_) > 1)
      mistake("placement.spread", node, "true beside within: node",
              "one of: spread: true, within: node", "take one of them out");
  }

  void gpus() {
    gpu_wishes("resources", root_.find("resources"), spec_.resources);
    for (const auto& [name, role] : spec_.roles)
      gpu_wishes(format("roles.{}.resources", name),
                 find(find(root_.find("roles"), name), "resources"), role.resources);
  }
  // What is wished of GPUs where none is asked for: it would run without one.
  void gpu_wishes(const std::string& path, const Node* resources, const Resources& asked) {
    if (asked.gpus > 0) return;
    const auto wish = [&](bool is_there, std::string_view field) {
      if (!is_there || is_meant("gpus")) return;
      mistake(format("{}.{}", path, field), find(resources, field), "no GPUs to go with it",
              format("{} beside gpus", field), "add gpus: 1, or take it out");
    };
    wish(!asked.gpu_model.empty(), "gpu_model");
    wish(asked.gpu_share < 1, "gpu_share");
    wish(asked.gpu_memory.has_value(), "gpu_memory");
  }

  void version() {
    const Node* node = root_.find("hearth");
    if (node && spec_.hearth > 1)
      mistake("hearth", node, format("version {} of the format", spec_.hearth), "version 1",
              "write hearth: 1, or run this file with a newer hearth");
  }

  void command_or_roles() {
    const Node* command = root_.find("command");
    const Node* roles = root_.find("roles");
    const Node* resources = root_.find("resources");
    const Node* launch = root_.find("launch");
    if (!command && !roles && !is_meant("command") && !is_meant("roles"))
      mistake("command", &root_, "nothing", "a command, or roles that each have one",
              "add, for example, command: python3 train.py");
    if (command && roles)
      mistake("roles", roles, "command and roles together", "one of command, roles",
              "move the command into a role");
    if (roles && roles->kind == Node::Kind::map && roles->members.empty())
      mistake("roles", roles, "no role", "at least one role",
              "add, for example, worker: {command: python3 train.py}");
    if (roles && resources)
      mistake("resources", resources, "resources beside roles", "resources inside each role",
              "move resources into the roles");
    if (!roles && launch && spec_.launch != Launch::plain)
      mistake("launch", launch, format("'{}' without roles", word(spec_.launch)),
              "plain, or roles to launch", "add roles, or take launch out");
    const bool ranks_alike = spec_.launch == Launch::torchrun || spec_.launch == Launch::mpi;
    if (roles && ranks_alike && spec_.roles.size() > 1)
      mistake("roles", roles, format("{} roles", spec_.roles.size()),
              format("one role with launch: {}", word(spec_.launch)),
              "make one role of them, or write launch: plain");
    if (roles && tasks_of(spec_) > kMostTasksOfJob)
      mistake("roles", roles, format("{} replicas in all", tasks_of(spec_)),
              format("at most {}", kMostTasksOfJob), "ask for fewer replicas");
  }

  void commands() {
    if (const Node* command = root_.find("command")) one_command("command", command, spec_.command);
    for (const auto& [name, role] : spec_.roles) {
      const Node* command = find(find(root_.find("roles"), name), "command");
      if (command) one_command(format("roles.{}.command", name), command, role.command);
    }
  }
  void one_command(const std::string& path, const Node* node, const Command& command) {
    if (!command.words.empty() && command.words[0].empty())
      return mistake(path + "[0]", node, "'' (empty text)", "the program to run", "name a program");
    if (command.words.empty() && trim(command.text).empty())
      return mistake(path, node, "blank text", "a command", "write, for example, python3 train.py");
    const Result<ReadyCommand> ready = make_command(command, spec_.params);
    if (ready.ok()) return;
    for (const FieldError& error : ready.error().errors)
      mistake(path, node, error.found, error.allowed, error.mend);
  }

  void code() {
    const Node* node = root_.find("code");
    const bool directory = find(node, "directory"), git = find(node, "git");
    if (directory && git)
      mistake("code", node, "directory and git together", "one of directory, git",
              "keep one of them");
    if (find(node, "ref") && !git)
      mistake("code.ref", find(node, "ref"), "ref without git", "ref beside git",
              "add git: with the repository's address");
  }

  void labels() {
    for (const auto& [name, value] : spec_.labels)
      if (value.size() > kLongestLabel)
        mistake("labels." + name, find(root_.find("labels"), name),
                format("a text of {} bytes", value.size()),
                format("at most {} bytes", kLongestLabel), "keep long texts in params or files");
  }

  // Names of variables: env and secrets.
  void variables() {
    const Node* env = root_.find("env");
    for (const auto& [name, value] : spec_.env) {
      if (name.starts_with(kReserved)) reserved("env." + name, find(env, name), name);
      if (value.size() > kLongestVariable) too_long("env." + name, find(env, name), value.size());
      const auto& set = launch_variables(spec_.launch);
      if (std::find(set.begin(), set.end(), name) != set.end())
        mistake("env." + name, find(env, name), format("the name '{}'", name),
                format("names that launch: {} does not set", word(spec_.launch)),
                "take it out, or write launch: plain");
    }
    const Node* secrets = root_.find("secrets");
    std::set<std::string_view> seen;
    for (size_t i = 0; i < spec_.secrets.size(); ++i) {
      const std::string& name = spec_.secrets[i];
      const std::string path = format("secrets[{}]", i);
      if (name.starts_with(kReserved)) reserved(path, item(secrets, i), name);
      if (!seen.insert(name).second)
        mistake(path, item(secrets, i), format("'{}' a second time", name), "each secret once",
                "take one of them out");
      if (spec_.env.contains(name))
        mistake(path, item(secrets, i), format("'{}', which env sets too", name),
                "each variable from one place", "take it out of env or of secrets");
    }
  }
  void reserved(std::string path, const Node* node, std::string_view name) {
    mistake(std::move(path), node, format("the name '{}'", name),
            "names that do not begin with HEARTH_ (Hearth sets those)", "choose another name");
  }
  void too_long(std::string path, const Node* node, size_t size) {
    mistake(std::move(path), node, format("a text of {} bytes", size),
            format("at most {} bytes", kLongestVariable), "put it into a file");
  }

  void params() {
    const Node* all = root_.find("params");
    for (const auto& [name, param] : spec_.params) {
      const Node* node = find(all, name);
      const std::string path = "params." + name;
      if (param.value.text.size() > kLongestVariable) too_long(path, node, param.value.text.size());
      one_param(path, node, param);
    }
  }
  void one_param(const std::string& path, const Node* node, const Param& param) {
    const std::string& text = param.value.text;
    if (text.empty()) return;  // told as missing
    if (text == "null")
      return mistake(path, node, "no value", "a text, number, true, false, list or map",
                     "give it a value, or take it out");
    const Node* value_node = find(node, "value") ? find(node, "value") : node;
    const bool is_text = text[0] == '"';
    const std::optional<double> value = is_text ? std::nullopt : real_of(text);
    const bool flag = text == "true" || text == "false";
    if (param.live && !value && !flag)
      mistake(path + ".live", find(node, "live"), format("live, of the value {}", shortened(text)),
              "live of a number, true or false", "take live out, or make the value a number");
    if ((param.min || param.max) && !value)
      return mistake(path + (param.min ? ".min" : ".max"), find(node, param.min ? "min" : "max"),
                     format("a bound of the value {}", shortened(text)), "bounds of numbers",
                     "take min and max out");
    if (param.min && param.max && *param.min > *param.max)
      return mistake(path + ".min", find(node, "min"),
                     format("{}, above the max {}", *param.min, *param.max), "min up to max",
                     "exchange min and max");
    if ((param.min && !(*value >= *param.min)) || (param.max && !(*value <= *param.max)))
      mistake(path + ".value", value_node, text,
              param.min && param.max ? format("a value from {} to {}", *param.min, *param.max)
              : param.min            ? format("a value from {}", *param.min)
                                     : format("a value up to {}", *param.max),
              "change the value or its bounds");
  }

  void datasets() {
    const Node* all = root_.find("datasets");
    std::vector<std::vector<std::string>> places;
    for (size_t i = 0; i < spec_.datasets.size(); ++i) {
      const DatasetUse& use = spec_.datasets[i];
      const Node* node = item(all, i);
      if (!node || node->kind != Node::Kind::map) continue;
      const std::string path = format("datasets[{}]", i);
      const bool name = node->find("name"), is_path = node->find("path");
      if (name == is_path)
        mistake(path, node, name ? "name and path together" : "neither name nor path",
                "one of name, path",
                name ? "keep one of them" : "add, for example, name: fashion-mnist@v1");
      const Node* at = node->find("at");
      std::optional<std::vector<std::string>> parts = parts_inside(place_of(use));
      if (!parts && (at || name || is_path)) outside(path + ".at", at ? at : node, place_of(use));
      if (!parts) continue;
      for (size_t other = 0; other < places.size(); ++other) {
        const size_t common = std::min(places[other].size(), parts->size());
        if (places[other].empty() ||
            !std::equal(parts->begin(), parts->begin() + static_cast<std::ptrdiff_t>(common),
                        places[other].begin()))
          continue;
        mistake(path + ".at", at ? at : node,
                format("'{}', which meets '{}' of datasets[{}]", shortened(place_of(use)),
                       shortened(place_of(spec_.datasets[other])), other),
                "places that do not lie in each other", "choose another place");
        break;
      }
      places.resize(i);
      places.push_back(std::move(*parts));
    }
  }

  void metrics() {
    const Node* all = root_.find("metrics");
    for (size_t i = 0; i < spec_.metrics.event_directories.size(); ++i)
      inside(format("metrics.event_directories[{}]", i), item(find(all, "event_directories"), i),
             spec_.metrics.event_directories[i]);
    for (size_t i = 0; i < spec_.metrics.patterns.size(); ++i) {
      const size_t size = spec_.metrics.patterns[i].size();
      if (size == 0 || size > kLongestPattern)
        mistake(format("metrics.patterns[{}]", i), item(find(all, "patterns"), i),
                format("a text of {} bytes", size), format("1 to {} bytes", kLongestPattern),
                "write an expression with a named group: loss=(?P<loss>[0-9.]+)");
    }
  }

  void outputs() {
    const Node* all = root_.find("outputs");
    if (spec_.outputs.checkpoints) {
      const Node* node = find(find(all, "checkpoints"), "path");
      inside("outputs.checkpoints.path", node, spec_.outputs.checkpoints->path);
    }
    for (size_t i = 0; i < spec_.outputs.models.size(); ++i)
      inside(format("outputs.models[{}].path", i), find(item(find(all, "models"), i), "path"),
             spec_.outputs.models[i].path);
    for (size_t i = 0; i < spec_.outputs.artifacts.size(); ++i)
      inside(format("outputs.artifacts[{}]", i), item(find(all, "artifacts"), i),
             spec_.outputs.artifacts[i]);
  }
  void inside(const std::string& path, const Node* node, const std::string& value) {
    if (node && !parts_inside(value)) outside(path, node, value);
  }
  void outside(std::string path, const Node* node, const std::string& value) {
    mistake(std::move(path), node, format("'{}'", shortened(value)),
            "a path inside the working directory: relative, without '..'",
            "write, for example, data");
  }

  const Node& root_;
  const JobSpec& spec_;
  std::vector<FieldError>& errors_;
};

}  // namespace

void check_job_rules(const Node& root, const JobSpec& spec, std::vector<FieldError>& errors) {
  Rules(root, spec, errors).check();
}

}  // namespace hearth
