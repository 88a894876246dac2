// The tree of commands, without the library that parses it: a command group names its commands,
// their arguments and what they do, and includes this alone.
//
//   Group group = tree.group("job", "Jobs");
//   auto args = std::make_shared<CancelArgs>();
//   group.command("cancel", "Asks a job to end")
//       .needs(args->job, "JOB", "id or name")
//       .flag(args->now, "--now", "without grace")
//       .does([args, &globals] { return cancel(globals, *args); });
//
// What an argument is bound to must live as long as the tree: keep it in the shared_ptr that the
// action holds. Actions run after the whole line was parsed; they answer the exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/local.h"

namespace hearth::cli {

constexpr int kExitOk = 0;
constexpr int kExitOtherEnd = 1;  // wait, --follow: the job did not succeed
constexpr int kExitUsage = 2;
constexpr int kExitTimeout = 9;  // --timeout is over
// Tells that the line was wrong; kExitUsage.
int fail_usage(const std::string& detail, const std::string& mend = "");

// Taken at any place of the line.
struct Globals {
  std::string context, url, project;
  bool json = false;   // one document for programs
  bool quiet = false;  // ids only
};

using Action = std::function<Result<int>()>;

class Command {
 public:
  explicit Command(void* app, Action* chosen) : app_(app), chosen_(chosen) {}
  Command& needs(std::string& into, const std::string& name, const std::string& doc);
  Command& needs(std::vector<std::string>& into, const std::string& name, const std::string& doc);
  Command& may(std::string& into, const std::string& name, const std::string& doc);
  Command& may(std::vector<std::string>& into, const std::string& name, const std::string& doc);
  // `value` is what the help shows for it. A list takes one value each time it stands there.
  Command& option(std::string& into, const std::string& name, const std::string& value,
                  const std::string& doc);
  Command& option(std::vector<std::string>& into, const std::string& name, const std::string& value,
                  const std::string& doc);
  Command& option(std::optional<int64_t>& into, const std::string& name, const std::string& value,
                  const std::string& doc);
  // A YAML file that gives other options of the command, named without their dashes: what the line
  // says itself counts more. Errors when the action runs: invalid, with the line of the file.
  Command& option_file(std::string& into, const std::string& name, const std::string& doc);
  Command& flag(bool& into, const std::string& name, const std::string& doc);
  Command& hidden();
  void does(Action action);

 private:
  void* app_;
  Action* chosen_;
  std::string option_file_;  // its name
};

class Group {
 public:
  Group(void* app, Action* chosen) : app_(app), chosen_(chosen) {}
  Command command(const std::string& name, const std::string& doc);
  // A verb that a later version brings: says so and exits 2, whatever follows.
  void later(const std::string& name, const std::string& doc);

 private:
  void* app_;
  Action* chosen_;
};

class Tree {
 public:
  Tree();
  ~Tree();
  Globals& globals() { return globals_; }
  // The words behind a bare `--`; only `job submit` has a use for them.
  const std::vector<std::string>& tail() const { return tail_; }

  Group top();  // the commands without a noun
  Group group(const std::string& name, const std::string& doc);
  // Parses and runs; the exit code.
  int run(int argc, char** argv);

  struct Word {
    std::string name, doc;
  };
  // For completion: words that may follow each path ("", "job", "job list"), options included.
  std::vector<std::pair<std::string, std::vector<Word>>> paths() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  Globals globals_;
  std::vector<std::string> tail_;
  Action chosen_;
};

// What `version` and --version print (server_commands.cc); kExitOk.
int print_version(const Globals& globals);

// Each in a file of its own.
void add_local_commands(Tree& tree, const LocalCommands& local);
void add_server_commands(Tree& tree, const LocalCommands& local);
void add_context_commands(Tree& tree);
// `token add --data` is the local one.
void add_access_commands(Tree& tree, const LocalCommands& local);
void add_audit_command(Tree& tree);
void add_capacity_commands(Tree& tree);
void add_job_commands(Tree& tree);
void add_job_submit_commands(Tree& tree, Group& job);
void add_run_commands(Tree& tree);
void add_model_commands(Tree& tree);
void add_dataset_commands(Tree& tree);
void add_lineage_command(Tree& tree);
void add_completion_command(Tree& tree);

}  // namespace hearth::cli
