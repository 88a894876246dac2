// Summaries of a run's metrics: for each key its latest point and its least and greatest value, so
// that lists, orders and filters need no points.
//
// Form (little-endian): magic "HMS1", u32 CRC-32C of all behind it, varint count, then per key in
// order: varint length shared with the key before, varint length of the rest, the rest; a byte of
// flags (1: has finite values, 2: least = greatest = last value, 4: has points of earlier
// attempts); varint zigzag attempt, first step, last step - first step, time; with flag 4 varint
// zigzag first step - earlier step; 8 bytes last value; unless flag 2 or no flag 1: 8 bytes least,
// 8 bytes greatest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "track/metric_chunk.h"

namespace hearth::track {

// Where a job was tried again, the points of the later attempt win from their first step on.
struct MetricSummary {
  int64_t attempt = 0;               // the latest
  int64_t first_step = 0;            // of that attempt
  int64_t earlier_step = INT64_MIN;  // the greatest of earlier attempts; INT64_MIN: there is none
  Point last;                        // the greatest by before()
  bool finite = false;               // min and max are of finite values; false if there are none
  double min = 0;
  double max = 0;
};
MetricSummary summary_of(const Point& point, int64_t attempt);
// Of at least one point.
MetricSummary summary_of(std::span<const Point> points, int64_t attempt);
// Takes `other` in. False when one attempt has overtaken points of another: then `last` is right,
// but which values still count must be looked up in the points.
bool merge(MetricSummary& summary, const MetricSummary& other);

using SummaryByKey = std::map<std::string, MetricSummary, std::less<>>;
Bytes encode_summaries(const SummaryByKey& summaries);
// internal, "damaged", unless every byte is as written.
Result<SummaryByKey> decode_summaries(std::span<const std::byte> bytes);
// The same one by one, in the order of the keys, which are good during the call.
using EachSummary = std::function<void(std::string_view key, const MetricSummary& summary)>;
Result<void> each_summary(std::span<const std::byte> bytes, const EachSummary& each);

}  // namespace hearth::track
