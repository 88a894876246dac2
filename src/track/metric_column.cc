#include "track/metric_column.h"

#include <bit>

#include "base/format.h"
#include "track/coding.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x31564d48;  // "HMV1"
constexpr size_t kHeaderBytes = 8;
constexpr size_t kLeastValueBytes = 10;
constexpr uint8_t kFinite = 1, kOneValue = 2;

Error damaged(std::string_view what) {
  return Error::internal(format("the metric column is damaged: {}", what));
}

bool equal_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

uint8_t flags_of(const ColumnValue& value) {
  if (!value.finite) return 0;
  const bool one = equal_bits(value.min, value.last) && equal_bits(value.max, value.last);
  return one ? kFinite | kOneValue : kFinite;
}

}  // namespace

Bytes encode_column(std::span<const ColumnValue> values) {
  Bytes out;
  put_fixed(out, kMagic);
  put_fixed(out, uint32_t{0});
  put_varint(out, values.size());
  uint32_t last = 0;
  for (const ColumnValue& value : values) {
    put_varint(out, value.place - last);
    last = value.place;
    out.push_back(static_cast<std::byte>(flags_of(value)));
  }
  for (const ColumnValue& value : values) {
    put_fixed(out, value.last);
    if (flags_of(value) != kFinite) continue;
    put_fixed(out, value.min);
    put_fixed(out, value.max);
  }
  set_fixed(out.data() + sizeof kMagic, crc32c(std::span(out).subspan(kHeaderBytes)));
  return out;
}

Result<std::vector<ColumnValue>> decode_column(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  if (in.fixed<uint32_t>() != kMagic) return damaged("its first bytes are wrong");
  const auto crc = in.fixed<uint32_t>();
  if (!in.ok() || crc != crc32c(bytes.subspan(kHeaderBytes)))
    return damaged("it fails its checksum");
  const uint64_t count = in.varint();
  if (count > in.left() / kLeastValueBytes) return damaged("it lacks values");
  std::vector<ColumnValue> values(count);
  std::vector<uint8_t> flags(count);
  uint64_t place = 0;
  for (uint64_t i = 0; i < count; ++i) {
    place += in.varint();
    if (place >= kMostColumnPlaces) return damaged("a place is out of bounds");
    values[i].place = static_cast<uint32_t>(place);
    flags[i] = in.fixed<uint8_t>();
  }
  for (uint64_t i = 0; i < count; ++i) {
    ColumnValue& value = values[i];
    value.last = in.fixed<double>();
    value.finite = (flags[i] & kFinite) != 0;
    if (!value.finite) continue;
    const bool one = (flags[i] & kOneValue) != 0;
    value.min = one ? value.last : in.fixed<double>();
    value.max = one ? value.last : in.fixed<double>();
  }
  if (!in.ok() || in.left() != 0) return damaged("its length does not fit its values");
  return values;
}

}  // namespace hearth::track
