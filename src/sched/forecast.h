// When jobs that wait will start: the queue played forward many times, each running job until the
// end that it tells itself, or else as long as one of the like of it runs, and an interval that 8
// of 10 starts keep, so far as past forecasts tell.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sched/scheduler.h"

namespace hearth::sched {

// The first so many waiting jobs are told when they start.
inline constexpr size_t kForecast = 4096;
// How often the queue is played forward: on a large cluster no more than need be. Over how many
// ends of jobs, and at how many nodes and running jobs is looked for it each time, and all the
// times.
inline constexpr size_t kForecastRuns = 64, kForecastLeastRuns = 16, kForecastEnds = 16'384,
                        kForecastHoldEnds = 256, kForecastLooks = 500'000,
                        kForecastAllLooks = 2'000'000;

// What was said of a job at a moment.
struct Said {
  Time at;
  Duration middle;  // half of the runs were shorter
  // Of the logarithms of their waits in seconds (and kShortest): mean and standard deviation.
  double mean = 0, spread = 0;
};

// Of things that come one after the other one is kept, each as likely (a reservoir of one): is it
// this one, so far? `seen`: how many came before it; counts it.
inline bool is_kept(Random& random, int64_t& seen) {
  return random.unit() * static_cast<double>(++seen) < 1;
}

// What was said of a job that waits: when it was first asked about, and at one of the moments
// after, each as likely.
struct SaidOf {
  Said first;
  std::optional<Said> later;
  int64_t later_moments = 0;
};

// How far the waits of the runs must be stretched to be true: errors, as parts of how far the runs
// lay apart, are followed by their quantiles (adaptive conformal inference, Gibbs and Candes,
// 2021). Nothing is assumed of how durations are spread.
class Calibration {
 public:
  // Waits have a long tail above: the span is shorter where more of what it leaves out lies there.
  // Starts are heard of long after what was said of them: a little less than 2 in 10 may miss.
  static constexpr double kMissLow = 0.05, kMissHigh = 0.11;
  static constexpr double kStep = 0.05;       // towards each error
  static constexpr double kNarrowest = 0.35;  // runs that agree may be wrong together
  static constexpr double kShortest = 30;     // seconds; a wait below is as good as none
  static constexpr double kLongest = 3e9;     // seconds: none is told to wait for a hundred years
  Calibration() = default;
  explicit Calibration(const ForecastErrors& learnt) : errors_(learnt) {}
  void learn(const Said& said, Duration real);
  StartsIn around(const Said& said) const;
  const ForecastErrors& errors() const { return errors_; }

 private:
  ForecastErrors errors_;
};

// One forecast. Between two plays of the queue the cluster may change: whoever guards it lets go of
// it, so that a plan need not wait for all of them.
class ForecastRuns {
 public:
  // The first kForecast of these.
  explicit ForecastRuns(std::vector<std::string> waiting);
  bool done() const;
  // Plays the queue forward once, from how the cluster is at `now`; leaves it as it was.
  void play(Cluster& cluster, Time now);
  // From now on of the first so many alone.
  void keep_first(size_t jobs);
  // See forecast(): when those start that all plays saw start, counted from `now`. To be asked
  // before the cluster changes once more.
  std::map<std::string, StartsIn> told(Cluster& cluster, Time now) const;

 private:
  std::vector<std::string> waiting_;
  std::map<std::string, std::vector<Time>> starts_;  // by job, a play each
  size_t runs_ = 0, looks_ = 0;
  SeededRandom random_{1};  // the same state gives the same forecast
};

}  // namespace hearth::sched
