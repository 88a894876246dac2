#include "control/jobs/forecasts.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "sched/run_times.h"

namespace hearth::control {
namespace {

// Each look at the steady clock takes as long as a test wants a forecast to take.
class SlowClock : public ManualClock {
 public:
  Time steady() override {
    advance(step);
    return ManualClock::steady();
  }
  Duration step;
};

class ForecastsTest : public ::testing::Test {
 protected:
  // One CPU, taken for 100 s more.
  ForecastsTest() {
    cluster_.apply(
        sched::NodeChanged{{.name = "n", .pool = "p", .cpus = 1, .memory_bytes = 1 << 30}});
    cluster_.apply(
        sched::AttemptStarted{"r", "p", job("r"), {{.role = "worker", .node = "n"}}, clock_.now()});
  }
  sched::QueuedJob job(const std::string& id) {
    sched::QueuedJob made{.id = id, .name = id, .queued_at = clock_.now()};
    made.tasks.push_back({.role = "worker", .milli_cpus = 1000});
    made.expected = Duration::seconds(100);
    made.like =
        std::make_shared<const sched::RunTimes>(sched::RunTimes({}).no_longer_than(made.expected));
    return made;
  }
  void wait_for_room(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) cluster_.apply(sched::JobQueued{job(id)});
    forecasts_.set_waiting(ids);
  }
  bool is_due() { return forecasts_.due() && *forecasts_.due() <= clock_.now(); }

  SlowClock clock_;
  sched::Cluster cluster_;
  Forecasts forecasts_{clock_};
};

TEST_F(ForecastsTest, WhatIsToldGetsLessAsTimePasses) {
  EXPECT_FALSE(forecasts_.due()) << "nobody waits";
  wait_for_room({"a"});
  EXPECT_TRUE(is_due());
  EXPECT_FALSE(forecasts_.of("a"));
  forecasts_.run(cluster_);
  EXPECT_NEAR(forecasts_.of("a")->in_seconds, 100, 1);
  EXPECT_LE(forecasts_.of("a")->from_seconds, 100);
  EXPECT_GE(forecasts_.of("a")->to_seconds, 100);
  clock_.advance(Duration::seconds(9));
  EXPECT_NEAR(forecasts_.of("a")->in_seconds, 91, 1);
  EXPECT_FALSE(is_due());
  clock_.advance(Duration::seconds(1));
  EXPECT_TRUE(is_due());
  forecasts_.set_waiting({});
  EXPECT_FALSE(forecasts_.of("a")) << "it waits no more";
}

TEST_F(ForecastsTest, WhenOthersWaitItIsMadeSooner) {
  wait_for_room({"a"});
  forecasts_.run(cluster_);
  wait_for_room({"a", "b"});
  EXPECT_FALSE(is_due());
  clock_.advance(Forecasts::kSoonest);
  EXPECT_TRUE(is_due());
  forecasts_.run(cluster_);
  EXPECT_NEAR(forecasts_.of("b")->in_seconds, 199, 2);
}

TEST_F(ForecastsTest, ADraftStandsBehindThoseThatWait) {
  wait_for_room({"a"});
  cluster_.apply(sched::JobQueued{job("draft"), true});
  EXPECT_NEAR(forecasts_.of_draft(cluster_, "draft")->in_seconds, 200, 1);
  cluster_.apply(sched::JobGone{"draft"});
  EXPECT_FALSE(forecasts_.of_draft(cluster_, "draft"));
}

// A play of 80 ms: half as many jobs, a forecast at most every 20 times as long, and none for a
// draft; twice as many each time while it is quick.
TEST_F(ForecastsTest, ASlowOneIsBounded) {
  constexpr ptrdiff_t kFirst = Forecasts::kFirstJobs;
  std::vector<std::string> ids;
  for (int i = 0; i < kFirst + 44; ++i) ids.push_back(format("job{:03}", i));
  wait_for_room(ids);
  const auto told = [&] {
    return std::count_if(ids.begin(), ids.end(),
                         [&](const std::string& id) { return forecasts_.of(id).has_value(); });
  };
  clock_.step = Duration::millis(80);
  forecasts_.run(cluster_);
  clock_.step = {};
  EXPECT_EQ(told(), 0) << "one play is none yet";
  EXPECT_TRUE(is_due());
  forecasts_.run(cluster_);
  EXPECT_EQ(told(), kFirst / 2);
  ids.push_back("last");
  wait_for_room(ids);
  clock_.advance(Duration::millis(1599));
  EXPECT_FALSE(is_due());
  clock_.advance(Duration::millis(1));
  EXPECT_TRUE(is_due());
  cluster_.apply(sched::JobQueued{job("draft"), true});
  EXPECT_FALSE(forecasts_.of_draft(cluster_, "draft"));
  cluster_.apply(sched::JobGone{"draft"});
  for (const ptrdiff_t jobs : {kFirst / 2, kFirst, std::ssize(ids)}) {
    EXPECT_TRUE(is_due());
    forecasts_.run(cluster_);
    EXPECT_EQ(told(), jobs);
    clock_.advance(Forecasts::kSoonest);
  }
  EXPECT_FALSE(is_due()) << "all were told";
}

// Who asks for the cluster need not wait for all of a forecast.
TEST_F(ForecastsTest, ItIsMadeInParts) {
  wait_for_room({"a", "b"});
  clock_.step = Forecasts::kAtOnce;
  forecasts_.run(cluster_);
  EXPECT_FALSE(forecasts_.of("a"));
  EXPECT_TRUE(is_due());
  cluster_.apply(sched::JobGone{"b"});
  forecasts_.set_waiting({"a"});
  clock_.step = {};
  forecasts_.run(cluster_);
  EXPECT_TRUE(forecasts_.of("a"));
  EXPECT_FALSE(forecasts_.of("b")) << "it went while the forecast was made";
}

}  // namespace
}  // namespace hearth::control
