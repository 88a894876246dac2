// quota, pool, node, reservation: what there is and who may have it.
#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/units.h"
#include "cli/amounts.h"
#include "cli/connect.h"
#include "cli/guarantees.h"
#include "domain/capacity.h"

namespace hearth::cli {
namespace {

using client::path_part;

// Only what is used of what the quota names, or of GPUs and CPUs where it names nothing.
std::string used_words(const QuotaStatus& status) {
  Amounts used = status.used;
  const auto named = [&](auto member) {
    return (status.quota.guaranteed.*member).has_value() ||
           (status.quota.limit.*member).has_value();
  };
  if (!named(&Amounts::memory_bytes)) used.memory_bytes.reset();
  if (!named(&Amounts::cpus) && used.gpus.value_or(0) > 0) used.cpus.reset();
  if (used.gpus.value_or(0) == 0 && !named(&Amounts::gpus)) used.gpus.reset();
  if (!used.gpu_models.empty()) used.gpus.reset();
  return words_of(used);
}

Result<int> list_quotas(const Globals& globals) {
  Server server = TRY(Server::open(globals));
  const auto items = TRY(list_items(server, "/api/v1/quotas", {}));
  if (globals.json) {
    print_list_json(items);
    return kExitOk;
  }
  Table table({"PROJECT", "PARENT", "WEIGHT", "GUARANTEED", "LIMIT", "USED", "BORROWED", "RUNNING",
               "QUEUED"});
  for (const Node& item : items) {
    const auto one = TRY(from_node<QuotaStatus>(item));
    if (globals.quiet)
      put(one.quota.project + "\n");
    else
      table.row({one.quota.project, one.parent, number_text(one.quota.weight),
                 words_of(one.quota.guaranteed), words_of(one.quota.limit), used_words(one),
                 words_of(one.borrowed), std::to_string(one.running), std::to_string(one.queued)});
  }
  if (!globals.quiet) table.print("There is no project that you may see.");
  return kExitOk;
}

std::string quota_path(const std::string& project) {
  return "/api/v1/projects/" + path_part(project) + "/quota";
}

Result<int> show_quota(const Globals& globals, const std::string& project) {
  Server server = TRY(Server::open(globals));
  const std::string answer = TRY(server.api().get(quota_path(project)));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto one = TRY(from_json<QuotaStatus>(answer, Origin::server));
  const auto or_none = [](const std::string& text) { return text.empty() ? "nothing" : text; };
  Facts()
      .add("project", one.quota.project)
      .add("parent", one.parent)
      .add("guaranteed", or_none(words_of(one.quota.guaranteed)))
      .add("limit", one.quota.limit == Amounts{} ? "none" : words_of(one.quota.limit))
      .add("weight", number_text(one.quota.weight))
      .add("used", or_none(words_of(one.used)))
      .add("borrowed", words_of(one.borrowed))
      .add("jobs", format("{} running, {} queued", one.running, one.queued))
      .add("set by", one.quota.changed_by)
      .add("set", ago(one.quota.changed_at))
      .print();
  return kExitOk;
}

// Nodes may come later, so more than there is can be guaranteed; but not without a word.
Result<void> warn_of_guarantee(Server& server, const Amounts& changed) {
  const auto quotas = TRY(server.api().list<QuotaStatus>("/api/v1/quotas"));
  const auto nodes = TRY(server.api().list<NodeStatus>("/api/v1/cluster"));
  const std::string words = beyond_what_is_there(changed, quotas, nodes);
  if (!words.empty()) std::fprintf(stderr, "%s\n", words.c_str());
  return {};
}

struct QuotaArgs {
  std::string project, weight;
  std::vector<std::string> guaranteed, limit;
};

Result<int> set_quota(const Globals& globals, const QuotaArgs& args) {
  if (args.guaranteed.empty() && args.limit.empty() && args.weight.empty())
    return Error::invalid("nothing to set",
                          "say --guarantee gpus=8, --limit gpus=16 or --weight 2");
  Server server = TRY(Server::open(globals));
  Quota quota = TRY(server.api().get_as<QuotaStatus>(quota_path(args.project))).quota;
  for (const std::string& text : args.guaranteed) TRY(take_amounts(quota.guaranteed, text));
  for (const std::string& text : args.limit) TRY(take_amounts(quota.limit, text));
  if (!args.weight.empty()) quota.weight = TRY(number_of(args.weight, "--weight"));
  net::Headers extra;
  if (!quota.id.empty()) extra.set("If-Match", format("\"{}\"", quota.version));
  const std::string body = format(R"({{"weight":{},"guaranteed":{},"limit":{}}})", quota.weight,
                                  to_json(quota.guaranteed), to_json(quota.limit));
  const std::string answer =
      TRY(server.api().send("PUT", quota_path(args.project), body, {}, "application/json", extra));
  const std::string promised = words_of(quota.guaranteed), most = words_of(quota.limit);
  const int code = say(globals, answer,
                       format("{}: guaranteed {}, limit {}, weight {}.", args.project,
                              promised.empty() ? "nothing" : promised, most.empty() ? "none" : most,
                              number_text(quota.weight)));
  // The quota is set, whether or not the rest can be asked.
  if (!args.guaranteed.empty() && !globals.quiet)
    ignore(warn_of_guarantee(server, quota.guaranteed));
  return code;
}

void add_quota_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("quota", "What projects are promised, and where they end");
  group.command("list", "Lists quotas and what is used of them").does([&globals] {
    return list_quotas(globals);
  });
  auto shown = std::make_shared<std::string>();
  group.command("show", "The quota of one project")
      .needs(*shown, "PROJECT", "name")
      .does([shown, &globals] { return show_quota(globals, *shown); });
  auto set = std::make_shared<QuotaArgs>();
  group.command("set", "Changes what is named; the rest stays")
      .needs(set->project, "PROJECT", "name")
      .option(set->guaranteed, "--guarantee", "WHAT=N,...",
              "gpus=8,cpus=64,memory=256GiB,H100=4; WHAT=none takes it out")
      .option(set->limit, "--limit", "WHAT=N,...", "the same")
      .option(set->weight, "--weight", "N", "of its fair share beside others; 1 unless set")
      .does([set, &globals] { return set_quota(globals, *set); });
  auto gone = std::make_shared<std::string>();
  group.command("delete", "Promises nothing and bounds nothing any more")
      .needs(*gone, "PROJECT", "name")
      .does([gone, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        TRY(server.api().send("DELETE", quota_path(*gone)));
        return say(globals, "", format("Project {} has no quota of its own any more.", *gone));
      });
}

Result<int> list_pools(const Globals& globals) {
  Server server = TRY(Server::open(globals));
  const auto items = TRY(list_items(server, "/api/v1/pools", {}));
  if (globals.json) {
    print_list_json(items);
    return kExitOk;
  }
  Table table({"NAME", "NODES", "OPEN", "GPUS", "FREE", "CPUS", "FREE", "TASKS", "RULES"});
  for (const Node& item : items) {
    const auto one = TRY(from_node<PoolStatus>(item));
    std::vector<std::string> rules;
    if (one.pool.packing != Packing::centralized) rules.emplace_back("equalized");
    if (one.pool.by_name_only) rules.emplace_back("by name only");
    if (!one.pool.preempts) rules.emplace_back("nothing is stopped");
    if (!one.pool.service_levels.empty()) rules.emplace_back("levels of service");
    if (const double least = one.pool.minimum_run_seconds; least != Pool().minimum_run_seconds)
      rules.push_back(format("runs {} at least", format_duration(Duration::seconds(least))));
    if (globals.quiet)
      put(one.pool.name + "\n");
    else
      table.row({one.pool.name, std::to_string(one.nodes), std::to_string(one.open_nodes),
                 std::to_string(one.gpus), number_text(one.free_gpus), number_text(one.cpus),
                 number_text(one.free_cpus), std::to_string(one.tasks), joined(rules, ", ")});
  }
  if (!globals.quiet) table.print("There is no pool.");
  return kExitOk;
}

Result<bool> yes_or_no(const std::string& text, const std::string& option) {
  if (text == "yes" || text == "true") return true;
  if (text == "no" || text == "false") return false;
  return Error::invalid(format("{} {}", option, text), "say yes or no");
}

struct PoolArgs {
  std::string name, packing, by_name_only, preempts, saves, minimum_run, levels, description;
};

Result<void> take_pool(Pool& pool, const PoolArgs& args) {
  if (!args.packing.empty()) {
    const auto packing = from_word<Packing>(args.packing);
    if (!packing)
      return Error::invalid("--packing " + args.packing, "there are centralized and equalized");
    pool.packing = *packing;
  }
  if (!args.by_name_only.empty())
    pool.by_name_only = TRY(yes_or_no(args.by_name_only, "--by-name-only"));
  if (!args.preempts.empty()) pool.preempts = TRY(yes_or_no(args.preempts, "--preempts"));
  if (!args.saves.empty())
    pool.saves_when_stopped = TRY(yes_or_no(args.saves, "--saves-when-stopped"));
  if (!args.minimum_run.empty())
    pool.minimum_run_seconds = TRY(parse_duration(args.minimum_run)).seconds();
  if (!args.levels.empty()) {
    pool.service_levels.clear();
    for (const auto part : split(args.levels == "none" ? "" : args.levels, ','))
      if (!part.empty())
        pool.service_levels.push_back(TRY(number_of(std::string(part), "--service-levels")));
  }
  if (!args.description.empty()) pool.description = args.description;
  return {};
}

Result<int> set_pool(const Globals& globals, const PoolArgs& args) {
  Server server = TRY(Server::open(globals));
  const std::string path = "/api/v1/pools/" + path_part(args.name);
  Pool pool;
  auto found = server.api().get_as<PoolStatus>(path);
  if (!found.ok() && found.error().code != Code::not_found) return std::move(found).error();
  if (found.ok()) pool = found->pool;
  TRY(take_pool(pool, args));
  net::Headers extra;
  if (!pool.id.empty()) extra.set("If-Match", format("\"{}\"", pool.version));
  const std::string answer =
      TRY(server.api().send("PUT", path, request_json(pool), {}, "application/json", extra));
  return say(globals, answer, format("Pool {} is set.", args.name));
}

void add_pool_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("pool", "Nodes that are scheduled alike");
  group.command("list", "Lists pools").does([&globals] { return list_pools(globals); });
  auto shown = std::make_shared<std::string>();
  group.command("show", "Rules of a pool and what is in it")
      .needs(*shown, "POOL", "name")
      .does([shown, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        const std::string answer = TRY(server.api().get("/api/v1/pools/" + path_part(*shown)));
        if (globals.json) {
          print_json(answer);
          return kExitOk;
        }
        const auto one = TRY(from_json<PoolStatus>(answer, Origin::server));
        const Pool& pool = one.pool;
        std::vector<std::string> models;
        for (const auto& [model, count] : one.gpu_models)
          models.push_back(format("{} {}", count, printable(model)));
        Facts()
            .add("name", pool.name)
            .add("description", printable(pool.description))
            .add("nodes", format("{}, {} open", one.nodes, one.open_nodes))
            .add("gpus", joined(models, ", "))
            .add("free",
                 format("{}, {}", plural(one.free_gpus, "GPU"), plural(one.free_cpus, "CPU")))
            .add("tasks", std::to_string(one.tasks))
            .add("packing", std::string(word(pool.packing)))
            .add("by name only", pool.by_name_only ? "yes" : "no")
            .add("preempts", pool.preempts ? "yes" : "no")
            .add("minimum run", format_duration(Duration::seconds(pool.minimum_run_seconds)))
            .print();
        return kExitOk;
      });
  auto set = std::make_shared<PoolArgs>();
  group.command("set", "Makes a pool, or changes the rules that are named")
      .needs(set->name, "POOL", "name")
      .option(set->packing, "--packing", "P", "centralized (fills nodes up) or equalized")
      .option(set->by_name_only, "--by-name-only", "yes|no", "runs only jobs that say `pool: POOL`")
      .option(set->preempts, "--preempts", "yes|no", "jobs may be stopped for others")
      .option(set->saves, "--saves-when-stopped", "yes|no", "jobs lose no work when stopped")
      .option(set->minimum_run, "--minimum-run", "D", "before a job may be stopped for another")
      .option(set->levels, "--service-levels", "S,...",
              "GPU-seconds; past each, a job makes room for those that have had less; none")
      .option(set->description, "--description", "TEXT", "for people")
      .does([set, &globals] { return set_pool(globals, *set); });
  auto gone = std::make_shared<std::string>();
  group.command("delete", "Takes the rules away; its nodes stay in it by the default ones")
      .needs(*gone, "POOL", "name")
      .does([gone, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        TRY(server.api().send("DELETE", "/api/v1/pools/" + path_part(*gone)));
        return say(globals, "", format("Pool {} has no rules of its own.", *gone));
      });
}

