// What runs read and made besides files: datasets and models, as rows of run_inputs.
#pragma once

#include "control/tracking/tracking.h"
#include "db/database.h"

namespace hearth::control {

constexpr std::string_view kContextTag = "mlflow.data.context";

Result<void> read_inputs(db::Session& session, const std::string& run_id, TrackedRun& into);

Result<void> check_inputs(const std::vector<DatasetInput>& datasets,
                          const std::vector<ModelUse>& models);
// Inside a write. What is there stays as it is.
Result<void> write_inputs(db::Session& session, const std::string& run_id,
                          const std::vector<DatasetInput>& datasets,
                          const std::vector<ModelUse>& models_in,
                          const std::vector<ModelUse>& models_out);

}  // namespace hearth::control
