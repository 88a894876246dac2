#include "base/even_clock.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

// A wall that can be set anew; the steady clock goes on.
class Wall : public Clock {
 public:
  Time now() override { return {now_.micros + set_.micros}; }
  Time steady() override { return {now_.micros - 1'600'000'000'000'000}; }
  void advance(double seconds) { now_ = now_ + Duration::seconds(seconds); }
  void set(double seconds) { set_.micros += Duration::seconds(seconds).micros; }

 private:
  Time now_{1'700'000'000'000'000};
  Duration set_{0};
};

TEST(EvenClock, FollowsTheWallAndItsSmallCorrections) {
  Wall wall;
  EvenClock clock(wall);
  for (int i = 0; i < 100; ++i) {
    wall.advance(3600);
    wall.set(i % 2 == 0 ? 1.5 : -0.5);
    EXPECT_EQ(clock.now(), wall.now());
  }
  EXPECT_EQ(clock.take_jump().micros, 0);
  EXPECT_EQ(clock.ahead().micros, 0);
}

TEST(EvenClock, LeavesOutJumps) {
  Wall wall;
  EvenClock clock(wall);
  const Time begin = clock.now();
  double at = 0, moved = 0;
  for (const double jump : {86400.0, -2 * 86400.0, -365 * 86400.0, 2.5, -2.5}) {
    wall.advance(10);
    wall.set(jump);
    at += 10;
    moved += jump;
    EXPECT_DOUBLE_EQ((clock.now() - begin).seconds(), at);
    EXPECT_DOUBLE_EQ(clock.ahead().seconds(), -moved);
  }
  EXPECT_DOUBLE_EQ(clock.take_jump().seconds(), moved);
  EXPECT_EQ(clock.take_jump().micros, 0);
}

TEST(EvenClock, TakesTheJumpOverWhenToldTo) {
  Wall wall;
  EvenClock clock(wall);
  wall.set(-86400);
  clock.follow();
  EXPECT_EQ(clock.now(), wall.now());
  EXPECT_DOUBLE_EQ(clock.take_jump().seconds(), -86400);
  wall.advance(5);
  EXPECT_EQ(clock.now(), wall.now());
}

TEST(EvenClock, StartsAheadOfTheWall) {
  Wall wall;
  wall.set(-86400);
  EvenClock clock(wall, Duration::seconds(86400));
  EXPECT_EQ(clock.now(), wall.now() + Duration::seconds(86400));
  wall.set(86400);  // set right again
  EXPECT_EQ(clock.now(), wall.now());
}

}  // namespace
}  // namespace hearth
