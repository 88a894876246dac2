// Metric packs: the chunks of several keys in one piece, which many small batches are merged into.
//
// Form (little-endian): magic "HMP1", u32 CRC-32C of the directory, u32 length of the directory;
// the directory: varint key count, then per key varint length, bytes, varint length of its chunk;
// the chunks in the same order, each under its own checksum.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "track/metric_chunk.h"

namespace hearth::track {

using PointsByKey = std::map<std::string, std::vector<Point>, std::less<>>;

// Each series sorted and without doubles (merge_points), at most kMostChunkPoints long.
Bytes make_pack(const PointsByKey& series);

// A pack whose directory is checked; the chunks are checked as they are decoded.
class MetricPack {
 public:
  // `bytes` must outlive it. internal: "damaged".
  static Result<MetricPack> read(std::span<const std::byte> bytes);
  const std::vector<std::string_view>& keys() const { return keys_; }
  // The points of a key; none if it is not in the pack.
  Result<std::vector<Point>> points(std::string_view key) const;

 private:
  std::vector<std::string_view> keys_;  // sorted
  std::vector<std::span<const std::byte>> chunks_;
};

}  // namespace hearth::track
