// The wire form of protocol buffers, as much as event files need: fields one after the other, each
// a number with a varint, 4 or 8 bytes, or a stretch of bytes. Groups (long out of use) are
// refused.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::track {

enum class ProtoWire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct ProtoField {
  uint32_t number = 0;
  ProtoWire wire = ProtoWire::varint;
  uint64_t value = 0;      // of varint, fixed64, fixed32
  std::string_view bytes;  // of bytes; lies in the reader's text

  int64_t integer() const { return static_cast<int64_t>(value); }
  // A double or float field, whichever its wire says; 0 for others.
  double real() const;
};

// Walks the fields of one message. Not thread-safe; `text` must outlive it.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view text) : rest_(text) {}
  // Nothing at the end. invalid: the bytes are no message.
  Result<std::optional<ProtoField>> next();
  // A varint at the front of `text`, which moves behind it; nothing if there is none.
  static std::optional<uint64_t> take_varint(std::string_view& text);

 private:
  std::string_view rest_;
};

// Writes one message. Values that are a field's default (0, "") are written too.
class ProtoWriter {
 public:
  void varint(uint32_t number, uint64_t value);
  void real(uint32_t number, double value);
  void real32(uint32_t number, float value);
  void bytes(uint32_t number, std::string_view value);
  // Packed doubles.
  void reals(uint32_t number, const double* values, size_t count);
  const std::string& text() const { return text_; }

 private:
  void tag(uint32_t number, ProtoWire wire);
  void put_varint(uint64_t value);
  std::string text_;
};

}  // namespace hearth::track
