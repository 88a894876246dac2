// Histories of metrics: pages of one key, many runs at once, sampled, for one model.
#include <algorithm>
#include <bit>
#include <charconv>

#include "base/log.h"
#include "base/units.h"
#include "control/tracking/cursor_field.h"
#include "control/tracking/state.h"

namespace hearth::control {
namespace {

constexpr size_t kMostBulkRuns = 1000;
constexpr int64_t kMostIntervalPoints = 25'000;  // of one run

HistoryPoint history_point(const Series& series, const SourcedPoint& p) {
  HistoryPoint point{.step = p.point.step,
                     .time = p.point.time,
                     .value = p.point.value,
                     .attempt = p.attempt,
                     .rank = p.rank};
  read_mark(series.marks[p.mark], point.model_id, point.dataset_name, point.dataset_digest);
  return point;
}

// Where a page ended: the point itself, so that points which come meanwhile change nothing.
struct Position {
  SourcedPoint point;
  std::string mark;
};

bool behind(const Series& series, const SourcedPoint& p, const Position& at) {
  if (track::before(at.point.point, p.point)) return true;
  if (track::before(p.point, at.point.point)) return false;
  const auto rest = [](const SourcedPoint& one, const std::string& mark) {
    return std::tuple(one.attempt, one.rank, std::string_view(mark));
  };
  return rest(at.point, at.mark) < rest(p, series.marks[p.mark]);
}

std::string cursor_of(const Series& series, const SourcedPoint& p) {
  return to_base64url(as_bytes(format("{}:{}:{}:{}:{}:{}", p.point.step, p.point.time.micros,
                                      std::bit_cast<uint64_t>(p.point.value), p.attempt, p.rank,
                                      series.marks[p.mark])));
}

Result<Position> read_cursor(const std::string& cursor) {
  const Error foreign = Error::invalid("the cursor is not one of this history",
                                       "start the history again without a cursor");
  const auto bytes = from_base64(cursor);
  if (!bytes.ok()) return foreign;
  std::string_view text = as_text(*bytes);
  Position at;
  uint64_t value = 0;
  if (!take(text, at.point.point.step) || !take(text, at.point.point.time.micros) ||
      !take(text, value) || !take(text, at.point.attempt) || !take(text, at.point.rank))
    return foreign;
  at.point.point.value = std::bit_cast<double>(value);
  at.mark = text;
  return at;
}

bool in_range(int64_t value, const std::optional<int64_t>& first,
              const std::optional<int64_t>& last) {
  return (!first || value >= *first) && (!last || value <= *last);
}

// At most `most` of the steps, evenly.
std::set<int64_t> sampled(const std::set<int64_t>& steps, int64_t most) {
  const auto count = static_cast<int64_t>(steps.size());
  if (count <= most) return steps;
  const std::vector<int64_t> all(steps.begin(), steps.end());
  std::set<int64_t> some;
  for (int64_t i = 0; i < most; ++i) some.insert(all[static_cast<size_t>(i * count / most)]);
  return some;
}

}  // namespace

Result<void> check_whole(const std::vector<std::string>& damaged) {
  if (damaged.empty()) return {};
  return Error::internal(format("{}", join(damaged, "; ")),
                         "POST /api/v1/metrics/query gives what is whole; restore the last backup "
                         "(hearth restore) for the rest");
}

void Tracking::State::tell_damage(const std::vector<std::string>& damaged) {
  const std::lock_guard lock(mutex);
  for (const std::string& one : damaged)
    if (told.size() < kMostTold && told.insert(one).second) log_error("{}", one);
}

Result<HistoryPage> Tracking::history(const Identity& who, const HistoryQuery& query) {
  const RunFacts run = TRY(state_->run_for(who, query.run_id, Grade::viewer));
  TRY(check_key(query.key, "a metric"));
  std::optional<Position> from;
  if (!query.cursor.empty()) from = TRY(read_cursor(query.cursor));
  const auto limit = static_cast<size_t>(std::clamp<int64_t>(query.limit, 1, kMostHistoryPoints));
  HistoryPage page;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    page = {};
    RunSeries all = TRY(read_run(session, run.id, std::span(&query.key, 1),
                                 query.all_attempts ? Attempts::all : Attempts::newest));
    page.damaged = std::move(all.damaged);
    const auto found = all.keys.find(query.key);
    if (found == all.keys.end()) return {};
    const Series& series = found->second;
    const SourcedPoint* last = nullptr;
    for (const SourcedPoint& p : series.points) {
      if (!in_range(p.point.step, query.first_step, query.last_step)) continue;
      if (from && !behind(series, p, *from)) continue;
      if (page.points.size() == limit) {
        page.next_cursor = cursor_of(series, *last);
        break;
      }
      page.points.push_back(history_point(series, p));
      last = &p;
    }
    return {};
  }));
  state_->tell_damage(page.damaged);
  return page;
}

