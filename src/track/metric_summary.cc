#include "track/metric_summary.h"

#include <algorithm>
#include <cmath>

#include "track/metric_batch.h"
#include "track/metric_range.h"
#include "track/sealed.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x31534d48;  // "HMS1"
constexpr const char* kRecord = "metric summary";
constexpr size_t kLeastKeyBytes = 15;
constexpr uint8_t kEarlier = 4;  // beside those of metric_range.h

void put_summary(Bytes& out, const MetricSummary& s) {
  const MetricRange range{s.finite, s.last.value, s.min, s.max};
  const bool earlier = s.earlier_step != INT64_MIN;
  out.push_back(static_cast<std::byte>(flags_of(range) | (earlier ? kEarlier : 0)));
  put_varint(out, zigzag(s.attempt));
  put_varint(out, zigzag(s.first_step));
  put_varint(out, zigzag(wrapping_sub(s.last.step, s.first_step)));
  put_varint(out, zigzag(s.last.time.micros));
  if (earlier) put_varint(out, zigzag(wrapping_sub(s.first_step, s.earlier_step)));
  put_range(out, range);
}

MetricSummary get_summary(Decoder& in) {
  MetricSummary s;
  const auto flags = in.fixed<uint8_t>();
  s.attempt = unzigzag(in.varint());
  s.first_step = unzigzag(in.varint());
  s.last.step = wrapping_add(s.first_step, unzigzag(in.varint()));
  s.last.time.micros = unzigzag(in.varint());
  if ((flags & kEarlier) != 0) s.earlier_step = wrapping_sub(s.first_step, unzigzag(in.varint()));
  const MetricRange range = get_range(in, flags);
  s.finite = range.finite;
  s.last.value = range.last;
  s.min = range.min;
  s.max = range.max;
  return s;
}

}  // namespace

MetricSummary summary_of(const Point& point, int64_t attempt) {
  const bool finite = std::isfinite(point.value);
  return {.attempt = attempt,
          .first_step = point.step,
          .last = point,
          .finite = finite,
          .min = finite ? point.value : 0,
          .max = finite ? point.value : 0};
}

MetricSummary summary_of(std::span<const Point> points, int64_t attempt) {
  MetricSummary all = summary_of(points.front(), attempt);
  for (const Point& point : points.subspan(1)) {
    all.first_step = std::min(all.first_step, point.step);
    if (before(all.last, point)) all.last = point;
    if (!std::isfinite(point.value)) continue;
    all.min = all.finite ? std::min(all.min, point.value) : point.value;
    all.max = all.finite ? std::max(all.max, point.value) : point.value;
    all.finite = true;
  }
  return all;
}

bool merge(MetricSummary& summary, const MetricSummary& other) {
  if (summary.attempt < other.attempt) {
    MetricSummary later = other;
    const bool whole = merge(later, summary);
    summary = later;
    return whole;
  }
  const bool later = summary.attempt > other.attempt;
  if (!later) summary.first_step = std::min(summary.first_step, other.first_step);
  summary.earlier_step =
      std::max(summary.earlier_step, later ? other.last.step : other.earlier_step);
  // Also of one that is in it already, when this attempt turns out to have begun before.
  const bool overtaken = summary.earlier_step >= summary.first_step;
  if (!(later && overtaken) && before(summary.last, other.last)) summary.last = other.last;
  if (other.finite) {
    summary.min = summary.finite ? std::min(summary.min, other.min) : other.min;
    summary.max = summary.finite ? std::max(summary.max, other.max) : other.max;
    summary.finite = true;
  }
  return !overtaken;
}

Bytes encode_summaries(const SummaryByKey& summaries) {
  Bytes out = begin_sealed(kMagic);
  put_varint(out, summaries.size());
  std::string_view last;
  for (const auto& [key, summary] : summaries) {
    const auto [at, unused] = std::ranges::mismatch(last, key);
    const auto shared = static_cast<size_t>(at - last.begin());
    put_varint(out, shared);
    put_varint(out, key.size() - shared);
    put_bytes(out, as_bytes(std::string_view(key).substr(shared)));
    put_summary(out, summary);
    last = key;
  }
  close_seal(out);
  return out;
}

Result<void> each_summary(std::span<const std::byte> bytes, const EachSummary& each) {
  Decoder in = TRY(open_sealed(bytes, kMagic, kRecord));
  const uint64_t count = in.varint();
  if (count > in.left() / kLeastKeyBytes) return damaged(kRecord, "it lacks keys");
  std::string key, last;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t shared = in.varint();
    const uint64_t rest = in.varint();
    if (!in.ok() || shared > key.size() || rest > kMostKeyBytes || shared + rest > kMostKeyBytes)
      return damaged(kRecord, "a key's length is out of bounds");
    std::swap(key, last);
    key.assign(last, 0, shared).append(as_text(in.bytes(rest)));
    if (i > 0 && key <= last) return damaged(kRecord, "its keys are out of order");
    const MetricSummary summary = get_summary(in);
    if (!in.ok()) return damaged(kRecord, "its length does not fit its keys");
    each(key, summary);
  }
  if (!in.ok() || in.left() != 0) return damaged(kRecord, "its length does not fit its keys");
  return {};
}

Result<SummaryByKey> decode_summaries(std::span<const std::byte> bytes) {
  SummaryByKey summaries;
  TRY(each_summary(bytes, [&](std::string_view key, const MetricSummary& summary) {
    summaries.emplace_hint(summaries.end(), key, summary);
  }));
  return summaries;
}

}  // namespace hearth::track
