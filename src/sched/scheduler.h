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
#include "domain/forecast_errors.h"
#include "domain/job.h"
#include "domain/node.h"

namespace hearth::sched {

// Where the GPUs of one task must lie.
using Inside = InsideNode;
// Where all tasks of a job must lie.
using Level = Within;

// What one process needs.
struct TaskNeed {
  std::string role;
  int64_t rank = 0;
  int64_t milli_cpus = 1000;
  int64_t memory_bytes = 0;
  int64_t milli_gpus = 0;
  std::vector<std::string> gpu_model;  // any of these; empty: any
  int64_t gpu_share_milli = 1000;      // of each GPU
  int64_t gpu_memory_bytes = 0;        // each GPU has at least this; of a share: its part of it
  Inside inside = Inside::any;
};

// From so much service on (GPU-seconds) a job stands on this level; the lower, the sooner it runs.
struct ServiceLevel {
  double from = 0;
  int64_t level = 0;
  bool operator==(const ServiceLevel&) const = default;
};

class RunTimes;  // run_times.h

struct QueuedJob {
  std::string id, name, project, owner;
  int64_t priority = 50;        // 0..100, higher first
  Time queued_at;               // older first among equals
  Time not_before;              // back-off after a failure
  std::vector<TaskNeed> tasks;  // a gang: all or none
  std::string pool;             // empty: any
  Level within = Level::any;
  bool spread = false;         // no two tasks on one node
  bool balanced = false;       // as many tasks on each node as on the others
  bool lost_place = false;     // its last attempt ended by no fault of its own: before fresh jobs
  bool opportunistic = false;  // runs on what is idle, outside of quotas; the first to be evicted
  bool ends_when_evicted = false;          // it would not be tried again: the last to be evicted
  Duration ran_before{};                   // in attempts that have ended
  Duration time_limit{};                   // 0: none
  Duration expected;                       // how long it will run; 0: nobody knows
  std::shared_ptr<const RunTimes> like{};  // how long the like of it runs; null: nobody knows
  // What past jobs say of how soon it will be over (outlook.h), ascending; for by_outlook.
  std::shared_ptr<const std::vector<ServiceLevel>> levels{};
  double served = 0;   // GPU-seconds that earlier attempts have had (CPU-seconds without GPUs)
  bool roles = false;  // its job file names its roles
};
QueuedJob queued_job(const Job& job);
// How long all its attempts held their places together; one that holds it still, until `now`.
Duration has_run(const Job& job, Time now);

// Amounts of a quota; what is not named is not bounded (limit) or not promised (guaranteed).
struct QuotaAmounts {
  std::optional<int64_t> milli_cpus, memory_bytes, milli_gpus;
  std::map<std::string, int64_t> milli_gpus_of;  // by GPU model, named as in a job file
  bool operator==(const QuotaAmounts&) const = default;
};
// Projects form a tree: what is used below counts above.
struct ProjectQuota {
  std::string name, parent;  // empty: none
  double weight = 1;         // of its fair share beside others of its parent
  QuotaAmounts guaranteed, limit;
  bool operator==(const ProjectQuota&) const = default;
};
struct PoolPolicy {
  std::string pool;
  bool equalized = false;                        // load evenly instead of tightly
  bool by_name_only = false;                     // runs only jobs that name it
  bool preempts = true;                          // jobs may be evicted for others
  bool saves_when_stopped = false;               // no work is lost by an eviction
  Duration minimum_run = Duration::seconds(60);  // before one may be evicted
  // Least attained service (Tiresias, NSDI'19): at each of these GPU-seconds (ascending) a job
  // comes behind, and makes room for, those that have had less. Empty: jobs run to their end.
  std::vector<double> service_levels;
  // In place of these levels what each job's outlook says; who has none stands by its service.
  bool by_outlook = false;  // of `hearth simulate --predict` alone so far
  bool operator==(const PoolPolicy&) const = default;
};

struct NodeChanged {
  NodeInfo node;
};
struct NodeGone {
  std::string pool, name;
};
struct JobQueued {
  QueuedJob job;
  bool draft = false;  // only asked about: says nothing of what will come
};
struct JobGone {  // cancelled, deleted, or started
  std::string job_id;
};
// Jobs that have ended say more of how long this one will run. Of a job that is queued or runs;
// what is null stays as it is.
struct OutlookChanged {
  std::string job_id, attempt_id;
  std::shared_ptr<const std::vector<ServiceLevel>> levels;
  std::shared_ptr<const RunTimes> like;
  Duration expected{};  // 0: stays as it is, too
};
// An attempt tells how far it is, and thereby when it will end.
struct AttemptProgressed {
  std::string attempt_id;
  Time ends_at;
};
struct AttemptStarted {  // takes its job out of the queue
  std::string attempt_id, pool;
  QueuedJob job;
  std::vector<Place> places;
  Time at;
};
struct AttemptEnded {
  std::string attempt_id;
  Time at;
};
struct AttemptSaved {  // a checkpoint: work before it would not be lost
  std::string attempt_id;
  Time at;
};
struct AttemptStopping {  // asked to end; what it holds will be free
  std::string attempt_id;
};
// Kept for a job from its plan's evictions on until it starts, leaves, or a node of it closes.
struct JobReserved {
  std::string job_id, pool;
  std::vector<Place> places;
};
struct ProjectChanged {
  ProjectQuota quota;
};
struct ProjectGone {
  std::string name;
};
struct PoolChanged {
  PoolPolicy policy;
};
// What was learnt of past forecasts before this cluster was made.
struct ErrorsLearnt {
  LearntErrors errors;
};
using ClusterEvent =
    std::variant<NodeChanged, NodeGone, JobQueued, JobGone, OutlookChanged, AttemptStarted,
                 AttemptProgressed, AttemptSaved, AttemptStopping, AttemptEnded, JobReserved,
                 ProjectChanged, ProjectGone, PoolChanged, ErrorsLearnt>;

struct Start {
  std::string job_id, pool;
  std::vector<Place> places;
};
// Ended so that `job_id` may start where the plan's hold for it says; or ("") because its node
// closes.
struct Eviction {
  std::string attempt_id, job_id;
  Reason reason;
};
// Cells kept free for a job until it starts.
struct Hold {
  std::string job_id, pool;
  std::vector<Place> places;
  bool preempts = false;  // by evictions: told back as JobReserved, and kept from then on
};
struct Plan {
  std::vector<Start> starts;
  std::vector<Eviction> evictions;
  std::vector<Hold> holds;
  std::map<std::string, Reason> reasons;  // job id -> why it waits, of every waiting job
  std::vector<std::string> waiting;       // those that wait for room, in their order; with reasons
  Time wake_at;  // plan again then at the latest; {0}: only when an event comes
};

// What a project and those below it use now, opportunistic jobs left out.
struct ProjectUse {
  int64_t milli_cpus = 0, memory_bytes = 0, milli_gpus = 0;
  std::map<std::string, int64_t> milli_gpus_of;  // by GPU model
  double share = 0;  // the largest part of what there is, now and decayed, over its weight
};

class Cluster {
 public:
  Cluster();
  ~Cluster();
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  void apply(const ClusterEvent& event);
  std::vector<NodeInfo> nodes() const;
  std::map<std::string, ProjectUse> use() const;  // by project, of those ever heard of
  LearntErrors errors() const;                    // of its forecasts, to be kept for the next one
  const QueuedJob* waiting(const std::string& job_id) const;  // null: it is not in the queue
  struct State;
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// A job of which nobody knows how long it runs starts on a node that is to close only when there is
// at least so much time until then.
inline constexpr Duration kUnknownRun = Duration::seconds(30 * 60);

// Jobs that fit may pass one that does not until it has waited so long; then its place is held.
inline constexpr Duration kPatience = Duration::seconds(120);

// Waiting jobs for which a plan looks for the smallest change that would start them, and how many
// nodes it looks at for that in all: what is asked about one job (why) has no such bound.
inline constexpr size_t kTrials = 16;
inline constexpr size_t kTrialLooks = 100'000;

struct PlanOptions {
  bool reasons = true;       // false: of jobs that wait nothing is said, which is quicker
  bool only_starts = false;  // evicts nobody and holds nothing
  size_t trials = kTrials;
};
// Leaves the cluster as it was: whoever carries a start out applies AttemptStarted, and so on.
Plan plan(Cluster& cluster, Time now, const PlanOptions& options = {});
// Why this job of the queue waits, with all that would start it now; code "now": it would start.
Reason why(Cluster& cluster, const std::string& job_id, Time now);
// When jobs of Plan::waiting will start: 8 of 10 between low and high, so far as past forecasts
// tell (forecast.h). Those are left out that wait for something whose end nobody knows. The cluster
// remembers what it said, and learns from the starts.
struct StartsIn {
  Duration low, middle, high;
  int64_t learnt_from = 0;  // so many past starts
};
inline constexpr int64_t kFewStarts = 100;  // learnt from fewer, an interval is rough
std::map<std::string, StartsIn> forecast(Cluster& cluster, const std::vector<std::string>& waiting,
                                         Time now);
// Why this job could not start even if nothing else ran; nothing when it could. Told at submit.
std::optional<Reason> never_fits(Cluster& cluster, const QueuedJob& job);
// Fills Reason::text and Reason::mend from its code and numbers.
void explain(Reason& reason);

}  // namespace hearth::sched
