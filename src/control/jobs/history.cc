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

std::shared_ptr<const sched::RunTimes> History::like(const sched::QueuedJob& job) const {
  auto like = outlook_.like(job, job.ran_before);
  if (!like || job.time_limit.micros == 0) return like;
  return std::make_shared<const sched::RunTimes>(like->no_longer_than(job.time_limit));
}

sched::QueuedJob History::queued(const Job& job) const {
  sched::QueuedJob made = sched::queued_job(job);
  made.ran_before = ran_before(job);
  made.like = like(made);
  if (const auto all = predictor_.predict(made, 0.5, made.ran_before))
    made.expected = Duration{std::max<int64_t>(1, all->micros - made.ran_before.micros)};
  const Duration limit = made.time_limit;
  if (limit.micros > 0 && (made.expected.micros == 0 || limit < made.expected))
    made.expected = limit;
  return made;
}

}  // namespace hearth::control
