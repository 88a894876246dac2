#include "cli/tree.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/format.h"
#include "base/units.h"
#include "cli/option_file.h"
#include "cli/output.h"
#include "domain/scalar.h"

namespace hearth::cli {
namespace {

CLI::App& app_of(void* app) {
  return *static_cast<CLI::App*>(app);
}

CLI::App* add(CLI::App& above, const std::string& name, const std::string& doc) {
  CLI::App* app = above.add_subcommand(name, doc);
  app->fallthrough();  // the options of the whole program stand anywhere
  return app;
}

// The nearest command to a word that is none.
std::string nearest_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({}))
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  return nearest(word, names);
}

// The nearest option of a command to a word that is none of its.
std::string nearest_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent())
    for (const CLI::Option* option : at->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return nearest(word.substr(0, word.find('=')), names);
}

const CLI::App& deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? "hearth" : path_of(*app.get_parent()) + " " + app.get_name();
}

// A line that cannot be read, with what was probably meant.
int refuse(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = deepest(app);
  const std::vector<std::string> unknown = app.remaining(true);
  const std::string word = unknown.empty() ? "" : unknown.front();
  const std::string path = path_of(at);
  std::string detail = error.what(), near;
  if (word.size() > 1 && word.starts_with('-')) {
    detail = format("`{}` has no option {}", path, word);
    near = nearest_option(at, word);
  } else if (!word.empty() && !at.get_subcommands({}).empty()) {
    detail = format("there is no command `{} {}`", path, word);
    near = nearest_command(at, word);
    if (!near.empty()) near = path + " " + near;
  }
  std::string meant = near.empty() ? "" : format("did you mean `{}`? ", near);
  if (!word.empty() && near == word)
    meant = format("{} goes behind the command that it is of; ", word);
  return fail_usage(detail, format("{}see `{} --help`", meant, path));
}

}  // namespace

int fail_usage(const std::string& detail, const std::string& mend) {
  return fail(kExitUsage, "usage", detail, mend);
}

Command& Command::needs(std::string& into, const std::string& name, const std::string& doc) {
  app_of(app_).add_option(name, into, doc)->required();
  return *this;
}

Command& Command::needs(std::vector<std::string>& into, const std::string& name,
                        const std::string& doc) {
  app_of(app_).add_option(name, into, doc)->required();
  return *this;
}

Command& Command::may(std::string& into, const std::string& name, const std::string& doc) {
  app_of(app_).add_option(name, into, doc);
  return *this;
}

Command& Command::may(std::vector<std::string>& into, const std::string& name,
                      const std::string& doc) {
  app_of(app_).add_option(name, into, doc);
  return *this;
}

Command& Command::option(std::string& into, const std::string& name, const std::string& value,
                         const std::string& doc) {
  app_of(app_).add_option(name, into, doc)->type_name(value);
  return *this;
}

Command& Command::option(std::vector<std::string>& into, const std::string& name,
                         const std::string& value, const std::string& doc) {
  app_of(app_).add_option(name, into, doc)->type_name(value)->allow_extra_args(false);
  return *this;
}

Command& Command::option(std::optional<int64_t>& into, const std::string& name,
                         const std::string& value, const std::string& doc) {
  app_of(app_)
      .add_option_function<std::string>(
          name,
          [&into, name](const std::string& text) {
            into = integer_of(text);
            if (!into) throw CLI::ValidationError(name, format("'{}' is no whole number", text));
          },
          doc)
      ->type_name(value);
  return *this;
}

Command& Command::option_file(std::string& into, const std::string& name, const std::string& doc) {
  option_file_ = name;
  return option(into, name, "FILE", doc);
}

Command& Command::flag(bool& into, const std::string& name, const std::string& doc) {
  app_of(app_).add_flag(name, into, doc);
  return *this;
}

Command& Command::hidden() {
  app_of(app_).group("");
  return *this;
}

void Command::does(Action action) {
  CLI::App* app = &app_of(app_);
  if (!option_file_.empty())
    action = [app, name = option_file_, then = std::move(action)]() -> Result<int> {
      TRY(read_option_file(*app, *app->get_option(name)));
      return then();
    };
  app->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
}

