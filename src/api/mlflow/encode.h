// Hearth's nouns as MLflow's messages.
#pragma once

#include <string>

#include "api/mlflow/writer.h"
#include "control/tracking/tracking.h"

namespace hearth::api::mlflow {

// `root`: where clients put files of experiments that name no place (Options); "": here.
void write_experiment(std::string& out, const Experiment& experiment, const std::string& root);
void write_run_info(std::string& out, const Run& run, const std::string& artifact_uri,
                    const std::string& root);
void write_run(std::string& out, const control::TrackedRun& run, const std::string& root);
// Of a search: with the datasets' names, without their schemas.
void write_run(std::string& out, const control::FoundRun& run, const std::string& root);
std::string where_files_are(const Experiment& experiment, const std::string& root);
// A URI of ours, put under the root.
std::string rooted(const std::string& artifact_uri, const std::string& root);

std::string_view status_name(RunStatus status);  // RUNNING...
Result<RunStatus> status_of(std::string_view name);

// MLflow keeps infinities as the greatest finite numbers; a chart of it would show nothing else.
double finite(double value);

}  // namespace hearth::api::mlflow
