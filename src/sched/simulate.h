// The scheduler on recorded work, with another clock: the same code, nothing but time is made up.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sched/link_use.h"
#include "sched/trace.h"
#include "sched/value.h"

namespace hearth::sched {

// How far a job is says nothing before.
inline constexpr Duration kTellsAfter = Duration::seconds(60);

struct SimulateOptions {
  std::vector<PoolPolicy> pools;
  std::vector<ProjectQuota> projects;
  Duration start_cost;                             // from a start until the work goes on
  Duration eviction_cost = Duration::seconds(30);  // work lost by each eviction
  bool check_waits = false;                        // see Simulated::needless_wait_seconds
  bool fragments = false;                          // see Simulated::fragmented
  bool predict = false;         // durations are predicted from the jobs that have ended
  bool know_durations = false;  // durations are known beforehand
  bool forecast = false;        // each job that waits is told when it will start
  int64_t tell = 0;             // so many of 100 jobs tell their end once they run for kTellsAfter
  std::function<void(double part)> progress;  // 0..1, now and then
  std::function<bool()> stop;                 // asked now and then; true: simulate() gives up
};
struct JobOutcome {
  Time queued_at, started_at, finished_at;  // its first start; {0}: never
  int64_t evictions = 0;
  int64_t gpus = 0;              // whole ones
  int64_t milli_gpus = 0;        // all, shares too
  std::vector<Place> places;     // of its last start
  std::optional<StartsIn> said;  // when it began to wait
  Time said_at;
  // At one of the moments when the queue's forecasts were made anew while it waited, each as
  // likely.
  std::optional<StartsIn> said_at_any_time;
  Time any_time;
  int64_t moments = 0;
};
// How it was at a moment: steps, thinned out evenly to kMostSamples.
struct Sample {
  Time at;
  double gpus = 0;      // in use
  int64_t waiting = 0;  // jobs
};
inline constexpr size_t kMostSamples = 4000;

struct Simulated {
  std::vector<JobOutcome> jobs;  // as in the trace
  int64_t evictions = 0, plans = 0, starts = 0;
  Time first, last;  // coming, end
  std::vector<Sample> samples;
  double gpu_seconds = 0;               // in use
  double gpu_seconds_while_coming = 0;  // until the last job came
  // Part of the free GPUs that typical tasks cannot use, mean over the time in which jobs came.
  double fragmented = 0;
  LinkUse links;
  double plan_seconds = 0;  // of this machine's time, for all plans
  double slowest_plan_seconds = 0, p99_plan_seconds = 0;
  // Over all jobs, that they waited though their limits and the free cells had room (check_waits).
  double needless_wait_seconds = 0;
};
// Errors: invalid (two jobs of one id), timeout (told to stop).
Result<Simulated> simulate(const Trace& trace, const SimulateOptions& options);

// How the forecasts turned out of those that waited.
struct Forecasts {
  size_t jobs = 0;
  double within = 0;  // part of the starts that fell between low and high
  double median_width_seconds = 0, median_wait_seconds = 0;
  // The same for what is told at any moment of the wait.
  double any_time_within = 0, any_time_median_width_seconds = 0;
};
Forecasts forecasts_of(const Simulated& done);

struct Spread {
  double mean = 0, p50 = 0, p99 = 0;
};
Spread spread_of(std::vector<double> values);

// How full it gets when work comes that never leaves (protocol of FGD, USENIX ATC'23): the trace's
// jobs, and some of them drawn again until the GPUs asked for are `fill` times those there are; in
// random order; what does not fit is dropped, but counts as asked for.
struct FillOptions {
  double fill = 1.3;
  std::vector<double> at = {0.95, 1.0, 1.3};  // read when so much was asked for
  uint64_t seed = 42;
  Weights weights;
};
struct Filled {
  std::vector<double> allocated;   // part of all GPUs, by `at`
  std::vector<double> fragmented;  // part of the free GPUs that typical tasks cannot use
  int64_t decisions = 0;
  double seconds = 0;   // for all decisions
  uint64_t digest = 0;  // of all places: two programs that decide the same have the same
};
Result<Filled> fill(const Trace& trace, const FillOptions& options);

}  // namespace hearth::sched
