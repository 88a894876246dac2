#include "base/clock.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Rfc3339, WritesSixDigitsAndUtc) {
  EXPECT_EQ(to_rfc3339({0}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(to_rfc3339({1'700'000'000'123'456}), "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(to_rfc3339({-1}), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(to_rfc3339({951'782'400'000'000}), "2000-02-29T00:00:00.000000Z");
  EXPECT_EQ(to_rfc3339({-62'167'219'200'000'000}), "0000-01-01T00:00:00.000000Z");
  EXPECT_EQ(to_rfc3339({-62'167'219'200'000'001}), "-001-12-31T23:59:59.999999Z");
  EXPECT_EQ(to_rfc3339({253'402'300'799'999'999}), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(to_rfc3339({253'402'300'800'000'000}), "10000-01-01T00:00:00.000000Z");
}

TEST(Rfc3339, ReadsWhatItWrites) {
  for (const int64_t micros : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1'700'000'000'123'456},
                               int64_t{4'102'444'800'000'000}})
    EXPECT_EQ(from_rfc3339(to_rfc3339({micros})).value().micros, micros);
}

TEST(Rfc3339, ReadsOffsetsAndFractions) {
  EXPECT_EQ(from_rfc3339("1970-01-01T01:00:00+01:00").value().micros, 0);
  EXPECT_EQ(from_rfc3339("1969-12-31T18:30:00-05:30").value().micros, 0);
  EXPECT_EQ(from_rfc3339("1970-01-01T00:00:00.5Z").value().micros, 500'000);
  EXPECT_EQ(from_rfc3339("1970-01-01T00:00:00.1234567899Z").value().micros, 123'456);
}

TEST(Rfc3339, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "yesterday", "2026-11-20", "2026-11-20T05:37:58", "2026-13-20T05:37:58Z",
        "2026-11-20T25:37:58Z", "2026-11-20T05:37:58Zx", "2026-11-20T05:37:58+1",
        "2026-02-30T00:00:00Z", "2026-11-20T05:37:58.Z", "2026-11-20T05:37:58+-1:00",
        "2026-11-20T05:37:58+25:00", " 2026-11-20T05:37:58Z", "20-11-20T05:37:58Z"})
    EXPECT_FALSE(from_rfc3339(text).ok()) << text;
}

TEST(Rfc3339, ALeapSecondIsTheNextOne) {
  EXPECT_EQ(from_rfc3339("2016-12-31T23:59:60Z").value(),
            from_rfc3339("2017-01-01T00:00:00Z").value());
}

TEST(Clock, SteadyNeverGoesBack) {
  Time last = system_clock().steady();
  for (int i = 0; i < 1000; ++i) {
    const Time next = system_clock().steady();
    EXPECT_GE(next, last);
    last = next;
  }
  EXPECT_GT(system_clock().now().micros, 1'700'000'000'000'000);
}

TEST(Clock, TheManualOneMovesWhenTold) {
  ManualClock clock(Time{5});
  EXPECT_EQ(clock.now().micros, 5);
  clock.advance(Duration::millis(2));
  EXPECT_EQ(clock.steady() - Time{5}, Duration::seconds(0.002));
}

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  SeededRandom a(7), b(7), c(8);
  const uint64_t first = a.u64();
  EXPECT_EQ(first, b.u64());
  EXPECT_NE(first, c.u64());
  // SplitMix64's published first number for the seed 0.
  EXPECT_EQ(SeededRandom(0).u64(), 0xe220a8397b1dcdafULL);
}

TEST(Random, BelowIsUniformEnoughAndInBounds) {
  SeededRandom random(1);
  std::array<int, 6> seen{};
  for (int i = 0; i < 6000; ++i) ++seen.at(random.below(6));
  for (const int n : seen) EXPECT_NEAR(n, 1000, 150);
  for (int i = 0; i < 1000; ++i) {
    const double u = random.unit();
    EXPECT_GE(u, 0);
    EXPECT_LT(u, 1);
  }
  EXPECT_EQ(random.below(1), 0u);
}

TEST(Random, TheSystemsFillsAllOfIt) {
  std::array<std::byte, 4096> a{}, b{};
  system_random().fill(a);
  system_random().fill(b);
  EXPECT_NE(a, b);
  // 64 zero bytes in a row at the end would mean that it was not written.
  EXPECT_TRUE(std::any_of(a.end() - 64, a.end(), [](std::byte x) { return x != std::byte{}; }));
}

}  // namespace
}  // namespace hearth
