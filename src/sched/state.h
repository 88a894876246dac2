// What a Cluster holds. Inside sched alone.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sched/forecast.h"
#include "sched/place.h"
#include "sched/quota.h"
#include "sched/scheduler.h"

namespace hearth::sched {

// A point of priority weighs as much as so long a wait: whoever waits longest comes at last.
inline constexpr Duration kAgeing = Duration::seconds(15 * 60);

// A job that lost its place by no fault of its own counts as if it had waited so much longer.
inline constexpr Duration kLostPlace = Duration::seconds(24 * 3600);

// What one running task holds, by names that outlive a change of its node.
struct Use {
  NodeKey node;
  int64_t cpus = 0, memory = 0, milli = kWholeGpu;
  std::vector<std::string> gpus;
};

// What is past the end that was expected of it runs as long again.
Time expected_end(Time started_at, Duration expected, Time now);

struct Running {
  std::string id, job_id, pool, shape;
  std::string project_name;
  int32_t project = -1;  // who pays; -1: opportunistic
  int64_t priority = 50;
  Time queued_at, started_at, saved_at;
  Duration expected;
  Time told_end;  // by itself; {0}: it says nothing
  std::shared_ptr<const RunTimes> like;
  std::shared_ptr<const std::vector<ServiceLevel>> levels;
  double served = 0;  // before this attempt
  bool ends_when_evicted = false;
  bool stopping = false;
  bool evicted = false;  // in a search for victims that is under way
  std::vector<Use> uses;
  std::vector<Grant> grants;  // of the nodes that are known
  Amounts amounts;
  // As far as is known: what it tells itself, then what is expected; past that, as long again.
  std::optional<Time> expected_end(Time now) const;
};

// Higher priority first, then older, with kAgeing between them, then the id: a total order.
struct QueueKey {
  int64_t priority = 0;
  Time queued_at;
  std::string id;
  bool operator<(const QueueKey& other) const {
    const int64_t mine = aged(), theirs = other.aged();
    return mine != theirs ? mine < theirs : id < other.id;
  }
  int64_t aged() const { return queued_at.micros - priority * kAgeing.micros; }
};
struct Queued {
  QueuedJob job;
  std::string shape;  // equal for jobs that need the same: what fails for one fails for all
  Ask ask;
  std::pair<uint64_t, uint64_t> asked_of;  // how many models were known then, which pools
  Amounts amounts;
};

// A level of service outweighs all priorities and waits.
inline constexpr int64_t kLevelStep = 100'000;
// By outlook: the level of a job with so many GPU-seconds to go for each chance that it ends. Who
// runs makes room for none with more than half of that to go: an eviction must be worth it.
inline constexpr double kLevelsPerOctave = 8;
int64_t rank_level(double gpu_seconds);
// And an opportunistic job in its project's queue comes after all levels.
inline constexpr int64_t kOpportunisticStep = 1'000'000'000;

struct Cluster::State {
  Cells cells;
  Quotas quotas;
  FitCache cache;
  std::map<int32_t, std::map<QueueKey, Queued>> queues;                      // by project
  std::unordered_map<std::string, std::pair<int32_t, QueueKey>> queue_keys;  // by job id
  std::map<std::string, Running> running;                                    // by attempt id
  std::vector<std::set<std::string>> on_node;                                // attempts, by node
  std::map<std::string, JobReserved> reserved;                               // by job id
  std::map<std::string, PoolPolicy> pools;
  std::unordered_set<std::string> equalized;
  Amounts all;  // of nodes that are open
  Worth worth;
  size_t stopping = 0;
  // A job that has waited for long is another than one that has just come: it is stuck behind those
  // that last. So errors of what is said then are learnt apart.
  Calibration calibration, later_calibration;
  std::map<std::string, SaidOf> said;  // by job id
  SeededRandom said_random{1};         // which later moment of a job is learnt from

  // As if nothing ran; made when first asked for after the nodes have changed.
  Cells& idle();
  Cells& idle_in_service();
  // Why it could not start even if nothing else ran and all were in service.
  const std::optional<Reason>& impossible(const Queued& queued);
  // On the nodes that this job may use.
  Choice choice(const QueuedJob& job, Time now) {
    return {.cache = &cache, .worth = &worth, .equalized = &equalized, .only = open_to(job, now)};
  }
  // By node: whether this job may start there, though the node closes; null: anywhere.
  const std::vector<char>* open_to(const QueuedJob& job, Time now);
  const PoolPolicy& policy(const std::string& pool) const;
  // Cells and quota together: taken (+1) or given back (-1), on the overlay when one is marked.
  void account(const std::vector<Grant>& grants, int32_t project, const Amounts& amounts, int sign);
  void account(const Running& running, int sign) {
    account(running.grants, running.project, running.amounts, sign);
  }
  // Its priority less what its service so far costs it in that pool ("": in the first with levels).
  int64_t standing(const QueuedJob& job) const;
  int64_t standing(const Running& running, Time now) const;
  bool has_levels() const {
    return std::any_of(pools.begin(), pools.end(),
                       [](const auto& pool) { return has_levels(pool.second); });
  }
  static bool has_levels(const PoolPolicy& policy) {
    return policy.by_outlook || !policy.service_levels.empty();
  }
  // When it falls to the next level; {0}: never.
  Time next_level(const Running& running, Time now) const;
  // Its needs against the models that are known by now.
  const Ask& ask(Queued& queued) const;
  Ask ask(const QueuedJob& job) const;

  std::set<int32_t> closing;  // nodes that close, now or later
  uint64_t pools_version = 0;

 private:
  // By project, and by seconds that a job is expected to run; of one moment.
  std::map<std::pair<std::string, int64_t>, std::vector<char>> open_to_;
  Time open_to_at_;
  uint64_t open_to_version_ = 0;
  std::unique_ptr<Cells> idle_, idle_in_service_;
  uint64_t idle_version_ = 0, idle_in_service_version_ = 0;
  std::unordered_map<std::string, std::optional<Reason>> impossible_;  // by shape
  uint64_t impossible_version_ = 0;
};

// Whether jobs of this project may stay when the node closes.
inline bool kept_for(const NodeInfo& node, const std::string& project) {
  return std::find(node.kept_for.begin(), node.kept_for.end(), project) != node.kept_for.end();
}
std::string shape_of(const QueuedJob& job);
// GPUs that serve it; of a job without any, its CPUs.
double servers_of(const QueuedJob& job);
Amounts amounts_of(const Ask& ask);
Amounts amounts_of(const Cells& cells, const std::vector<Grant>& grants);

}  // namespace hearth::sched
