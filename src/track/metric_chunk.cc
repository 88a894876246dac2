#include "track/metric_chunk.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/format.h"
#include "track/bits.h"
#include "track/coding.h"
#include "track/metric_range.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x31434d48;  // "HMC1"

struct Header {
  uint32_t magic = kMagic;
  uint32_t count = 0;
  uint64_t finite = 0;
  double min = 0, max = 0;
  int64_t last_point_step = 0, last_point_time = 0;
  double last_point_value = 0;
  int64_t first_step = 0, last_step = 0, first_time = 0, last_time = 0;
  uint32_t bit_bytes = 0;
  uint32_t crc = 0;
};
constexpr size_t kHeaderBytes = sizeof(Header);
constexpr size_t kUsualPointBytes = 12;  // of a regular series of noisy values, at most
constexpr size_t kSummed = kHeaderBytes - sizeof(uint32_t);
static_assert(kHeaderBytes == 96);

// A difference of differences: 0 | 10 + 7 bits | 110 + 12 | 1110 + 32 | 1111 + 64, zigzag.
constexpr unsigned kWidths[] = {7, 12, 32, 64};

void put_step(BitWriter& out, int64_t value) {
  const uint64_t z = zigzag(value);
  if (z == 0) return out.put(0, 1);
  for (unsigned i = 0; i < 4; ++i) {
    if (i < 3 && z >> kWidths[i] != 0) continue;
    if (i < 3)
      out.put((2u << (i + 1)) - 2, i + 2);
    else
      out.put(15, 4);
    return out.put(z, kWidths[i]);
  }
}
int64_t get_step(BitReader& in) {
  unsigned ones = 0;
  while (ones < 4 && in.get(1) == 1) ++ones;
  return ones == 0 ? 0 : unzigzag(in.get(kWidths[ones - 1]));
}

// A series of integers by differences of differences.
class Deltas {
 public:
  void put(BitWriter& out, int64_t value) {
    const int64_t delta = wrapping_sub(value, value_);
    put_step(out, wrapping_sub(delta, delta_));
    delta_ = delta;
    value_ = value;
  }
  int64_t get(BitReader& in) {
    delta_ = wrapping_add(delta_, get_step(in));
    return value_ = wrapping_add(value_, delta_);
  }

 private:
  int64_t value_ = 0, delta_ = 0;
};

// Values: 0 = as before; 10 = the bits that differ lie in the last window; 11 + 6 bits leading
// zeros
// + 6 bits length - 1 = a new window.
class Values {
 public:
  void put(BitWriter& out, double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const uint64_t x = bits ^ bits_;
    bits_ = bits;
    if (x == 0) return out.put(0, 1);
    const auto lead = static_cast<unsigned>(std::countl_zero(x));
    const auto trail = static_cast<unsigned>(std::countr_zero(x));
    if (length_ > 0 && lead >= lead_ && trail >= 64 - lead_ - length_) {
      out.put(2, 2);
    } else {
      lead_ = lead;
      length_ = 64 - lead - trail;
      out.put(3, 2);
      out.put(lead_, 6);
      out.put(length_ - 1, 6);
    }
    out.put(x >> (64 - lead_ - length_), length_);
  }
  // False when the bits name an impossible window.
  bool get(BitReader& in, double& value) {
    if (in.get(1) == 1) {
      if (in.get(1) == 1) {
        lead_ = static_cast<unsigned>(in.get(6));
        length_ = static_cast<unsigned>(in.get(6)) + 1;
      }
      if (length_ == 0 || lead_ + length_ > 64) return false;
      bits_ ^= in.get(length_) << (64 - lead_ - length_);
    }
    value = std::bit_cast<double>(bits_);
    return true;
  }

 private:
  uint64_t bits_ = 0;
  unsigned lead_ = 0, length_ = 0;
};

