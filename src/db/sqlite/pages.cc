#include "db/sqlite/pages.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/bytes.h"
#include "base/format.h"

namespace hearth::db {
namespace {

constexpr size_t kBody = kPageBytes - kReservedBytes;

void put32(std::byte* at, uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}
uint32_t get32(const std::byte* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::to_integer<uint32_t>(at[i]) << (8 * i);
  return value;
}

}  // namespace

void stamp_page(std::span<std::byte> page, uint32_t number) {
  put32(page.data() + kBody, number);
  put32(page.data() + kBody + 4, crc32c(page.first(kBody + 4)));
}

std::string page_fault(std::span<const std::byte> page, uint32_t number) {
  if (get32(page.data() + kBody + 4) != crc32c(page.first(kBody + 4)))
    return format("page {}", number);
  const uint32_t stamped = get32(page.data() + kBody);
  if (stamped != number) return format("page {} (page {} lies there)", number, stamped);
  return "";
}

namespace {

// What a flip of each bit does to the checksum of a page; the same whatever stands in the page, as
// the checksum is linear.
std::vector<uint32_t> make_syndromes() {
  std::vector<uint32_t> all;
  Bytes page(kBody + 4);
  const uint32_t none = crc32c(page);
  for (size_t bit = 0; bit < page.size() * 8; ++bit) {
    page[bit / 8] = std::byte{1} << (bit % 8);
    all.push_back(crc32c(page) ^ none);
    page[bit / 8] = {};
  }
  return all;
}

}  // namespace

bool mend_page(std::span<std::byte> page, uint32_t number) {
  static const std::vector<uint32_t> syndromes = make_syndromes();
  const uint32_t syndrome = get32(page.data() + kBody + 4) ^ crc32c(page.first(kBody + 4));
  // One of the page's bits, or of the checksum's own behind them.
  size_t bit = static_cast<size_t>(std::ranges::find(syndromes, syndrome) - syndromes.begin());
  if (bit == syndromes.size() && std::has_single_bit(syndrome))
    bit += static_cast<size_t>(std::countr_zero(syndrome));
  else if (bit == syndromes.size())
    return false;
  page[bit / 8] ^= std::byte{1} << (bit % 8);
  if (page_fault(page, number).empty()) return true;
  page[bit / 8] ^= std::byte{1} << (bit % 8);
  return false;
}

}  // namespace hearth::db
