// Numbers in the texts of /proc and /sys.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

#include "base/units.h"

namespace hearth::os {

// The number that `text` begins with, blanks before it aside.
template <typename Number>
std::optional<Number> leading_number(std::string_view text) {
  text = trim(text);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace hearth::os
