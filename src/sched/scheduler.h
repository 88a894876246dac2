// The scheduler: a cluster brought forward by events, and a plan with reasons from it and the time.
// Pure: no clock, no I/O, no threads; the simulator runs the same code with another clock.
//
// Units: milli-CPU, milli-GPU (1000 = one whole GPU), bytes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "domain/job.h"
#include "domain/node.h"

namespace hearth::sched {

// What one process needs.
struct TaskNeed {
  std::string role;
  int64_t rank = 0;
  int64_t milli_cpus = 1000;
  int64_t memory_bytes = 0;
  int64_t milli_gpus = 0;
  std::vector<std::string> gpu_model;  // any of these; empty: any
  int64_t gpu_share_milli = 1000;      // of each GPU
  int64_t gpu_memory_bytes = 0;        // each GPU has at least this
};

struct QueuedJob {
  std::string id, name, project, owner;
  int64_t priority = 50;        // 0..100, higher first
  Time queued_at;               // older first among equals
  Time not_before;              // back-off after a failure
  std::vector<TaskNeed> tasks;  // a gang: all or none
};
QueuedJob queued_job(const Job& job);

struct NodeChanged {
  NodeInfo node;
};
struct NodeGone {
  std::string pool, name;
};
struct JobQueued {
  QueuedJob job;
};
struct JobGone {  // cancelled, deleted, or started
  std::string job_id;
};
struct AttemptStarted {  // takes its job out of the queue
  std::string attempt_id, pool;
  QueuedJob job;
  std::vector<Place> places;
  Time at;
};
struct AttemptEnded {
  std::string attempt_id;
};
using ClusterEvent =
    std::variant<NodeChanged, NodeGone, JobQueued, JobGone, AttemptStarted, AttemptEnded>;

struct Start {
  std::string job_id, pool;
  std::vector<Place> places;
};
struct Eviction {
  std::string attempt_id;
  Reason reason;
};
// Cells kept free for a job until it starts.
struct Hold {
  std::string job_id;
  std::vector<Place> places;
};
struct Plan {
  std::vector<Start> starts;
  std::vector<Eviction> evictions;
  std::vector<Hold> holds;
  std::map<std::string, Reason> reasons;  // job id -> why it waits, of every waiting job
  Time wake_at;  // plan again then at the latest; {0}: only when an event comes
};

class Cluster {
 public:
  Cluster();
  ~Cluster();
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  void apply(const ClusterEvent& event);
  std::vector<NodeInfo> nodes() const;
  struct State;
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// Jobs that fit may pass one that does not until it has waited so long; then its place is held.
inline constexpr Duration kPatience = Duration::seconds(120);

// Does not change the cluster: whoever carries a start out applies AttemptStarted.
Plan plan(const Cluster& cluster, Time now);
// Why this job could not start even if nothing else ran; nothing when it could. Told at submit.
std::optional<Reason> never_fits(const Cluster& cluster, const QueuedJob& job);
// Fills Reason::text and Reason::mend from its code and numbers.
void explain(Reason& reason);

}  // namespace hearth::sched
