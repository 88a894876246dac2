#include "track/metric_column.h"

#include "track/metric_range.h"
#include "track/sealed.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x31564d48;  // "HMV1"
constexpr const char* kRecord = "metric column";
constexpr size_t kLeastValueBytes = 10;

MetricRange range_of(const ColumnValue& value) {
  return {value.finite, value.last, value.min, value.max};
}

// begin(count), then each(value) by place.
template <typename Begin, typename Each>
Result<void> read_column(std::span<const std::byte> bytes, Begin begin, Each each) {
  Decoder in = TRY(open_sealed(bytes, kMagic, kRecord));
  const uint64_t count = in.varint();
  if (count > in.left() / kLeastValueBytes) return damaged(kRecord, "it lacks values");
  std::vector<std::pair<uint32_t, uint8_t>> places(count);  // with flags
  uint64_t place = 0;
  for (auto& [at, flags] : places) {
    place += in.varint();
    if (place >= kMostColumnPlaces) return damaged(kRecord, "a place is out of bounds");
    at = static_cast<uint32_t>(place);
    flags = in.fixed<uint8_t>();
  }
  begin(count);
  for (const auto& [at, flags] : places) {
    const MetricRange range = get_range(in, flags);
    each(ColumnValue{at, range.finite, range.last, range.min, range.max});
  }
  if (!in.ok() || in.left() != 0) return damaged(kRecord, "its length does not fit its values");
  return {};
}

}  // namespace

Bytes encode_column(std::span<const ColumnValue> values) {
  Bytes out = begin_sealed(kMagic);
  put_varint(out, values.size());
  uint32_t last = 0;
  for (const ColumnValue& value : values) {
    put_varint(out, value.place - last);
    last = value.place;
    out.push_back(static_cast<std::byte>(flags_of(range_of(value))));
  }
  for (const ColumnValue& value : values) put_range(out, range_of(value));
  close_seal(out);
  return out;
}

Result<std::vector<ColumnValue>> decode_column(std::span<const std::byte> bytes) {
  std::vector<ColumnValue> values;
  TRY(read_column(
      bytes, [&](size_t count) { values.reserve(count); },
      [&](const ColumnValue& value) { values.push_back(value); }));
  return values;
}

Result<KeyUse> use_of_column(std::span<const std::byte> bytes, std::span<const uint8_t> counted) {
  KeyUse use;
  TRY(read_column(
      bytes, [](size_t) {},
      [&](const ColumnValue& value) {
        if (value.place < counted.size() && counted[value.place] != 0)
          use.add_run(value.finite, value.min, value.max);
      }));
  return use;
}

}  // namespace hearth::track