Result<std::vector<RunHistory>> Tracking::histories(const Identity& who,
                                                    const HistoriesQuery& query) {
  if (query.run_ids.size() > kMostBulkRuns)
    return Error::invalid(format("ask for {} runs at most", kMostBulkRuns));
  std::vector<RunHistory> histories;
  int64_t left = query.most_points;
  for (const std::string& run_id : query.run_ids) {
    const RunFacts run = TRY(state_->run_for(who, run_id, Grade::viewer));
    if (left <= 0) continue;
    TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
      const RunSeries all = TRY(read_run(session, run.id, query.keys));
      TRY(check_whole(all.damaged));
      for (const auto& [key, series] : all.keys) {
        RunHistory history{run.id, key, {}};
        for (const SourcedPoint& p : series.points)
          if (left-- > 0) history.points.push_back(history_point(series, p));
        if (!history.points.empty()) histories.push_back(std::move(history));
      }
      return {};
    }));
  }
  return histories;
}

Result<std::vector<RunHistory>> Tracking::interval(const Identity& who,
                                                   const IntervalQuery& query) {
  if (query.run_ids.size() > kMostBulkRuns)
    return Error::invalid(format("ask for {} runs at most", kMostBulkRuns));
  if (query.first_step.has_value() != query.last_step.has_value())
    return Error::invalid("If either start step or end step are specified, both must be specified");
  if (query.first_step && *query.first_step > *query.last_step)
    return Error::invalid("the last step lies before the first one");
  const int64_t most = std::clamp<int64_t>(query.most_per_run, 1, kMostIntervalPoints);
  std::vector<RunHistory> histories;
  std::set<int64_t> steps, kept;
  for (const std::string& run_id : query.run_ids) {
    const RunFacts run = TRY(state_->run_for(who, run_id, Grade::viewer));
    RunHistory history{run.id, query.key, {}};
    TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
      history.points.clear();
      const RunSeries all = TRY(read_run(session, run.id, std::span(&query.key, 1)));
      TRY(check_whole(all.damaged));
      for (const auto& [key, series] : all.keys)
        for (const SourcedPoint& p : series.points)
          if (in_range(p.point.step, query.first_step, query.last_step))
            history.points.push_back(history_point(series, p));
      return {};
    }));
    for (const HistoryPoint& point : history.points) steps.insert(point.step);
    if (!history.points.empty()) {
      kept.insert(history.points.front().step);
      kept.insert(history.points.back().step);
    }
    histories.push_back(std::move(history));
  }
  kept.merge(sampled(steps, most));
  for (RunHistory& history : histories)
    std::erase_if(history.points,
                  [&](const HistoryPoint& point) { return !kept.contains(point.step); });
  return histories;
}

Result<std::vector<LoggedMetric>> Tracking::model_metrics(const Identity& who,
                                                          const std::string& model_id,
                                                          const std::string& run_id) {
  std::vector<std::string> runs;
  if (!run_id.empty()) {
    runs.push_back(TRY(state_->run_for(who, run_id, Grade::viewer)).id);
  } else {
    TRY(state_->context.database.read([&](db::Session& session) {
      runs.clear();
      return session.query(
          "SELECT run_id FROM model_runs WHERE model_id = $1 ORDER BY run_id "
          "LIMIT 1000",
          {model_id}, [&](const db::Row& row) -> Result<void> {
            runs.emplace_back(row.text(0));
            return {};
          });
    }));
    std::erase_if(
        runs, [&](const std::string& id) { return !state_->run_for(who, id, Grade::viewer).ok(); });
  }
  std::vector<LoggedMetric> found;
  for (const std::string& id : runs)
    TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
      for (const auto& [key, summary] : TRY(read_summaries(session, id))) {
        const size_t end = key.find(kKeyMark);
        if (end == std::string::npos) continue;
        LoggedMetric metric{.key = key.substr(0, end),
                            .value = summary.last.value,
                            .time = summary.last.time,
                            .step = summary.last.step,
                            .run_id = id};
        read_mark(std::string_view(key).substr(end), metric.model_id, metric.dataset_name,
                  metric.dataset_digest);
        if (metric.model_id == model_id) found.push_back(std::move(metric));
      }
      return {};
    }));
  return found;
}

}  // namespace hearth::control
