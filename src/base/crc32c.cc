// CRC-32C by the SSE 4.2 instruction where there is one, else by an eight-way table.
#include <array>
#include <cstring>

#include "base/bytes.h"

namespace hearth {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // 0x1EDC6F41 with its bits reversed

constexpr std::array<std::array<uint32_t, 256>, 8> make_tables() {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ kPolynomial : crc >> 1;
    t[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i)
    for (size_t k = 1; k < 8; ++k) t[k][i] = t[k - 1][i] >> 8 ^ t[0][t[k - 1][i] & 255];
  return t;
}
constexpr auto kTables = make_tables();

uint32_t by_table(const unsigned char* p, size_t n, uint32_t crc) {
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, p, 8);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][word >> (8 * k) & 255];
  }
  for (; n > 0; ++p, --n) crc = crc >> 8 ^ kTables[0][(crc ^ *p) & 255];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t by_instruction(const unsigned char* p, size_t n,
                                                          uint32_t crc) {
  uint64_t wide = crc;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, p, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; n > 0; ++p, --n) crc = __builtin_ia32_crc32qi(crc, *p);
  return crc;
}
#endif

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("sse4.2");
  if (fast) return ~by_instruction(p, bytes.size(), ~crc);
#endif
  return ~by_table(p, bytes.size(), ~crc);
}

}  // namespace hearth
