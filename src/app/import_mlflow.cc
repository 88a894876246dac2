// `hearth import mlflow SOURCE`.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <deque>

#include "app/commands.h"
#include "app/mlflow/mover.h"
#include "base/format.h"
#include "base/units.h"
#include "cli/connect.h"
#include "cli/progress.h"
#include "domain/wire/api.h"

namespace hearth::app {
namespace {

constexpr size_t kMostShown = 20;  // problems, and places, on a terminal or in a pipe
constexpr int kInterrupted = 130;  // as shells say of SIGINT

std::atomic<bool> asked_to_stop{false};

void on_signal(int number) {
  asked_to_stop = true;
  // The second Ctrl-C ends it at once: nothing is lost by that.
  std::signal(number, SIG_DFL);
}

// Ctrl-C and SIGTERM let the call in flight end, as long as this lives.
class StopAsked {
 public:
  StopAsked() {
    struct sigaction action{};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~StopAsked() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  StopAsked(const StopAsked&) = delete;
  StopAsked& operator=(const StopAsked&) = delete;

 private:
  struct sigaction interrupt_{}, terminate_{};
};

bool differs(const mlflow::Tally& tally) {
  return tally.brought != tally.source || tally.verified != tally.source;
}

std::string list_json(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? "," : "") + json_quote(text);
  return out + "]";
}

std::string words_of(const Error& error) {
  return error.mend.empty() ? error.detail : format("{} ({})", error.detail, error.mend);
}

void print_json(const mlflow::Store& store, const mlflow::Mover& mover, bool dry_run,
                bool complete) {
  std::string out = format(R"({{"source":{},"dry_run":{},"complete":{},"counts":{{)",
                           json_quote(store.words()), dry_run, complete);
  bool first = true;
  for (const auto& [name, tally] : mover.tallies().rows()) {
    out += format(R"({}"{}":{{"source":{},"brought":{},"verified":{}}})", first ? "" : ",", name,
                  tally->source, tally->brought, tally->verified);
    first = false;
  }
  std::vector<std::string> problems;
  for (const Error& error : mover.problems()) problems.push_back(words_of(error));
  out += format(R"(}},"elsewhere":{},"more_here":{},"problems":{}}})", list_json(mover.elsewhere()),
                list_json(mover.more_here()), list_json(problems));
  cli::print_json(out);
}

std::string amount(const std::string& name, int64_t value) {
  return name == "bytes" ? format_size(value) : std::to_string(value);
}

void print_table(const mlflow::Mover& mover, bool dry_run) {
  cli::Table table(dry_run
                       ? std::vector<std::string>{"", "IN THE STORE"}
                       : std::vector<std::string>{"", "IN THE STORE", "BROUGHT OVER", "VERIFIED"});
  for (const auto& [name, tally] : mover.tallies().rows()) {
    std::string words = name == "points" ? "metric points" : name;
    std::replace(words.begin(), words.end(), '_', ' ');
    std::vector<std::string> cells = {words, amount(name, tally->source)};
    if (!dry_run)
      cells.insert(cells.end(), {amount(name, tally->brought), amount(name, tally->verified)});
    table.row(std::move(cells));
  }
  table.print("");
}

void print_notes(const mlflow::Mover& mover) {
  const auto say = [](std::string_view head, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    std::fprintf(stderr, "%s\n", std::string(head).c_str());
    for (size_t i = 0; i < lines.size() && i < kMostShown; ++i)
      std::fprintf(stderr, "  %s\n", cli::printable(lines[i]).c_str());
    if (lines.size() > kMostShown)
      std::fprintf(stderr, "  and %zu more; --json names them\n", lines.size() - kMostShown);
  };
  say("Not brought over, as the files cannot be read from here:", mover.elsewhere());
  say("More here than there, which is no difference:", mover.more_here());
  std::vector<std::string> problems;
  for (const Error& error : mover.problems()) problems.push_back(words_of(error));
  say("Went wrong:", problems);
}

// The rows that differ; empty: everything is there.
std::vector<std::string> differences(const mlflow::Mover& mover) {
  std::vector<std::string> names;
  for (const auto& [name, tally] : mover.tallies().rows())
    if (differs(*tally)) names.push_back(name);
  return names;
}

}  // namespace

Result<int> import_mlflow(const cli::ImportArgs& args, const cli::Globals& globals) {
  const StopAsked stop;
  const auto keep_on = [] { return !asked_to_stop; };
  auto store = TRY(mlflow::open_store(args.source, {args.artifacts, keep_on}));
  std::optional<cli::Server> server;
  std::deque<client::Client> clients;
  std::deque<mlflow::Target> targets;
  if (!args.dry_run) {
    server.emplace(TRY(cli::Server::open(globals)));
    // It is there, and knows us; a token may be good for one project alone.
    const auto who = TRY(server->api().get_as<WhoAmI>("/api/v1/whoami"));
    const bool asked = !server->project().empty() || who.project.empty();
    const std::string project = asked ? server->project_or_default() : who.project;
    TRY(server->api().get("/api/v1/projects/" + client::path_part(project)));
    for (size_t i = 0; i < mlflow::Mover::kThreads; ++i)
      targets.emplace_back(clients.emplace_back(server->api().context()), project, keep_on);
  }
  std::optional<cli::Progress> progress;
  mlflow::MoveOptions options;
  options.experiments = args.experiments;
  options.at = [&](const std::string& what) { progress->note(what); };
  options.run_done = [&] { progress->add(1); };
  std::vector<mlflow::Target*> senders;
  for (mlflow::Target& target : targets) senders.push_back(&target);
  mlflow::Mover mover(*store, std::move(senders), std::move(options));
  const int64_t runs = TRY(mover.prepare());
  progress.emplace(args.dry_run ? "Counting" : "Importing runs", runs, cli::Progress::Unit::things);
  const auto moved = mover.move();
  progress.reset();
  if (!moved.ok() && asked_to_stop) {
    std::fprintf(stderr, "Stopped. What came over stays; the same command goes on from there.\n");
    return kInterrupted;
  }
  if (!moved.ok()) {
    print_notes(mover);
    return Error(moved.error()).with("the import ended early; the same command goes on from there");
  }
  const auto different = args.dry_run ? std::vector<std::string>{} : differences(mover);
  const bool complete = different.empty() && mover.problems().empty();
  if (globals.json)
    print_json(*store, mover, args.dry_run, complete);
  else if (!globals.quiet)
    print_table(mover, args.dry_run);
  if (!globals.json) print_notes(mover);
  if (!different.empty())
    return cli::fail(cli::kExitOtherEnd, "differs",
                     format("the counts differ: {}", join(different, ", ")));
  return complete ? cli::kExitOk : cli::kExitOtherEnd;
}

}  // namespace hearth::app
