// status, version, backup, node list, and the nouns of later versions.
#include "base/format.h"
#include "base/units.h"
#include "cli/connect.h"
#include "domain/node.h"
#include "domain/wire/api.h"

namespace hearth::cli {
namespace {

Result<int> status(const Globals& globals) {
  Server server = TRY(Server::open(globals));
  const auto ready = server.api().get("/readyz");
  if (!ready.ok() && ready.error().code == Code::unreachable) return ready.error();
  const std::string answer = TRY(server.api().get("/api/v1/status"));
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
      .add("because", !ready.ok() ? ready.error().detail : found.refusing)
      .add("version", found.version)
      .add("server id", found.server_id)
      .add("up for", format_duration(Duration::seconds(found.uptime_seconds)))
      .add("jobs", jobs.empty() ? "none" : jobs)
      .print();
  return code;
}

Result<int> backup(const Globals& globals, const std::string& file) {
  Server server = TRY(Server::open(globals));
  Download what;
  what.path = "/api/v1/backup";
  what.file = file;
  what.label = "Backup";
  const int64_t bytes = TRY(download(server, what));
  if (globals.json)
    print_json(format("{{\"file\":{},\"size_bytes\":{}}}", json_quote(file), bytes));
  else if (!globals.quiet)
    std::fprintf(stderr,
                 "%s: %s. The key of the secrets is not in it; keep that elsewhere.\n"
                 "  hearth restore %s --data DIR   puts it into an empty directory\n",
                 file.c_str(), format_size(bytes).c_str(), file.c_str());
  return kExitOk;
}

Result<int> list_nodes(const Globals& globals) {
  Server server = TRY(Server::open(globals));
  return show_list<NodeInfo>(
      globals, TRY(list_items(server, "/api/v1/nodes", {})), &NodeInfo::name,
      Table({"NAME", "POOL", "READY", "CPUS", "MEMORY", "GPUS", "PROBLEM"}),
      [](const NodeInfo& node) -> std::vector<std::string> {
        return {node.name,
                node.pool,
                node.ready && !node.cordoned ? "yes" : "no",
                number_text(node.cpus),
                format_size(node.memory_bytes),
                std::to_string(node.gpus.size()),
                printable(node.problem)};
      },
      "There is no node.");
}

void add_later_nouns(Tree& tree) {
  Group top = tree.top();
  for (const auto& [name, doc] : {std::pair{"env", "Environments with names and versions"},
                                  {"quota", "Limits of projects"},
                                  {"pool", "Pools of nodes"},
                                  {"runtime", "Framework runtimes"},
                                  {"simulate", "The scheduler on a trace"},
                                  {"import", "Runs out of MLflow"}})
    top.later(name, doc);
}

}  // namespace

void add_server_commands(Tree& tree) {
  Group top = tree.top();
  const Globals& globals = tree.globals();
  top.command("status", "How the server is; exits 0 when it is ready, 6 when it is not reached")
      .does([&globals] { return status(globals); });
  top.command("version", "Prints the version of this program").does([&globals]() -> Result<int> {
    put(globals.json ? "{\"version\":\"" HEARTH_VERSION "\"}\n" : "hearth " HEARTH_VERSION "\n");
    return kExitOk;
  });
  auto file = std::make_shared<std::string>();
  top.command("backup", "Saves the whole server while it runs")
      .needs(*file, "FILE", "a tar file")
      .does([file, &globals] { return backup(globals, *file); });
  add_lineage_command(tree);
  Group node = tree.group("node", "Machines that run tasks");
  node.command("list", "Lists them").does([&globals] { return list_nodes(globals); });
  node.later("cordon", "Closes a node to new tasks");
  node.later("drain", "Empties a node");
  add_later_nouns(tree);
}

}  // namespace hearth::cli
