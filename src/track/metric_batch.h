// Metric batches: points of several keys as they come in, one row of the database each, until they
// are compacted into chunks. Little-endian:
//
//   magic "HMB1", u32 CRC-32C of all behind it, varint key count, keys (varint length, bytes),
//   varint point count, points (varint index of the key, varint zigzag step - step before, varint
//   zigzag time - time before, 8 bytes value)
//
// Points keep their order; equal ones are kept too (merge_points drops them).
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "track/metric_chunk.h"

namespace hearth::track {

// Longer than a key may be: what a point was measured on may stand behind its key.
constexpr size_t kMostKeyBytes = 2048;
constexpr size_t kMostBatchPoints = 1 << 20;
constexpr size_t kMostBatchBytes = 32 << 20;

struct KeyedPoint {
  std::string_view key;
  Point point;
};

// Not thread-safe.
class MetricBatchWriter {
 public:
  // invalid: the key is empty or too long; too_large: seal() first.
  Result<void> add(std::string_view key, const Point& point);
  size_t points() const { return count_; }
  size_t keys() const { return order_.size(); }
  // The batch so far; starts a new one.
  Bytes seal();

 private:
  std::map<std::string, uint64_t, std::less<>> keys_;
  std::vector<const std::string*> order_;
  size_t key_bytes_ = 0;
  Bytes points_;
  size_t count_ = 0;
  int64_t step_ = 0, time_ = 0;
};

// A whole, checked batch. The keys are views of its bytes.
struct MetricBatch {
  std::vector<std::string_view> keys;
  struct Item {
    uint32_t key = 0;  // index into keys
    Point point;
  };
  std::vector<Item> items;
};
// Whether the bytes begin as a batch does.
bool is_batch(std::span<const std::byte> bytes);
// internal, "damaged", unless every byte is as written.
Result<MetricBatch> read_batch(std::span<const std::byte> bytes);

}  // namespace hearth::track
