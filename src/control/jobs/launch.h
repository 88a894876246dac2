// From a scheduler's start to the rows of an attempt and the order for the executor.
#pragma once

#include "control/access/access.h"
#include "control/jobs/jobs.h"
#include "sched/scheduler.h"

namespace hearth::control {

struct PreparedLaunch {
  Job job;
  Attempt attempt;
  std::vector<Task> tasks;
  executors::Launch launch;
};

// Inside a write: makes attempt, tasks and their tokens, and moves the job to `preparing`. Nothing
// when the job no longer waits (cancelled, deleted, taken). Errors: those of missing secrets or
// datasets, which fail the job (see fail_queued).
Result<std::optional<PreparedLaunch>> prepare_launch(db::Session& session, Context& context,
                                                     Access& access, const JobsOptions& options,
                                                     const sched::Start& start);

// The order for an attempt that is written down but whose tasks were never started (the server died
// in between): new tokens, the same rows.
Result<executors::Launch> rebuild_launch(db::Session& session, Context& context, Access& access,
                                         const JobsOptions& options, const Job& job,
                                         const Attempt& attempt, const std::vector<Task>& tasks);

// A queued job that can never start: failed with class `start`.
Result<void> fail_queued(db::Session& session, Context& context, const std::string& job_id,
                         const Error& error);

// A parameter's value as text: strings without their quotes.
std::string param_text(const AnyJson& value);

}  // namespace hearth::control
