// Metric columns: latest, least and greatest value of one key over many runs, by the runs' places
// in a block, so that ordering by a key reads that key alone.
//
// Form (little-endian): magic "HMV1", u32 CRC-32C of all behind it, varint count, then per value
// varint place - place before, a byte of flags (1: has finite values, 2: least = greatest = last);
// then per value 8 bytes last and, as the flags say, 8 bytes least, 8 bytes greatest.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "track/metric_uses.h"

namespace hearth::track {

constexpr uint32_t kMostColumnPlaces = 1 << 20;

struct ColumnValue {
  uint32_t place = 0;
  bool finite = false;  // min and max are of finite values
  double last = 0, min = 0, max = 0;
};
// By place, growing.
Bytes encode_column(std::span<const ColumnValue> values);
// internal, "damaged", unless every byte is as written.
Result<std::vector<ColumnValue>> decode_column(std::span<const std::byte> bytes);
// The same, of the runs whose place is not 0 in `counted`, summed up. Errors: as above.
Result<KeyUse> use_of_column(std::span<const std::byte> bytes, std::span<const uint8_t> counted);

}  // namespace hearth::track
