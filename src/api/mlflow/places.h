// Where files lie: MLflow's URIs and paths, and the holders of files behind them.
#pragma once

#include <optional>
#include <string>

#include "api/route.h"
#include "control/records/records.h"

namespace hearth::api::mlflow {

struct Place {
  control::FileHolder holder;
  std::string path;  // inside it; "": all
};

// A path of the proxy, EXPERIMENT/RUN/artifacts/PATH or .../models/MODEL/artifacts/PATH; any other
// is a loose file of the project.
Result<Place> place_of_path(Call& call, const std::string& path);
// Of mlflow-artifacts:, runs:, models: and addresses of the proxy; nothing for what lies elsewhere.
Result<std::optional<Place>> place_of_uri(Call& call, const std::string& uri);
// "s3" of s3://..., "" of a plain path.
std::string_view scheme_of(std::string_view uri);

}  // namespace hearth::api::mlflow
