// ULIDs: 26 characters of Crockford's base 32; the first ten are the time in ms, so ids sort by
// age.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace hearth {

std::string new_id(Clock& clock, Random& random);
inline std::string new_id() {
  return new_id(system_clock(), system_random());
}
bool is_id(std::string_view text);

// A secret of 32 random bytes as URL-safe text with a prefix that scanners can find: "hth_...".
std::string new_secret(std::string_view prefix, Random& random = system_random());

}  // namespace hearth
