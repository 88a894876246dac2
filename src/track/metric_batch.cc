#include "track/metric_batch.h"

#include "base/format.h"
#include "track/coding.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x32424d48;       // "HMB2"
constexpr uint32_t kOlderMagic = 0x31424d48;  // "HMB1"
constexpr size_t kHeaderBytes = 8;
constexpr size_t kLeastOlderPointBytes = 11;
constexpr size_t kLeastKeyBytes = 2, kLeastSeriesBytes = 5;
// Of a key besides its bytes: its length, the count, both columns' firsts and differences.
constexpr size_t kMostSeriesBytes = 6 * kMostVarintBytes;
constexpr size_t kMostPointBytes = 2 * kMostVarintBytes + sizeof(double);
constexpr uint64_t kRegularSteps = 1, kRegularTimes = 2;

Error damaged(std::string_view what) {
  return Error::internal(format("the metric batch is damaged: {}", what));
}

int64_t step_of(const Point& point) {
  return point.step;
}
int64_t time_of(const Point& point) {
  return point.time.micros;
}

bool is_regular(std::span<const Point> points, int64_t (*get)(const Point&)) {
  if (points.size() < 3) return true;
  const int64_t step = wrapping_sub(get(points[1]), get(points[0]));
  for (size_t i = 2; i < points.size(); ++i)
    if (wrapping_sub(get(points[i]), get(points[i - 1])) != step) return false;
  return true;
}

// `first`: of the key before; then this key's.
std::byte* write_column(std::byte* at, std::span<const Point> points, bool regular,
                        int64_t (*get)(const Point&), int64_t& first) {
  const int64_t begin = get(points.front());
  at = write_varint(at, zigzag(wrapping_sub(begin, first)));
  first = begin;
  int64_t value = begin, delta = 0;
  for (size_t i = 1; i < points.size(); ++i) {
    const int64_t next = get(points[i]);
    const int64_t step = wrapping_sub(next, value);
    at = write_varint(at, zigzag(wrapping_sub(step, delta)));
    if (regular) return at;
    value = next;
    delta = step;
  }
  return at;
}

template <typename Set>
void read_column(Decoder& in, std::span<Point> points, bool regular, int64_t& first, Set set) {
  first = wrapping_add(first, unzigzag(in.varint()));
  int64_t value = first, delta = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if (i == 1 || (i > 1 && !regular)) delta = wrapping_add(delta, unzigzag(in.varint()));
    value = wrapping_add(value, delta);
    set(points[i], value);
  }
}

Result<void> check_bounds(std::span<const KeySeries> series, size_t& most_bytes) {
  size_t points = 0;
  most_bytes = kHeaderBytes + kMostVarintBytes;
  for (const KeySeries& one : series) {
    if (one.key.empty() || one.key.size() > kMostKeyBytes)
      return Error::invalid(
          format("a metric key has {} bytes, 1 to {} are allowed", one.key.size(), kMostKeyBytes));
    points += one.points.size();
    most_bytes += kMostSeriesBytes + one.key.size() + one.points.size() * kMostPointBytes;
  }
  if (points <= kMostBatchPoints && most_bytes <= kMostBatchBytes) return {};
  return Error::of(Code::too_large, "the metric batch is full");
}

std::byte* write_series(std::byte* at, const KeySeries& series, int64_t& step, int64_t& time) {
  const std::span<const Point> points = series.points;
  at = write_varint(at, series.key.size());
  std::memcpy(at, series.key.data(), series.key.size());
  at += series.key.size();
  const bool steps = is_regular(points, step_of), times = is_regular(points, time_of);
  at = write_varint(at,
                    points.size() * 4 + (steps ? kRegularSteps : 0) + (times ? kRegularTimes : 0));
  at = write_column(at, points, steps, step_of, step);
  at = write_column(at, points, times, time_of, time);
  for (const Point& point : points) {
    std::memcpy(at, &point.value, sizeof point.value);
    at += sizeof point.value;
  }
  return at;
}

