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

class BusyTrackingTest : public TrackingUpkeepTest {
 protected:
  static TrackingOptions options() {
    TrackingOptions options;
    options.busy_rows = 80;
    options.most_put_off = Duration::seconds(5);
    options.most_waiting_rows = 450;
    return options;
  }
  void SetUp() override {
    run_ = add_run(experiment("e"));
    need(busy_.tidy());
  }
  void log_for(Duration time, int64_t count) {
    for (const int64_t end = logged_ + count; logged_ < end; ++logged_)
      need(busy_.log_batch(world.member, run_, {.metrics = {metric("a", 1, logged_)}}));
    world.clock.advance(time);
    need(busy_.tidy());
  }

  Tracking busy_{world.context(), *world.access, options()};
  std::string run_;
  int64_t logged_ = 0;
};

TEST_F(BusyTrackingTest, MergingWaitsWhileMuchIsWritten) {
  for (int i = 1; i <= 3; ++i) log_for(Duration::seconds(1), 100);
  EXPECT_EQ(rows(), 300);
  EXPECT_EQ(values(run_, "a").size(), 300U);
  // A round right behind another says nothing of how much comes.
  log_for(Duration::millis(100), 5);
  EXPECT_EQ(rows(), 305);
  // Once less comes.
  log_for(Duration::seconds(1), 5);
  EXPECT_LT(rows(), 64);
  EXPECT_EQ(values(run_, "a").size(), static_cast<size_t>(logged_));
}

TEST_F(BusyTrackingTest, MergingDoesNotWaitForEver) {
  for (int i = 1; i <= 4; ++i) log_for(Duration::seconds(1), 90);
  EXPECT_EQ(rows(), 360);
  log_for(Duration::seconds(1), 85);
  EXPECT_LT(rows(), 64);
  EXPECT_EQ(values(run_, "a").size(), static_cast<size_t>(logged_));
}

TEST_F(BusyTrackingTest, ARunWithManyRowsDoesNotWait) {
  for (int i = 1; i <= 2; ++i) log_for(Duration::seconds(1), 200);
  EXPECT_EQ(rows(), 400);
  log_for(Duration::seconds(1), 200);
  EXPECT_LT(rows(), 64);
  EXPECT_EQ(values(run_, "a").size(), static_cast<size_t>(logged_));
}

}  // namespace
}  // namespace hearth::control
