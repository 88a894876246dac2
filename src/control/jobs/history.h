// How long the jobs of this installation ran: what is expected of those that wait and run now.
#pragma once

#include "db/tables.h"
#include "sched/predict.h"

namespace hearth::control {

class History {
 public:
  // The newest jobs that succeeded. One that failed or was cancelled says nothing of how long such
  // a job runs.
  Result<void> load(db::Session& session);
  void learn(const Job& ended);
  // As the scheduler sees it, with how long it is still expected to run: half of the jobs like it
  // ran no longer; its time limit when nobody knows better; never more than that.
  sched::QueuedJob queued(const Job& job) const;

  static constexpr int64_t kRemembers = 5000;  // jobs that are read at the start

 private:
  sched::Predictor predictor_;
};

}  // namespace hearth::control