// Numbers first, in their order (-0 before 0); NaN behind them by bits.
int compare(double a, double b) {
  if (a < b) return -1;
  if (a > b) return 1;
  const auto x = std::bit_cast<uint64_t>(a), y = std::bit_cast<uint64_t>(b);
  if (x == y) return 0;
  if (std::isnan(a) != std::isnan(b)) return std::isnan(a) ? 1 : -1;
  if (!std::isnan(a)) return std::signbit(a) ? -1 : 1;
  return x < y ? -1 : 1;
}

Error damaged(std::string_view what) {
  return Error::internal(format("the metric chunk is damaged: {}", what));
}

Result<Header> check(std::span<const std::byte> chunk) {
  if (chunk.size() < kHeaderBytes) return damaged("it is too short");
  Header header;
  std::memcpy(&header, chunk.data(), kHeaderBytes);
  if (header.magic != kMagic) return damaged("its first bytes are wrong");
  const auto bits = chunk.subspan(kHeaderBytes);
  if (header.crc != crc32c(bits, crc32c(chunk.first(kSummed))) || header.bit_bytes != bits.size())
    return damaged("it fails its checksum");
  if (header.count > kMostChunkPoints) return damaged("it holds too many points");
  return header;
}

}  // namespace

bool before(const Point& a, const Point& b) {
  if (a.step != b.step) return a.step < b.step;
  if (a.time != b.time) return a.time < b.time;
  return compare(a.value, b.value) < 0;
}

bool same(const Point& a, const Point& b) {
  return a.step == b.step && a.time == b.time && equal_bits(a.value, b.value);
}

ChunkSummary summarize(std::span<const Point> points) {
  ChunkSummary s;
  for (const Point& p : points) {
    if (s.count++ == 0) {
      s.last = p;
      s.first_step = s.last_step = p.step;
      s.first_time = s.last_time = p.time;
    }
    if (before(s.last, p)) s.last = p;
    s.first_step = std::min(s.first_step, p.step);
    s.last_step = std::max(s.last_step, p.step);
    s.first_time = std::min(s.first_time, p.time);
    s.last_time = std::max(s.last_time, p.time);
    if (!std::isfinite(p.value)) continue;
    s.min = s.finite == 0 ? p.value : std::min(s.min, p.value);
    s.max = s.finite == 0 ? p.value : std::max(s.max, p.value);
    ++s.finite;
  }
  return s;
}

ChunkSummary merge(const ChunkSummary& a, const ChunkSummary& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  ChunkSummary s = a;
  s.count += b.count;
  s.finite += b.finite;
  if (b.finite > 0) {
    s.min = a.finite > 0 ? std::min(a.min, b.min) : b.min;
    s.max = a.finite > 0 ? std::max(a.max, b.max) : b.max;
  }
  if (before(a.last, b.last)) s.last = b.last;
  s.first_step = std::min(a.first_step, b.first_step);
  s.last_step = std::max(a.last_step, b.last_step);
  s.first_time = std::min(a.first_time, b.first_time);
  s.last_time = std::max(a.last_time, b.last_time);
  return s;
}

Bytes encode_chunk(std::span<const Point> points) {
  CHECK(points.size() <= kMostChunkPoints);
  BitWriter out;
  out.reserve(points.size() * kUsualPointBytes);
  Deltas steps, times;
  Values values;
  for (const Point& point : points) {
    steps.put(out, point.step);
    times.put(out, point.time.micros);
    values.put(out, point.value);
  }
  const Bytes bits = out.take();
  const ChunkSummary s = summarize(points);
  Header header;
  header.count = static_cast<uint32_t>(s.count);
  header.finite = s.finite;
  header.min = s.min;
  header.max = s.max;
  header.last_point_step = s.last.step;
  header.last_point_time = s.last.time.micros;
  header.last_point_value = s.last.value;
  header.first_step = s.first_step;
  header.last_step = s.last_step;
  header.first_time = s.first_time.micros;
  header.last_time = s.last_time.micros;
  header.bit_bytes = static_cast<uint32_t>(bits.size());
  Bytes chunk(kHeaderBytes);
  std::memcpy(chunk.data(), &header, kHeaderBytes);
  header.crc = crc32c(bits, crc32c(std::span(chunk).first(kSummed)));
  set_fixed(chunk.data() + kSummed, header.crc);
  put_bytes(chunk, bits);
  return chunk;
}