Result<KeyedPoints> read_series(Decoder& in) {
  KeyedPoints batch;
  const uint64_t keys = in.varint();
  if (!in.ok() || keys > in.left() / kLeastSeriesBytes) return damaged("it lacks keys");
  batch.keys.reserve(keys);
  batch.ends.reserve(keys);
  batch.points.reserve(std::min(in.left() / sizeof(double), kMostBatchPoints));
  int64_t step = 0, time = 0;
  for (uint64_t i = 0; i < keys; ++i) {
    const uint64_t length = in.varint();
    if (length == 0 || length > kMostKeyBytes) return damaged("a key's length is out of bounds");
    batch.keys.emplace_back(as_text(in.bytes(length)));
    const uint64_t head = in.varint(), count = head / 4;
    if (count == 0 || count > in.left() / sizeof(double)) return damaged("it lacks points");
    const size_t begin = batch.points.size();
    if (begin + count > kMostBatchPoints) return damaged("it holds too many points");
    batch.points.resize(begin + count);
    const std::span<Point> points = std::span(batch.points).subspan(begin);
    read_column(in, points, (head & kRegularSteps) != 0, step,
                [](Point& point, int64_t value) { point.step = value; });
    read_column(in, points, (head & kRegularTimes) != 0, time,
                [](Point& point, int64_t value) { point.time.micros = value; });
    const auto values = in.bytes(count * sizeof(double));
    if (!in.ok()) return damaged("a series is cut off");
    for (size_t p = 0; p < count; ++p)
      points[p].value = get_fixed<double>(values.data() + p * sizeof(double));
    batch.ends.push_back(static_cast<uint32_t>(batch.points.size()));
  }
  return batch;
}

Result<KeyedPoints> read_older(Decoder& in) {
  const uint64_t keys = in.varint();
  if (keys > in.left() / kLeastKeyBytes) return damaged("it lacks keys");
  std::vector<std::string_view> names;
  names.reserve(keys);
  for (uint64_t i = 0; i < keys; ++i) {
    const uint64_t length = in.varint();
    if (length == 0 || length > kMostKeyBytes) return damaged("a key's length is out of bounds");
    names.push_back(as_text(in.bytes(length)));
  }
  const uint64_t count = in.varint();
  if (!in.ok() || count > kMostBatchPoints || count > in.left() / kLeastOlderPointBytes)
    return damaged("it lacks points");
  PointCollector batch;
  batch.reserve(count);
  Point point;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t key = in.varint();
    point.step = wrapping_add(point.step, unzigzag(in.varint()));
    point.time.micros = wrapping_add(point.time.micros, unzigzag(in.varint()));
    point.value = in.fixed<double>();
    if (!in.ok() || key >= keys) return damaged("a point is cut off or has no key");
    batch.add(names[key], point);
  }
  return batch.take();
}

}  // namespace

Result<Bytes> encode_batch(std::span<const KeySeries> series) {
  size_t most_bytes = 0, keys = 0;
  TRY(check_bounds(series, most_bytes));
  for (const KeySeries& one : series) keys += one.points.empty() ? 0 : 1;
  Bytes out(most_bytes);
  set_fixed(out.data(), kMagic);
  std::byte* at = write_varint(out.data() + kHeaderBytes, keys);
  int64_t step = 0, time = 0;
  for (const KeySeries& one : series)
    if (!one.points.empty()) at = write_series(at, one, step, time);
  out.resize(static_cast<size_t>(at - out.data()));
  set_fixed(out.data() + sizeof kMagic, crc32c(std::span(out).subspan(kHeaderBytes)));
  return out;
}

bool is_batch(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  const auto magic = in.fixed<uint32_t>();
  return in.ok() && (magic == kMagic || magic == kOlderMagic);
}

Result<KeyedPoints> read_batch(std::span<const std::byte> bytes) {
  if (!is_batch(bytes)) return damaged("its first bytes are wrong");
  Decoder in(bytes);
  const auto magic = in.fixed<uint32_t>();
  const auto crc = in.fixed<uint32_t>();
  if (!in.ok() || bytes.size() > kMostBatchBytes || crc != crc32c(bytes.subspan(kHeaderBytes)))
    return damaged("it fails its checksum");
  KeyedPoints batch = TRY(magic == kMagic ? read_series(in) : read_older(in));
  if (in.left() != 0) return damaged("bytes stand behind the last point");
  return batch;
}

}  // namespace hearth::track
