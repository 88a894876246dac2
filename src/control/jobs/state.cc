#include "control/jobs/state.h"

#include <array>

#include "base/format.h"

namespace hearth::control {
namespace {

using enum JobState;
using enum JobTrigger;

constexpr std::array kTransitions = {
    Transition{queued, allocated, preparing, "a place was found"},
    Transition{queued, cancel_waiting, cancelled, "cancelled while it waits"},
    Transition{queued, failed_final, failed, "it can never start"},
    Transition{preparing, all_run, running, "every process runs"},
    Transition{preparing, all_ended, saving, "every process has ended"},
    Transition{preparing, JobTrigger::succeeded, JobState::succeeded, "the attempt succeeded"},
    Transition{preparing, failed_retry, queued, "tried again"},
    Transition{preparing, failed_final, failed, "it could not start"},
    Transition{preparing, stopped, cancelled, "ended on request"},
    Transition{running, all_ended, saving, "every process has ended"},
    Transition{running, JobTrigger::succeeded, JobState::succeeded, "the attempt succeeded"},
    Transition{running, failed_retry, queued, "tried again"},
    Transition{running, failed_final, failed, "it failed for good"},
    Transition{running, stopped, cancelled, "ended on request"},
    Transition{saving, JobTrigger::succeeded, JobState::succeeded, "outputs are saved"},
    Transition{saving, failed_retry, queued, "tried again"},
    Transition{saving, failed_final, failed, "it failed for good"},
    Transition{saving, stopped, cancelled, "ended on request"},
    Transition{JobState::succeeded, retry_asked, queued, "somebody runs it once more"},
    Transition{failed, retry_asked, queued, "somebody tries it again"},
    Transition{cancelled, retry_asked, queued, "somebody tries it again"},
};

}  // namespace

std::span<const Transition> job_transitions() { return kTransitions; }

std::optional<JobState> next_state(JobState from, JobTrigger trigger) {
  for (const Transition& transition : kTransitions)
    if (transition.from == from && transition.trigger == trigger) return transition.to;
  return std::nullopt;
}

std::string job_state_chart() {
  std::string chart = "stateDiagram-v2\n    [*] --> queued: submitted\n";
  for (const Transition& t : kTransitions)
    chart += format("    {} --> {}: {}\n", word(t.from), word(t.to), t.words);
  for (const JobState end : {JobState::succeeded, failed, cancelled})
    chart += format("    {} --> [*]\n", word(end));
  return chart;
}

}  // namespace hearth::control
