// What there is and who may have it: quotas of projects, rules of pools, orders about nodes,
// reservations. Changes are rows and events; the job loop follows them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "control/access/access.h"
#include "control/context.h"
#include "domain/capacity.h"
#include "sched/scheduler.h"

namespace hearth::control {

// The cluster as the scheduler sees it now.
struct ClusterView {
  std::function<std::vector<NodeInfo>()> nodes;
  std::function<std::map<std::string, sched::ProjectUse>()> use;  // by project
};

struct DrainOrder {
  std::string reason;
  Time at;  // what still runs then is stopped
};

class Capacity {
 public:
  Capacity(Context context, Access& access, ClusterView view);

  // Quotas: everybody sees those of projects they may see; whoever is admin of the project above
  // sets them, of one without a parent an admin of the server.
  Result<std::vector<QuotaStatus>> quotas(const Identity& who);
  Result<QuotaStatus> quota(const Identity& who, const std::string& project);
  // Whole, in place of what was set. Errors: invalid (a guarantee above the limit, or more
  // guaranteed below a project than it is guaranteed itself), conflict (another version).
  Result<Quota> set_quota(const Identity& who, const std::string& project, Quota wanted,
                          std::optional<int64_t> if_version);
  Result<void> delete_quota(const Identity& who, const std::string& project);

  // Pools, nodes and reservations are seen by all and changed by admins of the server.
  Result<std::vector<PoolStatus>> pools(const Identity& who);
  Result<PoolStatus> pool(const Identity& who, const std::string& name);
  Result<Pool> set_pool(const Identity& who, const std::string& name, Pool wanted,
                        std::optional<int64_t> if_version);
  Result<void> delete_pool(const Identity& who, const std::string& name);  // its rules

  Result<std::vector<NodeStatus>> nodes(const Identity& who);
  Result<NodeStatus> node(const Identity& who, const std::string& name);
  Result<NodeOrder> cordon(const Identity& who, const std::string& node, const std::string& reason);
  // Open again: neither cordoned nor drained.
  Result<NodeOrder> uncordon(const Identity& who, const std::string& node);
  // Takes no new tasks, and what runs is stopped at that time; its jobs go elsewhere.
  Result<NodeOrder> drain(const Identity& who, const std::string& node, const DrainOrder& order);
  // Into another pool ("": the executor's). Errors: conflict while a task runs there.
  Result<NodeOrder> move(const Identity& who, const std::string& node, const std::string& pool);

  Result<std::vector<Reservation>> reservations(const Identity& who);
  // Errors: invalid (no node, nobody to keep it for, times that cannot be), exists, conflict (two
  // at once on a node, unless one is maintenance).
  Result<Reservation> add_reservation(const Identity& who, Reservation wanted);
  Result<void> delete_reservation(const Identity& who, const std::string& name_or_id);

  // Named bounds.
  static constexpr int64_t kMostReservations = 1000;  // that are not over
  static constexpr Duration kLongestReservation = Duration::seconds(366.0 * 86400);

 private:
  Result<void> may_set_quota(const Identity& who, const std::string& project);
  Result<NodeInfo> known_node(const std::string& name);
  Result<NodeOrder> order(const Identity& who, const std::string& node, const std::string& kind,
                          const std::function<Result<void>(db::Session&, NodeOrder&)>& change);
  Result<std::map<std::string, std::vector<NodeTask>>> tasks(const Identity& who);
  void wake();

  Context context_;
  Access& access_;
  ClusterView view_;
};

}  // namespace hearth::control
