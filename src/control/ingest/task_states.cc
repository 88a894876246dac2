#include "base/format.h"
#include "control/emit.h"
#include "control/ingest/task_records.h"

namespace hearth::control {
namespace {

// Forward only; saving and stopping come in either order.
int rank_of(TaskState state) {
  switch (state) {
    case TaskState::created:
      return 0;
    case TaskState::preparing:
      return 1;
    case TaskState::starting:
      return 2;
    case TaskState::running:
      return 3;
    case TaskState::saving:
    case TaskState::stopping:
      return 4;
    case TaskState::succeeded:
    case TaskState::failed:
      return 5;
  }
  return 5;
}

Time& time_of(Task& task, TaskState state) {
  switch (state) {
    case TaskState::created:
      return task.created_at;
    case TaskState::preparing:
      return task.preparing_at;
    case TaskState::starting:
      return task.starting_at;
    case TaskState::running:
      return task.running_at;
    case TaskState::saving:
      return task.saving_at;
    case TaskState::stopping:
      return task.stopping_at;
    case TaskState::succeeded:
    case TaskState::failed:
      return task.finished_at;
  }
  return task.finished_at;
}

// Interpreter and packages are the run's, told by the first task that knows them.
void add_facts(Run& run, const Job& job, const StateRecord& record, SyncChanges& changes) {
  // The Python that was found running is truer than the one that would have been expected.
  const bool found_running =
      record.environment.contains("python_version") && !run.environment.contains("python_version");
  for (const auto& [key, value] : record.environment) {
    auto [at, is_new] = run.environment.emplace(key, value);
    if (found_running && key == "python") is_new = std::exchange(at->second, value) != value;
    changes.run |= is_new;
  }
  size_t next = 0;
  for (size_t i = 0; i < job.spec.datasets.size() && i < run.datasets.size(); ++i) {
    if (job.spec.datasets[i].path.empty() || next >= record.dataset_fingerprints.size()) continue;
    const std::string& fingerprint = record.dataset_fingerprints[next++];
    if (run.datasets[i].digest == fingerprint) continue;
    run.datasets[i].digest = fingerprint;
    changes.run = true;
  }
}

void move_to(Task& task, const StateRecord& record, Time now) {
  task.state = record.state;
  Time& at = time_of(task, record.state);
  if (at.micros == 0) at = record.time.micros != 0 ? record.time : now;
  if (record.exit_code) task.exit_code = record.exit_code;
  if (!record.failure) return;
  task.failure = record.failure;
  task.failure->rank = task.rank;
  task.failure->role = task.role;
}

}  // namespace

Result<int64_t> apply_states(db::Session& session, Context& context, Task& task, const Job& job,
                             Run& run, std::span<const StateRecord> states, int64_t mark,
                             SyncChanges& changes) {
  for (const StateRecord& record : states) {
    if (record.seq <= mark) continue;
    mark = record.seq;
    if (!record.limits.empty() && record.limits != task.limits) {
      task.limits = record.limits;
      changes.task = true;
    }
    add_facts(run, job, record, changes);
    const int from = rank_of(task.state), to = rank_of(record.state);
    if (finished(task.state) || to < from || record.state == task.state) continue;
    move_to(task, record, context.clock.now());
    changes.task = changes.events = true;
    const Actor actor{.kind = "task", .name = task.id};
    // The row is written once, after the last of them: its version then.
    TRY(emit(session, context.clock, actor, task.project, format("task.{}", word(task.state)),
             task.id, task.version + 1,
             format(R"({{"state":"{}","job_id":"{}","rank":{}}})", word(task.state), task.job_id,
                    task.rank)));
  }
  return mark;
}

}  // namespace hearth::control
