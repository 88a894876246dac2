#include "db/sqlite/pages.h"

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

}  // namespace hearth::db
