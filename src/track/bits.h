// Bits into bytes and back, the most significant first.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"

namespace hearth::track {

class BitWriter {
 public:
  // The low `count` bits of value, 0..64.
  void put(uint64_t value, unsigned count) {
    if (count == 0) return;
    value &= ~uint64_t{0} >> (64 - count);
    const unsigned free = 64 - used_;
    if (count < free) {
      word_ |= value << (free - count);
      used_ += count;
      return;
    }
    const unsigned rest = count - free;
    flush(word_ | value >> rest, sizeof word_);
    word_ = rest == 0 ? 0 : value << (64 - rest);
    used_ = rest;
  }
  void reserve(size_t bytes) { bytes_.reserve(bytes); }
  Bytes take() {
    flush(word_, (used_ + 7) / 8);
    word_ = 0;
    used_ = 0;
    return std::move(bytes_);
  }

 private:
  void flush(uint64_t word, size_t count) {
    if (count == 0) return;
    word = __builtin_bswap64(word);
    const size_t at = bytes_.size();
    bytes_.resize(at + count);
    std::memcpy(bytes_.data() + at, &word, count);
  }

  Bytes bytes_;
  uint64_t word_ = 0;  // what is not in bytes_ yet, from the top
  unsigned used_ = 0;  // bits of it, 63 at most
};

// Past the end every bit is 0 and ok() is false.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t get(unsigned count) {
    if (count == 0) return 0;
    if (count > left()) {
      at_ = bytes_.size() * 8;
      ok_ = false;
      return 0;
    }
    const auto offset = static_cast<unsigned>(at_ % 8);
    const size_t byte = at_ / 8;
    at_ += count;
    uint64_t word = 0;
    if (const size_t there = bytes_.size() - byte; there >= sizeof word) [[likely]]
      std::memcpy(&word, bytes_.data() + byte, sizeof word);
    else
      std::memcpy(&word, bytes_.data() + byte, there);
    word = __builtin_bswap64(word) << offset;
    if (count > 64 - offset) {
      const auto next = static_cast<uint64_t>(bytes_[byte + sizeof word]);
      word |= next >> (8 - offset);
    }
    return word >> (64 - count);
  }
  bool ok() const { return ok_; }
  size_t left() const { return bytes_.size() * 8 - at_; }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace hearth::track
