// The latest, least and greatest value of a series, as summaries and columns write them: flags (1:
// has finite values, 2: least = greatest = latest), 8 bytes latest; unless flag 2 or no flag 1: 8
// bytes least, 8 bytes greatest.
#pragma once

#include "track/coding.h"

namespace hearth::track {

constexpr uint8_t kFiniteFlag = 1, kOneValueFlag = 2;

// Of a value: its very bits, so that NaN is itself and -0 is not 0.
inline bool equal_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

struct MetricRange {
  bool finite = false;  // min and max are of finite values
  double last = 0, min = 0, max = 0;
};

inline uint8_t flags_of(const MetricRange& range) {
  if (!range.finite) return 0;
  const bool one = equal_bits(range.min, range.last) && equal_bits(range.max, range.last);
  return one ? kFiniteFlag | kOneValueFlag : kFiniteFlag;
}

inline void put_range(Bytes& out, const MetricRange& range) {
  put_fixed(out, range.last);
  if (flags_of(range) != kFiniteFlag) return;
  put_fixed(out, range.min);
  put_fixed(out, range.max);
}

inline MetricRange get_range(Decoder& in, uint8_t flags) {
  MetricRange range;
  range.last = in.fixed<double>();
  range.finite = (flags & kFiniteFlag) != 0;
  if (!range.finite) return range;
  const bool one = (flags & kOneValueFlag) != 0;
  range.min = one ? range.last : in.fixed<double>();
  range.max = one ? range.last : in.fixed<double>();
  return range;
}

}  // namespace hearth::track
