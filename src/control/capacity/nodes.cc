#include <algorithm>

#include "base/format.h"
#include "base/units.h"
#include "control/capacity/capacity.h"
#include "control/capacity/rows.h"
#include "control/emit.h"

namespace hearth::control {
namespace {

// Closed again without a word why, a node is closed for what it was: opening it clears that.
void take_reason(NodeOrder& order, const std::string& reason) {
  if (!reason.empty()) order.reason = reason;
}

}  // namespace

Capacity::Capacity(Context context, Access& access, ClusterView view)
    : context_(context), access_(access), view_(std::move(view)) {}

// What holds part of a node now; names of jobs that the caller may not see are left out.
Result<std::map<std::string, std::vector<NodeTask>>> Capacity::tasks(const Identity& who) {
  const auto visible = TRY(access_.visible_projects(who));
  const auto sees = [&](const Job& job) {
    if (who.kind == TokenKind::task || who.kind == TokenKind::job) return who.job_id == job.id;
    return !visible || std::find(visible->begin(), visible->end(), job.project) != visible->end();
  };
  std::map<std::string, std::vector<NodeTask>> by_node;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    by_node.clear();
    for (const Job& job : TRY(db::Table<Job>::select(
             session, "WHERE state IN ('preparing', 'running', 'saving') ORDER BY id", {}))) {
      const auto attempt = TRY(db::Table<Attempt>::get(session, job.attempt_id));
      if (!attempt) continue;
      std::map<int64_t, std::string> ids;
      for (const Task& task :
           TRY(db::Table<Task>::select(session, "WHERE attempt_id = $1", {attempt->id})))
        ids[task.rank] = task.id;
      const auto roles = roles_of(job.spec);
      for (const Place& place : attempt->places) {
        NodeTask& task = by_node[place.node].emplace_back();
        const Resources& needs = roles.at(place.role).resources;
        task.role = place.role;
        task.rank = place.rank;
        task.gpus = place.gpus;
        task.gpu_share = static_cast<double>(place.gpu_milli) / 1000;
        task.cpus = needs.cpus;
        task.memory_bytes = needs.memory.bytes;
        if (!sees(job)) continue;
        task.job_id = job.id;
        task.job = job.name;
        task.project = job.project;
        task.task_id = ids[place.rank];
      }
    }
    return {};
  }));
  return by_node;
}

Result<std::vector<NodeStatus>> Capacity::nodes(const Identity& who) {
  auto running = TRY(tasks(who));
  std::map<std::string, NodeOrder> orders;
  const auto planned = TRY(reservations(who));
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    for (NodeOrder& order :
         TRY(db::Table<NodeOrder>::select(session, "ORDER BY node LIMIT 100000", {})))
      orders[order.node] = std::move(order);
    return {};
  }));
  const Time now = context_.clock.now();
  std::vector<NodeStatus> all;
  for (NodeInfo& node : view_.nodes()) {
    NodeStatus& status = all.emplace_back();
    status.free_cpus = node.cpus;
    status.free_memory_bytes = node.memory_bytes;
    std::map<std::string, double> free;  // part of each healthy one
    for (const Gpu& gpu : node.gpus)
      if (gpu.healthy) free[gpu.uuid] = 1;
    status.tasks = std::move(running[node.name]);
    for (const NodeTask& task : status.tasks) {
      status.free_cpus -= task.cpus;
      status.free_memory_bytes -= task.memory_bytes;
      for (const std::string& uuid : task.gpus)
        if (const auto at = free.find(uuid); at != free.end()) at->second -= task.gpu_share;
    }
    for (const auto& [uuid, part] : free) status.free_gpus += part;
    if (const auto order = orders.find(node.name); order != orders.end()) {
      status.reason = order->second.reason;
      status.changed_by = order->second.changed_by;
    }
    for (const Reservation& one : planned) {
      const bool here = one.pool == node.pool ||
                        std::find(one.nodes.begin(), one.nodes.end(), node.name) != one.nodes.end();
      if (here && one.until > now) status.reservations.push_back(one.name);
    }
    status.node = std::move(node);
  }
  return all;
}

Result<NodeStatus> Capacity::node(const Identity& who, const std::string& name) {
  for (NodeStatus& status : TRY(nodes(who)))
    if (status.node.name == name) return std::move(status);
  return no_such_node(name);
}

Result<NodeInfo> Capacity::known_node(const std::string& name) {
  for (NodeInfo& node : view_.nodes())
    if (node.name == name) return std::move(node);
  return no_such_node(name);
}

Result<NodeOrder> Capacity::order(
    const Identity& who, const std::string& node, const std::string& kind,
    const std::function<Result<void>(db::Session&, NodeOrder&)>& change) {
  TRY(access_.require_admin(who));
  TRY(known_node(node));
  NodeOrder order;
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    const auto before = TRY(db::Table<NodeOrder>::find(session, "WHERE node = $1", {node}));
    order = before.value_or(NodeOrder{});
    order.node = node;
    TRY(change(session, order));
    TRY(put_row(session, context_, who, before, order));
    TRY(emit(session, context_.clock, who.actor(), "", kind, order.id, order.version,
             to_json(order)));
    return {};
  }));
  wake();
  return order;
}

Result<NodeOrder> Capacity::cordon(const Identity& who, const std::string& node,
                                   const std::string& reason) {
  return order(who, node, "node.cordoned", [&](db::Session&, NodeOrder& order) -> Result<void> {
    order.cordoned = true;
    order.drain_at = {};
    take_reason(order, reason);
    return {};
  });
}

Result<NodeOrder> Capacity::uncordon(const Identity& who, const std::string& node) {
  return order(who, node, "node.uncordoned", [&](db::Session&, NodeOrder& order) -> Result<void> {
    order.cordoned = false;
    order.drain_at = {};
    order.reason.clear();
    return {};
  });
}

Result<NodeOrder> Capacity::drain(const Identity& who, const std::string& node,
                                  const DrainOrder& wanted) {
  return order(who, node, "node.drained", [&](db::Session&, NodeOrder& order) -> Result<void> {
    order.cordoned = true;
    order.drain_at = std::max(wanted.at, context_.clock.now());
    take_reason(order, wanted.reason);
    return {};
  });
}

Result<NodeOrder> Capacity::move(const Identity& who, const std::string& node,
                                 const std::string& pool) {
  return order(
      who, node, "node.moved", [&](db::Session& session, NodeOrder& order) -> Result<void> {
        if (!pool.empty()) {
          bool known = TRY(db::Table<Pool>::find(session, "WHERE name = $1", {pool})).has_value();
          for (const NodeInfo& other : view_.nodes()) known = known || other.pool == pool;
          if (!known)
            return Error::not_found(format("there is no pool '{}'", pool),
                                    format("`hearth pool set {}` makes it", pool));
        }
        int64_t tasks = 0;
        TRY(session.query(
            "SELECT COUNT(*) FROM tasks WHERE node = $1 AND state NOT IN ('succeeded', 'failed')",
            {node}, [&](const db::Row& row) -> Result<void> {
              tasks = row.integer(0);
              return {};
            }));
        if (tasks > 0)
          return Error::conflict(
              format("{} {} on {}", plural(tasks, "task"), tasks == 1 ? "runs" : "run", node),
              format("`hearth node drain {}` empties it first", node));
        order.pool = pool;
        return {};
      });
}

}  // namespace hearth::control
