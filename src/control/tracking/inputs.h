// What runs read and made besides files: datasets and models, as rows of run_inputs.
#pragma once

#include "control/tracking/tracking.h"
#include "db/database.h"

namespace hearth::control {

constexpr std::string_view kContextTag = "mlflow.data.context";

Result<void> read_inputs(db::Session& session, const std::string& run_id, TrackedRun& into);

}  // namespace hearth::control
