// status, version, backup, and the nouns of later versions.
#include <cmath>

#include "base/format.h"
#include "base/id.h"
#include "base/units.h"
#include "cli/connect.h"
#include "domain/wire/api.h"
#include "os/file_events.h"
#include "os/system.h"

namespace hearth::cli {
namespace {

std::string backup_words(const std::optional<KeptBackup>& backup) {
  if (!backup) return "none";
  return format("{}, {}:{} ({})", when(backup->created_at), printable(backup->host),
                printable(backup->path), format_size(backup->size_bytes));
}

// "" while the server's clock is the machine's.
std::string clock_words(double ahead_seconds) {
  if (ahead_seconds == 0) return "";
  return format("{} {} that of the machine, which was set anew; followed once no job runs",
                format_duration(Duration::seconds(std::abs(ahead_seconds))),
                ahead_seconds > 0 ? "ahead of" : "behind");
}

// "" while it is not drained.
std::string drain_words(const ServerStatus& found) {
  if (!found.draining) return "";
  return format(
      "no job starts any more; it ends when {} ended; `hearth down --resume` lets jobs start again",
      found.waits_for_tasks == 1 ? "the task that runs has"
                                 : format("the {} tasks that run have", found.waits_for_tasks));
}

std::string kept_words(const KeptFor& kept) {
  constexpr int64_t kDay = 86'400;
  const auto span = [](double seconds) {
    const auto whole = static_cast<int64_t>(seconds);
    return whole % kDay == 0 ? format("{} d", whole / kDay)
                             : format_duration(Duration::seconds(seconds));
  };
  return format("deleted runs {}, events {}, logs {}", span(kept.deleted_runs_seconds),
                span(kept.events_seconds),
                kept.logs_seconds > 0 ? span(kept.logs_seconds) : "for ever");
}

Result<int> status(const Globals& globals) {
  Server server = TRY(Server::open(globals));
  const auto ready = server.api().get("/readyz");
  if (!ready.ok() && ready.error().code == Code::unreachable) return ready.error();
  auto asked = server.api().get("/api/v1/status");
  // The damage may lie where the rest would be read from: what is known is said all the same.
  if (!asked.ok() && !ready.ok())
    return asked.error().code == Code::internal ? asked.error() : ready.error();
  const std::string answer = TRY(std::move(asked));
  const auto found = TRY(from_json<ServerStatus>(answer));
  const int code = ready.ok() && found.ready ? kExitOk : info(Code::unavailable).exit_code;
  if (globals.json) {
    print_json(answer);
    return code;
  }
  if (globals.quiet) return code;
  std::string jobs;
  for (const auto& [state, count] : found.jobs)
    jobs += format("{}{} {}", jobs.empty() ? "" : ", ", count, state);
  Facts()
      .add("server", server.api().context().url)
      .add("ready", code == kExitOk ? "yes" : "no")
      .add("because", !found.refusing.empty() || ready.ok() ? found.refusing : ready.error().detail)
      .add("mend", !found.mend.empty() || ready.ok() ? found.mend : ready.error().mend)
      .add("draining", drain_words(found))
      .add("version", found.version)
      .add("server id", found.server_id)
      .add("up for", format_duration(Duration::seconds(found.uptime_seconds)))
      .add("jobs", jobs.empty() ? "none" : jobs)
      .add("last backup", backup_words(found.last_backup))
      .add("nodes", found.lent)
      .add("keeps", kept_words(found.kept))
      .add("clock", clock_words(found.clock_ahead_seconds))
      .print();
  return code;
}

Result<int> backup(const Globals& globals, const std::string& file) {
  Server server = TRY(Server::open(globals));
  KeptBackup kept;
  kept.id = new_id();
  kept.host = os::hostname();
  kept.path = os::absolute_path(file);
  Download what;
  what.path = "/api/v1/backup";
  what.query = {{"id", kept.id}};
  what.file = file;
  what.label = "Backup";
  const int64_t bytes = TRY(download(server, what));
  const auto noted = server.api().send("POST", "/api/v1/backup", to_json(kept));
  if (!noted.ok())
    std::fprintf(stderr, "the server did not take note of it: %s\n", noted.error().text().c_str());
  if (globals.json)
    print_json(format("{{\"file\":{},\"size_bytes\":{}}}", json_quote(file), bytes));
  else if (!globals.quiet)
    std::fprintf(stderr,
                 "%s: %s. The key of the secrets is not in it; keep that elsewhere.\n"
                 "  hearth restore %s --data DIR   puts it into an empty directory\n",
                 file.c_str(), format_size(bytes).c_str(), file.c_str());
  return kExitOk;
}

void add_later_nouns(Tree& tree) {
  Group top = tree.top();
  for (const auto& [name, doc] : {std::pair{"env", "Environments with names and versions"},
                                  {"runtime", "Framework runtimes"}})
    top.later(name, doc);
}

void add_backup(Group& top, const Globals& globals, const LocalCommands& local) {
  struct Line {
    BackupArgs args;
    bool salvage = false;
  };
  auto line = std::make_shared<Line>();
  top.command("backup", "Saves the whole server while it runs")
      .needs(line->args.file, "FILE", "a tar file")
      .flag(line->salvage, "--salvage",
            "what is whole of a damaged data directory; needs no server")
      .option(line->args.data, "--data", "DIR", "with --salvage: the data directory")
      .does([line, &globals, &local]() -> Result<int> {
        if (line->salvage) return local.salvage(line->args);
        if (!line->args.data.empty())
          return Error::invalid("--data goes with --salvage",
                                "without it the server that --url or the context names is saved");
        return backup(globals, line->args.file);
      });
}

}  // namespace

int print_version(const Globals& globals) {
  put(globals.json ? "{\"version\":\"" HEARTH_VERSION "\"}\n" : "hearth " HEARTH_VERSION "\n");
  return kExitOk;
}

void add_server_commands(Tree& tree, const LocalCommands& local) {
  Group top = tree.top();
  const Globals& globals = tree.globals();
  top.command("status", "How the server is; exits 0 when it is ready, 6 when it is not reached")
      .does([&globals] { return status(globals); });
  top.command("version", "Prints the version of this program, as --version does")
      .does([&globals]() -> Result<int> { return print_version(globals); });
  add_backup(top, globals, local);
  add_lineage_command(tree);
  add_later_nouns(tree);
}

}  // namespace hearth::cli
