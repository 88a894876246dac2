// When the jobs that wait will start. The scheduler is asked now and then, and never for long at
// once: what is told may be some seconds old, and is what is left of it. Whoever guards the cluster
// guards this.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "domain/job.h"
#include "domain/wire/api.h"
#include "sched/forecast.h"

namespace hearth::control {

class Forecasts {
 public:
  static constexpr Duration kEvery = Duration::seconds(10);
  static constexpr Duration kSoonest = Duration::seconds(1);  // when others wait than before
  // Where one play of the queue takes longer, half as many jobs are told of.
  static constexpr Duration kLongest = Duration::millis(50);
  static constexpr Duration kAtOnce = Duration::millis(10);  // no play is begun after so much
  static constexpr size_t kFirstJobs = 256;  // twice as many each time, while it is quick
  static constexpr int64_t kShare = 20;  // at most one part in so many of the time is spent on it

  explicit Forecasts(Clock& clock) : clock_(clock) {}

  // Those that wait for room, in their order (Plan::waiting).
  void set_waiting(std::vector<std::string> waiting);
  const std::vector<std::string>& waiting() const { return waiting_; }
  // On the steady clock; nothing while nobody waits.
  std::optional<Time> due() const;
  // Plays the queue for a while. It is due again at once until that makes a forecast.
  void run(sched::Cluster& cluster);
  // Nothing when it is not known.
  std::optional<StartGuess> of(const std::string& job_id) const;
  // Of a job that stands in the cluster's queue to be asked about, behind all that wait.
  std::optional<StartGuess> of_draft(sched::Cluster& cluster, const std::string& job_id);

 private:
  void drop_others();  // a job that waits for no room any more has no start
  // The one that is being made.
  struct Making {
    sched::ForecastRuns runs;
    size_t jobs;                 // that are asked about
    Duration took{}, slowest{};  // all plays so far, and one of them
  };
  Clock& clock_;
  std::vector<std::string> waiting_;
  std::optional<Making> making_;
  std::map<std::string, sched::StartsIn> told_;
  Time told_at_;        // steady
  Duration took_;       // the last one
  bool stale_ = false;  // others wait, or more, than were asked about
  size_t most_jobs_ = kFirstJobs;
};

// As numbers of a reason.
void add_start(Reason& reason, const StartGuess& start);

}  // namespace hearth::control
