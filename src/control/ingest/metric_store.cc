// Points as rows, and rows as points.
#include "control/ingest/metric_store.h"

#include <algorithm>
#include <bit>

#include "base/format.h"
#include "control/ingest/metric_rows.h"
#include "db/tables.h"
#include "track/metric_batch.h"
#include "track/metric_pack.h"

namespace hearth::control {
namespace {

// Keys that the run does not have yet and has no room for.
Result<std::set<std::string>> keys_over_bound(db::Session& session, const std::string& run_id,
                                              const std::vector<std::string>& wanted) {
  int64_t most = static_cast<int64_t>(wanted.size());
  const auto add = [&](const db::Row& row) -> Result<void> {
    most += row.integer(0);
    return {};
  };
  TRY(
      session.query("SELECT coalesce(sum(keys), 0) FROM metric_batches WHERE run_id = $1 AND kind "
                    "= 'metric'",
                    {run_id}, add));
  TRY(session.query("SELECT keys FROM run_metrics WHERE run_id = $1", {run_id}, add));
  std::set<std::string> over;
  if (most <= kMostMetricKeys) return over;
  const auto there = TRY(read_summaries(session, run_id));
  auto count = static_cast<int64_t>(there.size());
  for (const std::string& key : wanted)
    if (!there.contains(key) && ++count > kMostMetricKeys) over.insert(key);
  return over;
}

bool fits(std::string_view key) {
  const size_t proper = key.substr(0, key.find(kKeyMark)).size();
  return proper > 0 && proper <= kMostMetricKeyBytes && key.size() <= track::kMostKeyBytes;
}

void add_point(RunSeries& into, std::string_view name, const track::Point& point,
               const MetricRow& row) {
  const size_t end = name.find(kKeyMark);
  const std::string_view key = name.substr(0, end);
  const std::string_view mark = end == std::string_view::npos ? "" : name.substr(end);
  auto at = into.keys.find(key);
  if (at == into.keys.end()) at = into.keys.emplace(key, Series()).first;
  Series& series = at->second;
  auto found = std::ranges::find(series.marks, mark);
  if (found == series.marks.end()) found = series.marks.emplace(found, mark);
  series.points.push_back({.point = point,
                           .attempt = row.source.attempt,
                           .rank = row.source.rank,
                           .mark = static_cast<uint32_t>(found - series.marks.begin())});
}

// The step from which each later attempt goes on: behind its checkpoint's. By number.
using Resumes = std::map<int64_t, int64_t>;

Result<Resumes> resumes_of(db::Session& session, const std::string& run_id) {
  Resumes steps;
  TRY(session.query(
      "SELECT attempts.body FROM attempts JOIN runs ON runs.job_id = attempts.job_id "
      "WHERE runs.id = $1 AND runs.job_id <> ''",
      {run_id}, [&](const db::Row& row) -> Result<void> {
        const auto attempt = TRY(from_json<Attempt>(row.text(0), Origin::server, SIZE_MAX));
        if (attempt.resume_step && *attempt.resume_step < INT64_MAX)
          steps[attempt.number] = *attempt.resume_step + 1;
        return {};
      }));
  return steps;
}

bool has_attempts(const RunSeries& run) {
  return std::ranges::any_of(run.keys, [](const auto& entry) {
    const auto& points = entry.second.points;
    return std::ranges::any_of(
        points, [&](const SourcedPoint& p) { return p.attempt != points.front().attempt; });
  });
}

// Sorted, each once; where a later attempt went on, earlier ones end: behind the checkpoint that it
// resumed from, or at its own first step, whichever is earlier.
void settle(Series& series, Attempts attempts, const Resumes& resumes) {
  auto& points = series.points;
  const auto order = [](const SourcedPoint& a, const SourcedPoint& b) {
    if (track::before(a.point, b.point)) return true;
    if (track::before(b.point, a.point)) return false;
    if (a.attempt != b.attempt) return a.attempt < b.attempt;
    return a.rank != b.rank ? a.rank < b.rank : a.mark < b.mark;
  };
  if (!std::ranges::is_sorted(points, order)) std::ranges::sort(points, order);
  const auto rest = std::ranges::unique(points, [](const SourcedPoint& a, const SourcedPoint& b) {
    return track::same(a.point, b.point) && a.attempt == b.attempt && a.rank == b.rank &&
           a.mark == b.mark;
  });
  points.erase(rest.begin(), rest.end());
  if (attempts == Attempts::all) return;
  std::map<int64_t, int64_t> first_steps;
  for (const SourcedPoint& p : points) first_steps.emplace(p.attempt, p.point.step);
  if (first_steps.size() < 2) return;
  for (auto& [attempt, step] : first_steps)
    if (const auto at = resumes.find(attempt); at != resumes.end())
      step = std::min(step, at->second);
  // The least first step of all later attempts.
  int64_t least = INT64_MAX;
  std::map<int64_t, int64_t> ends;
  for (auto at = first_steps.rbegin(); at != first_steps.rend(); ++at) {
    ends[at->first] = least;
    least = std::min(least, at->second);
  }
  const int64_t newest = first_steps.rbegin()->first;
  std::erase_if(points, [&](const SourcedPoint& p) {
    return p.attempt != newest && p.point.step >= ends[p.attempt];
  });
}

// The rows of a run. Where a page is damaged the query ends; the index of ids then leads past it.
class RowReader {
 public:
  RowReader(db::Session& session, const std::string& run_id, std::string_view condition,
            const std::function<Result<void>(const MetricRow&)>& each, int64_t most_rows)
      : session_(session), run_id_(run_id), condition_(condition), each_(each), left_(most_rows) {}

