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

TEST(MetricBatch, GivesBackWhatWasAdded) {
  MetricBatchWriter writer;
  std::vector<std::pair<std::string, Point>> added;
  SeededRandom random(4);
  for (int i = 0; i < 1000; ++i)
    for (const char* key : {"loss", "accuracy", "system/gpu.0.memory bytes"})
      added.push_back({key, {i, {1'700'000'000'000'000 + i}, i == 7 ? kNan : random.unit()}});
  added.push_back({"gro\xc3\x9f", {INT64_MIN, {INT64_MAX}, -kInf}});
  added.push_back({"loss", {INT64_MAX, {INT64_MIN}, 0}});
  for (const auto& [key, point] : added) ASSERT_TRUE(writer.add(key, point).ok());
  EXPECT_EQ(writer.points(), added.size());
  const Bytes bytes = writer.seal();
  EXPECT_EQ(writer.points(), 0u);
  EXPECT_LT(bytes.size(), added.size() * 13);
  const auto batch = read_batch(bytes);
  ASSERT_TRUE(batch.ok()) << batch.error().text();
  EXPECT_EQ(batch->keys.size(), 4u);
  ASSERT_EQ(batch->items.size(), added.size());
  for (size_t i = 0; i < added.size(); ++i) {
    EXPECT_EQ(batch->keys[batch->items[i].key], added[i].first);
    EXPECT_TRUE(same(batch->items[i].point, added[i].second));
  }
  ASSERT_TRUE(writer.add("next", {1, {2}, 3}).ok());
  const Bytes next = writer.seal();
  EXPECT_EQ(read_batch(next)->keys.size(), 1u);
  EXPECT_EQ(read_batch(writer.seal())->items.size(), 0u);
}

TEST(MetricBatch, RefusesWrongKeysAndDamage) {
  MetricBatchWriter writer;
  EXPECT_EQ(writer.add("", {}).error().code, Code::invalid);
  EXPECT_EQ(writer.add(std::string(kMostKeyBytes + 1, 'k'), {}).error().code, Code::invalid);
  EXPECT_TRUE(writer.add(std::string(kMostKeyBytes, 'k'), {}).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer.add(format("key{}", i % 3), {i, {i}, 0.5}).ok());
  const Bytes good = writer.seal();
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
    for (const auto& item : batch->items) ASSERT_LT(item.key, batch->keys.size());
  }
}

TEST(MetricBatch, IsBounded) {
  MetricBatchWriter writer;
  size_t added = 0;
  while (writer.add(format("{:0>1000}", added), {}).ok()) ++added;
  EXPECT_GT(added, 30'000u);
  EXPECT_LE(writer.seal().size(), kMostBatchBytes);
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
