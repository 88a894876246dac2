// What clients log: metrics, params, tags.
#include <algorithm>

#include "base/id.h"
#include "control/tracking/state.h"

namespace hearth::control {
namespace {

Result<void> check_batch(const LogBatch& batch) {
  if (batch.metrics.size() + batch.points.points.size() > kMostBatchMetrics ||
      batch.params.size() > kMostTrackedParams || batch.tags.size() > kMostTrackedTags)
    return Error::of(Code::too_large,
                     format("a batch has at most {} metrics, {} params and {} tags",
                            kMostBatchMetrics, kMostTrackedParams, kMostTrackedTags),
                     "send it in several");
  for (const LoggedMetric& metric : batch.metrics) {
    TRY(check_key(metric.key, "a metric"));
    for (const std::string* text : {&metric.model_id, &metric.dataset_name, &metric.dataset_digest})
      TRY(check_text(*text, kMostTrackedKeyBytes / 2, "what a metric was measured on"));
  }
  for (const std::string& key : batch.points.keys) TRY(check_key(key, "a metric"));
  for (const auto& [key, value] : batch.params) {
    TRY(check_key(key, "a param"));
    TRY(check_text(value, kMostParamBytes, "a param"));
  }
  for (const auto& [key, value] : batch.tags) {
    TRY(check_key(key, "a tag"));
    TRY(check_text(value, kMostTagBytes, "a tag"));
  }
  return {};
}

// Write-once: the same value again is fine. What its job file gave (1e-3, which Python writes as
// 0.001), or an earlier attempt, a job may say anew once. `by_job`: a task of a job says it.
Result<bool> add_params(Run& run, const LogBatch& batch, bool by_job) {
  bool changed = false;
  for (const auto& [key, value] : batch.params) {
    const auto [at, added] = run.params.emplace(key, value);
    changed = changed || added;
    if (by_job && std::erase(run.given_params, key) > 0) {
      at->second = value;
      changed = true;
    }
    if (!added && at->second != value)
      return Error::invalid(
          format("Changing param values is not allowed. Param with key='{}' was already logged "
                 "with value='{}' for run ID='{}'. Attempted logging new value '{}'.",
                 key, at->second, run.id, value));
  }
  if (run.params.size() > kMostTrackedParams)
    return Error::invalid(format("a run has at most {} params", kMostTrackedParams));
  return changed;
}

Result<bool> add_tags(db::Session& session, Run& run, const LogBatch& batch,
                      const std::function<Result<bool>(db::Session&, const Run&)>& is_own) {
  bool changed = false;
  for (const auto& [key, value] : batch.tags) {
    std::string& tag = run.tags[key];
    changed = changed || tag != value || value.empty();
    tag = value;
    if (key == "mlflow.runName" && !value.empty() && !TRY(is_own(session, run))) run.name = value;
  }
  if (run.tags.size() > kMostTrackedTags)
    return Error::invalid(format("a run has at most {} tags", kMostTrackedTags), "take some away");
  return changed;
}

// All metrics of a batch; its `points` leave it.
KeyedPoints take_points(LogBatch& batch) {
  KeyedPoints points = std::exchange(batch.points, {});
  if (batch.metrics.empty()) return points;
  PointCollector all;
  all.reserve(points.points.size() + batch.metrics.size());
  all.add(points);
  for (const LoggedMetric& metric : batch.metrics)
    all.add(stored_key(metric), {metric.step, metric.time, metric.value});
  return all.take();
}

// Which task of a job logs, if it is one.
Result<PointSource> source_of(db::Session& session, const Identity& who) {
  PointSource source;
  if (who.task_id.empty()) return source;
  TRY(
      session.query("SELECT attempts.number, tasks.rank FROM tasks JOIN attempts ON attempts.id = "
                    "tasks.attempt_id WHERE tasks.id = $1",
                    {who.task_id}, [&](const db::Row& row) -> Result<void> {
                      source = {who.task_id, row.integer(0), row.integer(1)};
                      return {};
                    }));
  return source;
}

Result<void> note_models(db::Session& session, const std::string& run_id, const LogBatch& batch) {
  std::set<std::string_view> models;
  for (const LoggedMetric& metric : batch.metrics)
    if (!metric.model_id.empty() && models.insert(metric.model_id).second)
      TRY(session.execute(
          "INSERT INTO model_runs (model_id, run_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
          {metric.model_id, run_id}));
  return {};
}

Error too_many_keys(const std::set<std::string>& refused) {
  return Error::invalid(
      format("metric '{}': a run has at most {} metrics",
             refused.begin()->substr(0, refused.begin()->find(kKeyMark)), kMostMetricKeys),
      "log to another run, or under fewer names");
}

}  // namespace

Result<void> check_text(const std::string& text, size_t most, std::string_view what) {
  if (text.size() > most)
    return Error::invalid(format("{} is {} bytes long, {} are allowed", what, text.size(), most),
                          "keep long texts as files of the run");
  if (!is_utf8(text)) return Error::invalid(format("{} is no UTF-8 text", what));
  return {};
}

Result<void> check_key(const std::string& key, std::string_view what) {
  if (key.empty()) return Error::invalid(format("the name of {} is empty", what));
  if (key.find('\0') != std::string::npos || key.find(kKeyMark) != std::string::npos)
    return Error::invalid(format("the name of {} has a control character", what));
  if (key.size() <= kMostTrackedKeyBytes && is_utf8(key)) return {};  // without making words
  return check_text(key, kMostTrackedKeyBytes, format("the name of {}", what));
}

std::string stored_key(const LoggedMetric& metric) {
  if (metric.model_id.empty() && metric.dataset_name.empty() && metric.dataset_digest.empty())
    return metric.key;
  std::string key = metric.key;
  for (const std::string* part : {&metric.model_id, &metric.dataset_name, &metric.dataset_digest})
    key.append(1, kKeyMark).append(*part);
  return key;
}

void read_mark(std::string_view mark, std::string& model_id, std::string& dataset_name,
               std::string& dataset_digest) {
  for (std::string* part : {&model_id, &dataset_name, &dataset_digest}) {
    if (!mark.empty()) mark.remove_prefix(1);
    const size_t end = std::min(mark.find(kKeyMark), mark.size());
    *part = mark.substr(0, end);
    mark.remove_prefix(end);
  }
}

LatestMetric latest_of(const track::MetricSummary& summary) {
  return {summary.last.value, summary.last.step, summary.last.time};
}

Result<void> Tracking::State::write_batch(const Identity& who, const RunFacts& facts,
                                          LogBatch batch) {
  const KeyedPoints points = take_points(batch);
  const bool counted = points.empty() || TRY(index.has_room(facts.id, points));
  // What can be done before is: all writers wait behind the transaction.
  EncodedPoints made = TRY(encode_points(points));
  if (!made.refused.empty()) return too_many_keys(made.refused);
  const std::string id = make_id();
  PointSource source;
  bool run_changed = false;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    if (!batch.to_deleted) TRY(check_active(session, facts.id));
    source = TRY(source_of(session, who));
    if (!batch.params.empty() || !batch.tags.empty()) {
      Run run = TRY(db::Table<Run>::need(session, facts.id));
      const bool params = TRY(add_params(run, batch, source.attempt > 0));
      const bool tags = TRY(add_tags(session, run, batch, is_jobs_own));
      run_changed = params || tags;
      if (run_changed) {
        TRY(db::Table<Run>::update(session, run));
        TRY(emit(session, context.clock, who.actor(), run.project,
                 tags ? "run.tagged" : "run.params", run.id, run.version));
      }
    }
    if (points.empty()) return {};
    TRY(note_models(session, facts.id, batch));
    made.row.source = source;
    if (counted) return add_row(session, facts.id, MetricKind::metric, made.row, id);
    const auto refused = TRY(add_points(session, facts.id, source, MetricKind::metric, points, id));
    if (!refused.empty()) return too_many_keys(refused);
    return {};
  }));
  if (!points.empty()) {
    index.apply(facts.id, source.attempt, points);
    count_rows(facts.id);
  }
  if (run_changed) context.signals.notify(kEventsTopic);
  context.signals.notify(run_topic(facts.id));
  return {};
}

