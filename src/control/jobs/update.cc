#include "control/jobs/update.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace hearth::control {

namespace {

// When its process ended; of one that had none, when it was given up.
Time end_of(const Task& task) {
  return task.saving_at.micros != 0 ? task.saving_at : task.finished_at;
}

// How near a failed task is to the cause. Those that we told to end are its echo; and where a node
// or a supervisor went away, the exit codes of the others are.
int distance(const Task& task) {
  const FailureClass why = task.failure ? task.failure->failure_class : FailureClass::exit;
  if (why == FailureClass::cancelled) return 2;
  const bool ground =
      why == FailureClass::lost || why == FailureClass::node || why == FailureClass::preemption;
  return ground ? 0 : 1;
}

bool is_nearer(const Task& task, const Task& other) {
  if (distance(task) != distance(other)) return distance(task) < distance(other);
  return end_of(task) < end_of(other);
}

// A process that has failed is known before its task has saved everything.
bool has_failed(const Task& task) {
  return task.state == TaskState::failed ||
         (task.state == TaskState::saving && task.failure.has_value());
}

}  // namespace

Verdict judge(const Attempt& attempt, std::span<const Task> tasks) {
  Verdict verdict;
  if (finished(attempt.state)) {
    verdict.state = attempt.state;
    verdict.ended = true;
    verdict.failure = attempt.failure;
    return verdict;
  }
  bool all_finished = true, all_running = true, all_saving = true;
  const Task* cause = nullptr;
  for (const Task& task : tasks) {
    all_finished &= finished(task.state);
    all_running &= task.state >= TaskState::running;
    all_saving &= task.state >= TaskState::saving;
    if (has_failed(task) && (cause == nullptr || is_nearer(task, *cause))) cause = &task;
  }
  if (cause != nullptr) {
    verdict.failure = cause->failure.value_or(Failure{});
    if (verdict.failure->failure_class == FailureClass::preemption && !cause->stop_text.empty())
      verdict.failure->text = cause->stop_text;
    verdict.failure->rank = cause->rank;
    verdict.failure->role = cause->role;
    if (tasks.size() > 1)
      verdict.failure->text =
          format("{} (rank {}): {}", cause->role, cause->rank, verdict.failure->text);
    // A task that is alone has nobody to wait for: it ends by itself.
    verdict.stop_rest = !all_finished && tasks.size() > 1;
  }
  verdict.ended = all_finished && !tasks.empty();
  if (verdict.ended)
    verdict.state = cause != nullptr ? AttemptState::failed : AttemptState::succeeded;
  else if (all_saving && !tasks.empty())
    verdict.state = AttemptState::saving;
  else if (all_running && !tasks.empty())
    verdict.state = AttemptState::running;
  return verdict;
}

Outcome after_attempt(const Job& job, const Attempt& attempt, double unit) {
  Outcome outcome;
  if (attempt.state == AttemptState::succeeded) return outcome;
  outcome.failure = attempt.failure.value_or(Failure{});
  if (job.stop_asked_at.micros != 0) {
    outcome.trigger = JobTrigger::stopped;
    outcome.failure->failure_class = FailureClass::cancelled;
    outcome.failure->text = "cancelled by " + job.stop_asked_by;
    outcome.failure->mend.clear();
    return outcome;
  }
  const auto& classes = job.spec.retries.on;
  const FailureClass failure_class = outcome.failure->failure_class;
  const bool retried = std::find(classes.begin(), classes.end(), failure_class) != classes.end();
  // Whose place was given to another did nothing wrong: that is not counted, and needs no pause.
  const bool preempted = failure_class == FailureClass::preemption;
  if (!retried || (!preempted && job.retries_used >= job.spec.retries.limit)) {
    outcome.trigger = JobTrigger::failed_final;
    return outcome;
  }
  outcome.trigger = JobTrigger::failed_retry;
  if (preempted) return outcome;
  outcome.counts = true;
  const double doubling =
      std::pow(2.0, static_cast<double>(std::min<int64_t>(job.retries_used, 20)));
  const double seconds =
      std::min(kLongestBackOff.seconds(), kFirstBackOff.seconds() * doubling) * (0.75 + unit / 2);
  outcome.back_off = Duration::seconds(seconds);
  return outcome;
}

void enter_phase(Job& job, const std::string& name, Time now) {
  if (!job.phases.empty()) {
    Phase& last = job.phases.back();
    const bool open = last.seconds == 0;
    if (open && last.name == name) return;
    if (open) last.seconds = std::max(1e-6, (now - last.started_at).seconds());
  }
  if (!name.empty()) job.phases.push_back({name, now, 0, job.attempts});
}

void take_phases(Job& job, const Attempt& attempt, std::span<const Task> tasks) {
  struct Mark {
    const char* phase;
    Time Task::* at;
  };
  constexpr Mark marks[] = {{"preparing", &Task::preparing_at},
                            {"starting", &Task::starting_at},
                            {"running", &Task::running_at},
                            {"stopping", &Task::stopping_at},
                            {"saving", &Task::saving_at}};
  std::vector<std::pair<std::string, Time>> begins{{"preparing", attempt.created_at}};
  for (const Mark& mark : marks) {
    Time last{0};
    bool all = !tasks.empty();
    for (const Task& task : tasks) {
      all &= (task.*mark.at).micros != 0;
      last = std::max(last, task.*mark.at);
    }
    if (!all || mark.at == &Task::preparing_at) continue;
    begins.emplace_back(mark.phase, std::max(last, begins.back().second));
  }
  std::erase_if(job.phases, [&](const Phase& phase) {
    return phase.attempt == attempt.number && phase.name != "queued";
  });
  for (const auto& [name, at] : begins) enter_phase(job, name, at);
  for (const Task& task : tasks)
    if (task.running_at.micros != 0 && attempt.number == 1)
      job.started_at =
          job.started_at.micros == 0 ? task.running_at : std::min(job.started_at, task.running_at);
}

bool advance(Job& job, JobTrigger trigger, Time now) {
  const auto next = next_state(job.state, trigger);
  if (!next) return false;
  job.state = *next;
  switch (*next) {
    case JobState::queued:
      enter_phase(job, "queued", now);
      job.finished_at = {};
      if (trigger == JobTrigger::retry_asked) {
        job.failure.reset();
        job.stop_asked_at = {};
        job.stop_asked_by.clear();
        job.retries_used = 0;
        job.next_attempt_at = {};
      }
      break;
    case JobState::preparing:
      job.reason.reset();
      job.next_attempt_at = {};
      break;
    case JobState::running:
      if (job.started_at.micros == 0) job.started_at = now;
      break;
    case JobState::saving:
      break;
    case JobState::succeeded:
      job.failure.reset();
      [[fallthrough]];
    case JobState::failed:
    case JobState::cancelled:
      job.reason.reset();
      job.finished_at = now;
      enter_phase(job, "", now);
      break;
  }
  return true;
}

}  // namespace hearth::control
