#include "control/ingest/metric_store.h"

#include <cmath>

#include "base/format.h"
#include "track/metric_batch.h"
#include "track/metric_pack.h"

namespace hearth::control {
namespace {

std::string batch_kind(MetricKind kind) {
  return kind == MetricKind::metric ? "metric" : "system";
}
std::string pack_kind(MetricKind kind) {
  return batch_kind(kind) + "_pack";
}

Result<void> insert_row(db::Session& session, const std::string& run_id, const std::string& id,
                        const std::string& kind, const std::string& task_id, size_t points,
                        Time first, Bytes body) {
  TRY(session.execute(
      "INSERT INTO metric_batches (run_id, id, kind, task_id, points, first_time, body) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7)",
      {run_id, id, kind, task_id, static_cast<int64_t>(points), first.micros, std::move(body)}));
  return {};
}

Result<void> put_latest(db::Session& session, const std::string& run_id, const std::string& key,
                        const track::Point& point) {
  std::string special;
  if (std::isnan(point.value))
    special = "NaN";
  else if (std::isinf(point.value))
    special = point.value > 0 ? "Infinity" : "-Infinity";
  const db::Value value = special.empty() ? db::Value(point.value) : db::Value();
  TRY(session.execute(
      "INSERT INTO latest_metrics (run_id, key, value, special, step, time) "
      "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (run_id, key) DO UPDATE SET "
      "value = excluded.value, special = excluded.special, step = excluded.step, "
      "time = excluded.time WHERE excluded.step > latest_metrics.step OR "
      "(excluded.step = latest_metrics.step AND excluded.time >= latest_metrics.time)",
      {run_id, key, value, special, point.step, point.time.micros}));
  return {};
}

// Keys that the run does not have yet and has no room for.
Result<std::set<std::string>> keys_over_bound(
    db::Session& session, const std::string& run_id,
    const std::map<std::string_view, track::Point>& wanted) {
  std::set<std::string> there, over;
  TRY(session.query("SELECT key FROM latest_metrics WHERE run_id = $1", {run_id},
                    [&](const db::Row& row) -> Result<void> {
                      there.insert(std::string(row.text(0)));
                      return {};
                    }));
  auto count = static_cast<int64_t>(there.size());
  for (const auto& [key, point] : wanted)
    if (!there.contains(std::string(key)) && ++count > kMostMetricKeys)
      over.insert(std::string(key));
  return over;
}

Error named(Error error, std::string_view id) {
  return std::move(error).with(format("metric row {}", id));
}

// Adds the points of one row: of `key` alone, or of all keys when it is empty.
Result<void> collect(std::string_view id, std::string_view kind, std::span<const std::byte> body,
                     std::string_view key, track::PointsByKey& into) {
  if (!kind.ends_with("_pack")) {
    const auto batch = track::read_batch(body);
    if (!batch.ok()) return named(batch.error(), id);
    for (const auto& item : batch->items) {
      const std::string_view name = batch->keys[item.key];
      if (!key.empty() && name != key) continue;
      auto at = into.find(name);
      if (at == into.end()) at = into.emplace(name, std::vector<track::Point>()).first;
      at->second.push_back(item.point);
    }
    return {};
  }
  const auto pack = track::MetricPack::read(body);
  if (!pack.ok()) return named(pack.error(), id);
  for (const std::string_view name : pack->keys()) {
    if (!key.empty() && name != key) continue;
    auto points = pack->points(name);
    if (!points.ok()) return named(points.error(), id);
    auto& all = into[std::string(name)];
    all.insert(all.end(), points->begin(), points->end());
  }
  return {};
}

std::string_view kinds_of(std::string_view key) {
  // A job may log keys that look like sampled ones.
  return key.starts_with("system/") ? "'system', 'system_pack', 'metric', 'metric_pack'"
                                    : "'metric', 'metric_pack'";
}

// Packs hold no more than a chunk's points of one key; longer series go into several.
Result<void> insert_packs(db::Session& session, const std::string& run_id, MetricKind kind,
                          const std::string& id, track::PointsByKey series) {
  for (int part = 0; !series.empty(); ++part) {
    track::PointsByKey rest;
    size_t count = 0;
    Time first{INT64_MAX};
    for (auto& [key, points] : series) {
      if (points.size() > track::kMostChunkPoints) {
        const auto cut = points.begin() + static_cast<ptrdiff_t>(track::kMostChunkPoints);
        rest[key].assign(cut, points.end());
        points.erase(cut, points.end());
      }
      count += points.size();
      for (const track::Point& point : points) first = std::min(first, point.time);
    }
    TRY(insert_row(session, run_id, part == 0 ? id : format("{}-{}", id, part), pack_kind(kind), "",
                   count, first, track::make_pack(series)));
    series = std::move(rest);
  }
  return {};
}

}  // namespace

Result<std::set<std::string>> add_points(db::Session& session, const std::string& run_id,
                                         const std::string& task_id, MetricKind kind,
                                         const std::vector<KeyPoint>& points,
                                         const std::string& id) {
  std::set<std::string> refused;
  std::map<std::string_view, track::Point> latest;
  for (const KeyPoint& p : points) {
    const auto [at, added] = latest.emplace(p.key, p.point);
    if (!added && track::before(at->second, p.point)) at->second = p.point;
  }
  if (kind == MetricKind::metric) refused = TRY(keys_over_bound(session, run_id, latest));
  track::MetricBatchWriter writer;
  Time first{INT64_MAX};
  for (const KeyPoint& p : points) {
    if (refused.contains(p.key)) continue;
    const auto added = writer.add(p.key, p.point);
    if (!added.ok() && added.error().code != Code::invalid) return Error(added.error());
    if (!added.ok())
      refused.insert(p.key);
    else
      first = std::min(first, p.point.time);
  }
  if (writer.points() == 0) return refused;
  const size_t count = writer.points();
  TRY(insert_row(session, run_id, id, batch_kind(kind), task_id, count, first, writer.seal()));
  if (kind == MetricKind::system) return refused;
  for (const auto& [key, point] : latest)
    if (!refused.contains(std::string(key)))
      TRY(put_latest(session, run_id, std::string(key), point));
  return refused;
}

Result<std::vector<track::Point>> read_series(db::Session& session, const std::string& run_id,
                                              std::string_view key) {
  track::PointsByKey found;
  size_t read = 0;
  if (key.empty()) return std::vector<track::Point>();
  TRY(session.query(
      format("SELECT id, kind, body FROM metric_batches WHERE run_id = $1 AND kind IN ({}) "
             "ORDER BY id",
             kinds_of(key)),
      {run_id}, [&](const db::Row& row) -> Result<void> {
        TRY(collect(row.text(0), row.text(1), row.bytes(2), key, found));
        read = found.empty() ? 0 : found.begin()->second.size();
        if (read <= kMostSeriesPoints) return {};
        return Error::of(Code::too_large,
                         format("metric {} has more than {} points", key, kMostSeriesPoints));
      }));
  if (found.empty()) return std::vector<track::Point>();
  std::vector<std::vector<track::Point>> all;
  all.push_back(std::move(found.begin()->second));
  return track::merge_points(std::move(all));
}

Result<std::vector<track::Point>> read_chart(db::Session& session, const std::string& run_id,
                                             std::string_view key, size_t buckets,
                                             track::Axis axis) {
  std::vector<track::Point> points = TRY(read_series(session, run_id, key));
  if (buckets == 0) return points;
  return track::downsample(points, buckets, axis);
}

Result<std::set<std::string>> read_keys(db::Session& session, const std::string& run_id) {
  std::set<std::string> keys;
  TRY(session.query("SELECT key FROM latest_metrics WHERE run_id = $1", {run_id},
                    [&](const db::Row& row) -> Result<void> {
                      keys.insert(std::string(row.text(0)));
                      return {};
                    }));
  TRY(
      session.query("SELECT id, kind, body FROM metric_batches WHERE run_id = $1 AND "
                    "kind IN ('system', 'system_pack')",
                    {run_id}, [&](const db::Row& row) -> Result<void> {
                      if (row.text(1) == "system") {
                        const auto batch = track::read_batch(row.bytes(2));
                        if (!batch.ok()) return named(batch.error(), row.text(0));
                        keys.insert(batch->keys.begin(), batch->keys.end());
                      } else {
                        const auto pack = track::MetricPack::read(row.bytes(2));
                        if (!pack.ok()) return named(pack.error(), row.text(0));
                        keys.insert(pack->keys().begin(), pack->keys().end());
                      }
                      return {};
                    }));
  return keys;
}

Result<bool> compact_points(db::Session& session, const std::string& run_id, MetricKind kind,
                            const std::string& id) {
  track::PointsByKey series;
  std::vector<std::string> ids;
  TRY(
      session.query("SELECT id, kind, body FROM metric_batches WHERE run_id = $1 AND "
                    "kind IN ($2, $3) AND LENGTH(body) < $4 ORDER BY id LIMIT $5",
                    {run_id, batch_kind(kind), pack_kind(kind), kSmallRowBytes, kMostCompactRows},
                    [&](const db::Row& row) -> Result<void> {
                      ids.emplace_back(row.text(0));
                      return collect(row.text(0), row.text(1), row.bytes(2), "", series);
                    }));
  if (static_cast<int64_t>(ids.size()) < kCompactRows) return false;
  for (auto& [key, points] : series) {
    std::vector<std::vector<track::Point>> one;
    one.push_back(std::move(points));
    points = track::merge_points(std::move(one));
  }
  for (const std::string& old : ids)
    TRY(session.execute("DELETE FROM metric_batches WHERE run_id = $1 AND id = $2", {run_id, old}));
  TRY(insert_packs(session, run_id, kind, id, std::move(series)));
  return true;
}

}  // namespace hearth::control