  // Those with `ids` (SQL; $3: the last id that was read) until one of them cannot be read.
  Result<void> read(std::string_view ids) {
    return session_.query(
        format("SELECT id, kind, task_id, attempt, rank, body FROM metric_batches WHERE run_id = "
               "$1 AND {} AND {} ORDER BY id LIMIT $2",
               ids, condition_),
        {run_id_, left_, last_}, [&](const db::Row& row) {
          MetricRow found;
          found.merged = row.text(1).ends_with("_pack");
          found.source = {std::string(row.text(2)), row.integer(3), row.integer(4)};
          found.body = row.bytes(5);
          found.packed = found.merged && !track::is_batch(found.body);
          last_ = row.text(0);
          return give(found);
        });
  }
  // Whether there is nothing more to read: the receiver does not go on, or the bound is reached.
  bool stopped() const { return stopped_ || left_ <= 0; }

  // Reads one by one up to the first that cannot be read, and gives that with its fault. False: all
  // others could be read.
  Result<bool> pass_one() {
    while (!stopped()) {
      const std::string before = last_;
      TRY(session_.query(
          "SELECT id FROM metric_batches WHERE run_id = $1 AND id > $2 ORDER BY id LIMIT 1",
          {run_id_, last_}, [&](const db::Row& row) -> Result<void> {
            last_ = row.text(0);
            return {};
          }));
      if (last_ == before) return false;
      const auto one = read("id = $3");
      if (stopped_) return one.error();
      if (one.ok()) continue;
      MetricRow hurt;
      hurt.fault = one.error().detail;
      TRY(give(hurt));
      return true;
    }
    return true;
  }

 private:
  Result<void> give(MetricRow& row) {
    row.run_id = run_id_;
    row.id = last_;
    --left_;
    auto done = each_(row);
    stopped_ = !done.ok();
    return done;
  }