std::string state_of(const NodeInfo& node, Time now) {
  if (!node.ready) return "down";
  const bool over = node.closes_at.micros != 0 && node.closes_at <= now;
  if (over && node.kept_for.empty()) return "drained";
  if (node.cordoned) return node.closes_at.micros != 0 ? "draining" : "cordoned";
  if (over) return "reserved";
  return "open";
}

// "8 H100", "4 A100, 4 L4 (lent)".
std::string gpus_of(const NodeInfo& node) {
  std::map<std::string, int64_t> models;
  for (const Gpu& gpu : node.gpus) ++models[gpu.model];
  std::vector<std::string> parts;
  for (const auto& [model, count] : models)
    parts.push_back(format("{}{}{}", count, model.empty() ? "" : " ", printable(model)));
  if (parts.empty()) parts.emplace_back("0");
  return joined(parts, ", ") + (node.lent ? " (lent)" : "");
}

Result<int> list_nodes(const Globals& globals) {
  Server server = TRY(Server::open(globals));
  const auto items = TRY(list_items(server, "/api/v1/cluster", {}));
  if (globals.json) {
    print_list_json(items);
    return kExitOk;
  }
  const Time now = system_clock().now();
  Table table({"NAME", "POOL", "STATE", "CPUS", "MEMORY", "GPUS", "FREE", "TASKS", "NOTE"});
  for (const Node& item : items) {
    const auto one = TRY(from_node<NodeStatus>(item));
    const NodeInfo& node = one.node;
    std::string note = node.problem.empty() ? node.closes_for : node.problem;
    if (node.problem.empty() && node.closes_at > now)
      note = format("from {}: {}", when(node.closes_at), note);
    for (const Gpu& gpu : node.gpus)
      if (!gpu.healthy && note.empty()) note = format("GPU {}: {}", gpu.index, gpu.problem);
    if (globals.quiet)
      put(node.name + "\n");
    else
      table.row({node.name, node.pool, state_of(node, now), number_text(node.cpus),
                 format_size(node.memory_bytes), gpus_of(node),
                 node.gpus.empty() ? plural(one.free_cpus, "CPU") : plural(one.free_gpus, "GPU"),
                 std::to_string(one.tasks.size()), printable(note)});
  }
  if (!globals.quiet) table.print("There is no node.");
  return kExitOk;
}

