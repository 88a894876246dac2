// How many of some runs have each metric key, and the bounds of its values over them.
//
// Form (little-endian): magic "HMU1", u32 CRC-32C of all behind it, varint count, then by key,
// growing: varint length, its bytes, varint runs, a byte (1: has finite values) and, with these, 8
// bytes least, 8 bytes greatest.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace hearth::track {

struct KeyUse {
  int64_t runs = 0;
  std::optional<double> min, max;  // of finite values
  bool operator==(const KeyUse&) const = default;

  // One run; bounds only when it has finite values.
  void add_run(bool finite, double least, double greatest);
  // Of other runs.
  void add(const KeyUse& other);
};
using KeyUses = std::map<std::string, KeyUse, std::less<>>;

Bytes encode_uses(const KeyUses& uses);
// internal, "damaged", unless every byte is as written.
Result<KeyUses> decode_uses(std::span<const std::byte> bytes);

}  // namespace hearth::track
