// Summaries of runs, and the merging of small rows.
#include <algorithm>

#include "base/format.h"
#include "control/ingest/metric_rows.h"
#include "track/metric_batch.h"
#include "track/metric_pack.h"

namespace hearth::control {
namespace {

constexpr int64_t kChunkPoints = 8;  // of a key, on average, from which on chunks are worth it
constexpr size_t kMostPlannedBytes = 4 << 20;  // of rows that are written in one transaction
constexpr int kMostTries = 3;                  // of a compaction that somebody else is ahead of

// Summaries can be made anew: what lies on a damaged page is as if it were not there.
Result<std::optional<Bytes>> stored_body(db::Session& session, const std::string& run_id) {
  std::optional<Bytes> found;
  const auto done = session.query("SELECT body FROM run_metrics WHERE run_id = $1", {run_id},
                                  [&](const db::Row& row) -> Result<void> {
                                    const auto bytes = row.bytes(0);
                                    found.emplace(bytes.begin(), bytes.end());
                                    return {};
                                  });
  if (!done.ok() && done.error().code != Code::internal) return done.error();
  return found;
}

Result<std::optional<track::SummaryByKey>> stored_summaries(db::Session& session,
                                                            const std::string& run_id) {
  std::optional<track::SummaryByKey> found;
  const auto body = TRY(stored_body(session, run_id));
  if (!body) return found;
  auto read = track::decode_summaries(*body);
  if (read.ok()) found = std::move(*read);
  return found;
}

void add(track::SummaryByKey& summaries, std::string_view key, const track::MetricSummary& summary,
         bool& whole) {
  const auto at = summaries.find(key);
  if (at == summaries.end())
    summaries.emplace(key, summary);
  else if (!track::merge(at->second, summary))
    whole = false;
}

Result<void> add_row(const MetricRow& row, track::SummaryByKey& summaries, bool& whole) {
  std::vector<std::string> damaged;
  return each_point(
      row, [](std::string_view) { return true; },
      [&](std::string_view key, std::span<const track::Point> points) {
        add(summaries, key, track::summary_of(points, row.source.attempt), whole);
      },
      damaged);
}

// From every point of the run.
Result<track::SummaryByKey> all_summaries(db::Session& session, const std::string& run_id) {
  track::SummaryByKey summaries;
  bool unused = true;
  const RunSeries all = TRY(read_run(session, run_id, {}));
  for (const auto& [key, series] : all.keys)
    for (const SourcedPoint& p : series.points)
      add(summaries, key + series.marks[p.mark], track::summary_of(p.point, p.attempt), unused);
  return summaries;
}

Result<bool> has_rows(db::Session& session, const std::string& run_id, const std::string& kind) {
  bool found = false;
  TRY(session.query("SELECT 1 FROM metric_batches WHERE kind = $1 AND run_id = $2 LIMIT 1",
                    {kind, run_id}, [&](const db::Row&) -> Result<void> {
                      found = true;
                      return {};
                    }));
  return found;
}
Result<bool> has_packs(db::Session& session, const std::string& run_id) {
  return has_rows(session, run_id, pack_kind(MetricKind::metric));
}

using Source = std::pair<int64_t, int64_t>;  // attempt and rank
using Groups = std::map<Source, track::PointsByKey>;
using Rows = std::map<Source, std::vector<KeyedPoints>>;

// The points of a row's keys, as far as they can be read.
Result<KeyedPoints> points_of(const MetricRow& row, std::vector<std::string>& damaged) {
  KeyedPoints all;
  TRY(each_point(
      row, [](std::string_view) { return true; },
      [&](std::string_view key, std::span<const track::Point> points) {
        all.keys.emplace_back(key);
        all.points.insert(all.points.end(), points.begin(), points.end());
        all.ends.push_back(static_cast<uint32_t>(all.points.size()));
      },
      damaged));
  return all;
}

// Of each key, row behind row as they begin: what was logged in order then is in order.
track::PointsByKey put_together(const std::vector<KeyedPoints>& rows) {
  std::map<std::string_view, std::vector<std::span<const track::Point>>> parts;
  for (const KeyedPoints& row : rows)
    for (size_t i = 0; i < row.keys.size(); ++i)
      if (!row.of(i).empty()) parts[row.keys[i]].push_back(row.of(i));
  track::PointsByKey series;
  for (auto& [key, all] : parts) {
    std::ranges::sort(all, track::before, [](const auto& part) { return part.front(); });
    size_t count = 0;
    for (const auto& part : all) count += part.size();
    auto& points = series[std::string(key)];
    points.reserve(count);
    for (const auto& part : all) points.insert(points.end(), part.begin(), part.end());
  }
  return series;
}

// A chunk costs a hundred bytes more than its points, which few points of many keys never win back.
Bytes body_of(const track::PointsByKey& series, int64_t points) {
  if (points >= static_cast<int64_t>(series.size()) * kChunkPoints) return track::make_pack(series);
  std::vector<track::KeySeries> all;
  for (const auto& [key, one] : series) all.push_back({key, one});
  auto batch = track::encode_batch(all);
  return batch.ok() ? std::move(*batch) : track::make_pack(series);  // too much for a batch
}

// Packs hold no more than a chunk's points of one key; longer series go into several.
void make_rows(const Source& source, track::PointsByKey series, std::vector<PointRow>& rows) {
  for (auto& [key, points] : series) {
    std::vector<std::vector<track::Point>> one;
    one.push_back(std::move(points));
    points = track::merge_points(std::move(one));
  }
  while (!series.empty()) {
    track::PointsByKey rest;
    PointRow row;
    row.source = {"", source.first, source.second};
    row.keys = static_cast<int64_t>(series.size());
    row.first = {INT64_MAX};
    for (auto& [key, points] : series) {
      if (points.size() > track::kMostChunkPoints) {
        const auto cut = points.begin() + static_cast<ptrdiff_t>(track::kMostChunkPoints);
        rest[key].assign(cut, points.end());
        points.erase(cut, points.end());
      }
      row.points += static_cast<int64_t>(points.size());
      for (const track::Point& point : points) row.first = std::min(row.first, point.time);
    }
    row.body = body_of(series, row.points);
    rows.push_back(std::move(row));
    series = std::move(rest);
  }
}

Result<void> add_summaries(db::Session& session, const std::string& run_id, const Groups& groups,
                           Compaction& plan) {
  bool whole = true;
  for (const auto& [source, series] : groups)
    for (const auto& [key, points] : series)
      add(plan.summaries, key, track::summary_of(points, source.first), whole);
  const auto stored = TRY(stored_summaries(session, run_id));
  if (stored)
    for (const auto& [key, summary] : *stored) add(plan.summaries, key, summary, whole);
  // Attempts that overtake each other, or a run of an older server: every point is looked at.
  if (whole && (stored || !TRY(has_packs(session, run_id)))) return {};
  plan.whole = true;
  plan.summaries = TRY(all_summaries(session, run_id));
  return {};
}

}  // namespace

Result<track::SummaryByKey> read_summaries(db::Session& session, const std::string& run_id) {
  auto stored = TRY(stored_summaries(session, run_id));
  if (!stored && TRY(has_packs(session, run_id))) return all_summaries(session, run_id);
  track::SummaryByKey summaries = stored ? std::move(*stored) : track::SummaryByKey();
  bool whole = true;
  TRY(each_row(session, run_id, "kind = 'metric'",
               [&](const MetricRow& row) { return add_row(row, summaries, whole); }));
  if (!whole) return all_summaries(session, run_id);
  return summaries;
}

Result<std::optional<Bytes>> whole_summaries(db::Session& session, const std::string& run_id) {
  if (TRY(has_rows(session, run_id, batch_kind(MetricKind::metric)))) return std::optional<Bytes>();
  return stored_body(session, run_id);
}

track::SummaryByKey without_marks(const track::SummaryByKey& summaries) {
  track::SummaryByKey bare;
  bool unused = true;
  for (const auto& [key, summary] : summaries)
    add(bare, std::string_view(key).substr(0, key.find(kKeyMark)), summary, unused);
  return bare;
}

Result<std::optional<Compaction>> plan_compaction(db::Session& session, const std::string& run_id,
                                                  MetricKind kind, int64_t least) {
  Compaction plan;
  plan.kind = kind;
  Rows rows;
  int64_t batches = 0;
  TRY(each_row(
      session, run_id,
      format("kind IN ('{}', '{}') AND LENGTH(body) < {}", batch_kind(kind), pack_kind(kind),
             kSmallRowBytes),
      [&](const MetricRow& row) -> Result<void> {
        const size_t known = plan.damaged.size();
        KeyedPoints points = TRY(points_of(row, plan.damaged));
        if (plan.damaged.size() > known) return {};  // it stays, for whoever mends it
        rows[{row.source.attempt, row.source.rank}].push_back(std::move(points));
        plan.ids.emplace_back(row.id);
        batches += row.merged ? 0 : 1;
        return {};
      },
      kMostCompactRows));
  // Merging must leave fewer rows, or it would go on for ever.
  const auto gone = static_cast<int64_t>(plan.ids.size()) - static_cast<int64_t>(rows.size());
  if (gone < least - 1 || (batches == 0 && gone == 0)) return std::optional<Compaction>();
  Groups groups;
  for (auto& [source, of_source] : rows) {
    groups[source] = put_together(of_source);
    of_source = {};
  }
  if (kind == MetricKind::metric) TRY(add_summaries(session, run_id, groups, plan));
  for (auto& [source, series] : groups) make_rows(source, std::move(series), plan.rows);
  return std::optional(std::move(plan));
}

Result<void> compact(db::Session& session, const std::string& run_id, const Compaction& compaction,
                     const std::string& id) {
  int64_t gone = 0;
  for (const std::string& old : compaction.ids)
    gone += TRY(
        session.execute("DELETE FROM metric_batches WHERE run_id = $1 AND id = $2", {run_id, old}));
  if (gone != static_cast<int64_t>(compaction.ids.size()))
    return Error::conflict(format("the metric rows of run {} have changed meanwhile", run_id));
  for (size_t part = 0; part < compaction.rows.size(); ++part)
    TRY(insert_row(session, run_id, part == 0 ? id : format("{}-{}", id, part),
                   pack_kind(compaction.kind), compaction.rows[part]));
  if (compaction.kind == MetricKind::system) return {};
  TRY(session.execute(
      "INSERT INTO run_metrics (run_id, keys, block, body) VALUES ($1, $2, 0, $3) "
      "ON CONFLICT (run_id) DO UPDATE SET keys = excluded.keys, block = 0, body = excluded.body",
      {run_id, static_cast<int64_t>(compaction.summaries.size()),
       track::encode_summaries(compaction.summaries)}));
  return {};
}

Result<void> compact_run(db::Database& database, const std::string& run_id, MetricKind kind,
                         const std::function<std::string()>& make_id, int64_t least,
                         const std::function<bool()>& go_on, int64_t passes) {
  for (int failed = 0; failed < kMostTries && passes > 0 && go_on(); --passes) {
    std::optional<Compaction> plan;
    TRY(database.read([&](db::Session& session) -> Result<void> {
      plan = TRY(plan_compaction(session, run_id, kind, least));
      return {};
    }));
    if (!plan) return {};
    const std::string id = make_id();
    const auto done =
        database.write([&](db::Session& session) { return compact(session, run_id, *plan, id); });
    if (!done.ok() && done.error().code == Code::conflict)
      ++failed;
    else
      TRY(done);
  }
  return {};
}

Result<void> compact_runs(db::Database& database, std::span<const std::string> runs,
                          MetricKind kind, const std::function<std::string()>& make_id,
                          const std::function<bool()>& go_on) {
  while (!runs.empty() && go_on()) {
    const auto some = runs.first(std::min(runs.size(), kRunsAtOnce));
    std::vector<std::pair<std::string, Compaction>> plans;
    size_t bytes = 0, looked_at = 0;
    TRY(database.read([&](db::Session& session) -> Result<void> {
      plans.clear();
      for (looked_at = bytes = 0; looked_at < some.size() && bytes < kMostPlannedBytes;
           ++looked_at) {
        auto plan = TRY(plan_compaction(session, some[looked_at], kind, 1));
        if (!plan) continue;
        for (const PointRow& row : plan->rows) bytes += row.body.size();
        plans.emplace_back(some[looked_at], std::move(*plan));
      }
      return {};
    }));
    runs = runs.subspan(looked_at);
    const auto done = database.write([&](db::Session& session) -> Result<void> {
      for (const auto& [run_id, plan] : plans) TRY(compact(session, run_id, plan, make_id()));
      return {};
    });
    const bool again = !done.ok() && done.error().code == Code::conflict;
    if (!again) TRY(done);
    // What somebody else was ahead of, and what has more rows than go at once.
    for (const auto& [run_id, plan] : plans)
      if (again || static_cast<int64_t>(plan.ids.size()) == kMostCompactRows)
        TRY(compact_run(database, run_id, kind, make_id, 1, go_on));
  }
  return {};
}

}  // namespace hearth::control
