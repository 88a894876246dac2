#include "base/id.h"

#include <array>

#include "base/bytes.h"

namespace hearth {
namespace {
constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
}

std::string new_id(Clock& clock, Random& random) {
  std::string id(26, '0');
  uint64_t ms = static_cast<uint64_t>(clock.now().micros / 1000);
  for (int i = 9; i >= 0; --i, ms >>= 5) id[static_cast<size_t>(i)] = kAlphabet[ms & 31];
  uint64_t bits = 0;
  for (size_t i = 10; i < 26; ++i) {
    if ((i - 10) % 8 == 0) bits = random.u64();
    id[i] = kAlphabet[bits & 31];
    bits >>= 5;
  }
  return id;
}

bool is_id(std::string_view text) {
  return text.size() == 26 && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

std::string new_secret(std::string_view prefix, Random& random) {
  std::array<std::byte, 32> raw;
  random.fill(raw);
  return std::string(prefix) + to_base64url(raw);
}

}  // namespace hearth
