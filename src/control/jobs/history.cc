#include "control/jobs/history.h"

#include <algorithm>

namespace hearth::control {

Result<void> History::load(db::Session& session) {
  predictor_ = {};
  const auto jobs = TRY(db::Table<Job>::select(
      session, "WHERE state = 'succeeded' ORDER BY created_at DESC, id DESC LIMIT $1",
      {kRemembers}));
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) learn(*job);
  return {};
}

void History::learn(const Job& ended) {
  if (ended.state != JobState::succeeded) return;
  const Duration ran = sched::has_run(ended, ended.finished_at);
  if (ran.micros > 0) predictor_.learn(sched::queued_job(ended), ran);
}

sched::QueuedJob History::queued(const Job& job) const {
  sched::QueuedJob made = sched::queued_job(job);
  // By attempts that have ended: a phase that lasts counts nothing up to a time before it began.
  const Duration ran = sched::has_run(job, job.created_at);
  if (const auto all = predictor_.predict(made, 0.5, ran))
    made.expected = Duration{std::max<int64_t>(1, all->micros - ran.micros)};
  if (!job.spec.time_limit) return made;
  const Duration limit = job.spec.time_limit->duration;
  if (made.expected.micros == 0 || limit < made.expected) made.expected = limit;
  return made;
}

}  // namespace hearth::control
