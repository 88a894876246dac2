#include "control/jobs/history.h"

#include <algorithm>

#include "base/format.h"

namespace hearth::control {

namespace {

// In attempts that have ended.
Duration ran_before(const Job& job) {
  double ran = 0;
  for (const Phase& phase : job.phases) {
    const bool ended = job.state == JobState::queued || phase.attempt < job.attempts;
    if (ended && phase.name != "queued") ran += phase.seconds;
  }
  return Duration::seconds(ran);
}

}  // namespace

Result<void> History::load(db::Session& session) {
  predictor_ = {};
  outlook_ = {};
  for (const char* states : {"state = 'succeeded'", "state IN ('failed', 'cancelled')"}) {
    const auto jobs = TRY(db::Table<Job>::select(
        session,
        format("WHERE {} AND started_at > 0 ORDER BY created_at DESC, id DESC LIMIT $1", states),
        {kRemembers}));
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) learn(*job);
  }
  return {};
}

void History::learn(const Job& ended) {
  const Duration ran = sched::has_run(ended, ended.finished_at);
  if (!finished(ended.state) || ran.micros <= 0) return;
  const sched::QueuedJob job = sched::queued_job(ended);
  outlook_.learn(job, ran);
  if (ended.state == JobState::succeeded) predictor_.learn(job, ran);
}

sched::QueuedJob History::queued(const Job& job) const {
  sched::QueuedJob made = sched::queued_job(job);
  made.ran_before = ran_before(job);
  foresee(made);
  return made;
}

void History::foresee(sched::QueuedJob& job) const {
  const Duration ran = job.ran_before, limit = job.time_limit;
  job.like = outlook_.like(job, ran);
  if (const auto all = predictor_.predict(job, 0.5, ran))
    job.expected = Duration{std::max<int64_t>(1, all->micros - ran.micros)};
  if (limit.micros == 0) return;
  if (job.like) job.like = std::make_shared<const sched::RunTimes>(job.like->no_longer_than(limit));
  if (job.expected.micros == 0 || limit < job.expected) job.expected = limit;
}

}  // namespace hearth::control
