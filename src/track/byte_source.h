// Where sealed bytes are read from: a file, an object, memory. Given by the caller, as this room
// does no I/O.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace hearth::track {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  // Fills `into` from `offset` on, or is an error. Called by several threads at once.
  virtual Result<void> read(uint64_t offset, std::span<std::byte> into) const = 0;
};

// Bytes in memory, which must outlive it.
class SpanSource : public ByteSource {
 public:
  explicit SpanSource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  Result<void> read(uint64_t offset, std::span<std::byte> into) const override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset)
      return Error::internal("a read reaches past the end");
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace hearth::track
