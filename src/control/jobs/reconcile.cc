#include "control/jobs/reconcile.h"

#include <algorithm>

#include "base/format.h"
#include "control/emit.h"
#include "control/jobs/update.h"
#include "control/notify/notify.h"

namespace hearth::control {
namespace {

RunStatus run_status(JobState state) {
  switch (state) {
    case JobState::queued:
    case JobState::preparing:
      return RunStatus::scheduled;
    case JobState::succeeded:
      return RunStatus::finished;
    case JobState::failed:
      return RunStatus::failed;
    case JobState::cancelled:
      return RunStatus::killed;
    default:
      return RunStatus::running;
  }
}

// The attempt moves; the job follows.
void step(Reconciled& r, Time now) {
  const Verdict verdict = judge(*r.attempt, r.tasks);
  Job& job = r.job;
  if (verdict.state != r.attempt->state) {
    r.attempt->state = verdict.state;
    r.changed = true;
    if (verdict.state == AttemptState::running && r.attempt->started_at.micros == 0)
      r.attempt->started_at = now;
  }
  if (!verdict.ended) {
    // With its gang ends what runs; a task whose process has ended may save what it made.
    const bool by_user = job.stop_asked_at.micros != 0;
    if (verdict.stop_rest || by_user)
      for (Task& task : r.tasks)
        if (!task.stop_asked && !finished(task.state) && (by_user || task.saving_at.micros == 0)) {
          task.stop_asked = true;
          task.stop_class = by_user ? "cancelled" : "gang";
          r.stop_tasks.push_back(task.id);
          r.changed = true;
        }
    if (verdict.state == AttemptState::running && job.state == JobState::preparing)
      r.changed |= advance(job, JobTrigger::all_run, now);
    if (verdict.state == AttemptState::saving && job.state != JobState::saving)
      r.changed |= advance(job, JobTrigger::all_ended, now);
    const std::vector<Phase> before = job.phases;
    take_phases(job, *r.attempt, r.tasks);
    r.changed |= job.phases != before;
    return;
  }
  if (finished(job.state) || job.state == JobState::queued) return;
  r.attempt->finished_at = now;
  r.attempt->failure = verdict.failure;
  r.changed = r.attempt_ended = true;
  take_phases(job, *r.attempt, r.tasks);
  const Outcome outcome = after_attempt(job, *r.attempt, r.unit);
  if (job.stop_asked_at.micros != 0 && verdict.state == AttemptState::failed)
    r.attempt->state = AttemptState::cancelled;
  job.failure = outcome.failure;
  if (outcome.counts) ++job.retries_used;
  if (outcome.back_off.micros > 0) job.next_attempt_at = now + outcome.back_off;
  CHECK(advance(job, outcome.trigger, now));
}

Result<void> write_run(db::Session& session, const Job& job) {
  auto run = TRY(db::Table<Run>::get(session, job.run_id));
  if (!run) return {};
  const RunStatus status = run_status(job.state);
  if (run->status == status) return {};
  run->status = status;
  if (run->started_at.micros == 0) run->started_at = job.started_at;
  run->finished_at = job.finished_at;
  return db::Table<Run>::update(session, *run);
}

}  // namespace

Result<std::optional<Reconciled>> look(db::Session& session, Context& context,
                                       const std::string& job_id) {
  auto job = TRY(db::Table<Job>::get(session, job_id));
  if (!job) return std::optional<Reconciled>();
  Reconciled r;
  r.job = std::move(*job);
  if (r.job.attempt_id.empty() || r.job.state == JobState::queued || finished(r.job.state))
    return std::optional(std::move(r));
  r.attempt = TRY(db::Table<Attempt>::get(session, r.job.attempt_id));
  if (!r.attempt) return Error::internal(format("attempt {} has no row", r.job.attempt_id));
  r.tasks =
      TRY(db::Table<Task>::select(session, "WHERE attempt_id = $1 ORDER BY rank", {r.attempt->id}));
  r.unit = context.random.unit();
  step(r, context.clock.now());
  return std::optional(std::move(r));
}

Result<std::optional<Reconciled>> reconcile(db::Session& session, Context& context, Access& access,
                                            const std::string& job_id) {
  const auto before = TRY(db::Table<Job>::get(session, job_id));
  auto r = TRY(look(session, context, job_id));
  if (!r || !r->changed) return r;
  for (Task& task : r->tasks)
    if (std::find(r->stop_tasks.begin(), r->stop_tasks.end(), task.id) != r->stop_tasks.end())
      TRY(db::Table<Task>::update(session, task));
  TRY(db::Table<Attempt>::update(session, *r->attempt));
  TRY(db::Table<Job>::update(session, r->job));
  if (r->job.state != before->state) {
    const std::string state(word(r->job.state));
    const Event event =
        TRY(emit(session, context.clock, server_actor(), r->job.project, "job." + state, r->job.id,
                 r->job.version, format(R"({{"state":"{}"}})", state)));
    TRY(queue_deliveries(session, r->job, event, context.clock, context.random));
    TRY(write_run(session, r->job));
  }
  if (r->attempt_ended)
    for (const Task& task : r->tasks) TRY(access.revoke_task_tokens(session, task.id));
  return r;
}

Result<std::vector<std::string>> evict(db::Session& session, Context& context,
                                       const std::string& attempt_id, const Reason& reason) {
  std::vector<std::string> told;
  const auto attempt = TRY(db::Table<Attempt>::get(session, attempt_id));
  if (!attempt || finished(attempt->state)) return told;
  for (Task& task : TRY(db::Table<Task>::select(session, "WHERE attempt_id = $1", {attempt_id}))) {
    // Told already, for whatever reason: it is on its way. One that has ended may save.
    if (task.stop_asked || finished(task.state) || task.saving_at.micros != 0) continue;
    task.stop_asked = true;
    task.stop_class = word(FailureClass::preemption);
    task.stop_text = reason.text;
    TRY(db::Table<Task>::update(session, task));
    told.push_back(task.id);
  }
  if (told.empty()) return told;
  TRY(emit(session, context.clock, server_actor(), attempt->project, "attempt.evicted", attempt_id,
           attempt->version,
           format(R"({{"job_id":"{}","reason":{}}})", attempt->job_id, to_json(reason))));
  return told;
}

Result<void> mark_lost(db::Session& session, Context& context, const std::string& task_id,
                       FailureClass why, const std::string& text) {
  auto task = TRY(db::Table<Task>::get(session, task_id));
  if (!task || finished(task->state)) return {};
  task->state = TaskState::failed;
  task->finished_at = context.clock.now();
  task->failure = Failure{};
  task->failure->failure_class = why;
  task->failure->rank = task->rank;
  task->failure->role = task->role;
  task->failure->text = text;
  TRY(db::Table<Task>::update(session, *task));
  TRY(emit(session, context.clock, server_actor(), task->project, "task.failed", task->id,
           task->version, R"({"state":"failed"})"));
  return {};
}

}  // namespace hearth::control
