// Summaries of runs, and the merging of small rows.
#include <algorithm>

#include "base/format.h"
#include "control/ingest/metric_rows.h"
#include "track/metric_batch.h"
#include "track/metric_pack.h"

namespace hearth::control {
namespace {

constexpr int64_t kChunkPoints = 8;  // of a key, on average, from which on chunks are worth it
constexpr int kMostTries = 3;        // of a compaction that somebody else is ahead of

Result<std::optional<track::SummaryByKey>> stored_summaries(db::Session& session,
                                                            const std::string& run_id) {
  // Summaries can be made anew: what is damaged, itself or its page, is as if it were not there.
  std::optional<track::SummaryByKey> found;
  const auto done = session.query("SELECT body FROM run_metrics WHERE run_id = $1", {run_id},
                                  [&](const db::Row& row) -> Result<void> {
                                    auto read = track::decode_summaries(row.bytes(0));
                                    if (read.ok()) found = std::move(*read);
                                    return {};
                                  });
  if (!done.ok() && done.error().code != Code::internal) return done.error();
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
        for (const track::Point& point : points)
          add(summaries, key, track::summary_of(point, row.source.attempt), whole);
      },
      damaged);
}

// From every point of the run.
Result<track::SummaryByKey> whole_summaries(db::Session& session, const std::string& run_id) {
  track::SummaryByKey summaries;
  bool unused = true;
  const RunSeries all = TRY(read_run(session, run_id, {}));
  for (const auto& [key, series] : all.keys)
    for (const SourcedPoint& p : series.points)
      add(summaries, key + series.marks[p.mark], track::summary_of(p.point, p.attempt), unused);
  return summaries;
}

Result<bool> has_packs(db::Session& session, const std::string& run_id) {
  bool found = false;
  TRY(session.query(
      "SELECT 1 FROM metric_batches WHERE run_id = $1 AND kind = 'metric_pack' LIMIT 1", {run_id},
      [&](const db::Row&) -> Result<void> {
        found = true;
        return {};
      }));
  return found;
}

struct Group {
  track::PointsByKey series;
  int64_t rows = 0;
};
using Groups = std::map<std::pair<int64_t, int64_t>, Group>;  // by attempt and rank

// A chunk costs a hundred bytes more than its points, which few points of many keys never win back.
Bytes body_of(const track::PointsByKey& series, int64_t points) {
  if (points >= static_cast<int64_t>(series.size()) * kChunkPoints) return track::make_pack(series);
  track::MetricBatchWriter writer;
  for (const auto& [key, all] : series)
    for (const track::Point& point : all)
      if (!writer.add(key, point).ok()) return track::make_pack(series);  // too much for a batch
  return writer.seal();
}

// Packs hold no more than a chunk's points of one key; longer series go into several.
void make_rows(const std::pair<int64_t, int64_t>& source, track::PointsByKey series,
               std::vector<PointRow>& rows) {
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
  for (const auto& [source, group] : groups)
    for (const auto& [key, points] : group.series)
      for (const track::Point& point : points)
        add(plan.summaries, key, track::summary_of(point, source.first), whole);
  const auto stored = TRY(stored_summaries(session, run_id));
  if (stored)
    for (const auto& [key, summary] : *stored) add(plan.summaries, key, summary, whole);
  // Attempts that overtake each other, or a run of an older server: every point is looked at.
  if (whole && (stored || !TRY(has_packs(session, run_id)))) return {};
  plan.whole = true;
  plan.summaries = TRY(whole_summaries(session, run_id));
  return {};
}

}  // namespace

Result<track::SummaryByKey> read_summaries(db::Session& session, const std::string& run_id) {
  auto stored = TRY(stored_summaries(session, run_id));
  if (!stored && TRY(has_packs(session, run_id))) return whole_summaries(session, run_id);
  track::SummaryByKey summaries = stored ? std::move(*stored) : track::SummaryByKey();
  bool whole = true;
  TRY(each_row(session, run_id, "kind = 'metric'",
               [&](const MetricRow& row) { return add_row(row, summaries, whole); }));
  if (!whole) return whole_summaries(session, run_id);
  return summaries;
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
  Groups groups;
  int64_t batches = 0;
  TRY(each_row(
      session, run_id,
      format("kind IN ('{}', '{}') AND LENGTH(body) < {}", batch_kind(kind), pack_kind(kind),
             kSmallRowBytes),
      [&](const MetricRow& row) -> Result<void> {
        track::PointsByKey series;
        const size_t known = plan.damaged.size();
        TRY(each_point(
            row, [](std::string_view) { return true; },
            [&](std::string_view key, std::span<const track::Point> points) {
              auto& all = series[std::string(key)];
              all.insert(all.end(), points.begin(), points.end());
            },
            plan.damaged));
        if (plan.damaged.size() > known) return {};  // it stays, for whoever mends it
        Group& group = groups[{row.source.attempt, row.source.rank}];
        ++group.rows;
        for (auto& [key, points] : series) {
          auto& all = group.series[key];
          all.insert(all.end(), points.begin(), points.end());
        }
        plan.ids.emplace_back(row.id);
        batches += row.merged ? 0 : 1;
        return {};
      },
      kMostCompactRows));
  // Merging must leave fewer rows, or it would go on for ever.
  const auto gone = static_cast<int64_t>(plan.ids.size()) - static_cast<int64_t>(groups.size());
  if (gone < least - 1 || (batches == 0 && gone == 0)) return std::optional<Compaction>();
  if (kind == MetricKind::metric) TRY(add_summaries(session, run_id, groups, plan));
  for (auto& [source, group] : groups) make_rows(source, std::move(group.series), plan.rows);
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
                         const std::function<std::string()>& make_id, int64_t least) {
  for (int failed = 0; failed < kMostTries;) {
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

}  // namespace hearth::control
