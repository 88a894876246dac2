// Metric points in the database: how a sync's points are kept, read back and compacted. Free
// functions over a Session, for ingest (writes) and records (reads).
//
// A row of metric_batches holds a track::metric_batch (kinds `metric` and `system`, as they came)
// or a track::metric_pack (kinds `metric_pack`, `system_pack`, merged). Reading merges all rows of
// a run, so the same point twice (a client that sent it again) counts once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "db/database.h"
#include "track/metric_chunk.h"

namespace hearth::control {

constexpr int64_t kMostMetricKeys = 10'000;       // logged to one run; further keys are refused
constexpr int64_t kCompactRows = 64;              // so many small rows of a run are merged into one
constexpr int64_t kMostCompactRows = 256;         // in one transaction
constexpr int64_t kSmallRowBytes = 256 * 1024;    // larger rows are left as they are
constexpr size_t kMostSeriesPoints = 10'000'000;  // read of one key; too_large over it

enum class MetricKind { metric, system };  // logged by the job; sampled by the shim

struct KeyPoint {
  std::string key;
  track::Point point;
};

// Inside a write: keeps the points as one row; of kind `metric` also the latest of each key
// (latest_metrics: `value`, or NULL and `special` = NaN, Infinity, -Infinity). Returns the keys
// that were refused, their points are not kept: empty or too long ones, and new ones over
// kMostMetricKeys.
Result<std::set<std::string>> add_points(db::Session& session, const std::string& run_id,
                                         const std::string& task_id, MetricKind kind,
                                         const std::vector<KeyPoint>& points,
                                         const std::string& id);

// All points of a key, sorted, each once. A row that is damaged is an error that names it.
Result<std::vector<track::Point>> read_series(db::Session& session, const std::string& run_id,
                                              std::string_view key);
// As read_series, but at most about 4 x `buckets` points that keep first, last, least and greatest
// of each stretch; 0: all.
Result<std::vector<track::Point>> read_chart(db::Session& session, const std::string& run_id,
                                             std::string_view key, size_t buckets,
                                             track::Axis axis = track::Axis::step);
// Every key of the run, sampled ones (`system/...`) included.
Result<std::set<std::string>> read_keys(db::Session& session, const std::string& run_id);

// Inside a write: merges the small rows of a run into one, if there are kCompactRows of them. True
// when it did; call again then.
Result<bool> compact_points(db::Session& session, const std::string& run_id, MetricKind kind,
                            const std::string& id);

}  // namespace hearth::control
