#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/format.h"
#include "track/coding.h"
#include "track/metric_batch.h"
#include "track/metric_chunk.h"
#include "track/metric_pack.h"

namespace hearth::track {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<Point> loss_curve(int count) {
  SeededRandom random(1);
  std::vector<Point> points;
  for (int64_t i = 0; i < count; ++i)
    points.push_back(
        {i * 10,
         {1'700'000'000'000'000 + i * 50'000 + static_cast<int64_t>(random.below(900))},
         static_cast<float>(2.3 / (1 + static_cast<double>(i) * 0.01) + random.unit() * 0.1)});
  return points;
}

void expect_same(const std::vector<Point>& a, const std::vector<Point>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(same(a[i], b[i])) << i;
}

TEST(MetricChunk, GivesBackEveryBit) {
  std::vector<Point> points = loss_curve(5000);
  for (const double value : {0.0, -0.0, kNan, -kNan, kInf, -kInf, 5e-324, 1.7976931348623157e308})
    points.push_back({INT64_MAX, {INT64_MIN}, value});
  points.push_back({INT64_MIN, {INT64_MAX}, 1});
  points.push_back({0, {0}, 1});
  SeededRandom random(2);
  for (int i = 0; i < 3000; ++i)
    points.push_back({static_cast<int64_t>(random.u64() >> random.below(64)),
                      {static_cast<int64_t>(random.u64() >> random.below(64))},
                      std::bit_cast<double>(random.u64() >> random.below(64))});
  const auto back = decode_chunk(encode_chunk(points));
  ASSERT_TRUE(back.ok()) << back.error().text();
  expect_same(*back, points);
  const auto none = decode_chunk(encode_chunk({}));
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

TEST(MetricChunk, IsSmall) {
  // A noisy loss with jittering times: far below the 24 bytes of a point.
  EXPECT_LT(encode_chunk(loss_curve(10'000)).size(), 10'000 * 7);
  std::vector<Point> regular;
  for (int i = 0; i < 10'000; ++i) regular.push_back({i, {int64_t{i} * 1'000'000}, 0.001});
  EXPECT_LT(encode_chunk(regular).size(), 10'000 / 2);
}

TEST(MetricChunk, Summary) {
  const std::vector<Point> points = {
      {1, {10}, 5}, {3, {5}, kNan}, {2, {20}, -1}, {3, {5}, 7}, {0, {7}, kInf}};
  const auto s = read_summary(encode_chunk(points));
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s->count, 5u);
  EXPECT_EQ(s->finite, 3u);
  EXPECT_EQ(s->min, -1);
  EXPECT_EQ(s->max, 7);
  EXPECT_EQ(s->last.step, 3);
  EXPECT_TRUE(std::isnan(s->last.value));
  EXPECT_EQ(s->first_step, 0);
  EXPECT_EQ(s->last_step, 3);
  EXPECT_EQ(s->first_time.micros, 5);
  EXPECT_EQ(s->last_time.micros, 20);
  const std::span all(points);
  const ChunkSummary merged = merge(summarize(all.first(2)), summarize(all.subspan(2)));
  EXPECT_EQ(merged.count, s->count);
  EXPECT_EQ(merged.min, s->min);
  EXPECT_EQ(merged.max, s->max);
  EXPECT_TRUE(same(merged.last, s->last));
  EXPECT_EQ(merge(ChunkSummary{}, merged).count, 5u);
  const ChunkSummary only_nan = summarize(all.subspan(1, 1));
  EXPECT_EQ(merge(only_nan, summarize(all.first(1))).min, 5);
}

TEST(MetricChunk, EachFlippedBitIsFound) {
  const Bytes good = encode_chunk(loss_curve(20));
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_FALSE(decode_chunk(bytes).ok()) << bit;
    ASSERT_FALSE(read_summary(bytes).ok()) << bit;
  }
  for (size_t cut = 0; cut < good.size(); ++cut)
    ASSERT_FALSE(decode_chunk(std::span(good).first(cut)).ok());
}

TEST(MetricChunk, MergeDropsDoublesAndSorts) {
  const std::vector<Point> points = loss_curve(100);
  std::vector<Point> late(points.begin() + 50, points.end()),
      early(points.begin(), points.end() - 30);
  expect_same(merge_points({late, early, {}}), points);
  // NaN twice is one; another value at the same step and time is another point.
  EXPECT_EQ(merge_points(
                {{{1, {1}, kNan}, {1, {1}, 2}}, {{1, {1}, kNan}, {1, {1}, -0.0}}, {{1, {1}, 0.0}}})
                .size(),
            4u);
}

TEST(MetricChunk, DownsampleKeepsPeaks) {
  std::vector<Point> points = loss_curve(100'000);
  points[77'777].value = 99;
  points[33'333].value = -99;
  points[50'000].value = kNan;
  for (const Axis axis : {Axis::step, Axis::time}) {
    const auto few = downsample(points, 100, axis);
    EXPECT_LE(few.size(), 400u);
    EXPECT_GE(few.size(), 200u);
    EXPECT_TRUE(std::ranges::is_sorted(few, before));
    EXPECT_TRUE(same(few.front(), points.front()));
    EXPECT_TRUE(same(few.back(), points.back()));
    const auto holds = [&](double value) {
      return std::ranges::any_of(few, [&](const Point& p) { return p.value == value; });
    };
    EXPECT_TRUE(holds(99) && holds(-99));
  }
  expect_same(downsample(std::span(points).first(10), 10, Axis::step),
              {points.begin(), points.begin() + 10});
  EXPECT_TRUE(downsample({}, 10, Axis::step).empty());
  EXPECT_TRUE(downsample(points, 0, Axis::step).empty());
  // All at one place, and the widest axis there is.
  const std::vector<Point> one(50, Point{5, {5}, 1.0});
  EXPECT_EQ(downsample(one, 10, Axis::step).size(), 2u);
  const std::vector<Point> wide = {{INT64_MIN, {}, 1}, {0, {}, 2}, {INT64_MAX, {}, 3}};
  EXPECT_EQ(downsample(wide, 2, Axis::step).size(), 3u);
}

Bytes sealed(const KeyedPoints& points) {
  std::vector<KeySeries> all;
  for (size_t i = 0; i < points.keys.size(); ++i) all.push_back(points.series(i));
  auto bytes = encode_batch(all);
  CHECK(bytes.ok());
  return std::move(*bytes);
}

void expect_same(const KeyedPoints& a, const KeyedPoints& b) {
  ASSERT_EQ(a.keys, b.keys);
  ASSERT_EQ(a.ends, b.ends);
  expect_same(a.points, b.points);
}

TEST(KeyedPoints, KeepTheirOrderByKey) {
  PointCollector collector;
  for (const int64_t i : {0, 1, 2, 3, 4, 5, 6, 7})
    collector.add(i % 3 == 2 ? "b" : "a", {i, {i}, 1.0});
  collector.add("c", {8, {8}, 1.0});
  collector.add("a", {9, {9}, 1.0});
  const KeyedPoints points = collector.take();
  EXPECT_EQ(points.keys, (std::vector<std::string>{"a", "b", "c"}));
  const auto steps = [&](size_t key) {
    std::vector<int64_t> all;
    for (const Point& point : points.of(key)) all.push_back(point.step);
    return all;
  };
  EXPECT_EQ(steps(0), (std::vector<int64_t>{0, 1, 3, 4, 6, 7, 9}));
  EXPECT_EQ(steps(1), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(steps(2), (std::vector<int64_t>{8}));
  EXPECT_TRUE(collector.take().empty());
  collector.add("d", {1, {1}, 1.0});
  collector.add(points);
  EXPECT_EQ(collector.take().keys, (std::vector<std::string>{"d", "a", "b", "c"}));
}

TEST(MetricBatch, GivesBackWhatWasAdded) {
  PointCollector collector;
  SeededRandom random(4);
  for (int i = 0; i < 1000; ++i)
    for (const char* key : {"loss", "accuracy", "system/gpu.0.memory bytes"})
      collector.add(key, {i, {1'700'000'000'000'000 + i}, i == 7 ? kNan : random.unit()});
  const size_t regular = collector.points();
  const KeyedPoints plain = collector.take();
  const Bytes small = sealed(plain);
  EXPECT_LT(small.size(), regular * 8 + 100);
  collector.add(plain);
  collector.add("gro\xc3\x9f", {INT64_MIN, {INT64_MAX}, -kInf});
  collector.add("loss", {INT64_MAX, {INT64_MIN}, 0});
  for (int i = 0; i < 100; ++i)
    collector.add("wild", {static_cast<int64_t>(random.u64()),
                           {static_cast<int64_t>(random.u64() >> random.below(64))},
                           -0.0});
  const KeyedPoints points = collector.take();
  const Bytes bytes = sealed(points);
  EXPECT_TRUE(is_batch(bytes));
  const auto batch = read_batch(bytes);
  ASSERT_TRUE(batch.ok()) << batch.error().text();
  expect_same(*batch, points);
  EXPECT_TRUE(read_batch(sealed({}))->empty());
}

TEST(MetricBatch, RefusesWrongKeysAndDamage) {
  const Point point{1, {2}, 3};
  const auto code = [&](const std::string& key) {
    return encode_batch(std::vector{KeySeries{key, std::span(&point, 1)}}).error().code;
  };
  EXPECT_EQ(code(""), Code::invalid);
  EXPECT_EQ(code(std::string(kMostKeyBytes + 1, 'k')), Code::invalid);
  PointCollector collector;
  collector.add(std::string(kMostKeyBytes, 'k'), point);
  for (int i = 0; i < 20; ++i) collector.add(format("key{}", i % 3), {i, {i * i}, 0.5});
  const Bytes good = sealed(collector.take());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_FALSE(read_batch(bytes).ok()) << bit;
  }
  // Well-summed nonsense must not crash.
  SeededRandom random(6);
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes = good;
    for (int i = 0; i < 3; ++i)
      bytes[8 + random.below(bytes.size() - 8)] = static_cast<std::byte>(random.u64());
    set_fixed(bytes.data() + 4, crc32c(std::span(bytes).subspan(8)));
    const auto batch = read_batch(bytes);
    if (!batch.ok()) continue;
    ASSERT_EQ(batch->ends.size(), batch->keys.size());
    ASSERT_EQ(batch->ends.empty() ? 0 : batch->ends.back(), batch->points.size());
  }
}

// As rows were written before: the keys, then points with the number of their key.
TEST(MetricBatch, ReadsTheOlderForm) {
  Bytes bytes;
  put_fixed(bytes, uint32_t{0x31424d48});
  put_fixed(bytes, uint32_t{0});
  put_varint(bytes, 2);
  for (const std::string_view key : {"loss", "acc"}) {
    put_varint(bytes, key.size());
    put_bytes(bytes, as_bytes(key));
  }
  put_varint(bytes, 3);
  for (const uint64_t key : {1, 0, 1}) {
    put_varint(bytes, key);
    put_varint(bytes, zigzag(5));   // steps 5, 10, 15
    put_varint(bytes, zigzag(-2));  // times -2, -4, -6
    put_fixed(bytes, 0.5);
  }
  set_fixed(bytes.data() + 4, crc32c(std::span(bytes).subspan(8)));
  const auto batch = read_batch(bytes);
  ASSERT_TRUE(batch.ok()) << batch.error().text();
  EXPECT_EQ(batch->keys, (std::vector<std::string>{"acc", "loss"}));
  expect_same(batch->points, {{5, {-2}, 0.5}, {15, {-6}, 0.5}, {10, {-4}, 0.5}});
  for (size_t cut = 0; cut < bytes.size(); ++cut)
    ASSERT_FALSE(read_batch(std::span(bytes).first(cut)).ok()) << cut;
}

TEST(MetricBatch, IsBounded) {
  const Point point;
  std::vector<std::string> keys;
  std::vector<KeySeries> series;
  for (size_t i = 0; i < 32'000; ++i) keys.push_back(format("{:0>1000}", i));
  for (const std::string& key : keys) series.push_back({key, std::span(&point, 1)});
  EXPECT_EQ(encode_batch(series).error().code, Code::too_large);
  const auto most = encode_batch(std::span(series).first(30'000));
  ASSERT_TRUE(most.ok());
  EXPECT_LE(most->size(), kMostBatchBytes);
  EXPECT_EQ(read_batch(*most)->keys.size(), 30'000u);
}

TEST(MetricPack, GivesBackSeriesAndFindsDamage) {
  PointsByKey series;
  series["loss"] = loss_curve(300);
  series["accuracy"] = loss_curve(10);
  series["system/worker-0/cpu"] = {};
  const Bytes good = make_pack(series);
  const auto pack = MetricPack::read(good);
  ASSERT_TRUE(pack.ok()) << pack.error().text();
  EXPECT_EQ(pack->keys().size(), 3u);
  for (const auto& [key, points] : series) expect_same(*pack->points(key), points);
  EXPECT_TRUE(pack->points("none")->empty());
  for (size_t bit = 0; bit < good.size() * 8; bit += 7) {
    Bytes bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const auto hurt = MetricPack::read(bytes);
    bool found = !hurt.ok();
    for (const auto& [key, points] : series) found = found || !hurt->points(key).ok();
    ASSERT_TRUE(found) << bit;
  }
  for (size_t cut = 0; cut < good.size(); ++cut)
    ASSERT_FALSE(MetricPack::read(std::span(good).first(cut)).ok()) << cut;
  EXPECT_TRUE(MetricPack::read(make_pack({}))->keys().empty());
}

}  // namespace
}  // namespace hearth::track
