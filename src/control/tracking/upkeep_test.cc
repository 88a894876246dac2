#include "control/tracking/tracking_world_test.h"

namespace hearth::control {
namespace {

class TrackingUpkeepTest : public TrackingTest {
 protected:
  int64_t rows() { return world.count("SELECT COUNT(*) FROM metric_batches"); }
};

TEST_F(TrackingUpkeepTest, RowsAreMergedAndReadTheSame) {
  const std::string run = add_run(experiment("e"));
  for (int i = 0; i < 150; ++i) log(run, {metric("a", i, i), metric("b", -i, i)});
  EXPECT_EQ(rows(), 150);
  need(tracking.tidy());
  EXPECT_EQ(rows(), 1);
  EXPECT_EQ(world.count("SELECT keys FROM run_metrics"), 2);
  EXPECT_EQ(values(run, "a").size(), 150U);
  EXPECT_EQ(need(tracking.get_run(world.member, run)).run.metrics.at("b").value, -149);
  // The end of a run merges what is left.
  log(run, {metric("a", 7, 150)});
  need(tracking.update_run(world.member, run, {.status = RunStatus::finished}));
  need(tracking.tidy());
  EXPECT_EQ(rows(), 1);
  EXPECT_EQ(values(run, "a").size(), 151U);
  need(tracking.tidy());
  EXPECT_EQ(world.count("SELECT points FROM metric_batches"), 301);
}

TEST_F(TrackingUpkeepTest, WhatAProcessThatDiedLeftIsMerged) {
  const std::string run = add_run(experiment("e"));
  for (int i = 0; i < 150; ++i) log(run, {metric("a", i, i)});
  Tracking next(world.context(), *world.access);
  need(next.tidy());
  EXPECT_EQ(rows(), 1);
  EXPECT_EQ(values(run, "a").size(), 150U);
}

TEST_F(TrackingUpkeepTest, MergingWaitsWhileMuchIsWritten) {
  TrackingOptions options;
  options.busy_rows = 80;
  options.most_put_off = Duration::seconds(5);
  Tracking busy(world.context(), *world.access, options);
  const std::string run = add_run(experiment("e"));
  need(busy.tidy());
  int64_t logged = 0;
  const auto log_for_a_second = [&](int64_t count) {
    for (const int64_t end = logged + count; logged < end; ++logged)
      need(busy.log_batch(world.member, run, {.metrics = {metric("a", 1, logged)}}));
    world.clock.advance(Duration::seconds(1));
    need(busy.tidy());
  };
  for (int i = 1; i <= 3; ++i) log_for_a_second(100);
  EXPECT_EQ(rows(), 300);
  EXPECT_EQ(values(run, "a").size(), 300U);
  // Once less comes.
  log_for_a_second(10);
  EXPECT_LT(rows(), 64);
  // And not for ever.
  for (int i = 1; i <= 4; ++i) log_for_a_second(100);
  EXPECT_GE(rows(), 400);
  log_for_a_second(100);
  EXPECT_LT(rows(), 64);
  EXPECT_EQ(values(run, "a").size(), static_cast<size_t>(logged));
}

}  // namespace
}  // namespace hearth::control
