// From a submitted file to the rows of a job and its run.
#pragma once

#include "control/access/access.h"
#include "control/jobs/jobs.h"

namespace hearth::control {

// Decodes and checks everything that needs no database.
Result<JobSpec> read_spec(const SubmitRequest& request);

// That its secrets and datasets are there.
Result<void> check_uses(db::Session& session, Access& access, const JobsOptions& options,
                        const JobSpec& spec);

// Inside a write: checks secrets and datasets, and makes Job, Run, Experiment, pins and event.
Result<Job> write_job(db::Session& session, Context& context, Access& access,
                      const JobsOptions& options, const Identity& who, const SubmitRequest& request,
                      const JobSpec& spec, int64_t code_size_bytes);

}  // namespace hearth::control
