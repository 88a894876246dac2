#include "track/metric_pack.h"

#include <algorithm>

#include "base/format.h"
#include "track/coding.h"
#include "track/metric_batch.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x31504d48;  // "HMP1"

Error damaged(std::string_view what) {
  return Error::internal(format("the metric pack is damaged: {}", what));
}

}  // namespace

Bytes make_pack(const PointsByKey& series) {
  Bytes directory, chunks;
  put_varint(directory, series.size());
  for (const auto& [key, points] : series) {
    const Bytes chunk = encode_chunk(points);
    put_varint(directory, key.size());
    put_bytes(directory, as_bytes(key));
    put_varint(directory, chunk.size());
    put_bytes(chunks, chunk);
  }
  Bytes pack;
  put_fixed(pack, kMagic);
  put_fixed(pack, crc32c(directory));
  put_fixed(pack, static_cast<uint32_t>(directory.size()));
  put_bytes(pack, directory);
  put_bytes(pack, chunks);
  return pack;
}

Result<MetricPack> MetricPack::read(std::span<const std::byte> bytes) {
  Decoder header(bytes);
  const auto magic = header.fixed<uint32_t>();
  const auto crc = header.fixed<uint32_t>();
  const auto length = header.fixed<uint32_t>();
  const auto directory = header.bytes(length);
  if (!header.ok() || magic != kMagic || crc != crc32c(directory))
    return damaged("its directory fails its checksum");
  Decoder in(directory);
  MetricPack pack;
  const uint64_t count = in.varint();
  if (count > in.left()) return damaged("it lacks keys");
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t size = in.varint();
    if (size > kMostKeyBytes) return damaged("a key is too long");
    pack.keys_.push_back(as_text(in.bytes(size)));
    pack.chunks_.push_back(header.bytes(in.varint()));
  }
  if (!in.ok() || !header.ok() || in.left() != 0 || header.left() != 0 ||
      !std::ranges::is_sorted(pack.keys_))
    return damaged("its directory does not fit its chunks");
  return pack;
}

Result<std::vector<Point>> MetricPack::points(std::string_view key) const {
  const auto at = std::ranges::lower_bound(keys_, key);
  if (at == keys_.end() || *at != key) return std::vector<Point>();
  return decode_chunk(chunks_[static_cast<size_t>(at - keys_.begin())]);
}

}  // namespace hearth::track
