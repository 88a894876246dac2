// Metric batches: points of several keys as they come in, one row of the database each, until they
// are compacted into chunks. Little-endian:
//
//   magic "HMB2", u32 CRC-32C of all behind it, varint key count; then per key: varint length,
//   bytes, varint point count x 4 + (1: regular steps) + (2: regular times), steps, times, 8 bytes
//   a value
//
// Steps and times (microseconds) are columns: varint zigzag first - first of the key before; of
// more than one point then, when it is regular, varint zigzag of the difference of two neighbours,
// else for each further point varint zigzag of its difference less the difference before (0).
//
// Of a key the points keep their order; equal ones are kept too (merge_points drops them).
//
// Older rows have the magic "HMB1": as above, but varint key count, keys (varint length, bytes),
// varint point count, points (varint index of the key, varint zigzag step - step before, varint
// zigzag time - time before, 8 bytes value). They are read, and no longer written.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "track/keyed_points.h"

namespace hearth::track {

// Longer than a key may be: what a point was measured on may stand behind its key.
constexpr size_t kMostKeyBytes = 2048;
constexpr size_t kMostBatchPoints = 1 << 20;
constexpr size_t kMostBatchBytes = 32 << 20;

// Each key once. invalid: a key is empty or too long; too_large: more than the bounds above.
Result<Bytes> encode_batch(std::span<const KeySeries> series);

// Whether the bytes begin as a batch does.
bool is_batch(std::span<const std::byte> bytes);
// internal, "damaged", unless every byte is as written.
Result<KeyedPoints> read_batch(std::span<const std::byte> bytes);

}  // namespace hearth::track
