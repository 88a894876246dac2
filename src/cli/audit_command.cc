// audit: who did what.
#include "base/format.h"
#include "cli/connect.h"
#include "domain/event.h"

namespace hearth::cli {
namespace {

struct AuditArgs {
  ListArgs list;
  std::string actor, kind, thing, since, until;
};

std::string who(const Actor& actor) {
  return actor.name.empty() || actor.kind == "user"
             ? printable(actor.name.empty() ? actor.kind : actor.name)
             : format("{} {}", actor.kind, actor.name);
}

Result<int> audit(const Globals& globals, const AuditArgs& args) {
  Server server = TRY(Server::open(globals));
  const client::Query query = {{"project", globals.project}, {"actor", args.actor},
                               {"kind", args.kind},          {"thing", args.thing},
                               {"since", args.since},        {"until", args.until}};
  return show_list<Event>(
      globals, TRY(list_items(server, "/api/v1/audit", query, args.list)), &Event::id,
      Table({"TIME", "WHO", "WHAT", "PROJECT", "ID", "FROM", "CHANGED"}),
      [](const Event& event) -> std::vector<std::string> {
        return {to_rfc3339(event.time),
                who(event.actor),
                event.kind,
                event.project,
                event.id,
                event.actor.address,
                printable(event.changed.text)};
      },
      "Nothing has happened that you may see.");
}

}  // namespace

void add_audit_command(Tree& tree) {
  auto args = std::make_shared<AuditArgs>();
  Group top = tree.top();
  top.command("audit", "Who did what, the newest first")
      .option(args->actor, "--actor", "WHO", "a user, the id of a job or task, or `server`")
      .option(args->kind, "--kind", "K", "job.submitted; or job for all that happens to jobs")
      .option(args->thing, "--thing", "ID", "what it is about")
      .option(args->since, "--since", "T", "a time, or how long ago: 10m")
      .option(args->until, "--until", "T", "a time, or how long ago; it is not within")
      .option(args->list.limit, "--limit", "N", "at most so many")
      .does([args, &globals = tree.globals()] { return audit(globals, *args); });
}

}  // namespace hearth::cli
