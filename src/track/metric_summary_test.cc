#include "track/metric_summary.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/format.h"
#include "track/metric_column.h"
#include "track/metric_uses.h"

namespace hearth::track {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Point point(int64_t step, double value, int64_t time = 7) {
  return {step, {time}, value};
}

TEST(MetricSummaryTest, ComesBackAsWritten) {
  SummaryByKey all;
  for (int i = 0; i < 200; ++i) {
    MetricSummary s = summary_of(point(i, i * 0.5), i % 3);
    EXPECT_TRUE(merge(s, summary_of(point(i + 1, -3.25), i % 3)));
    all[format("train/metric {}", i)] = s;
  }
  all["nan"] = summary_of(point(-5, kNan), 0);
  const Bytes bytes = encode_summaries(all);
  const auto back = decode_summaries(bytes);
  ASSERT_TRUE(back.ok()) << back.error().text();
  ASSERT_EQ(back->size(), all.size());
  EXPECT_EQ(encode_summaries(*back), bytes);
  const MetricSummary& one = back->at("train/metric 4");
  EXPECT_EQ(one.last.step, 5);
  EXPECT_EQ(one.last.value, -3.25);
  EXPECT_EQ(one.min, -3.25);
  EXPECT_EQ(one.max, 2.0);
  EXPECT_EQ(one.attempt, 1);
  EXPECT_FALSE(back->at("nan").finite);
  EXPECT_TRUE(std::isnan(back->at("nan").last.value));
}

TEST(MetricSummaryTest, EveryFlippedBitIsFound) {
  SummaryByKey all{{"a", summary_of(point(1, 2), 0)}, {"ab", summary_of(point(1, 3), 1)}};
  const Bytes bytes = encode_summaries(all);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes wrong = bytes;
    wrong[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(decode_summaries(wrong).ok()) << bit;
  }
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_summaries(std::span(bytes).first(length)).ok()) << length;
}

TEST(MetricSummaryTest, ALaterAttemptWinsFromItsFirstStepOn) {
  MetricSummary first = summary_of(point(1, 10), 1);
  EXPECT_TRUE(merge(first, summary_of(point(9, 2), 1)));
  MetricSummary resumed = first;
  EXPECT_FALSE(merge(resumed, summary_of(point(5, 4), 2)));  // steps 5 to 9 are overtaken
  EXPECT_EQ(resumed.last.step, 5);
  EXPECT_EQ(resumed.attempt, 2);
  MetricSummary other_way = summary_of(point(5, 4), 2);
  EXPECT_FALSE(merge(other_way, first));
  EXPECT_EQ(other_way.last.step, 5);
  // One that goes on behind the last point overtakes nothing.
  EXPECT_TRUE(merge(first, summary_of(point(10, 1), 2)));
  EXPECT_EQ(first.last.step, 10);
  EXPECT_EQ(first.max, 10);
}

TEST(MetricSummaryTest, AnAttemptThatBeganBeforeWhatWasSeenFirstWinsToo) {
  MetricSummary both = summary_of(point(5, 1), 1);
  EXPECT_TRUE(merge(both, summary_of(point(7, 2), 2)));
  // It is known after having been written, too.
  const auto back = decode_summaries(encode_summaries({{"loss", both}}));
  ASSERT_TRUE(back.ok()) << back.error().text();
  for (MetricSummary summary : {both, back->at("loss")}) {
    EXPECT_TRUE(merge(summary, summary_of(point(6, 2), 2)));
    EXPECT_FALSE(merge(summary, summary_of(point(4, 3), 2)));  // step 5 is overtaken
    EXPECT_EQ(summary.last.step, 7);
  }
  MetricSummary late = summary_of(point(4, 3), 2);
  EXPECT_FALSE(merge(late, both));
  EXPECT_EQ(late.last.step, 7);
}

TEST(MetricColumnTest, ComesBackAsWrittenAndFlippedBitsAreFound) {
  const std::vector<ColumnValue> values = {
      {.place = 0, .finite = true, .last = 1, .min = 1, .max = 1},
      {.place = 3, .finite = false, .last = kNan},
      {.place = 4, .finite = true, .last = 2, .min = -1, .max = 9}};
  const Bytes bytes = encode_column(values);
  const auto back = decode_column(bytes);
  ASSERT_TRUE(back.ok()) << back.error().text();
  ASSERT_EQ(back->size(), 3U);
  EXPECT_EQ((*back)[2].place, 4U);
  EXPECT_EQ((*back)[2].max, 9);
  EXPECT_TRUE(std::isnan((*back)[1].last));
  EXPECT_EQ(encode_column(*back), bytes);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes wrong = bytes;
    wrong[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(decode_column(wrong).ok()) << bit;
  }
}

TEST(MetricColumnTest, CountsTheRunsThatAreAskedFor) {
  const Bytes bytes = encode_column(
      std::vector<ColumnValue>{{.place = 0, .finite = true, .last = 1, .min = 1, .max = 1},
                               {.place = 3, .finite = false, .last = kNan},
                               {.place = 4, .finite = true, .last = 2, .min = -1, .max = 9}});
  const auto use = [&](const std::vector<uint8_t>& counted) {
    const auto found = use_of_column(bytes, counted);
    EXPECT_TRUE(found.ok());
    return found.ok() ? *found : KeyUse();
  };
  EXPECT_EQ(use({1, 1, 1, 1, 1}), (KeyUse{3, -1, 9}));
  EXPECT_EQ(use({1, 0, 0, 1, 0}), (KeyUse{2, 1, 1}));
  EXPECT_EQ(use({0, 1, 1, 1}), (KeyUse{1, std::nullopt, std::nullopt}));
  EXPECT_FALSE(use_of_column(std::span(bytes).first(bytes.size() - 1), {}).ok());
}

TEST(MetricUsesTest, ComeBackAsWrittenAndFlippedBitsAreFound) {
  const KeyUses uses = {{"", {1, 0, 0}}, {"acc", {300, 0.25, 1e9}}, {"nan", {2, {}, {}}}};
  const Bytes bytes = encode_uses(uses);
  const auto back = decode_uses(bytes);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(*back, uses);
  EXPECT_TRUE(decode_uses(encode_uses({}))->empty());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes wrong = bytes;
    wrong[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(decode_uses(wrong).ok()) << bit;
  }
}

}  // namespace
}  // namespace hearth::track