  db::Session& session_;
  const std::string& run_id_;
  const std::string_view condition_;
  const std::function<Result<void>(const MetricRow&)>& each_;
  int64_t left_;
  std::string last_;
  bool stopped_ = false;
};

}  // namespace

std::string batch_kind(MetricKind kind) {
  return kind == MetricKind::metric ? "metric" : "system";
}
std::string pack_kind(MetricKind kind) {
  return batch_kind(kind) + "_pack";
}

Result<void> insert_row(db::Session& session, const std::string& run_id, const std::string& id,
                        const std::string& kind, const PointRow& row) {
  TRY(session.execute(
      "INSERT INTO metric_batches (run_id, id, kind, task_id, attempt, rank, points, keys, "
      "first_time, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
      {run_id, id, kind, row.source.task_id, row.source.attempt, row.source.rank, row.points,
       row.keys, row.first.micros, row.body}));
  return {};
}

Result<void> each_point(
    const MetricRow& row, const std::function<bool(std::string_view)>& wanted,
    const std::function<void(std::string_view, std::span<const track::Point>)>& each,
    std::vector<std::string>& damaged) {
  const auto note = [&](const Error& error, std::string_view key) {
    damaged.push_back(format("run {}, metric row {}{}: {}", row.run_id, row.id,
                             key.empty() ? "" : format(", key {}", key), error.detail));
  };
  if (!row.fault.empty()) return note(Error::internal(std::string(row.fault)), ""), Result<void>();
  if (!row.packed) {
    const auto batch = track::read_batch(row.body);
    if (!batch.ok()) return note(batch.error(), ""), Result<void>();
    for (size_t i = 0; i < batch->keys.size(); ++i)
      if (wanted(batch->keys[i])) each(batch->keys[i], batch->of(i));
    return {};
  }
  const auto pack = track::MetricPack::read(row.body);
  if (!pack.ok()) return note(pack.error(), ""), Result<void>();
  for (const std::string_view key : pack->keys()) {
    if (!wanted(key)) continue;
    const auto points = pack->points(key);
    if (points.ok())
      each(key, *points);
    else
      note(points.error(), key);
  }
  return {};
}

Result<void> each_row(db::Session& session, const std::string& run_id, std::string_view condition,
                      const std::function<Result<void>(const MetricRow&)>& each,
                      int64_t most_rows) {
  RowReader reader(session, run_id, condition, each, most_rows);
  for (;;) {
    const auto read = reader.read("id > $3");
    if (read.ok() || reader.stopped()) return read;
    if (!TRY(reader.pass_one())) return read;
  }
}

KeyedPoints by_key(const std::vector<KeyPoint>& points) {
  PointCollector all;
  all.reserve(points.size());
  for (const KeyPoint& p : points) all.add(p.key, p.point);
  return all.take();
}

Result<EncodedPoints> encode_points(const KeyedPoints& points, std::set<std::string> refused) {
  EncodedPoints made;
  made.refused = std::move(refused);
  std::vector<track::KeySeries> kept;
  kept.reserve(points.keys.size());
  made.row.first = {INT64_MAX};
  for (size_t i = 0; i < points.keys.size(); ++i) {
    const std::string& key = points.keys[i];
    if (!fits(key)) made.refused.insert(key);
    if (!made.refused.empty() && made.refused.contains(key)) continue;
    kept.push_back(points.series(i));
    for (const track::Point& p : points.of(i)) made.row.first = std::min(made.row.first, p.time);
    made.row.points += static_cast<int64_t>(points.of(i).size());
  }
  made.row.keys = static_cast<int64_t>(kept.size());
  if (made.row.points > 0) made.row.body = TRY(track::encode_batch(kept));
  return made;
}

Result<void> add_row(db::Session& session, const std::string& run_id, MetricKind kind,
                     const PointRow& row, const std::string& id) {
  return insert_row(session, run_id, id, batch_kind(kind), row);
}

Result<std::set<std::string>> add_points(db::Session& session, const std::string& run_id,
                                         const PointSource& source, MetricKind kind,
                                         const KeyedPoints& points, const std::string& id) {
  std::set<std::string> refused;
  if (kind == MetricKind::metric) refused = TRY(keys_over_bound(session, run_id, points.keys));
  EncodedPoints made = TRY(encode_points(points, std::move(refused)));
  made.row.source = source;
  if (made.row.points > 0) TRY(add_row(session, run_id, kind, made.row, id));
  return std::move(made.refused);
}

Result<RunSeries> read_run(db::Session& session, const std::string& run_id,
                           std::span<const std::string> keys, Attempts attempts,
                           size_t most_points) {
  // A job may log keys that look like sampled ones.
  const bool sampled =
      std::ranges::any_of(keys, [](const std::string& key) { return key.starts_with("system/"); });
  const std::set<std::string_view> wanted(keys.begin(), keys.end());
  RunSeries found;
  size_t read = 0;
  TRY(each_row(session, run_id,
               sampled ? "kind IN ('system', 'system_pack', 'metric', 'metric_pack')"
                       : "kind IN ('metric', 'metric_pack')",
               [&](const MetricRow& row) -> Result<void> {
                 TRY(each_point(
                     row,
                     [&](std::string_view name) {
                       return wanted.empty() ||
                              wanted.contains(name.substr(0, name.find(kKeyMark)));
                     },
                     [&](std::string_view name, std::span<const track::Point> points) {
                       read += points.size();
                       for (const track::Point& point : points) add_point(found, name, point, row);
                     },
                     found.damaged));
                 if (read <= most_points) return {};
                 return Error::of(Code::too_large, format("these are more than {} points of run {}",
                                                          most_points, run_id));
               }));
  Resumes resumes;
  if (attempts == Attempts::newest && has_attempts(found))
    resumes = TRY(resumes_of(session, run_id));
  for (auto& [key, series] : found.keys) settle(series, attempts, resumes);
  return found;
}

Result<std::vector<track::Point>> read_series(db::Session& session, const std::string& run_id,
                                              std::string_view key) {
  std::vector<track::Point> points;
  if (key.empty()) return points;
  const std::string name(key);
  const RunSeries found = TRY(read_run(session, run_id, std::span(&name, 1)));
  if (!found.damaged.empty()) return Error::internal(found.damaged.front());
  const auto at = found.keys.find(key);
  if (at == found.keys.end()) return points;
  for (const SourcedPoint& p : at->second.points)
    if (points.empty() || !track::same(points.back(), p.point)) points.push_back(p.point);
  return points;
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
  for (const auto& [key, summary] : TRY(read_summaries(session, run_id)))
    keys.insert(key.substr(0, key.find(kKeyMark)));
  TRY(each_row(session, run_id, "kind IN ('system', 'system_pack')",
               [&](const MetricRow& row) -> Result<void> {
                 const auto named = [&](const Error& error) {
                   return Error(error).with(format("run {}, metric row {}", run_id, row.id));
                 };
                 if (!row.fault.empty()) return named(Error::internal(std::string(row.fault)));
                 if (row.packed) {
                   const auto pack = track::MetricPack::read(row.body);
                   if (!pack.ok()) return named(pack.error());
                   keys.insert(pack->keys().begin(), pack->keys().end());
                   return {};
                 }
                 const auto batch = track::read_batch(row.body);
                 if (!batch.ok()) return named(batch.error());
                 keys.insert(batch->keys.begin(), batch->keys.end());
                 return {};
               }));
  return keys;
}

}  // namespace hearth::control
