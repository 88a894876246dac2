// Sizes, durations and counts as people write them.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace hearth {

// "4GiB", "500MB", "0.5 TiB", "100B"; a unit is required. 1 KB = 1000, 1 KiB = 1024.
Result<int64_t> parse_size(std::string_view text);
std::string format_size(int64_t bytes);  // "4 GiB", "1.5 MiB"
// "90s", "10m", "1.5h", "2d", "250ms"; a unit is required.
Result<Duration> parse_duration(std::string_view text);
std::string format_duration(Duration duration);  // "250 ms", "12.3 s", "4 m 05 s", "2 h 03 m"

std::string plural(double count, std::string_view one);  // "1 job", "3 jobs", "0.5 GPUs"
std::string plural(std::integral auto count, std::string_view one) {
  return plural(static_cast<double>(count), one);
}

// The candidate nearest to `word` by edit distance (neighbours exchanged are one edit), or if none
// is within a third of its length the first that begins with it, or "".
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// Splits on one character; empty pieces are kept.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

}  // namespace hearth
