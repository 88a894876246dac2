// experiments/...
#include <filesystem>

#include "api/mlflow/encode.h"
#include "api/mlflow/face.h"
#include "api/mlflow/filter.h"
#include "api/mlflow/limits.h"

namespace hearth::api::mlflow {
namespace {

constexpr int64_t kMostExperiments = 50'000;  // of one page
constexpr int64_t kUsualExperiments = 1000;
constexpr size_t kMostDatasetExperiments = 20;

std::string in_object(const Call& call, std::string_view name, const Experiment& experiment) {
  return json_object([&](JsonObject& object) {
    write_experiment(object.member(name), experiment, call.options.mlflow_artifact_root);
  });
}

// Where a client puts a run's files by itself. A plain path is one of the client's machine.
Result<std::string> location_of(const Fields& args) {
  std::string location = TRY(args.text("artifact_location"));
  while (location.size() > 1 && location.ends_with('/')) location.pop_back();
  if (location.find('#') != std::string::npos || location.find(';') != std::string::npos)
    return Error::invalid("'artifact_location' URL can't include fragments or params.");
  if (location.find("..") != std::string::npos && location.find('?') != std::string::npos)
    return Error::invalid("Invalid query string in 'artifact_location'");
  // A relative path is one of this machine, as with MLflow's own server.
  const bool relative =
      !location.empty() && !location.starts_with('/') && location.find(':') == std::string::npos;
  if (relative) location = (std::filesystem::current_path() / location).string();
  return location;
}

Result<std::string> create(Call& call, const Fields& args) {
  control::NewExperiment wanted;
  wanted.project = project_of(call);
  wanted.name = TRY(args.need_text("name"));
  TRY(check_length("name", wanted.name, kMostExperimentName));
  wanted.artifact_location = TRY(location_of(args));
  for (auto& [key, value] : TRY(args.pairs("tags"))) {
    TRY(check_key(key, "key"));
    TRY(check_length("value", value, kMostExperimentTag));
    wanted.tags[std::move(key)] = std::move(value);
  }
  auto made = call.services.tracking.create_experiment(call.who, wanted);
  if (!made.ok() && made.error().code == Code::exists)
    return Error::of(Code::exists, format("Experiment(name={}) already exists. {}", wanted.name,
                                          made.error().detail));
  const Experiment experiment = TRY(std::move(made));
  return json_object([&](JsonObject& object) { object.text("experiment_id", experiment.id); });
}

Result<std::string> get(Call& call, const Fields& args) {
  const std::string id = TRY(args.need_text("experiment_id"));
  return in_object(call, "experiment",
                   TRY(of_experiment(
                       call.services.tracking.get_experiment(call.who, id, project_of(call)), id)));
}

Result<std::string> get_by_name(Call& call, const Fields& args) {
  const std::string name = TRY(args.need_text("experiment_name"));
  auto found = call.services.tracking.get_experiment_by_name(call.who, name, project_of(call));
  if (!found.ok() && found.error().code == Code::not_found)
    return Error::not_found(format("Could not find experiment with name '{}'", name));
  return in_object(call, "experiment", TRY(std::move(found)));
}

Result<std::string> search(Call& call, const Fields& args) {
  control::ExperimentSearch query;
  query.project = project_of(call);
  if (query.project.empty())
    query.project = call.who.project.empty() ? "default" : call.who.project;
  query.filter = TRY(parse_filter(TRY(args.text("filter")), Noun::experiment));
  query.order_by = TRY(parse_order(TRY(args.texts("order_by")), Noun::experiment));
  query.view = TRY(view_of(args, "view_type"));
  query.limit = TRY(args.integer("max_results")).value_or(kUsualExperiments);
  if (query.limit < 1 || query.limit > kMostExperiments)
    return invalid_value("max_results", std::to_string(query.limit),
                         format("it must be between 1 and {}", kMostExperiments));
  query.cursor = TRY(args.text("page_token"));
  const auto page = TRY(call.services.tracking.search_experiments(call.who, query));
  return json_object([&](JsonObject& object) {
    object.list("experiments", page.experiments, [&](std::string& to, const Experiment& one) {
      write_experiment(to, one, call.options.mlflow_artifact_root);
    });
    object.some_text("next_page_token", page.next_cursor);
  });
}

Result<std::string> remove(Call& call, const Fields& args) {
  const std::string id = TRY(args.need_text("experiment_id"));
  TRY(of_experiment(call.services.tracking.delete_experiment(call.who, id, project_of(call)), id));
  return std::string("{}");
}

Result<std::string> restore(Call& call, const Fields& args) {
  const std::string id = TRY(args.need_text("experiment_id"));
  TRY(of_experiment(call.services.tracking.restore_experiment(call.who, id, project_of(call)), id));
  return std::string("{}");
}

Result<std::string> update(Call& call, const Fields& args) {
  const std::string id = TRY(args.need_text("experiment_id"));
  const std::string name = TRY(args.need_text("new_name"));
  TRY(check_length("name", name, kMostExperimentName));
  TRY(of_experiment(call.services.tracking.rename_experiment(call.who, id, name, project_of(call)),
                    id));
  return std::string("{}");
}

Result<std::string> set_tag(Call& call, const Fields& args) {
  const std::string id = TRY(args.need_text("experiment_id"));
  const std::string key = TRY(args.need_text("key"));
  const std::string value = TRY(args.text("value"));
  TRY(check_key(key, "key"));
  TRY(check_length("value", value, kMostExperimentTag));
  TRY(of_experiment(
      call.services.tracking.set_experiment_tag(call.who, id, key, value, project_of(call)), id));
  return std::string("{}");
}

Result<std::string> delete_tag(Call& call, const Fields& args) {
  const std::string id = TRY(args.need_text("experiment_id"));
  const std::string key = TRY(args.need_text("key"));
  auto& tracking = call.services.tracking;
  auto done = tracking.delete_experiment_tag(call.who, id, key, project_of(call));
  if (!done.ok() && done.error().code == Code::not_found &&
      tracking.get_experiment(call.who, id, project_of(call)).ok())
    return Error::not_found(format("No tag with name: {} in experiment with id {}", key, id));
  TRY(of_experiment(std::move(done), id));
  return std::string("{}");
}

Result<std::string> search_datasets(Call& call, const Fields& args) {
  const auto ids = TRY(args.texts("experiment_ids"));
  if (ids.empty())
    return Error::invalid("SearchDatasets request must specify at least one experiment_id.");
  if (ids.size() > kMostDatasetExperiments)
    return Error::invalid(
        format("SearchDatasets request cannot specify more than {} experiment_ids. Received {} "
               "experiment_ids.",
               kMostDatasetExperiments, ids.size()));
  const auto found = TRY(call.services.tracking.search_datasets(call.who, ids, project_of(call)));
  return json_object([&](JsonObject& object) {
    object.list("dataset_summaries", found, [](std::string& to, const control::RunDataset& one) {
      JsonObject summary(to);
      summary.text("experiment_id", one.experiment_id);
      summary.text("name", one.name);
      summary.text("digest", one.digest);
      summary.some_text("context", one.context);
    });
  });
}

}  // namespace

void add_experiment_calls(RouteTable& table) {
  add_json(table, "POST", "/experiments/create", create);
  add_json(table, "GET", "/experiments/get", get);
  add_json(table, "GET", "/experiments/get-by-name", get_by_name);
  add_json(table, "GET", "/experiments/search", search);
  add_json(table, "POST", "/experiments/search", search);
  add_json(table, "POST", "/experiments/delete", remove);
  add_json(table, "POST", "/experiments/restore", restore);
  add_json(table, "POST", "/experiments/update", update);
  add_json(table, "POST", "/experiments/set-experiment-tag", set_tag);
  add_json(table, "POST", "/experiments/delete-experiment-tag", delete_tag);
  add_json(table, "POST", "/experiments/search-datasets", search_datasets);
}

}  // namespace hearth::api::mlflow