Result<int> show_node(const Globals& globals, const std::string& name) {
  Server server = TRY(Server::open(globals));
  const std::string answer = TRY(server.api().get("/api/v1/nodes/" + path_part(name)));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto one = TRY(from_json<NodeStatus>(answer, Origin::server));
  const NodeInfo& node = one.node;
  std::map<std::string, std::string> holders;
  for (const NodeTask& task : one.tasks)
    for (const std::string& gpu : task.gpus) {
      std::string& who = holders[gpu];
      who += (who.empty() ? "" : ", ") + (task.job.empty() ? "another project's job" : task.job);
      if (task.gpu_share < 1) who += format(" ({:g} of it)", task.gpu_share);
    }
  Facts facts;
  facts.add("name", node.name)
      .add("pool", node.pool)
      .add("state", state_of(node, system_clock().now()))
      .add("why", printable(node.problem.empty() ? node.closes_for : node.problem))
      .add("closes", when(node.closes_at))
      .add("opens", when(node.opens_at))
      .add("kept for", joined(node.kept_for, ", "))
      .add("rack", node.rack)
      .add("spine", node.spine)
      .add("cpus", format("{}, {} free", number_text(node.cpus), number_text(one.free_cpus)))
      .add("memory", format("{}, {} free", format_size(node.memory_bytes),
                            format_size(std::max<int64_t>(0, one.free_memory_bytes))))
      .add("reservations", joined(one.reservations, ", "));
  facts.print();
  Table table({"GPU", "MODEL", "MEMORY", "NUMA", "LINK", "STATE", "JOB"});
  for (const Gpu& gpu : node.gpus)
    table.row({std::to_string(gpu.index), gpu.model, format_size(gpu.memory_bytes), gpu.numa,
               gpu.link, gpu.healthy ? "healthy" : printable("out: " + gpu.problem),
               holders[gpu.uuid]});
  if (!table.empty()) table.print("");
  Table tasks({"JOB", "RANK", "CPUS", "MEMORY", "GPUS"});
  for (const NodeTask& task : one.tasks)
    tasks.row({task.job.empty() ? "(another project's)" : task.job, std::to_string(task.rank),
               number_text(task.cpus), format_size(task.memory_bytes),
               number_text(task.gpu_share * static_cast<double>(task.gpus.size()))});
  if (!tasks.empty()) tasks.print("");
  return kExitOk;
}

