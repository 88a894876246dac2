// When the jobs that wait will start. The scheduler is asked now and then, and never for long: what
// is told may be some seconds old, and is what is left of it. Whoever guards the cluster guards
// this.
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
  // A forecast that takes longer is made for half as many jobs the next time.
  static constexpr Duration kLongest = Duration::millis(50);
  static constexpr int64_t kShare = 20;  // at most one part in so many of the time is spent on it

  explicit Forecasts(Clock& clock) : clock_(clock) {}

  // Those that wait for room, in their order (Plan::waiting).
  void set_waiting(std::vector<std::string> waiting);
  // On the steady clock; nothing while nobody waits.
  std::optional<Time> due() const;
  void run(sched::Cluster& cluster);
  // Nothing when it is not known.
  std::optional<StartGuess> of(const std::string& job_id) const;
  // Of a job that stands in the cluster's queue to be asked about, behind all that wait.
  std::optional<StartGuess> of_draft(sched::Cluster& cluster, const std::string& job_id);

 private:
  std::map<std::string, sched::StartsIn> ask(sched::Cluster& cluster,
                                             std::vector<std::string> waiting);
  Clock& clock_;
  std::vector<std::string> waiting_;
  std::map<std::string, sched::StartsIn> told_;
  Time told_at_;                         // steady
  Duration took_;                        // the last one
  bool stale_ = false;                   // others wait since it was told
  size_t most_jobs_ = sched::kForecast;  // that are asked about
};

// As numbers of a reason.
void add_start(Reason& reason, const StartGuess& start);

}  // namespace hearth::control
