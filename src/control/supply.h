// The cluster that the scheduler is fed with: what the executor says of nodes, under the orders of
// admins and the reservations of this moment; quotas and pools in the scheduler's units. Pure but
// for load(), which reads the rows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/tables.h"
#include "domain/capacity.h"
#include "sched/scheduler.h"

namespace hearth::control {

sched::QuotaAmounts quota_amounts(const Amounts& amounts);

class Supply {
 public:
  // Rows of quotas, pools, node orders and reservations, as they are now.
  Result<void> load(db::Session& session);
  void set_node(const NodeInfo& node);  // as the executor says
  // What has changed for the scheduler since this was last asked, in an order that can be applied.
  std::vector<sched::ClusterEvent> changes(Time now);
  // When changes() may say something new without any news; {0}: not by itself.
  Time next_change() const { return next_; }
  // Whether a node has closed or will: then a plan is of use even when nobody waits.
  bool closes() const { return closes_; }
  const std::map<std::string, sched::ProjectQuota>& quotas() const { return quotas_; }
  const std::map<std::string, sched::PoolPolicy>& pools() const { return pools_; }

 private:
  NodeInfo effective(const NodeInfo& node, Time now) const;
  void close(NodeInfo& node, const Reservation& by) const;
  std::vector<std::string> with_children(const std::vector<std::string>& projects) const;

  std::map<std::string, NodeInfo> nodes_;       // by name, the executor's
  std::map<std::string, NodeInfo> told_;        // by name, as the scheduler has it
  std::map<std::string, NodeOrder> orders_;     // by node
  std::vector<Reservation> reservations_;       // by their beginning
  std::map<std::string, std::string> parents_;  // of projects
  std::map<std::string, sched::ProjectQuota> quotas_, told_quotas_;
  std::map<std::string, sched::PoolPolicy> pools_, told_pools_;
  Time next_;
  bool closes_ = false;
};

}  // namespace hearth::control
