#include "cli/option_file.h"

#include <CLI/App.hpp>

#include "base/format.h"
#include "base/units.h"
#include "domain/codec.h"
#include "os/files.h"

namespace hearth::cli {
namespace {

// What a file may say: the long names of the command's own options.
std::map<std::string, CLI::Option*> options_of(CLI::App& app, const CLI::Option& file) {
  std::map<std::string, CLI::Option*> options;
  for (CLI::Option* option : app.get_options())
    if (option != &file && !option->get_lnames().empty())
      options[option->get_lnames().front()] = option;
  options.erase("help");
  return options;
}

bool is_scalar(const Node& node) {
  return node.kind != Node::Kind::null && node.kind != Node::Kind::list &&
         node.kind != Node::Kind::map;
}

// What the line would say; nothing when it may not stand there.
std::optional<std::vector<std::string>> values_of(const CLI::Option& option, const Node& node) {
  if (option.get_items_expected_max() == 0) {
    if (node.kind != Node::Kind::boolean) return std::nullopt;
    return std::vector{node.text};
  }
  if (is_scalar(node)) return std::vector{node.text};
  if (node.kind != Node::Kind::list || option.get_items_expected_max() == 1) return std::nullopt;
  std::vector<std::string> values;
  for (const Node& item : node.items) {
    if (!is_scalar(item)) return std::nullopt;
    values.push_back(item.text);
  }
  return values;
}

std::string found_words(const Node& node) {
  if (node.kind == Node::Kind::list) return "a list";
  if (node.kind == Node::Kind::map) return "a mapping";
  return node.kind == Node::Kind::null ? "nothing" : node.text;
}

std::string allowed_words(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "true or false";
  return option.get_items_expected_max() == 1 ? "a text" : "a text or a list of texts";
}

}  // namespace

Result<void> read_option_file(CLI::App& app, const CLI::Option& file) {
  if (file.count() == 0) return {};
  const std::string& path = file.results().front();
  auto root = parse_yaml(TRY(os::read_file(path, kMostDocumentBytes)));
  if (!root.ok()) return std::move(root).error().with(path);
  if (root->kind == Node::Kind::null) return {};  // all in it is commented out
  Error wrong = Error::invalid(format("{} does not give options", path),
                               format("`hearth {} --help` names them", app.get_name()));
  if (root->kind != Node::Kind::map) {
    wrong.errors.push_back({"the file", root->line, found_words(*root),
                            "a mapping such as `listen: 127.0.0.1:8470`", ""});
    return wrong;
  }
  const auto options = options_of(app, file);
  std::vector<std::string> names;
  for (const auto& [name, option] : options) names.push_back(name);
  for (const Node::Member& member : root->members) {
    const auto at = options.find(member.key);
    if (at == options.end()) {
      const std::string near = nearest(member.key, names);
      wrong.errors.push_back({member.key, member.line, member.key, format("{}", join(names, ", ")),
                              near.empty() ? "" : format("did you mean `{}`?", near)});
      continue;
    }
    CLI::Option& option = *at->second;
    const auto values = values_of(option, member.value);
    if (!values) {
      wrong.errors.push_back(
          {member.key, member.line, found_words(member.value), allowed_words(option), ""});
      continue;
    }
    if (option.count() > 0) continue;  // the line counts more
    if (option.get_items_expected_max() == 0 && *values != std::vector<std::string>{"true"})
      continue;
    for (const std::string& value : *values) option.add_result(value);
    if (!values->empty()) option.run_callback();
  }
  if (!wrong.errors.empty()) return wrong;
  return {};
}

}  // namespace hearth::cli
