#include "control/jobs/state.h"

#include <array>

#include "base/format.h"

namespace hearth::control {
namespace {

using S = JobState;
using T = JobTrigger;

constexpr std::array kTransitions = {
    Transition{S::queued, T::allocated, S::preparing, "a place was found"},
    Transition{S::queued, T::cancel_waiting, S::cancelled, "cancelled while it waits"},
    Transition{S::queued, T::failed_final, S::failed, "it can never start"},
    Transition{S::preparing, T::all_run, S::running, "every process runs"},
    Transition{S::preparing, T::all_ended, S::saving, "every process has ended"},
    Transition{S::preparing, T::succeeded, S::succeeded, "the attempt succeeded"},
    Transition{S::preparing, T::failed_retry, S::queued, "tried again"},
    Transition{S::preparing, T::failed_final, S::failed, "it could not start"},
    Transition{S::preparing, T::stopped, S::cancelled, "ended on request"},
    Transition{S::running, T::all_ended, S::saving, "every process has ended"},
    Transition{S::running, T::succeeded, S::succeeded, "the attempt succeeded"},
    Transition{S::running, T::failed_retry, S::queued, "tried again"},
    Transition{S::running, T::failed_final, S::failed, "it failed for good"},
    Transition{S::running, T::stopped, S::cancelled, "ended on request"},
    Transition{S::saving, T::succeeded, S::succeeded, "outputs are saved"},
    Transition{S::saving, T::failed_retry, S::queued, "tried again"},
    Transition{S::saving, T::failed_final, S::failed, "it failed for good"},
    Transition{S::saving, T::stopped, S::cancelled, "ended on request"},
    Transition{S::succeeded, T::retry_asked, S::queued, "somebody runs it once more"},
    Transition{S::failed, T::retry_asked, S::queued, "somebody tries it again"},
    Transition{S::cancelled, T::retry_asked, S::queued, "somebody tries it again"},
};

}  // namespace

std::span<const Transition> job_transitions() {
  return kTransitions;
}

std::optional<JobState> next_state(JobState from, JobTrigger trigger) {
  for (const Transition& transition : kTransitions)
    if (transition.from == from && transition.trigger == trigger) return transition.to;
  return std::nullopt;
}

std::string job_state_chart() {
  std::string chart = "stateDiagram-v2\n    [*] --> queued: submitted\n";
  for (const Transition& t : kTransitions)
    chart += format("    {} --> {}: {}\n", word(t.from), word(t.to), t.words);
  for (const JobState end : {S::succeeded, S::failed, S::cancelled})
    chart += format("    {} --> [*]\n", word(end));
  return chart;
}

}  // namespace hearth::control
