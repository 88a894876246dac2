#include "sched/forecast.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/format.h"
#include "sched/run_times.h"

namespace hearth::sched {
namespace {

constexpr Time kNow{1'000'000'000};

QueuedJob job(const std::string& id, double runs) {
  QueuedJob made{.id = id, .name = id, .queued_at = kNow};
  made.tasks.push_back({.role = "worker", .milli_cpus = 1000});
  if (runs > 0) {
    made.expected = Duration::seconds(runs);
    made.like = std::make_shared<const RunTimes>(RunTimes({}).no_longer_than(made.expected));
  }
  return made;
}

Cluster one_cpu(const QueuedJob& running, double since) {
  Cluster cluster;
  cluster.apply(NodeChanged{{.name = "n", .pool = "p", .cpus = 1, .memory_bytes = 1 << 30}});
  const Time at = kNow - Duration::seconds(since);
  cluster.apply(AttemptStarted{"r", "p", running, {{.role = "worker", .node = "n"}}, at});
  return cluster;
}

TEST(Forecast, OneAfterTheOther) {
  Cluster cluster = one_cpu(job("r", 100), 40);
  for (const char* id : {"a", "b"}) cluster.apply(JobQueued{job(id, 200)});
  const Plan found = plan(cluster, kNow);
  ASSERT_EQ(found.waiting, (std::vector<std::string>{"a", "b"}));
  const auto starts = forecast(cluster, found.waiting, kNow);
  EXPECT_NEAR(starts.at("a").middle.seconds(), 60, 0.01);
  EXPECT_NEAR(starts.at("b").middle.seconds(), 260, 0.01);
  EXPECT_LT(starts.at("b").low.seconds(), 260);
  EXPECT_GT(starts.at("b").high.seconds(), 260);
  EXPECT_EQ(forecast(cluster, found.waiting, kNow).at("b").high, starts.at("b").high);
}

// The place of the first that does not fit is kept: nobody starts who would still run by then.
TEST(Forecast, NobodyDelaysTheFirstThatDoesNotFit) {
  Cluster cluster;
  cluster.apply(NodeChanged{{.name = "n", .pool = "p", .cpus = 2, .memory_bytes = 1 << 30}});
  for (const double runs : {50, 100}) {
    const QueuedJob one = job(format("r{}", runs), runs);
    cluster.apply(AttemptStarted{one.id, "p", one, {{.role = "worker", .node = "n"}}, kNow});
  }
  QueuedJob big = job("big", 100);
  big.tasks[0].milli_cpus = 2000;
  QueuedJob brief = job("brief", 40);
  brief.tasks[0].milli_cpus = 900;
  for (const QueuedJob& one : {big, job("late", 80), brief}) cluster.apply(JobQueued{one});
  const auto starts = forecast(cluster, {"big", "late", "brief"}, kNow);
  EXPECT_NEAR(starts.at("brief").middle.seconds(), 50, 0.01);
  EXPECT_NEAR(starts.at("big").middle.seconds(), 100, 0.01);
  EXPECT_NEAR(starts.at("late").middle.seconds(), 200, 0.01);
}

// A search of a thousand runs is told to its last one.
TEST(Forecast, AllOfALongQueueAreTold) {
  Cluster cluster = one_cpu(job("r", 100), 40);
  std::vector<std::string> waiting;
  for (int i = 0; i < 1000; ++i) {
    waiting.push_back(format("job{:04}", i));
    cluster.apply(JobQueued{job(waiting.back(), 10)});
  }
  const auto starts = forecast(cluster, waiting, kNow);
  ASSERT_EQ(starts.size(), waiting.size());
  for (const size_t i : {0, 1, 500, 999})
    EXPECT_NEAR(starts.at(waiting[i]).middle.seconds(), 60.0 + 10.0 * static_cast<double>(i), 0.01);
}

TEST(Forecast, TheClusterMayChangeBetweenPlays) {
  Cluster cluster = one_cpu(job("r", 100), 40);
  for (const char* id : {"a", "b", "c", "d"}) cluster.apply(JobQueued{job(id, 200)});
  ForecastRuns runs({"a", "b", "c", "d"});
  runs.play(cluster, kNow);
  cluster.apply(JobGone{"b"});
  runs.keep_first(3);
  const Time later = kNow + Duration::seconds(10);
  while (!runs.done()) runs.play(cluster, later);
  const auto starts = runs.told(cluster, later);
  EXPECT_NEAR(starts.at("a").middle.seconds(), 50, 0.01);
  EXPECT_NEAR(starts.at("c").middle.seconds(), 250, 0.01);
  EXPECT_EQ(starts.size(), 2U) << "b went, d was left out";
}

TEST(Forecast, NothingIsToldOfAnEndThatNobodyKnows) {
  Cluster cluster = one_cpu(job("r", 0), 40);
  cluster.apply(JobQueued{job("a", 200)});
  EXPECT_TRUE(forecast(cluster, plan(cluster, kNow).waiting, kNow).empty());
}

TEST(Forecast, WhatRunsTellsItsEndItself) {
  for (const double expected : {0.0, 1000.0}) {
    Cluster cluster = one_cpu(job("r", expected), 40);
    cluster.apply(JobQueued{job("a", 200)});
    const Plan found = plan(cluster, kNow);
    cluster.apply(AttemptProgressed{"r", kNow + Duration::seconds(25)});
    EXPECT_NEAR(forecast(cluster, found.waiting, kNow).at("a").middle.seconds(), 25, 0.01);
    // Past the end it told, it is as if it had said nothing.
    const auto later = forecast(cluster, found.waiting, kNow + Duration::seconds(30));
    if (expected == 0)
      EXPECT_TRUE(later.empty());
    else
      EXPECT_NEAR(later.at("a").middle.seconds(), 930, 0.01);
  }
  Cluster cluster = one_cpu(job("r", 100), 40);
  cluster.apply(AttemptProgressed{"stranger", kNow});  // has ended by now
}

TEST(Forecast, ANodeUnderMaintenanceOpensAgain) {
  Cluster cluster;
  NodeInfo node{.name = "n", .pool = "p", .cpus = 1, .memory_bytes = 1 << 30};
  node.closes_at = kNow - Duration::seconds(10);
  cluster.apply(NodeChanged{node});
  for (const char* id : {"a", "b"}) cluster.apply(JobQueued{job(id, 200)});
  const std::vector<std::string> waiting = {"a", "b"};
  EXPECT_TRUE(forecast(cluster, waiting, kNow).empty()) << "nobody knows when";
  node.opens_at = kNow + Duration::seconds(300);
  cluster.apply(NodeChanged{node});
  EXPECT_TRUE(plan(cluster, kNow).starts.empty());
  const auto starts = forecast(cluster, waiting, kNow);
  EXPECT_NEAR(starts.at("a").middle.seconds(), 300, 0.01);
  EXPECT_NEAR(starts.at("b").middle.seconds(), 500, 0.01);
}

// What is said at once comes true; what is said 50 s later is ten times too much.
TEST(Forecast, WhatIsSaidLaterIsLearntApart) {
  Cluster cluster = one_cpu(job("r", 100), 100);
  Time now = kNow;
  StartsIn at_once, later;
  for (int i = 0; i < 200; ++i) {
    const QueuedJob runs = job(format("r{}", i), 100), waits = job(format("w{}", i), 100);
    cluster.apply(AttemptEnded{i == 0 ? "r" : "w", now});
    cluster.apply(AttemptStarted{"r", "p", runs, {{.role = "worker", .node = "n"}}, now});
    cluster.apply(JobQueued{waits});
    at_once = forecast(cluster, {waits.id}, now).at(waits.id);
    const Time asked = now + Duration::seconds(50);
    cluster.apply(AttemptProgressed{"r", asked + Duration::seconds(500)});
    later = forecast(cluster, {waits.id}, asked).at(waits.id);
    now = now + Duration::seconds(100);
    cluster.apply(AttemptEnded{"r", now});
    cluster.apply(AttemptStarted{"w", "p", waits, {{.role = "worker", .node = "n"}}, now});
  }
  EXPECT_GT(at_once.low.seconds(), 50);  // not made wider by the errors of the other
  EXPECT_LE(at_once.low.seconds(), 100);
  EXPECT_GE(at_once.high.seconds(), 100);
  EXPECT_LT(at_once.high.seconds(), 150);
  EXPECT_LE(later.low.seconds(), 50);
}

// As over a restart.
TEST(Forecast, WhatWasLearntIsHandedOn) {
  Cluster before = one_cpu(job("r", 100), 100);
  before.apply(JobQueued{job("w", 100)});
  const StartsIn fresh = forecast(before, {"w"}, kNow).at("w");
  EXPECT_EQ(fresh.learnt_from, 0);
  const LearntErrors errors{{-3, 2.5, 120}, {-0.5, 4, 80}};
  before.apply(ErrorsLearnt{errors});
  EXPECT_EQ(before.errors(), errors);
  const StartsIn told = forecast(before, {"w"}, kNow + Duration::seconds(1)).at("w");  // later
  EXPECT_EQ(told.learnt_from, 80);
  EXPECT_GT(told.low, fresh.low);
  EXPECT_GT(told.high, fresh.high);
  before.apply(AttemptEnded{"r", kNow + Duration::seconds(100)});
  before.apply(AttemptStarted{
      "w", "p", job("w", 100), {{.role = "worker", .node = "n"}}, kNow + Duration::seconds(100)});
  EXPECT_EQ(before.errors().first.starts, 121);
  EXPECT_EQ(before.errors().later.starts, 81);
}

TEST(Calibration, SpansAreNumbersHoweverFarRunsLieApart) {
  const Calibration calibration;
  const StartsIn told = calibration.around({kNow, Duration::seconds(1e8), std::log(1e8), 700});
  EXPECT_EQ(told.low, Duration{});
  EXPECT_EQ(told.high, Duration::seconds(Calibration::kLongest));
}

// Runs that say far too little, and that say what is true but for some noise.
TEST(Calibration, TheIntervalBecomesTrue) {
  for (const double factor : {0.2, 1.0, 5.0}) {
    SeededRandom random(7);
    Calibration calibration;
    int64_t within = 0;
    constexpr int64_t kTold = 2'000, kLearning = 500;
    for (int64_t i = 0; i < kTold; ++i) {
      const double wait = 1000 + static_cast<double>(random.below(5000));
      const Said said{kNow, Duration::seconds(wait), std::log(wait), 0.1};
      const double noise = 0.5 + static_cast<double>(random.below(1000)) / 1000;
      const Duration real = Duration::seconds(factor * wait * noise);
      const StartsIn told = calibration.around(said);
      if (i >= kLearning) within += told.low <= real && real <= told.high ? 1 : 0;
      calibration.learn(said, real);
    }
    const double part = static_cast<double>(within) / static_cast<double>(kTold - kLearning);
    EXPECT_GT(part, 0.8) << factor;
    EXPECT_LT(part, 0.9) << factor;
  }
}

}  // namespace
}  // namespace hearth::sched
