// logged-models/...
#include <algorithm>
#include <cmath>

#include "api/answer.h"
#include "api/mlflow/encode.h"
#include "api/mlflow/face.h"
#include "api/mlflow/filter.h"
#include "api/mlflow/limits.h"
#include "api/mlflow/paging.h"

namespace hearth::api::mlflow {
namespace {

constexpr int64_t kUsualModels = 100;
constexpr int64_t kMostModels = 1000;
constexpr std::array<std::string_view, 4> kStatus{"LOGGED_MODEL_STATUS_UNSPECIFIED",
                                                  "LOGGED_MODEL_PENDING", "LOGGED_MODEL_READY",
                                                  "LOGGED_MODEL_UPLOAD_FAILED"};

using Metrics = std::vector<control::LoggedMetric>;

control::Records& records(Call& call) {
  return call.services.records;
}

Result<Metrics> metrics_of(Call& call, const std::string& model_id) {
  return call.services.tracking.model_metrics(call.who, model_id, "");
}

void write_logged(std::string& out, const LoggedModel& model, const Metrics& metrics) {
  JsonObject object(out);
  {
    JsonObject info(object.member("info"));
    info.text("model_id", model.id);
    info.text("experiment_id", model.experiment_id);
    info.text("name", model.name);
    info.integer("creation_timestamp_ms", millis(model.created_at));
    info.integer("last_updated_timestamp_ms", millis(model.updated_at));
    info.text("artifact_uri", model.artifact_location);
    info.text("status", kStatus.at(static_cast<size_t>(model.status)));
    info.some_text("model_type", model.model_type);
    info.some_text("source_run_id", model.run_id);
    info.some_text("status_message", model.status_message);
    info.pairs("tags", model.tags);
  }
  JsonObject data(object.member("data"));
  data.pairs("params", model.params);
  data.list("metrics", metrics, [](std::string& to, const control::LoggedMetric& one) {
    JsonObject metric(to);
    metric.text("key", one.key);
    metric.real("value", finite(one.value));
    metric.integer("timestamp", millis(one.time));
    metric.integer("step", one.step);
    metric.some_text("model_id", one.model_id);
    metric.some_text("dataset_name", one.dataset_name);
    metric.some_text("dataset_digest", one.dataset_digest);
    metric.some_text("run_id", one.run_id);
  });
}

Result<net::Response> answer_model(Call& call, const LoggedModel& model) {
  const Metrics metrics = TRY(metrics_of(call, model.id));
  return json_text(json_object(
      [&](JsonObject& object) { write_logged(object.member("model"), model, metrics); }));
}

Result<std::string> create(Call& call, const Fields& args) {
  LoggedModel wanted;
  const std::string experiment = TRY(args.need_text("experiment_id"));
  const auto found = TRY(of_experiment(
      call.services.tracking.get_experiment(call.who, experiment, project_of(call)), experiment));
  wanted.experiment_id = found.id;
  wanted.project = found.project;
  wanted.artifact_location = where_files_are(found, call.options.mlflow_artifact_root);
  wanted.name = TRY(args.text("name"));
  wanted.model_type = TRY(args.text("model_type"));
  wanted.run_id = TRY(args.text("source_run_id"));
  TRY(check_length("name", wanted.name, kMostModelName));
  for (auto& [key, value] : TRY(args.pairs("params")))
    wanted.params[std::move(key)] = cut(std::move(value), kMostParam);
  for (auto& [key, value] : TRY(args.pairs("tags")))
    wanted.tags[std::move(key)] = cut(std::move(value), kMostTag);
  const LoggedModel model = TRY(records(call).create_logged_model(call.who, std::move(wanted)));
  return json_object([&](JsonObject& object) { write_logged(object.member("model"), model, {}); });
}

Result<net::Response> get(Call& call) {
  return answer_model(call, TRY(records(call).get_logged_model(call.who, call.at("model_id"))));
}

Result<net::Response> finalize(Call& call) {
  const Arguments arguments = TRY(Arguments::of(call.request));
  const Node* status = arguments.fields().find("status");
  if (status == nullptr) return arguments.fields().missing("status");
  control::LoggedModelChange change;
  for (size_t i = 0; i < kStatus.size(); ++i)
    if (kStatus.at(i) == status->text || std::to_string(i) == status->text)
      change.status = static_cast<LoggedModelStatus>(i);
  if (!change.status) return arguments.fields().wrong("status", *status);
  return answer_model(
      call, TRY(records(call).change_logged_model(call.who, call.at("model_id"), change)));
}

Result<net::Response> remove(Call& call) {
  TRY(records(call).delete_logged_model(call.who, call.at("model_id")));
  return json_text("{}");
}

Result<net::Response> log_params(Call& call) {
  const Arguments arguments = TRY(Arguments::of(call.request));
  control::LoggedModelChange change;
  for (auto& [key, value] : TRY(arguments.fields().pairs("params")))
    change.params[std::move(key)] = cut(std::move(value), kMostParam);
  TRY(records(call).change_logged_model(call.who, call.at("model_id"), change));
  return json_text("{}");
}

Result<net::Response> set_tags(Call& call) {
  const Arguments arguments = TRY(Arguments::of(call.request));
  control::LoggedModelChange change;
  for (auto& [key, value] : TRY(arguments.fields().pairs("tags"))) {
    TRY(check_key(key, "key"));
    change.tags[std::move(key)] = cut(std::move(value), kMostTag);
  }
  return answer_model(
      call, TRY(records(call).change_logged_model(call.who, call.at("model_id"), change)));
}

Result<net::Response> delete_tag(Call& call) {
  control::LoggedModelChange change;
  change.tags[call.at("key")] = std::nullopt;
  TRY(records(call).change_logged_model(call.who, call.at("model_id"), change));
  return json_text("{}");
}

// --- search -------------------------------------------------------------------------------------

struct Found {
  LoggedModel model;
  Metrics metrics;
};
// Only metrics of one of these count; none: all do.
struct DatasetWanted {
  std::string name, digest;
};

bool is_of(const control::LoggedMetric& metric, const std::vector<DatasetWanted>& datasets) {
  if (datasets.empty()) return true;
  return std::any_of(datasets.begin(), datasets.end(), [&](const DatasetWanted& one) {
    return metric.dataset_name == one.name &&
           (one.digest.empty() || metric.dataset_digest == one.digest);
  });
}

std::optional<double> number_of(const Found& found, const control::Column& column,
                                const std::vector<DatasetWanted>& datasets) {
  if (column.side == control::Side::metric) {
    for (const control::LoggedMetric& metric : found.metrics)
      if (metric.key == column.key && is_of(metric, datasets)) return metric.value;
    return std::nullopt;
  }
  if (column.key == "creation_timestamp")
    return static_cast<double>(millis(found.model.created_at));
  if (column.key == "last_updated_timestamp")
    return static_cast<double>(millis(found.model.updated_at));
  return std::nullopt;
}

std::optional<std::string> text_of(const Found& found, const control::Column& column) {
  const auto member = [&](const std::map<std::string, std::string>& map) {
    const auto at = map.find(column.key);
    return at == map.end() ? std::nullopt : std::optional(at->second);
  };
  if (column.side == control::Side::param) return member(found.model.params);
  if (column.side == control::Side::tag) return member(found.model.tags);
  if (column.key == "name") return found.model.name;
  if (column.key == "model_id") return found.model.id;
  if (column.key == "model_type") return found.model.model_type;
  if (column.key == "source_run_id") return found.model.run_id;
  static constexpr std::array<std::string_view, 4> kWords{"UNSPECIFIED", "PENDING", "READY",
                                                          "FAILED"};
  if (column.key == "status")
    return std::string(kWords.at(static_cast<size_t>(found.model.status)));
  return std::nullopt;
}

bool is_number(const control::Column& column) {
  return column.side == control::Side::metric ||
         (column.side == control::Side::attribute && column.key.ends_with("_timestamp"));
}

struct Search {
  std::vector<control::Comparison> filter;
  std::vector<DatasetWanted> datasets;
  std::vector<control::Order> order;
  std::vector<std::vector<DatasetWanted>> order_datasets;  // beside `order`
};

Result<Search> search_of(const Fields& args) {
  Search search;
  search.filter = TRY(parse_filter(TRY(args.text("filter")), Noun::logged_model));
  for (const Fields& one : TRY(args.objects("datasets")))
    search.datasets.push_back(
        {TRY(one.need_text("dataset_name")), TRY(one.text("dataset_digest"))});
  std::vector<std::string> items;
  for (const Fields& one : TRY(args.objects("order_by"))) {
    const std::string field = TRY(one.need_text("field_name"));
    items.push_back(field + (TRY(one.boolean("ascending", true)) ? " ASC" : " DESC"));
    const std::string name = TRY(one.text("dataset_name"));
    search.order_datasets.emplace_back();
    if (!name.empty())
      search.order_datasets.back().push_back({name, TRY(one.text("dataset_digest"))});
  }
  search.order = TRY(parse_order(items, Noun::logged_model));
  return search;
}

bool matches(const Search& search, const Found& found) {
  if (!search.datasets.empty() &&
      std::none_of(found.metrics.begin(), found.metrics.end(),
                   [&](const auto& metric) { return is_of(metric, search.datasets); }))
    return false;
  return std::all_of(search.filter.begin(), search.filter.end(), [&](const auto& one) {
    if (is_number(one.column)) return holds(one, number_of(found, one.column, search.datasets));
    return holds(one, text_of(found, one.column));
  });
}

// What is absent comes last in both directions.
template <typename T>
int compare(const std::optional<T>& a, const std::optional<T>& b, bool descending) {
  if (!a || !b) return static_cast<int>(!a) - static_cast<int>(!b);
  if (*a == *b) return 0;
  return (*a < *b) != descending ? -1 : 1;
}

bool before(const Search& search, const Found& a, const Found& b) {
  for (size_t i = 0; i < search.order.size(); ++i) {
    const control::Order& one = search.order[i];
    const auto& datasets = search.order_datasets[i];
    const int order = is_number(one.column)
                          ? compare(number_of(a, one.column, datasets),
                                    number_of(b, one.column, datasets), one.descending)
                          : compare(text_of(a, one.column), text_of(b, one.column), one.descending);
    if (order != 0) return order < 0;
  }
  if (a.model.created_at != b.model.created_at) return a.model.created_at > b.model.created_at;
  return a.model.id < b.model.id;
}

Result<std::string> search(Call& call, const Fields& args) {
  const auto experiments = TRY(args.texts("experiment_ids"));
  if (experiments.empty()) return args.missing("experiment_ids");
  const Search wanted = TRY(search_of(args));
  int64_t limit = TRY(args.integer("max_results")).value_or(kUsualModels);
  if (limit == 0) limit = kUsualModels;
  if (limit < 1 || limit > kMostModels)
    return invalid_value("max_results", std::to_string(limit),
                         format("it must be between 1 and {}", kMostModels));
  const auto names_metric = [](const auto& one) {
    return one.column.side == control::Side::metric;
  };
  const bool needs_metrics =
      !wanted.datasets.empty() ||
      std::any_of(wanted.filter.begin(), wanted.filter.end(), names_metric) ||
      std::any_of(wanted.order.begin(), wanted.order.end(), names_metric);
  std::vector<Found> all;
  for (LoggedModel& model : TRY(records(call).logged_models(call.who, experiments))) {
    Found found{std::move(model), {}};
    if (needs_metrics) found.metrics = TRY(metrics_of(call, found.model.id));
    if (matches(wanted, found)) all.push_back(std::move(found));
  }
  std::sort(all.begin(), all.end(),
            [&](const Found& a, const Found& b) { return before(wanted, a, b); });
  auto page = TRY(page_of(std::move(all), TRY(args.text("page_token")), limit,
                          [](const Found& found) { return found.model.id; }));
  if (!needs_metrics)
    for (Found& found : page.items) found.metrics = TRY(metrics_of(call, found.model.id));
  return json_object([&](JsonObject& object) {
    object.list("models", page.items, [](std::string& to, const Found& found) {
      write_logged(to, found.model, found.metrics);
    });
    object.some_text("next_page_token", page.next_token);
  });
}

}  // namespace

void add_logged_model_calls(RouteTable& table) {
  constexpr std::string_view kModel = "/api/2.0/mlflow/logged-models/{model_id}";
  constexpr std::string_view kTags = "/api/2.0/mlflow/logged-models/{model_id}/tags";
  constexpr std::string_view kTag = "/api/2.0/mlflow/logged-models/{model_id}/tags/{key}";
  constexpr std::string_view kParams = "/api/2.0/mlflow/logged-models/{model_id}/params";
  add_json(table, "POST", "/logged-models", create);
  add_json(table, "POST", "/logged-models/search", search);
  table.add("GET", kModel, "getLoggedModel", "mlflow", "", get);
  table.add("PATCH", kModel, "finalizeLoggedModel", "mlflow", "", finalize);
  table.add("DELETE", kModel, "deleteLoggedModel", "mlflow", "", remove);
  table.add("PATCH", kTags, "setLoggedModelTags", "mlflow", "", set_tags);
  table.add("DELETE", kTag, "deleteLoggedModelTag", "mlflow", "", delete_tag);
  table.add("POST", kParams, "logLoggedModelParams", "mlflow", "", log_params);
}

}  // namespace hearth::api::mlflow
