// Little-endian numbers and varints, as all formats of this room write them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"

namespace hearth::track {

static_assert(std::endian::native == std::endian::little, "the formats are written as in memory");

constexpr size_t kMostVarintBytes = 10;

template <typename T>
void put_fixed(Bytes& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}
template <typename T>
void set_fixed(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
// The caller has checked that sizeof(T) bytes are there.
template <typename T>
T get_fixed(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Writes at most kMostVarintBytes; returns the end.
inline std::byte* write_varint(std::byte* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<std::byte>(value | 0x80);
  *at++ = static_cast<std::byte>(value);
  return at;
}
inline void put_varint(Bytes& out, uint64_t value) {
  std::byte buffer[kMostVarintBytes];
  out.insert(out.end(), buffer, write_varint(buffer, value));
}
inline void put_bytes(Bytes& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Small numbers of either sign as small unsigned ones: 0, -1, 1, -2...
constexpr uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}
// Differences that wrap, so that no input is undefined behaviour.
constexpr int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
constexpr int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Reads forward over bytes that may be anything. After a read past the end, or a varint of more
// than 64 bits, ok() stays false and every read gives 0.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const std::byte* position() const { return at_; }

  uint64_t varint() {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) [[likely]]
      return static_cast<uint8_t>(*at_++);
    return long_varint();
  }
  template <typename T>
  T fixed() {
    if (left() < sizeof(T)) return fail(), T{};
    const T value = get_fixed<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  std::span<const std::byte> bytes(uint64_t count) {
    if (left() < count) return fail(), std::span<const std::byte>{};
    const std::span<const std::byte> out(at_, static_cast<size_t>(count));
    at_ += count;
    return out;
  }

 private:
  void fail() {
    ok_ = false;
    at_ = end_;
  }
  uint64_t long_varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) break;
      const auto byte = static_cast<uint8_t>(*at_++);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

}  // namespace hearth::track
