#include "base/id.h"

#include <set>

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Id, IsTwentySixCharactersThatSortByAge) {
  ManualClock clock;
  SeededRandom random(1);
  std::string last;
  for (int i = 0; i < 100; ++i) {
    const std::string id = new_id(clock, random);
    EXPECT_TRUE(is_id(id)) << id;
    EXPECT_GT(id, last);
    last = id;
    clock.advance(Duration::millis(1));
  }
}

TEST(Id, BeginsWithTheTime) {
  // The ULID specification's example: 1469918176385 ms is 01ARYZ6S41.
  ManualClock clock({1'469'918'176'385'000});
  SeededRandom random(1);
  EXPECT_EQ(new_id(clock, random).substr(0, 10), "01ARYZ6S41");
}

TEST(Id, OneMillisecondHoldsManyThatDiffer) {
  ManualClock clock;
  SeededRandom random(1);
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(seen.insert(new_id(clock, random)).second);
}

TEST(Id, IsIdRefusesOtherTexts) {
  EXPECT_FALSE(is_id(""));
  EXPECT_FALSE(is_id("fashion-cnn-7"));
  EXPECT_FALSE(is_id("01ARYZ6S41TSV4RRFFQ69G5FA"));    // 25
  EXPECT_FALSE(is_id("01ARYZ6S41TSV4RRFFQ69G5FAVX"));  // 27
  EXPECT_FALSE(is_id("01ARYZ6S41TSV4RRFFQ69G5FAI"));   // no I, L, O, U
  EXPECT_FALSE(is_id("01aryz6s41tsv4rrffq69g5fav"));
  EXPECT_TRUE(is_id("01ARYZ6S41TSV4RRFFQ69G5FAV"));
}

TEST(Secret, HasItsPrefixAnd256Bits) {
  const std::string secret = new_secret("hth_");
  EXPECT_TRUE(secret.starts_with("hth_"));
  EXPECT_EQ(secret.size(), 4u + 43u);
  EXPECT_NE(secret, new_secret("hth_"));
}

}  // namespace
}  // namespace hearth
