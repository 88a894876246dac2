// Rows of metric_batches, for the parts of the metric store.
#pragma once

#include <functional>

#include "control/ingest/metric_store.h"

namespace hearth::control {

std::string batch_kind(MetricKind kind);
std::string pack_kind(MetricKind kind);

// One row; valid during the callback.
struct MetricRow {
  std::string_view run_id, id;
  std::string_view fault;  // why it cannot be read; the rest is empty then
  bool merged = false;     // by its kind
  bool packed = false;     // by the form of its body: merged rows with few points a key are batches
  PointSource source;
  std::span<const std::byte> body;
};
// Rows of a run with `condition` (SQL), in the order of their ids. One that lies on a damaged page
// comes with its fault, the others come as they are.
Result<void> each_row(db::Session& session, const std::string& run_id, std::string_view condition,
                      const std::function<Result<void>(const MetricRow&)>& each,
                      int64_t most_rows = INT64_MAX);
// The points of a row's keys that are wanted; what cannot be read is named in `damaged`.
Result<void> each_point(
    const MetricRow& row, const std::function<bool(std::string_view)>& wanted,
    const std::function<void(std::string_view, std::span<const track::Point>)>& each,
    std::vector<std::string>& damaged);
Result<void> insert_row(db::Session& session, const std::string& run_id, const std::string& id,
                        const std::string& kind, const PointRow& row);

}  // namespace hearth::control
