// Metric points in the database: how points are kept, read back, summed up and compacted. Free
// functions over a Session, for ingest and tracking (writes) and records (reads).
//
// A row of metric_batches holds a track::metric_batch (kinds `metric` and `system`, as they came)
// or what was merged of these (kinds `metric_pack`, `system_pack`: a track::metric_pack, or a batch
// where the keys have few points), all of one attempt and rank. Reading merges all rows of a run,
// so the same point twice (a client that sent it again) counts once. Behind a key may stand what
// its points were measured on (kKeyMark, then any text).
//
// A row of run_metrics holds the track::metric_summary of a run's packs (a run with packs and
// without it is of an older server: its packs are read); what is not yet compacted comes on top.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "db/database.h"
#include "track/keyed_points.h"
#include "track/metric_chunk.h"
#include "track/metric_summary.h"

namespace hearth::control {

constexpr int64_t kMostMetricKeys = 10'000;       // logged to one run; further keys are refused
constexpr size_t kMostMetricKeyBytes = 1024;      // without what stands behind it
constexpr int64_t kCompactRows = 64;              // so many small rows of a run are merged into one
constexpr int64_t kMostCompactRows = 256;         // in one transaction
constexpr int64_t kSmallRowBytes = 256 * 1024;    // larger rows are left as they are
constexpr size_t kMostSeriesPoints = 10'000'000;  // read in one call; too_large over it
constexpr char kKeyMark = '\x1f';                 // ends the key proper

enum class MetricKind { metric, system };  // logged by job or client; sampled by the shim

using track::KeyedPoints;
using track::PointCollector;
struct KeyPoint {
  std::string key;
  track::Point point;
};
KeyedPoints by_key(const std::vector<KeyPoint>& points);
// Which process logged; all zero for a client.
struct PointSource {
  std::string task_id;
  int64_t attempt = 0;
  int64_t rank = 0;
};

// A row of metric_batches.
struct PointRow {
  PointSource source;
  int64_t points = 0;
  int64_t keys = 0;
  Time first;
  Bytes body;
};
// One row of the points, made before it is written. Of keys that are empty or too long, and of
// those that are `refused` already, the points are left out.
struct EncodedPoints {
  PointRow row;  // without points when nothing is left
  std::set<std::string> refused;
};
Result<EncodedPoints> encode_points(const KeyedPoints& points, std::set<std::string> refused = {});
// Inside a write.
Result<void> add_row(db::Session& session, const std::string& run_id, MetricKind kind,
                     const PointRow& row, const std::string& id);

// Inside a write: keeps the points as one row. Returns the keys that were refused, their points are
// not kept: empty or too long ones, and new ones over kMostMetricKeys.
Result<std::set<std::string>> add_points(db::Session& session, const std::string& run_id,
                                         const PointSource& source, MetricKind kind,
                                         const KeyedPoints& points, const std::string& id);

struct SourcedPoint {
  track::Point point;
  int64_t attempt = 0;
  int64_t rank = 0;
  uint32_t mark = 0;  // index into Series::marks
};
// Of one key, sorted, each point once.
struct Series {
  std::vector<SourcedPoint> points;
  std::vector<std::string> marks;  // what stands behind the key; "" for most
};
struct RunSeries {
  std::map<std::string, Series, std::less<>> keys;
  std::vector<std::string> damaged;  // rows and chunks that cannot be read; the rest is here
};
enum class Attempts { newest, all };  // newest: what a later attempt has overtaken is left out
// The series of these keys; with none of every key of kind `metric`. Over `most_points`: too_large.
Result<RunSeries> read_run(db::Session& session, const std::string& run_id,
                           std::span<const std::string> keys, Attempts attempts = Attempts::newest,
                           size_t most_points = kMostSeriesPoints);

// All points of a key. A row that is damaged is an error that names it.
Result<std::vector<track::Point>> read_series(db::Session& session, const std::string& run_id,
                                              std::string_view key);
// As read_series, but at most about 4 x `buckets` points that keep first, last, least and greatest
// of each stretch; 0: all.
Result<std::vector<track::Point>> read_chart(db::Session& session, const std::string& run_id,
                                             std::string_view key, size_t buckets,
                                             track::Axis axis = track::Axis::step);
// Every key of the run, sampled ones (`system/...`) included, without what stands behind them.
Result<std::set<std::string>> read_keys(db::Session& session, const std::string& run_id);

// Of kind `metric`, by the key as it is kept. What is damaged is passed over.
Result<track::SummaryByKey> read_summaries(db::Session& session, const std::string& run_id);
// The stored summaries of a run (track::each_summary), where they say all of it: nothing waits to
// be merged into them. What is damaged is as if it were not there.
Result<std::optional<Bytes>> whole_summaries(db::Session& session, const std::string& run_id);
// By the key proper.
track::SummaryByKey without_marks(const track::SummaryByKey& summaries);

// How far a task has come, by the metrics that it logged last: of the key that came furthest, as
// others may count epochs.
struct Pace {
  int64_t step = 0;             // the newest that was logged
  Time at;                      // when, by the task's clock
  double steps_per_second = 0;  // 0: one point says nothing about it
};
// Nothing while it has logged no metric. Reads two rows at most; what is damaged is passed over.
Result<std::optional<Pace>> pace_of(db::Session& session, const std::string& run_id,
                                    int64_t attempt, int64_t rank);

// Small rows of a run, merged; made from a read, written by a write.
struct Compaction {
  MetricKind kind = MetricKind::metric;
  std::vector<std::string> ids;  // they go
  std::vector<PointRow> rows;    // they come
  track::SummaryByKey summaries;
  bool whole = false;                // the summaries are those of the whole run
  std::vector<std::string> damaged;  // rows left as they are
};
// Nothing when fewer than `least` rows would go.
Result<std::optional<Compaction>> plan_compaction(db::Session& session, const std::string& run_id,
                                                  MetricKind kind, int64_t least = kCompactRows);
// Inside a write. conflict: somebody else has merged these rows meanwhile; plan again.
Result<void> compact(db::Session& session, const std::string& run_id, const Compaction& compaction,
                     const std::string& id);
// Both, until nothing is left to merge, `go_on` says no, or it was done so many times: a run that
// is written to as fast as it is merged is not waited for.
constexpr int64_t kMostPasses = 1000;
Result<void> compact_run(
    db::Database& database, const std::string& run_id, MetricKind kind,
    const std::function<std::string()>& make_id, int64_t least = kCompactRows,
    const std::function<bool()>& go_on = [] { return true; }, int64_t passes = kMostPasses);
// All small rows of each of these runs, several runs in one transaction: of runs that have ended
// there may be thousands, with a row each. Ends early, between two of them, when `go_on` says so.
constexpr size_t kRunsAtOnce = 50;
Result<void> compact_runs(db::Database& database, std::span<const std::string> runs,
                          MetricKind kind, const std::function<std::string()>& make_id,
                          const std::function<bool()>& go_on);

}  // namespace hearth::control
