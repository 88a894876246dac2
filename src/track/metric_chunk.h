// Metric chunks: the points of one metric key, compressed and checked. Steps and times are written
// as differences of differences, values as the XOR with the value before (after Pelkonen et al.,
// "Gorilla", VLDB 2015), so that a regular series costs 1 bit each and a noisy value about 8 bytes.
// Values are kept bit by bit: NaN, infinities and -0 included.
//
// Form (little-endian): magic "HMC1", u32 count, summary (ChunkSummary, 8 bytes a field), u32
// length of the bits, u32 CRC-32C of all before it and of the bits, the bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace hearth::track {

constexpr size_t kMostChunkPoints = 1 << 20;

struct Point {
  int64_t step = 0;
  Time time;
  double value = 0;
};
// The order of a series: by step, then time, then value (NaN behind all numbers, then by bits).
// "Latest" is the greatest.
bool before(const Point& a, const Point& b);
// Same step, time and bits of the value.
bool same(const Point& a, const Point& b);

struct ChunkSummary {
  uint64_t count = 0;
  uint64_t finite = 0;  // how many values are finite; min and max are of these, 0 if there are none
  double min = 0;
  double max = 0;
  Point last;  // the greatest by before()
  int64_t first_step = 0;
  int64_t last_step = 0;
  Time first_time;
  Time last_time;
};
ChunkSummary summarize(std::span<const Point> points);
// The summary of two sets of points together; count and finite count a point in both twice.
ChunkSummary merge(const ChunkSummary& a, const ChunkSummary& b);

// At most kMostChunkPoints, in the order in which they are to come out.
Bytes encode_chunk(std::span<const Point> points);
// The summary alone, after checking the whole chunk's checksum. internal: "damaged".
Result<ChunkSummary> read_summary(std::span<const std::byte> chunk);
Result<std::vector<Point>> decode_chunk(std::span<const std::byte> chunk);

// Points of several chunks in order, each once.
std::vector<Point> merge_points(std::vector<std::vector<Point>> series);

// What a chart shows of a series: for each of at most `buckets` equal stretches of the axis its
// first, last, least and greatest point, in order and each once. Points that are not finite count
// as first and last only. `points` are sorted by before().
enum class Axis { step, time };
std::vector<Point> downsample(std::span<const Point> points, size_t buckets, Axis axis);

}  // namespace hearth::track
