// metrics/...
#include <algorithm>

#include "api/mlflow/encode.h"
#include "api/mlflow/face.h"

namespace hearth::api::mlflow {
namespace {

constexpr int64_t kMostPoints = 25'000;  // of one answer
constexpr size_t kMostRuns = 100;        // of one bulk call
constexpr int64_t kMostPerRun = 2'500;   // of one interval call

void write_point(std::string& out, const std::string& key, const control::HistoryPoint& point,
                 const std::string& run_id) {
  JsonObject metric(out);
  metric.text("key", key);
  metric.real("value", finite(point.value));
  metric.integer("timestamp", millis(point.time));
  metric.integer("step", point.step);
  metric.some_text("run_id", run_id);
}

Result<std::string> history(Call& call, const Fields& args) {
  control::HistoryQuery query;
  query.run_id = TRY(run_id_of(args));
  query.key = TRY(args.need_text("metric_key"));
  query.limit = TRY(args.integer("max_results")).value_or(kMostPoints);
  if (query.limit <= 0) query.limit = kMostPoints;
  query.limit = std::min(query.limit, kMostPoints);
  query.cursor = TRY(args.text("page_token"));
  const auto page = TRY(of_run(call.services.tracking.history(call.who, query), query.run_id));
  TRY(control::check_whole(page.damaged));
  return json_object([&](JsonObject& object) {
    object.list("metrics", page.points,
                [&](std::string& to, const auto& p) { write_point(to, query.key, p, ""); });
    object.some_text("next_page_token", page.next_cursor);
  });
}

// Of all runs in one list; it is there also when it is empty.
std::string answer_points(const std::vector<control::RunHistory>& histories, int64_t most) {
  std::string out = "{\"metrics\":[";
  int64_t written = 0;
  for (const control::RunHistory& one : histories) {
    for (const control::HistoryPoint& point : one.points) {
      if (written == most) return out + "]}";
      if (written++ > 0) out += ',';
      write_point(out, one.key, point, one.run_id);
    }
  }
  return out + "]}";
}

Result<std::string> bulk(Call& call, const Fields& args) {
  control::HistoriesQuery query;
  query.run_ids = TRY(args.texts("run_id"));
  if (query.run_ids.empty())
    return Error::invalid("GetMetricHistoryBulk request must specify at least one run_id.");
  if (query.run_ids.size() > kMostRuns)
    return Error::invalid(
        format("GetMetricHistoryBulk request cannot specify more than {} run_ids. "
               "Received {} run_ids.",
               kMostRuns, query.run_ids.size()));
  const auto key = TRY(args.some_text("metric_key"));
  if (!key) return Error::invalid("GetMetricHistoryBulk request must specify a metric_key.");
  query.keys = {*key};
  query.most_points = TRY(args.integer("max_results")).value_or(kMostPoints);
  query.most_points = std::clamp<int64_t>(query.most_points, 1, kMostPoints);
  std::sort(query.run_ids.begin(), query.run_ids.end());
  query.run_ids.erase(std::unique(query.run_ids.begin(), query.run_ids.end()), query.run_ids.end());
  return answer_points(TRY(call.services.tracking.histories(call.who, query)), query.most_points);
}

Result<std::string> interval(Call& call, const Fields& args) {
  control::IntervalQuery query;
  query.run_ids = TRY(args.texts("run_ids"));
  if (query.run_ids.empty()) return args.missing("run_ids");
  if (query.run_ids.size() > kMostRuns)
    return Error::invalid(
        format("GetMetricHistoryBulkInterval request must specify at most {} "
               "run_ids. Received {} run_ids.",
               kMostRuns, query.run_ids.size()));
  query.key = TRY(args.need_text("metric_key"));
  query.first_step = TRY(args.integer("start_step"));
  query.last_step = TRY(args.integer("end_step"));
  query.most_per_run = TRY(args.integer("max_results")).value_or(kMostPerRun);
  if (query.most_per_run < 1 || query.most_per_run > kMostPerRun)
    return Error::invalid(format("max_results must be between 1 and {}.", kMostPerRun));
  if (query.first_step.has_value() != query.last_step.has_value())
    return Error::invalid(
        "If either start step or end step are specified, both must be specified.");
  if (query.first_step && *query.first_step > *query.last_step)
    return Error::invalid(
        format("end_step must be greater than start_step. Found start_step={} "
               "and end_step={}.",
               *query.first_step, *query.last_step));
  return answer_points(TRY(call.services.tracking.interval(call.who, query)), -1);
}

}  // namespace

void add_metric_calls(RouteTable& table) {
  add_json(table, "GET", "/metrics/get-history", history);
  add_json(table, "GET", "/metrics/get-history-bulk", bulk);
  add_json(table, "GET", "/metrics/get-history-bulk-interval", interval);
}

}  // namespace hearth::api::mlflow