// Of one run, in rows of at most so many points.
Result<void> Tracking::State::add_relaxed(const std::string& run_id, const KeyedPoints& points,
                                          std::vector<RelaxedRow>& rows) {
  const auto room = index.has_room(run_id, points);
  PointCollector part;
  const auto finish = [&]() -> Result<void> {
    RelaxedRow row{run_id, make_id(), room.ok() && *room, part.take(), {}};
    if (row.counted) row.made = TRY(encode_points(row.points)).row;
    rows.push_back(std::move(row));
    return {};
  };
  for (size_t key = 0; key < points.keys.size(); ++key)
    for (const track::Point& point : points.of(key)) {
      part.add(points.keys[key], point);
      if (part.points() == kMostBatchMetrics) TRY(finish());
    }
  return part.points() == 0 ? Result<void>() : finish();
}

Result<void> Tracking::State::write_relaxed(std::vector<RelaxedBatch> batches) {
  // One row for each run.
  std::map<std::string, PointCollector> collected;
  for (const RelaxedBatch& batch : batches) collected[batch.run_id].add(batch.points);
  std::map<std::string, KeyedPoints> runs;
  for (auto& [run_id, points] : collected) runs[run_id] = points.take();
  std::vector<RelaxedRow> rows;
  for (const auto& [run_id, points] : runs) TRY(add_relaxed(run_id, points, rows));
  std::set<std::string> gone;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    gone.clear();
    for (const auto& [run_id, points] : runs)
      if (!check_active(session, run_id).ok()) gone.insert(run_id);
    for (const RelaxedRow& row : rows) {
      if (gone.contains(row.run_id)) continue;
      if (row.counted)
        TRY(add_row(session, row.run_id, MetricKind::metric, row.made, row.id));
      else
        TRY(add_points(session, row.run_id, {}, MetricKind::metric, row.points, row.id));
    }
    return {};
  }));
  for (const auto& [run_id, points] : runs) {
    if (gone.contains(run_id)) continue;
    index.apply(run_id, 0, points);
    count_rows(run_id);
    context.signals.notify(run_topic(run_id));
  }
  return {};
}

void Tracking::State::count_rows(const std::string& run_id) {
  const std::lock_guard lock(mutex);
  if (new_rows.size() >= kMostTidied) new_rows.clear();
  ++new_rows[run_id];
  ++rows_come;
}

Result<void> Tracking::log_batch(const Identity& who, const std::string& run_id, LogBatch batch) {
  TRY(check_batch(batch));
  const RunFacts run = TRY(state_->run_for(who, run_id, Grade::member));
  const bool relaxed = batch.durability == Durability::relaxed && who.task_id.empty() &&
                       std::ranges::all_of(batch.metrics, [](const LoggedMetric& metric) {
                         return metric.model_id.empty();
                       });
  if (relaxed && !(batch.metrics.empty() && batch.points.empty())) {
    // Refused now rather than lost later.
    TRY(state_->context.database.read(
        [&](db::Session& session) { return State::check_active(session, run.id); }));
    TRY(state_->relaxed.add({run.id, take_points(batch)}));
    batch.metrics.clear();
    if (batch.params.empty() && batch.tags.empty()) return {};
  }
  return state_->write_batch(who, run, std::move(batch));
}

Result<void> Tracking::flush() {
  return state_->relaxed.flush();
}

}  // namespace hearth::control
