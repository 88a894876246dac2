// Bits into bytes and back, the most significant first.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace hearth::track {

class BitWriter {
 public:
  // The low `count` bits of value, 0..64.
  void put(uint64_t value, unsigned count) {
    while (count > 0) {
      if (free_ == 0) {
        bytes_.push_back(std::byte{0});
        free_ = 8;
      }
      const unsigned n = count < free_ ? count : free_;
      const uint64_t part = value >> (count - n) & ((1u << n) - 1);
      bytes_.back() |= static_cast<std::byte>(part << (free_ - n));
      free_ -= n;
      count -= n;
    }
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
  unsigned free_ = 0;
};

// Past the end every bit is 0 and ok() is false.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t get(unsigned count) {
    if (count > left()) {
      at_ = bytes_.size() * 8;
      ok_ = false;
      return 0;
    }
    uint64_t value = 0;
    while (count > 0) {
      const auto offset = static_cast<unsigned>(at_ % 8);
      const unsigned n = count < 8 - offset ? count : 8 - offset;
      const auto byte = static_cast<unsigned>(bytes_[at_ / 8]);
      value = value << n | (byte >> (8 - offset - n) & ((1u << n) - 1));
      at_ += n;
      count -= n;
    }
    return value;
  }
  bool ok() const { return ok_; }
  size_t left() const { return bytes_.size() * 8 - at_; }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace hearth::track
