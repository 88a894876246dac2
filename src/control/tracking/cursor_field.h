// Cursors of tracking's lists are numbers, each ended by ':', then perhaps a text.
#pragma once

#include <charconv>
#include <string_view>

namespace hearth::control {

// Takes the number at the front of `text` off with its ':'; false, and nothing is taken, if there
// is none.
template <typename T>
bool take(std::string_view& text, T& value) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<size_t>(end - text.data());
  if (failure != std::errc() || length >= text.size() || *end != ':') return false;
  text.remove_prefix(length + 1);
  return true;
}

}  // namespace hearth::control
