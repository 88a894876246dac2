#include "track/metric_batch.h"

#include "base/format.h"
#include "track/coding.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x31424d48;  // "HMB1"
constexpr size_t kHeaderBytes = 8;
constexpr size_t kLeastPointBytes = 11, kMostPointBytes = 3 * kMostVarintBytes + 8;
constexpr size_t kLeastKeyBytes = 2;

Error damaged(std::string_view what) {
  return Error::internal(format("the metric batch is damaged: {}", what));
}

}  // namespace

Result<void> MetricBatchWriter::add(std::string_view key, const Point& point) {
  if (key.empty() || key.size() > kMostKeyBytes)
    return Error::invalid(
        format("a metric key has {} bytes, 1 to {} are allowed", key.size(), kMostKeyBytes));
  if (count_ >= kMostBatchPoints ||
      key_bytes_ + points_.size() + key.size() + 2 * kMostPointBytes >=
          kMostBatchBytes - kHeaderBytes - 2 * kMostVarintBytes)
    return Error::of(Code::too_large, "the metric batch is full");
  auto at = keys_.find(key);
  if (at == keys_.end()) {
    at = keys_.emplace(key, keys_.size()).first;
    order_.push_back(&at->first);
    key_bytes_ += key.size() + kMostVarintBytes;
  }
  put_varint(points_, at->second);
  put_varint(points_, zigzag(wrapping_sub(point.step, step_)));
  put_varint(points_, zigzag(wrapping_sub(point.time.micros, time_)));
  put_fixed(points_, point.value);
  step_ = point.step;
  time_ = point.time.micros;
  ++count_;
  return {};
}

Bytes MetricBatchWriter::seal() {
  Bytes out;
  out.reserve(kHeaderBytes + key_bytes_ + points_.size() + 2 * kMostVarintBytes);
  put_fixed(out, kMagic);
  put_fixed(out, uint32_t{0});
  put_varint(out, order_.size());
  for (const std::string* key : order_) {
    put_varint(out, key->size());
    put_bytes(out, as_bytes(*key));
  }
  put_varint(out, count_);
  put_bytes(out, points_);
  set_fixed(out.data() + sizeof kMagic, crc32c(std::span(out).subspan(kHeaderBytes)));
  *this = {};
  return out;
}

bool is_batch(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  return in.fixed<uint32_t>() == kMagic && in.ok();
}

Result<MetricBatch> read_batch(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  if (in.fixed<uint32_t>() != kMagic) return damaged("its first bytes are wrong");
  const auto crc = in.fixed<uint32_t>();
  if (!in.ok() || bytes.size() > kMostBatchBytes || crc != crc32c(bytes.subspan(kHeaderBytes)))
    return damaged("it fails its checksum");
  MetricBatch batch;
  const uint64_t keys = in.varint();
  if (keys > in.left() / kLeastKeyBytes) return damaged("it lacks keys");
  batch.keys.reserve(keys);
  for (uint64_t i = 0; i < keys; ++i) {
    const uint64_t length = in.varint();
    if (length == 0 || length > kMostKeyBytes) return damaged("a key's length is out of bounds");
    batch.keys.push_back(as_text(in.bytes(length)));
  }
  const uint64_t count = in.varint();
  if (!in.ok() || count > kMostBatchPoints || count > in.left() / kLeastPointBytes)
    return damaged("it lacks points");
  batch.items.reserve(count);
  Point point;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t key = in.varint();
    point.step = wrapping_add(point.step, unzigzag(in.varint()));
    point.time.micros = wrapping_add(point.time.micros, unzigzag(in.varint()));
    point.value = in.fixed<double>();
    if (!in.ok() || key >= keys) return damaged("a point is cut off or has no key");
    batch.items.push_back({static_cast<uint32_t>(key), point});
  }
  if (in.left() != 0) return damaged("bytes stand behind the last point");
  return batch;
}

}  // namespace hearth::track
