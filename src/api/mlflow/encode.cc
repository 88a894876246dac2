#include "api/mlflow/encode.h"

#include <cmath>
#include <limits>

#include "api/mlflow/face.h"

namespace hearth::api::mlflow {
namespace {

constexpr std::string_view kRunName = "mlflow.runName";

void write_data(std::string& out, const Run& run) {
  JsonObject data(out);
  data.list("metrics", run.metrics, [](std::string& to, const auto& pair) {
    JsonObject metric(to);
    metric.text("key", pair.first);
    metric.real("value", finite(pair.second.value));
    metric.integer("timestamp", millis(pair.second.time));
    metric.integer("step", pair.second.step);
  });
  data.pairs("params", run.params);
  // The name is a tag too, for MLflow; it is kept once.
  if (run.name.empty() || run.tags.contains(std::string(kRunName))) {
    data.pairs("tags", run.tags);
    return;
  }
  auto tags = run.tags;
  tags.emplace(kRunName, run.name);
  data.pairs("tags", tags);
}

void write_models(JsonObject& object, std::string_view name,
                  const std::vector<control::ModelUse>& models, bool with_step) {
  object.list(name, models, [&](std::string& to, const control::ModelUse& use) {
    JsonObject one(to);
    one.text("model_id", use.model_id);
    if (with_step) one.integer("step", use.step);
  });
}

void write_input(std::string& out, const control::DatasetInput& input) {
  JsonObject one(out);
  one.pairs("tags", input.tags);
  JsonObject dataset(one.member("dataset"));
  dataset.text("name", input.name);
  dataset.text("digest", input.digest);
  dataset.text("source_type", input.source_type);
  dataset.text("source", input.source);
  dataset.some_text("schema", input.schema);
  dataset.some_text("profile", input.profile);
}

void write_found_input(std::string& out, const control::RunDataset& input) {
  JsonObject one(out);
  if (!input.context.empty())
    one.pairs("tags", control::Texts{{"mlflow.data.context", input.context}});
  JsonObject dataset(one.member("dataset"));
  dataset.text("name", input.name);
  dataset.text("digest", input.digest);
}

}  // namespace

double finite(double value) {
  if (!std::isinf(value)) return value;
  return std::copysign(std::numeric_limits<double>::max(), value);
}

std::string_view status_name(RunStatus status) {
  static constexpr std::array<std::string_view, 5> kNames{"RUNNING", "SCHEDULED", "FINISHED",
                                                          "FAILED", "KILLED"};
  return kNames.at(static_cast<size_t>(status));
}

Result<RunStatus> status_of(std::string_view name) {
  for (int i = 0; i < 5; ++i)
    // By its name or, as protobuf has it, by its number.
    if (status_name(static_cast<RunStatus>(i)) == name || std::to_string(i + 1) == name)
      return static_cast<RunStatus>(i);
  return invalid_value("status", json_quote(name),
                       "valid ones are: RUNNING, SCHEDULED, FINISHED, FAILED, KILLED");
}

std::string rooted(const std::string& artifact_uri, const std::string& root) {
  constexpr std::string_view kOurs = "mlflow-artifacts:/";
  if (root.empty() || !artifact_uri.starts_with(kOurs)) return artifact_uri;
  return root + (root.ends_with('/') ? "" : "/") + artifact_uri.substr(kOurs.size());
}

std::string where_files_are(const Experiment& experiment, const std::string& root) {
  if (!experiment.artifact_location.empty()) return experiment.artifact_location;
  return rooted("mlflow-artifacts:/" + experiment.id, root);
}

void write_experiment(std::string& out, const Experiment& experiment, const std::string& root) {
  JsonObject object(out);
  object.text("experiment_id", experiment.id);
  object.text("name", experiment.name);
  object.text("artifact_location", where_files_are(experiment, root));
  object.text("lifecycle_stage", experiment.deleted_at.micros == 0 ? "active" : "deleted");
  const Time updated =
      experiment.updated_at.micros == 0 ? experiment.created_at : experiment.updated_at;
  object.integer("last_update_time", millis(updated));
  object.integer("creation_time", millis(experiment.created_at));
  object.pairs("tags", experiment.tags);
}

void write_run_info(std::string& out, const Run& run, const std::string& artifact_uri,
                    const std::string& root) {
  JsonObject info(out);
  info.text("run_id", run.id);
  info.text("run_uuid", run.id);
  info.text("run_name", run.name);
  info.text("experiment_id", run.experiment_id);
  info.text("user_id", run.user.empty() ? run.owner : run.user);
  info.text("status", status_name(run.status));
  const Time start = run.started_at.micros == 0 ? run.created_at : run.started_at;
  info.integer("start_time", millis(start));
  if (run.finished_at.micros != 0) info.integer("end_time", millis(run.finished_at));
  info.text("artifact_uri", rooted(artifact_uri, root));
  info.text("lifecycle_stage", run.deleted_at.micros == 0 ? "active" : "deleted");
}

void write_run(std::string& out, const control::TrackedRun& run, const std::string& root) {
  JsonObject object(out);
  write_run_info(object.member("info"), run.run, run.artifact_uri, root);
  write_data(object.member("data"), run.run);
  {
    JsonObject inputs(object.member("inputs"));
    inputs.list("dataset_inputs", run.inputs, write_input);
    write_models(inputs, "model_inputs", run.model_inputs, false);
  }
  JsonObject outputs(object.member("outputs"));
  write_models(outputs, "model_outputs", run.model_outputs, true);
}

void write_run(std::string& out, const control::FoundRun& run, const std::string& root) {
  JsonObject object(out);
  write_run_info(object.member("info"), run.run, run.artifact_uri, root);
  write_data(object.member("data"), run.run);
  JsonObject inputs(object.member("inputs"));
  inputs.list("dataset_inputs", run.datasets, write_found_input);
}

}  // namespace hearth::api::mlflow
