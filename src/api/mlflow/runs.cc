// runs/...
#include <set>

#include "api/answer.h"
#include "api/mlflow/encode.h"
#include "api/mlflow/face.h"
#include "api/mlflow/filter.h"
#include "api/mlflow/limits.h"
#include "api/mlflow/logged.h"

namespace hearth::api::mlflow {
namespace {

constexpr std::string_view kRunName = "mlflow.runName";
constexpr std::string_view kUser = "mlflow.user";
constexpr std::string_view kModelHistory = "mlflow.log-model.history";
constexpr int64_t kUsualRuns = 1000;

std::string answer_run(const Call& call, const control::TrackedRun& run) {
  return json_object([&](JsonObject& object) {
    write_run(object.member("run"), run, call.options.mlflow_artifact_root);
  });
}

Result<std::string> create(Call& call, const Fields& args) {
  control::NewRun wanted;
  wanted.project = project_of(call);
  wanted.experiment_id = TRY(args.text("experiment_id"));
  wanted.name = TRY(args.text("run_name"));
  wanted.user = TRY(args.text("user_id"));
  if (const auto start = TRY(args.integer("start_time")); start.value_or(0) != 0)
    wanted.started_at = TRY(time_of("start_time", *start));
  for (auto& [key, value] : TRY(args.pairs("tags"))) {
    TRY(check_key(key, "key"));
    if (key == kRunName) {
      if (!wanted.name.empty() && wanted.name != value)
        return Error::invalid(
            format("Both 'run_name' argument and 'mlflow.runName' tag are "
                   "specified, but with different values (run_name='{}', "
                   "mlflow.runName='{}').",
                   wanted.name, value));
      wanted.name = value;
      continue;
    }
    if (key == kUser) wanted.user = value;
    wanted.tags[std::move(key)] = cut(std::move(value), kMostTag);
  }
  const std::string experiment = wanted.experiment_id;
  return answer_run(
      call, TRY(of_experiment(call.services.tracking.create_run(call.who, wanted), experiment)));
}

Result<std::string> get(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  return answer_run(call, TRY(of_run(call.services.tracking.get_run(call.who, id), id)));
}

Result<std::string> update(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  control::RunChange change;
  if (const Node* status = args.find("status")) change.status = TRY(status_of(status->text));
  if (const auto end = TRY(args.integer("end_time")))
    change.finished_at = TRY(time_of("end_time", *end));
  if (const auto name = TRY(args.some_text("run_name")); name && !name->empty())
    change.name = *name;
  const auto run = TRY(of_run(call.services.tracking.update_run(call.who, id, change), id));
  return json_object([&](JsonObject& object) {
    write_run_info(object.member("run_info"), run.run, run.artifact_uri,
                   call.options.mlflow_artifact_root);
  });
}

Result<std::string> remove(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  TRY(of_run(call.services.tracking.delete_run(call.who, id), id));
  return std::string("{}");
}

Result<std::string> restore(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  TRY(of_run(call.services.tracking.restore_run(call.who, id), id));
  return std::string("{}");
}

// --- logging ------------------------------------------------------------------------------------

// The run's name is a tag for MLflow; for us it is the run's name.
Result<void> rename_by_tag(Call& call, const std::string& id, const std::string& name) {
  control::RunChange change;
  change.name = name;
  TRY(of_run(call.services.tracking.update_run(call.who, id, change), id));
  return {};
}

Result<std::string> set_tag(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  const std::string key = TRY(args.need_text("key"));
  const std::string value = cut(TRY(args.text("value")), kMostTag);
  TRY(check_key(key, "key"));
  if (key == kRunName) {
    TRY(rename_by_tag(call, id, value));
    return std::string("{}");
  }
  TRY(of_run(call.services.tracking.set_tag(call.who, id, key, value), id));
  return std::string("{}");
}

Result<std::string> delete_tag(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  const std::string key = TRY(args.need_text("key"));
  auto done = call.services.tracking.delete_tag(call.who, id, key);
  if (!done.ok() && done.error().code == Code::not_found &&
      call.services.tracking.get_run(call.who, id).ok())
    return Error::not_found(format("No tag with name: {} in run with id {}", key, id));
  TRY(of_run(std::move(done), id));
  return std::string("{}");
}

// A changed param gets the hint that MLflow gives.
Result<void> log(Call& call, const std::string& id, control::LogBatch batch) {
  return of_run(call.services.tracking.log_batch(call.who, id, std::move(batch)), id);
}

Result<std::string> log_metric(Call& call, const Fields& args) {
  Logged logged = TRY(read_metric(args));
  TRY(log(call, logged.run_id, std::move(logged.batch)));
  return std::string("{}");
}

Result<std::string> log_param(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  std::string key = TRY(args.need_text("key"));
  TRY(check_key(key, "key"));
  control::LogBatch batch;
  batch.params.emplace_back(std::move(key), cut(TRY(args.text("value")), kMostParam));
  TRY(log(call, id, std::move(batch)));
  return std::string("{}");
}

Result<std::string> log_batch(Call& call, const Fields& args) {
  Logged logged = TRY(read_batch(args, call.request.body.size()));
  auto& tags = logged.batch.tags;
  for (const auto& [key, value] : tags)
    if (key == kRunName) TRY(rename_by_tag(call, logged.run_id, value));
  std::erase_if(tags, [](const auto& tag) { return tag.first == kRunName; });
  TRY(log(call, logged.run_id, std::move(logged.batch)));
  return std::string("{}");
}

// What a training loop sends again and again.
void add_logged(RouteTable& table, std::string_view path,
                std::optional<QuickMetrics> (*quick)(std::string_view), JsonHandler otherwise) {
  Route& route = add_json(table, "POST", path, otherwise);
  route.logs = true;
  route.handler = [quick, general = route.handler](Call& call) -> Result<net::Response> {
    auto found = quick(call.request.body);
    if (!found) return general(call);
    control::LogBatch batch;
    batch.points = std::move(found->points);
    TRY(log(call, found->run_id, std::move(batch)));
    return json_text("{}");
  };
}

// log-model of MLflow 2: a model's description, appended to a list in a tag.
Result<std::string> log_model(Call& call, const Fields& args) {
  const std::string id = TRY(run_id_of(args));
  const auto model = parse_json(TRY(args.need_text("model_json")), kMostJsonBytes);
  if (!model.ok() || model->kind != Node::Kind::map)
    return Error::invalid("Malformed model info: model_json is not a valid JSON.");
  for (const char* name : {"artifact_path", "flavors", "utc_time_created", "run_id"})
    if (model->find(name) == nullptr)
      return Error::invalid(format("Model json is missing mandatory fields: {{'{}'}}", name));
  const auto run = TRY(of_run(call.services.tracking.get_run(call.who, id), id));
  Node history;
  history.kind = Node::Kind::list;
  if (const auto tag = run.run.tags.find(std::string(kModelHistory)); tag != run.run.tags.end())
    if (auto known = parse_json(tag->second, kMostJsonBytes);
        known.ok() && known->kind == Node::Kind::list)
      history = std::move(*known);
  history.items.push_back(*model);
  TRY(of_run(
      call.services.tracking.set_tag(call.who, id, std::string(kModelHistory), to_json(history)),
      id));
  return std::string("{}");
}

// --- search -------------------------------------------------------------------------------------

// What MLflow keeps as tags and we as members of the run.
void translate(control::Column& column) {
  if (column.side != control::Side::tag) return;
  if (column.key == kRunName) column = {control::Side::attribute, "run_name", {}};
}

Result<std::string> search(Call& call, const Fields& args) {
  control::RunSearch query;
  query.project = project_of(call);
  query.experiment_ids = TRY(args.texts("experiment_ids"));
  query.filter = TRY(parse_filter(TRY(args.text("filter")), Noun::run));
  query.order_by = TRY(parse_order(TRY(args.texts("order_by")), Noun::run));
  for (auto& comparison : query.filter) translate(comparison.column);
  for (auto& order : query.order_by) translate(order.column);
  query.view = TRY(view_of(args, "run_view_type"));
  query.limit = TRY(args.integer("max_results")).value_or(kUsualRuns);
  if (query.limit < 1 || query.limit > control::kMostFoundRuns)
    return invalid_value("max_results", std::to_string(query.limit),
                         format("it must be between 1 and {}", control::kMostFoundRuns));
  query.cursor = TRY(args.text("page_token"));
  // No experiment holds no run.
  if (query.experiment_ids.empty()) return std::string("{}");
  const auto page = TRY(call.services.tracking.search_runs(call.who, query));
  return json_object([&](JsonObject& object) {
    object.list("runs", page.runs, [&](std::string& to, const control::FoundRun& run) {
      write_run(to, run, call.options.mlflow_artifact_root);
    });
    object.some_text("next_page_token", page.next_cursor);
  });
}

}  // namespace

void add_run_calls(RouteTable& table) {
  add_json(table, "POST", "/runs/create", create);
  add_json(table, "GET", "/runs/get", get);
  add_json(table, "POST", "/runs/update", update);
  add_json(table, "POST", "/runs/delete", remove);
  add_json(table, "POST", "/runs/restore", restore);
  add_json(table, "POST", "/runs/set-tag", set_tag).logs = true;
  add_json(table, "POST", "/runs/delete-tag", delete_tag);
  add_logged(table, "/runs/log-metric", read_metric_quickly, log_metric);
  add_json(table, "POST", "/runs/log-parameter", log_param).logs = true;
  add_logged(table, "/runs/log-batch", read_batch_quickly, log_batch);
  add_json(table, "POST", "/runs/log-model", log_model).most_body_bytes = kMostJsonBytes;
  add_json(table, "POST", "/runs/search", search);
}

}  // namespace hearth::api::mlflow
