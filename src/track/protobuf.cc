#include "track/protobuf.h"

#include <bit>

namespace hearth::track {
namespace {

// The machines we build for are little-endian, as the wire is.
static_assert(std::endian::native == std::endian::little);

constexpr int kMostVarintBytes = 10;
constexpr uint32_t kMostFieldNumber = (1 << 29) - 1;

Error malformed(const char* what) {
  return Error::invalid(what);
}

template <typename T>
std::optional<uint64_t> take_fixed(std::string_view& text) {
  if (text.size() < sizeof(T)) return std::nullopt;
  T value = 0;
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return uint64_t{value};
}

}  // namespace

double ProtoField::real() const {
  if (wire == ProtoWire::fixed64) return std::bit_cast<double>(value);
  if (wire == ProtoWire::fixed32) return std::bit_cast<float>(static_cast<uint32_t>(value));
  return 0;
}

std::optional<uint64_t> ProtoReader::take_varint(std::string_view& text) {
  uint64_t value = 0;
  for (int i = 0; i < kMostVarintBytes && static_cast<size_t>(i) < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[static_cast<size_t>(i)]);
    value |= uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) {
      text.remove_prefix(static_cast<size_t>(i) + 1);
      return value;
    }
  }
  return std::nullopt;
}

Result<std::optional<ProtoField>> ProtoReader::next() {
  if (rest_.empty()) return std::optional<ProtoField>();
  const auto tag = take_varint(rest_);
  if (!tag || *tag >> 3 == 0 || *tag >> 3 > kMostFieldNumber)
    return malformed("a message's field has no number");
  ProtoField field;
  field.number = static_cast<uint32_t>(*tag >> 3);
  field.wire = static_cast<ProtoWire>(*tag & 7);
  std::optional<uint64_t> value;
  switch (field.wire) {
    case ProtoWire::varint:
    case ProtoWire::bytes:
      value = take_varint(rest_);
      break;
    case ProtoWire::fixed64:
      value = take_fixed<uint64_t>(rest_);
      break;
    case ProtoWire::fixed32:
      value = take_fixed<uint32_t>(rest_);
      break;
    default:
      return malformed("a message's field has a form that is not known");
  }
  if (!value) return malformed("a message ends within a field");
  field.value = *value;
  if (field.wire == ProtoWire::bytes) {
    if (*value > rest_.size()) return malformed("a message ends within a field");
    field.bytes = rest_.substr(0, *value);
    rest_.remove_prefix(*value);
  }
  return std::optional(field);
}

void ProtoWriter::put_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
  text_ += static_cast<char>(value);
}

void ProtoWriter::tag(uint32_t number, ProtoWire wire) {
  put_varint(uint64_t{number} << 3 | static_cast<uint64_t>(wire));
}

void ProtoWriter::varint(uint32_t number, uint64_t value) {
  tag(number, ProtoWire::varint);
  put_varint(value);
}

void ProtoWriter::real(uint32_t number, double value) {
  tag(number, ProtoWire::fixed64);
  text_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void ProtoWriter::real32(uint32_t number, float value) {
  tag(number, ProtoWire::fixed32);
  text_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void ProtoWriter::bytes(uint32_t number, std::string_view value) {
  tag(number, ProtoWire::bytes);
  put_varint(value.size());
  text_ += value;
}

void ProtoWriter::reals(uint32_t number, const double* values, size_t count) {
  bytes(number, {reinterpret_cast<const char*>(values), count * sizeof *values});
}

}  // namespace hearth::track
