// What `hearth import` sends: records of another store with the ids, times and states they had
// there. Each call may be sent again: it changes nothing the second time.
#include "api/answer.h"
#include "api/mlflow/limits.h"
#include "api/mlflow/places.h"
#include "base/format.h"
#include "domain/wire/imports.h"

namespace hearth::api {
namespace {

constexpr int64_t kMostBody = 64 << 20;
constexpr int64_t kLatestMillis = 253'402'300'799'999;  // 9999-12-31
constexpr std::string_view kTag = "imports";

Result<net::Response> experiment(Call& call) {
  auto body = TRY(call.body<ImportedExperiment>());
  Experiment wanted;
  wanted.id = std::move(body.id);
  wanted.name = std::move(body.name);
  wanted.project = call.query("project");
  wanted.artifact_location = std::move(body.artifact_location);
  wanted.tags = std::move(body.tags);
  wanted.created_at = body.created_at;
  wanted.updated_at = body.updated_at;
  return json(TRY(call.services.tracking.import_experiment(call.who, wanted, body.deleted)));
}

std::vector<control::ModelUse> uses_of(const std::vector<ImportedModelUse>& given) {
  std::vector<control::ModelUse> uses;
  for (const ImportedModelUse& one : given) uses.push_back({one.model_id, one.step});
  return uses;
}

Result<net::Response> run(Call& call) {
  auto body = TRY(call.body<ImportedRun>());
  control::RunImport wanted;
  wanted.run.id = std::move(body.id);
  wanted.run.project = call.query("project");
  wanted.run.experiment_id = std::move(body.experiment_id);
  wanted.run.name = std::move(body.name);
  wanted.run.user = std::move(body.user);
  if (body.started_at.micros != 0) wanted.run.started_at = body.started_at;
  wanted.run.params = std::move(body.params);
  wanted.run.tags = std::move(body.tags);
  wanted.status = body.status;
  wanted.finished_at = body.finished_at;
  for (ImportedDataset& one : body.datasets)
    wanted.datasets.push_back({std::move(one.name), std::move(one.digest),
                               std::move(one.source_type), std::move(one.source),
                               std::move(one.schema), std::move(one.profile), std::move(one.tags)});
  wanted.model_inputs = uses_of(body.model_inputs);
  wanted.model_outputs = uses_of(body.model_outputs);
  wanted.deleted = body.deleted;
  return json(TRY(call.services.tracking.import_run(call.who, wanted)));
}

Result<net::Response> points(Call& call) {
  const auto body = TRY(call.body<ImportedPoints>());
  control::LogBatch batch;
  batch.to_deleted = true;
  size_t all = 0;
  for (const ImportedSeries& series : body.series) all += series.steps.size();
  if (all > kMostImportedPoints)
    return Error::of(Code::too_large,
                     format("these are {} points, more than {}", all, kMostImportedPoints),
                     "send them in several calls");
  for (const ImportedSeries& series : body.series) {
    const size_t count = series.steps.size();
    if (series.times_ms.size() != count || series.values.size() != count)
      return Error::invalid(format("metric '{}' has {} steps, {} times and {} values", series.key,
                                   count, series.times_ms.size(), series.values.size()),
                            "give one of each for every point");
    for (size_t i = 0; i < count; ++i) {
      if (series.times_ms[i] < 0 || series.times_ms[i] > kLatestMillis)
        return Error::invalid(
            format("metric '{}' has a point at {} ms", series.key, series.times_ms[i]),
            "times lie between 1970 and 9999");
      batch.metrics.push_back({series.key, series.values[i], Time{series.times_ms[i] * 1000},
                               series.steps[i], series.model_id, series.dataset_name,
                               series.dataset_digest, ""});
    }
  }
  TRY(call.services.tracking.log_batch(call.who, body.run_id, std::move(batch)));
  return no_content();
}

Result<net::Response> logged_model(Call& call) {
  auto body = TRY(call.body<ImportedLoggedModel>());
  const Experiment of = TRY(
      call.services.tracking.get_experiment(call.who, body.experiment_id, call.query("project")));
  LoggedModel wanted;
  wanted.id = std::move(body.id);
  wanted.project = of.project;
  wanted.experiment_id = of.id;
  wanted.artifact_location = of.artifact_location;
  wanted.name = std::move(body.name);
  wanted.model_type = std::move(body.model_type);
  wanted.run_id = std::move(body.run_id);
  wanted.status = body.status;
  wanted.status_message = std::move(body.status_message);
  wanted.params = std::move(body.params);
  wanted.tags = std::move(body.tags);
  wanted.created_at = body.created_at;
  wanted.updated_at = body.updated_at;
  return json(TRY(call.services.records.import_logged_model(call.who, wanted)));
}

Result<net::Response> model(Call& call) {
  auto body = TRY(call.body<ImportedModel>());
  TRY(mlflow::check_model_name(body.name));
  Model wanted;
  wanted.name = std::move(body.name);
  wanted.description = std::move(body.description);
  wanted.tags = std::move(body.tags);
  wanted.aliases = std::move(body.aliases);
  wanted.created_at = body.created_at;
  wanted.updated_at = body.updated_at;
  return json(TRY(call.services.records.import_model(call.who, call.query("project"), wanted)));
}

Result<net::Response> version(Call& call) {
  auto body = TRY(call.body<ImportedVersion>());
  ModelVersion wanted;
  wanted.model = std::move(body.model);
  wanted.number = body.number;
  wanted.description = std::move(body.description);
  wanted.stage = std::move(body.stage);
  wanted.source = std::move(body.source);
  wanted.location = std::move(body.location);
  wanted.run_id = std::move(body.run_id);
  wanted.run_link = std::move(body.run_link);
  wanted.logged_model_id = std::move(body.logged_model_id);
  wanted.created_by = std::move(body.user);
  wanted.tags = std::move(body.tags);
  wanted.created_at = body.created_at;
  wanted.updated_at = body.updated_at;
  std::optional<control::FileHolder> files;
  std::string path;
  if (!wanted.location.empty()) {
    auto place = TRY(mlflow::place_of_uri(call, wanted.location));
    if (!place)
      return Error::invalid(format("there are no files at '{}' here", wanted.location),
                            "bring the run or the logged model over before");
    files = std::move(place->holder);
    path = std::move(place->path);
  }
  return json(TRY(call.services.records.import_model_version(call.who, call.query("project"),
                                                             wanted, files, path)));
}

Result<net::Response> counts(Call& call) {
  const auto body = TRY(call.body<ImportedIds>());
  return json_list(TRY(call.services.tracking.count_imported(call.who, body.ids)));
}

Result<net::Response> files(Call& call) {
  const auto holder = TRY(call.services.records.file_holder(call.who, call.at("run")));
  return json_list(TRY(call.services.records.all_files(call.who, holder)));
}

template <typename Body, typename Answer>
Route& add(RouteTable& table, std::string_view path, std::string_view id, std::string_view summary,
           RouteHandler handler) {
  Route& route = table.add("POST", path, id, kTag, summary, std::move(handler))
                     .takes<Body>()
                     .takes_bytes("", kMostBody)
                     .template answers<Answer>()
                     .asks("project", "into which; default: the token's, or default");
  route.logs = true;
  return route;
}

}  // namespace

void add_import_routes(RouteTable& table) {
  add<ImportedExperiment, Experiment>(table, "/api/v1/imports/experiments", "importExperiment",
                                      "An experiment of another store", experiment);
  add<ImportedRun, Run>(table, "/api/v1/imports/runs", "importRun",
                        "A run of another store, with its id", run);
  add<ImportedLoggedModel, LoggedModel>(table, "/api/v1/imports/logged-models", "importLoggedModel",
                                        "A logged model of another store, with its id",
                                        logged_model);
  add<ImportedModel, Model>(table, "/api/v1/imports/models", "importModel",
                            "A registered model of another store", model);
  add<ImportedVersion, ModelVersion>(table, "/api/v1/imports/model-versions", "importModelVersion",
                                     "A model's version of another store, with its number",
                                     version);
  table
      .add("POST", "/api/v1/imports/points", "importPoints", kTag,
           "Points of a run's metrics, in columns", points)
      .takes<ImportedPoints>()
      .takes_bytes("", kMostBody)
      .nothing()
      .logs = true;
  table
      .add("POST", "/api/v1/imports/counts", "countImported", kTag,
           "How much is kept of runs, to check an import by", counts)
      .takes<ImportedIds>()
      .lists<ImportCounts>()
      .logs = true;
  table
      .add("GET", "/api/v1/imports/files/{run}", "listImportedFiles", kTag,
           "All files of a run or a logged model, with their digests", files)
      .lists<Artifact>();
}

}  // namespace hearth::api
