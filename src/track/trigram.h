// A filter that says which runs of three bytes may stand in a text, without regard to the case of
// ASCII letters: a literal whose trigrams are not all in it is not in the text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace hearth::track {

constexpr size_t kLeastFilterBytes = 64;
constexpr size_t kMostFilterBytes = 4096;

constexpr char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// A bitmap of a power of two of bytes, as small as keeps it at most half full.
Bytes make_trigram_filter(std::string_view text);
// False: `literal` is surely not in the text. A literal of less than three bytes always may be.
bool trigrams_may_hold(std::span<const std::byte> filter, std::string_view literal);

}  // namespace hearth::track