struct NodeArgs {
  std::string node, reason, deadline, pool;
};

// POST /nodes/NODE/VERB with a body, then words.
Result<int> tell_node(const Globals& globals, const std::string& node, const std::string& verb,
                      const std::string& body, const std::string& words) {
  Server server = TRY(Server::open(globals));
  const std::string answer =
      TRY(server.api().send("POST", "/api/v1/nodes/" + path_part(node) + "/" + verb, body));
  return say(globals, answer, words);
}

void add_node_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("node", "Machines that run tasks");
  group.command("list", "Lists them").does([&globals] { return list_nodes(globals); });
  auto shown = std::make_shared<std::string>();
  group.command("show", "One node: its GPUs and who holds them")
      .needs(*shown, "NODE", "name")
      .does([shown, &globals] { return show_node(globals, *shown); });
  auto cordon = std::make_shared<NodeArgs>();
  group.command("cordon", "Closes a node to new tasks; what runs goes on")
      .needs(cordon->node, "NODE", "name")
      .option(cordon->reason, "--reason", "TEXT", "for people")
      .does([cordon, &globals] {
        return tell_node(globals, cordon->node, "cordon",
                         format(R"({{"reason":{}}})", json_quote(cordon->reason)),
                         format("Node {} takes no new tasks.", cordon->node));
      });
  auto open = std::make_shared<NodeArgs>();
  group.command("uncordon", "Opens a node again")
      .needs(open->node, "NODE", "name")
      .does([open, &globals] {
        return tell_node(globals, open->node, "uncordon", "",
                         format("Node {} takes tasks again.", open->node));
      });
  auto drain = std::make_shared<NodeArgs>();
  group.command("drain", "Empties a node: its jobs save, stop, and go on elsewhere")
      .needs(drain->node, "NODE", "name")
      .option(drain->deadline, "--deadline", "D",
              "what runs may go on so long; default: not at all")
      .option(drain->reason, "--reason", "TEXT", "for people")
      .does([drain, &globals]() -> Result<int> {
        double seconds = 0;
        if (!drain->deadline.empty()) seconds = TRY(parse_duration(drain->deadline)).seconds();
        return tell_node(
            globals, drain->node, "drain",
            format(R"({{"reason":{},"deadline_seconds":{}}})", json_quote(drain->reason), seconds),
            format("Node {} takes no new tasks; what runs there is stopped {}.", drain->node,
                   seconds > 0 ? "in " + format_duration(Duration::seconds(seconds)) : "now"));
      });
  auto move = std::make_shared<NodeArgs>();
  group.command("move", "Puts an empty node into another pool")
      .needs(move->node, "NODE", "name")
      .option(move->pool, "--pool", "POOL", "default: the one it came in")
      .does([move, &globals] {
        return tell_node(globals, move->node, "move",
                         format(R"({{"pool":{}}})", json_quote(move->pool)),
                         format("Node {} is in {}.", move->node,
                                move->pool.empty() ? "the pool it came in" : "pool " + move->pool));
      });
}

