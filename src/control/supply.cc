#include "control/supply.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/format.h"

namespace hearth::control {
namespace {

int64_t milli(double amount) {
  return std::llround(amount * 1000);
}

sched::PoolPolicy policy_of(const Pool& pool) {
  return {.pool = pool.name,
          .equalized = pool.packing == Packing::equalized,
          .by_name_only = pool.by_name_only,
          .preempts = pool.preempts,
          .saves_when_stopped = pool.saves_when_stopped,
          .minimum_run = Duration::seconds(pool.minimum_run_seconds),
          .service_levels = pool.service_levels};
}

bool is_about(const Reservation& one, const NodeInfo& node) {
  if (!one.pool.empty()) return one.pool == node.pool;
  return std::find(one.nodes.begin(), one.nodes.end(), node.name) != one.nodes.end();
}

// What differs is told; what is gone is told by `gone`.
template <typename T, typename Tell, typename Gone>
void tell_changes(const std::map<std::string, T>& now, std::map<std::string, T>& told, Tell tell,
                  Gone gone) {
  for (const auto& [name, value] : told)
    if (!now.contains(name)) gone(name);
  for (const auto& [name, value] : now) {
    const auto before = told.find(name);
    if (before == told.end() || !(before->second == value)) tell(value);
  }
  told = now;
}

}  // namespace

sched::QuotaAmounts quota_amounts(const Amounts& amounts) {
  sched::QuotaAmounts made;
  if (amounts.cpus) made.milli_cpus = milli(*amounts.cpus);
  if (amounts.gpus) made.milli_gpus = milli(*amounts.gpus);
  made.memory_bytes = amounts.memory_bytes;
  for (const auto& [model, gpus] : amounts.gpu_models) made.milli_gpus_of[model] = milli(gpus);
  return made;
}

Result<void> Supply::load(db::Session& session) {
  orders_.clear();
  quotas_.clear();
  pools_.clear();
  parents_.clear();
  for (const Project& project :
       TRY(db::Table<Project>::select(session, "ORDER BY name LIMIT 10000", {}))) {
    parents_[project.name] = project.parent;
    // Without a quota of its own it still counts in those above it.
    if (!project.parent.empty())
      quotas_[project.name] = {.name = project.name, .parent = project.parent};
  }
  for (const Quota& quota : TRY(db::Table<Quota>::select(session, "ORDER BY project", {}))) {
    quotas_[quota.project] = {.name = quota.project,
                              .parent = parents_[quota.project],
                              .weight = quota.weight,
                              .guaranteed = quota_amounts(quota.guaranteed),
                              .limit = quota_amounts(quota.limit)};
  }
  for (const Pool& pool : TRY(db::Table<Pool>::select(session, "ORDER BY name", {})))
    pools_[pool.name] = policy_of(pool);
  for (NodeOrder& order : TRY(db::Table<NodeOrder>::select(session, "ORDER BY node", {})))
    orders_[order.node] = std::move(order);
  reservations_ = TRY(db::Table<Reservation>::select(session, "ORDER BY name", {}));
  std::sort(reservations_.begin(), reservations_.end(),
            [](const Reservation& a, const Reservation& b) {
              return std::tie(a.from, a.name) < std::tie(b.from, b.name);
            });
  return {};
}

void Supply::set_node(const NodeInfo& node) {
  nodes_[node.name] = node;
}

std::vector<std::string> Supply::with_children(const std::vector<std::string>& projects) const {
  std::set<std::string> all(projects.begin(), projects.end());
  for (size_t before = 0; before != all.size();) {
    before = all.size();
    for (const auto& [project, parent] : parents_)
      if (all.contains(parent)) all.insert(project);
  }
  return {all.begin(), all.end()};
}

void Supply::close(NodeInfo& node, const Reservation& by) const {
  node.closes_at = by.from;
  node.opens_at = by.until;
  // Another may go on where it ends.
  for (bool longer = true; longer;) {
    longer = false;
    for (const Reservation& one : reservations_) {
      if (one.from > node.opens_at || one.until <= node.opens_at || !is_about(one, node)) continue;
      node.opens_at = one.until;
      longer = true;
    }
  }
  node.kept_for = by.maintenance ? std::vector<std::string>{} : with_children(by.projects);
  node.closes_for = by.maintenance
                        ? "maintenance " + by.name
                        : format("reserved for {} as {}", join(by.projects, ", "), by.name);
  if (!by.reason.empty()) node.closes_for += ": " + by.reason;
}

NodeInfo Supply::effective(const NodeInfo& node, Time now) const {
  NodeInfo made = node;
  const auto order = orders_.find(node.name);
  if (order != orders_.end()) {
    const NodeOrder& said = order->second;
    if (!said.pool.empty()) made.pool = said.pool;
    made.cordoned = made.cordoned || said.cordoned;
    const std::string words = said.drain_at.micros != 0 ? "drained" : "cordoned";
    if (said.cordoned || said.drain_at.micros != 0) {
      made.closes_for = format("{} by {}", words, said.changed_by);
      if (!said.reason.empty()) made.closes_for += ": " + said.reason;
    }
    if (said.drain_at.micros != 0) {
      made.closes_at = said.drain_at;
      return made;
    }
  }
  // Of those that hold now maintenance counts before a reservation; else the first to come.
  const Reservation* first = nullptr;
  for (const Reservation& one : reservations_) {
    if (one.until <= now || !is_about(one, made)) continue;
    if (first == nullptr || (one.from <= now && one.maintenance && !first->maintenance))
      first = &one;
  }
  if (first != nullptr) close(made, *first);
  return made;
}

std::vector<sched::ClusterEvent> Supply::changes(Time now) {
  std::vector<sched::ClusterEvent> events;
  tell_changes(
      pools_, told_pools_,
      [&](const sched::PoolPolicy& policy) { events.emplace_back(sched::PoolChanged{policy}); },
      [&](const std::string& name) { events.emplace_back(sched::PoolChanged{{.pool = name}}); });
  tell_changes(
      quotas_, told_quotas_,
      [&](const sched::ProjectQuota& quota) { events.emplace_back(sched::ProjectChanged{quota}); },
      [&](const std::string& name) { events.emplace_back(sched::ProjectGone{name}); });
  next_ = {};
  for (const Reservation& one : reservations_) {
    for (const Time at : {one.from, one.until})
      if (at > now && (next_.micros == 0 || at < next_)) next_ = at;
  }
  closes_ = false;
  for (const auto& [name, node] : nodes_) {
    NodeInfo made = effective(node, now);
    closes_ = closes_ || made.closes_at.micros != 0;
    const auto before = told_.find(name);
    if (before != told_.end() && before->second == made) continue;
    if (before != told_.end() && before->second.pool != made.pool)
      events.emplace_back(sched::NodeGone{before->second.pool, name});
    events.emplace_back(sched::NodeChanged{made});
    told_[name] = std::move(made);
  }
  return events;
}

}  // namespace hearth::control
