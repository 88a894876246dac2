// The job's state machine as a table. The chart in docs/job-lifecycle.md is drawn from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "domain/job.h"

namespace hearth::control {

// What can happen to a job.
enum class JobTrigger {
  allocated,       // the scheduler found a place and an attempt is written down
  all_run,         // every process of the attempt runs
  all_ended,       // every process has ended, outputs are being saved
  succeeded,       // the attempt succeeded
  failed_retry,    // it failed, and is tried again
  failed_final,    // it failed for good
  stopped,         // it ended because somebody asked
  cancel_waiting,  // cancelled while it waits
  retry_asked,     // somebody wants an ended job tried again
};

struct Transition {
  JobState from;
  JobTrigger trigger;
  JobState to;
  std::string_view words;
};
std::span<const Transition> job_transitions();

// Where the trigger leads from there; nothing if it may not happen in that state.
std::optional<JobState> next_state(JobState from, JobTrigger trigger);

// The table as a Mermaid state diagram.
std::string job_state_chart();

}  // namespace hearth::control