Result<ChunkSummary> read_summary(std::span<const std::byte> chunk) {
  const Header h = TRY(check(chunk));
  return ChunkSummary{.count = h.count,
                      .finite = h.finite,
                      .min = h.min,
                      .max = h.max,
                      .last = {h.last_point_step, {h.last_point_time}, h.last_point_value},
                      .first_step = h.first_step,
                      .last_step = h.last_step,
                      .first_time = {h.first_time},
                      .last_time = {h.last_time}};
}

Result<std::vector<Point>> decode_chunk(std::span<const std::byte> chunk) {
  const Header header = TRY(check(chunk));
  BitReader in(chunk.subspan(kHeaderBytes));
  if (header.count > in.left() / 3) return damaged("it lacks points");  // three bits each at least
  std::vector<Point> points;
  points.reserve(header.count);
  Deltas steps, times;
  Values values;
  for (uint32_t i = 0; i < header.count; ++i) {
    Point point;
    point.step = steps.get(in);
    point.time.micros = times.get(in);
    if (!values.get(in, point.value) || !in.ok()) return damaged("it lacks points");
    points.push_back(point);
  }
  return points;
}

std::vector<Point> merge_points(std::vector<std::vector<Point>> series) {
  std::vector<Point> all;
  if (!series.empty()) all = std::move(series.front());
  size_t count = 0;
  for (const auto& points : series) count += points.size();
  all.reserve(all.size() + count);
  for (const auto& points : series) all.insert(all.end(), points.begin(), points.end());
  if (!std::ranges::is_sorted(all, before)) std::ranges::sort(all, before);
  const auto rest = std::ranges::unique(all, same);
  all.erase(rest.begin(), rest.end());
  return all;
}

std::vector<Point> downsample(std::span<const Point> points, size_t buckets, Axis axis) {
  if (points.empty() || buckets == 0) return {};
  if (points.size() <= buckets) return {points.begin(), points.end()};
  const auto at = [axis](const Point& p) { return axis == Axis::step ? p.step : p.time.micros; };
  const auto [least, greatest] = std::ranges::minmax(points, {}, at);
  const auto low = static_cast<double>(at(least));
  const double width = (static_cast<double>(at(greatest)) - low) / static_cast<double>(buckets);
  struct Bucket {
    const Point *first = nullptr, *last = nullptr, *min = nullptr, *max = nullptr;
  };
  std::vector<Bucket> all(buckets);
  for (const Point& p : points) {
    const double place = width > 0 ? (static_cast<double>(at(p)) - low) / width : 0;
    Bucket& bucket = all[std::min(static_cast<size_t>(place), buckets - 1)];
    if (bucket.first == nullptr) bucket.first = &p;
    bucket.last = &p;
    if (!std::isfinite(p.value)) continue;
    if (bucket.min == nullptr || p.value < bucket.min->value) bucket.min = &p;
    if (bucket.max == nullptr || p.value > bucket.max->value) bucket.max = &p;
  }
  std::vector<const Point*> kept;
  for (const Bucket& bucket : all)
    for (const Point* p : {bucket.first, bucket.min, bucket.max, bucket.last})
      if (p != nullptr) kept.push_back(p);
  std::ranges::sort(kept);
  const auto rest = std::ranges::unique(kept);
  kept.erase(rest.begin(), rest.end());
  std::vector<Point> out;
  out.reserve(kept.size());
  for (const Point* p : kept) out.push_back(*p);
  return out;
}

}  // namespace hearth::track