struct ReservationArgs {
  std::string name, pool, from, length, until, reason;
  std::vector<std::string> nodes, projects;
  bool maintenance = false;
};

// "2026-12-01T18:00:00Z", or "+2h" from now on.
Result<Time> moment_of(std::string_view option, const std::string& text) {
  if (text.starts_with('+')) {
    if (const auto ahead = parse_duration(text.substr(1)); ahead.ok())
      return system_clock().now() + *ahead;
  } else if (const auto time = from_rfc3339(text); time.ok()) {
    return time;
  }
  return Error::invalid(format("{}: '{}' is no time", option, text),
                        "write one as 2026-12-01T18:00:00Z, or +2h for in two hours");
}

Result<int> add_reservation(const Globals& globals, const ReservationArgs& args) {
  if (args.length.empty() && args.until.empty())
    return Error::invalid("it is not said when the reservation is over",
                          "say --for 2h, or --until with a time as 2026-12-01T18:00:00Z");
  if (!args.length.empty() && !args.until.empty())
    return Error::invalid(format("--for {} and --until {} both say when the reservation is over",
                                 args.length, args.until),
                          "take one of them out");
  Server server = TRY(Server::open(globals));
  Reservation wanted;
  wanted.name = args.name;
  wanted.nodes = args.nodes;
  wanted.pool = args.pool;
  wanted.projects = args.projects;
  wanted.maintenance = args.maintenance;
  wanted.reason = args.reason;
  wanted.from = args.from.empty() ? system_clock().now() : TRY(moment_of("--from", args.from));
  wanted.until = args.until.empty() ? wanted.from + TRY(parse_duration(args.length))
                                    : TRY(moment_of("--until", args.until));
  const std::string answer =
      TRY(server.api().send("POST", "/api/v1/reservations", request_json(wanted)));
  return say(globals, answer,
             format("{} from {} to {}.", args.name, when(wanted.from), when(wanted.until)));
}

