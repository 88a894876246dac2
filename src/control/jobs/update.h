// Pure rules of a job's life: from what is written down about an attempt and its tasks to what
// happens next. No clock, no database.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "control/jobs/state.h"
#include "domain/job.h"

namespace hearth::control {

// What an attempt is, seen from its tasks.
struct Verdict {
  AttemptState state = AttemptState::starting;
  bool ended = false;              // no task runs any more
  bool stop_rest = false;          // a task failed: the others must end, a gang lives or dies whole
  std::optional<Failure> failure;  // of the task that failed first
};
Verdict judge(const Attempt& attempt, std::span<const Task> tasks);

// What an ended attempt means for its job.
struct Outcome {
  JobTrigger trigger = JobTrigger::succeeded;
  std::optional<Failure> failure;
  bool counts = false;  // against retries.limit
  Duration back_off{0};
};
// `unit` in [0, 1) spreads the back-off of jobs that failed together.
Outcome after_attempt(const Job& job, const Attempt& attempt, double unit);

// Applies a trigger: state, times, phases. Returns false if the table does not allow it.
bool advance(Job& job, JobTrigger trigger, Time now);

// Puts the phases of the attempt's own tasks in place of what was seen of them: their times come
// from the shims, so a phase that began and ended between two looks is there too. The slowest task
// decides when a phase ends; `now` is the end of the last one, or {0} while it lasts.
void take_phases(Job& job, const Attempt& attempt, std::span<const Task> tasks);

// Ends the running phase and begins `name` (nothing when it is the same); "" only ends.
void enter_phase(Job& job, const std::string& name, Time now);

// Named bounds of the back-off: 2 s, 4 s, ... 5 min.
constexpr Duration kFirstBackOff = Duration::seconds(2);
constexpr Duration kLongestBackOff = Duration::seconds(300);

}  // namespace hearth::control
