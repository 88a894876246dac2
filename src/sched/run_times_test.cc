#include "sched/run_times.h"

#include <gtest/gtest.h>

namespace hearth::sched {
namespace {

TEST(RunTimes, StepsAreInOrderAndHoldWhatBeginsThem) {
  for (size_t step = 0; step < kSteps; ++step) {
    EXPECT_EQ(step_of(step_begins(step)), step);
    EXPECT_LT(step_begins(step), step_begins(step + 1));
  }
  EXPECT_EQ(step_of(1e30), kSteps - 1);
}

// Half of those that reach a step end in it.
StepHazards halves() {
  StepHazards hazards;
  hazards.fill(0.5);
  return hazards;
}

TEST(RunTimes, GoOverTheStepsEvenly) {
  const RunTimes runs(halves());
  EXPECT_EQ(runs.at(0), Duration{1}) << "0 would be no known end";
  EXPECT_NEAR(runs.at(0.25).seconds(), step_begins(1) / 2, 1e-6);
  EXPECT_NEAR(runs.at(0.5).seconds(), step_begins(1), 1e-6);
  EXPECT_NEAR(runs.at(0.75).seconds(), step_begins(2), 1e-6);
  EXPECT_NEAR(runs.at(0.625).seconds(), (step_begins(1) + step_begins(2)) / 2, 1e-6);
  for (int i = 1; i < 100; ++i) EXPECT_GT(runs.at(i / 100.0), runs.at((i - 1) / 100.0));
}

// Also far beyond what most of them reach.
TEST(RunTimes, WhoHasRunForSoLongIsOneOfThoseThatDo) {
  const RunTimes runs(halves());
  for (const size_t step : {3U, 10U, 40U}) {
    const Duration already = Duration::seconds(step_begins(step));
    EXPECT_NEAR(runs.at(0, already).seconds(), step_begins(step), 1e-5 * step_begins(step));
    EXPECT_NEAR(runs.at(0.5, already).seconds(), step_begins(step + 1), 1e-5 * step_begins(step));
    EXPECT_NEAR(runs.at(0.75, already).seconds(), step_begins(step + 2), 1e-5 * step_begins(step));
  }
}

TEST(RunTimes, AnEarlierAttemptCountsAsRunAndIsNotToldAgain) {
  const Duration before = Duration::seconds(step_begins(10));
  const RunTimes runs(halves(), before);
  EXPECT_NEAR(runs.at(0).seconds(), 0, 1e-3);
  EXPECT_NEAR(runs.at(0.5).seconds(), step_begins(11) - step_begins(10), 1e-3);
  const Duration already = Duration::seconds(step_begins(12) - step_begins(10));
  EXPECT_NEAR(runs.at(0.5, already).seconds(), step_begins(13) - step_begins(10), 1e-3);
}

TEST(RunTimes, EndAtTheirBound) {
  const RunTimes runs = RunTimes(halves()).no_longer_than(Duration::seconds(9));
  EXPECT_NEAR(runs.at(0.25).seconds(), 4, 1e-6);
  EXPECT_EQ(runs.at(0.99), Duration::seconds(9));
  EXPECT_EQ(runs.no_longer_than(Duration::seconds(20)).at(0.99), Duration::seconds(9));
}

TEST(RunTimes, OneOfAKnownLength) {
  const RunTimes runs = RunTimes({}).no_longer_than(Duration::seconds(100));
  for (const double part : {0.0, 0.3, 0.999}) {
    EXPECT_EQ(runs.at(part), Duration::seconds(100));
    EXPECT_EQ(runs.at(part, Duration::seconds(40)), Duration::seconds(100));
    // It was not as long as was thought.
    EXPECT_EQ(runs.at(part, Duration::seconds(120)), Duration::seconds(240));
  }
}

TEST(RunTimes, NoneRunsForSoLong) {
  StepHazards hazards;
  hazards.fill(1);
  EXPECT_EQ(RunTimes(hazards).at(0.5, Duration::seconds(1000)), Duration::seconds(2000));
}

}  // namespace
}  // namespace hearth::sched