void add_reservation_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group =
      tree.group("reservation", "Nodes kept for projects, or for maintenance, for a time");
  group.command("list", "Lists them").does([&globals]() -> Result<int> {
    Server server = TRY(Server::open(globals));
    return show_list<Reservation>(
        globals, TRY(list_items(server, "/api/v1/reservations", {})), &Reservation::name,
        Table({"NAME", "NODES", "FOR", "FROM", "UNTIL", "STATE", "REASON"}),
        [](const Reservation& one) -> std::vector<std::string> {
          const Time now = system_clock().now();
          return {one.name,
                  one.pool.empty() ? joined(one.nodes, ", ") : "pool " + one.pool,
                  one.maintenance ? "maintenance" : joined(one.projects, ", "),
                  when(one.from),
                  when(one.until),
                  one.until <= now  ? "over"
                  : one.from <= now ? "now"
                                    : "to come",
                  printable(one.reason)};
        },
        "There is no reservation.");
  });
  auto add = std::make_shared<ReservationArgs>();
  group.command("add", "Keeps nodes for projects, or empties them for maintenance")
      .needs(add->name, "NAME", "a-z, 0-9, '.', '_', '-'")
      .option(add->nodes, "--node", "NODE", "one; repeat it for more")
      .option(add->pool, "--pool", "POOL", "or all nodes of a pool")
      .option(add->projects, "--for-project", "PROJECT", "whose jobs run there then; repeat it")
      .flag(add->maintenance, "--maintenance", "no job runs there then")
      .option(add->from, "--from", "TIME", "2026-12-01T18:00:00Z, or +2h; default: now")
      .option(add->length, "--for", "D", "how long: 4h")
      .option(add->until, "--until", "TIME", "or when it is over: a time, or +6h")
      .option(add->reason, "--reason", "TEXT", "for people")
      .does([add, &globals] { return add_reservation(globals, *add); });
  auto gone = std::make_shared<std::string>();
  group.command("delete", "Ends one")
      .needs(*gone, "NAME", "name or id")
      .does([gone, &globals]() -> Result<int> {
        Server server = TRY(Server::open(globals));
        TRY(server.api().send("DELETE", "/api/v1/reservations/" + path_part(*gone)));
        return say(globals, "", format("Reservation {} is over.", *gone));
      });
}

}  // namespace

void add_capacity_commands(Tree& tree) {
  add_quota_commands(tree);
  add_pool_commands(tree);
  add_node_commands(tree);
  add_reservation_commands(tree);
}

}  // namespace hearth::cli
