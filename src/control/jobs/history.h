// How long the jobs of this installation ran: what is expected of those that wait and run now.
#pragma once

#include "db/tables.h"
#include "sched/outlook.h"
#include "sched/predict.h"

namespace hearth::control {

class History {
 public:
  // The newest jobs that ended. One that failed or was cancelled says nothing of how long such a
  // job runs when all goes well (`expected`), but of how soon its place may be free (`like`).
  Result<void> load(db::Session& session);
  void learn(const Job& ended);
  // As the scheduler sees it, with how long it is still expected to run: half of the jobs like it
  // ran no longer; its time limit when nobody knows better; never more than that. `like` says with
  // which chance it ends when.
  sched::QueuedJob queued(const Job& job) const;
  // The same of one that stands in the queue, by what is known now.
  void foresee(sched::QueuedJob& job) const;

  // Jobs that are read at the start: so many that succeeded, and as many that ran and did not.
  static constexpr int64_t kRemembers = 5000;

 private:
  sched::Predictor predictor_;
  sched::Outlook outlook_;
};

}  // namespace hearth::control
