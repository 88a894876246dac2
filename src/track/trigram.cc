#include "track/trigram.h"

#include <bit>

namespace hearth::track {
namespace {

constexpr uint32_t byte_of(char c) {
  return static_cast<unsigned char>(lower_ascii(c));
}
constexpr uint32_t next_trigram(uint32_t trigram, char c) {
  return (trigram << 8 | byte_of(c)) & 0xffffff;
}
// The low bits are used, so that a filter can be folded in half.
constexpr uint32_t hash(uint32_t trigram) {
  return trigram * 0x9e3779b1u >> 12;
}

}  // namespace

Bytes make_trigram_filter(std::string_view text) {
  Bytes filter(kMostFilterBytes);
  constexpr uint32_t mask = kMostFilterBytes * 8 - 1;
  uint32_t trigram = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    trigram = next_trigram(trigram, text[i]);
    if (i < 2) continue;
    const uint32_t bit = hash(trigram) & mask;
    filter[bit / 8] |= static_cast<std::byte>(1u << bit % 8);
  }
  while (filter.size() > kLeastFilterBytes) {
    const size_t half = filter.size() / 2;
    size_t set = 0;
    for (size_t i = 0; i < half; ++i)
      set += static_cast<size_t>(std::popcount(static_cast<uint8_t>(filter[i] | filter[i + half])));
    if (set > half * 8 / 2) break;
    for (size_t i = 0; i < half; ++i) filter[i] |= filter[i + half];
    filter.resize(half);
  }
  return filter;
}

bool trigrams_may_hold(std::span<const std::byte> filter, std::string_view literal) {
  if (filter.empty()) return true;
  const auto mask = static_cast<uint32_t>(filter.size() * 8 - 1);
  uint32_t trigram = 0;
  for (size_t i = 0; i < literal.size(); ++i) {
    trigram = next_trigram(trigram, literal[i]);
    if (i < 2) continue;
    const uint32_t bit = hash(trigram) & mask;
    if ((filter[bit / 8] & static_cast<std::byte>(1u << bit % 8)) == std::byte{0}) return false;
  }
  return true;
}

}  // namespace hearth::track
