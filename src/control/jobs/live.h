// Live parameters: what the job file allows to change while it runs.
#pragma once

#include "control/jobs/jobs.h"

namespace hearth::control {

// Inside a write: checks each change against the job file and writes the wanted values. Returns the
// ids of the tasks to wake.
Result<std::vector<std::string>> write_live(db::Session& session, Context& context,
                                            const Identity& who, Job& job,
                                            const std::vector<LiveChange>& changes);
// The value itself: type and bounds of the parameter.
Result<void> check_live(const std::string& name, const Param& param, const AnyJson& value);

}  // namespace hearth::control