Command Group::command(const std::string& name, const std::string& doc) {
  return Command(add(app_of(app_), name, doc), chosen_);
}

void Group::later(const std::string& name, const std::string& doc) {
  CLI::App* app = add(app_of(app_), name, doc + " (a later version)");
  app->allow_extras();
  app->fallthrough(false);  // whatever follows stays here
  app->prefix_command();
  app->callback([chosen = chosen_, app] {
    *chosen = [app]() -> Result<int> {
      return fail_usage(format("`{}` comes with a later version of Hearth; this is {}",
                               path_of(*app), HEARTH_VERSION));
    };
  });
}

struct Tree::State {
  CLI::App app{"Hearth: from raw data to a served model, in one program.", "hearth"};
};

Tree::Tree() : state_(std::make_unique<State>()) {
  CLI::App& app = state_->app;
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default(false);
  app.add_option("--context", globals_.context, "server to speak to, by name or id");
  app.add_option("--url", globals_.url, "server to speak to, by address (or HEARTH_URL)");
  app.add_option("--project", globals_.project,
                 "project; default: the context's, or default; in lists all");
  app.add_flag("--json", globals_.json, "output for programs: one JSON document");
  app.add_flag("-q,--quiet", globals_.quiet, "ids only");
  // Last: by the time it is met, --json has been read.
  app.set_version_flag("--version", "", "prints the version of this program");
}

Tree::~Tree() = default;

Group Tree::top() {
  return Group(&state_->app, &chosen_);
}

Group Tree::group(const std::string& name, const std::string& doc) {
  CLI::App* app = add(state_->app, name, doc);
  app->require_subcommand(1);
  return Group(app, &chosen_);
}

int Tree::run(int argc, char** argv) {
  CLI::App& app = state_->app;
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto bare = std::find(words.begin(), words.end(), "--");
  if (bare != words.end()) {
    tail_.assign(bare + 1, words.end());
    words.erase(bare, words.end());
  }
  // Said before the line is read: it may be what cannot be read.
  tell_errors_in_json(std::ranges::any_of(
      words, [](const std::string& word) { return word == "--json" || word == "--json=true"; }));
  std::reverse(words.begin(), words.end());  // as CLI11 wants it
  try {
    app.parse(words);
  } catch (const CLI::CallForVersion&) {
    return print_version(globals_);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return refuse(app, error);
  }
  if (!tail_.empty() && !(deepest(app).get_name() == "submit"))
    return fail_usage(format("`{}` takes nothing behind --", path_of(deepest(app))));
  if (!chosen_) return kExitUsage;
  const auto code = chosen_();
  return code.ok() ? *code : fail(code.error());
}

std::vector<std::pair<std::string, std::vector<Tree::Word>>> Tree::paths() const {
  std::vector<std::pair<std::string, std::vector<Word>>> found;
  const std::function<void(const CLI::App&, const std::string&)> visit =
      [&](const CLI::App& app, const std::string& path) {
        std::vector<Word> words;
        std::vector<const CLI::App*> subs;
        for (const CLI::App* sub : app.get_subcommands({}))
          if (!sub->get_group().empty()) subs.push_back(sub);
        for (const CLI::App* sub : subs) words.push_back({sub->get_name(), sub->get_description()});
        for (const CLI::App* at = &app; at != nullptr; at = at->get_parent())
          for (const CLI::Option* option : at->get_options())
            for (const std::string& name : option->get_lnames())
              words.push_back({"--" + name, option->get_description()});
        found.emplace_back(path, std::move(words));
        for (const CLI::App* sub : subs)
          visit(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name());
      };
  visit(state_->app, "");
  return found;
}

int run(int argc, char** argv, const LocalCommands& local) {
  Tree tree;
  add_local_commands(tree, local);
  add_job_commands(tree);
  add_run_commands(tree);
  add_model_commands(tree);
  add_dataset_commands(tree);
  add_context_commands(tree);
  add_access_commands(tree, local);
  add_audit_command(tree);
  add_capacity_commands(tree);
  add_server_commands(tree, local);
  add_completion_command(tree);
  return tree.run(argc, argv);
}

}  // namespace hearth::cli
