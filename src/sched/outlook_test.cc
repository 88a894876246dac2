#include "sched/outlook.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "sched/state.h"

namespace hearth::sched {
namespace {

QueuedJob job(const std::string& owner, double came, int64_t gpus = 1) {
  QueuedJob made{.name = "train", .owner = owner, .queued_at = Time{} + Duration::seconds(came)};
  made.tasks.push_back({.milli_gpus = gpus * 1000});
  return made;
}

int64_t level_at(const Outlook& outlook, const QueuedJob& job, double served) {
  int64_t level = 0;
  const auto levels = outlook.levels(job);
  for (const ServiceLevel& one : *levels)
    if (one.from <= served) level = one.level;
  return level;
}

// As long as nothing is known who has had the least is the first, and the smaller.
TEST(Outlook, WithoutAPastItIsLeastAttainedService) {
  const Outlook outlook;
  const auto levels = outlook.levels(job("ann", 0));
  ASSERT_GT(levels->size(), 40U);
  EXPECT_EQ(levels->front().from, 0);
  // The first step is the widest; the last doublings end with the table.
  for (size_t i = 2; i + 16 < levels->size(); ++i)
    EXPECT_GT((*levels)[i].level, (*levels)[i - 1].level) << i;
  EXPECT_LT(level_at(outlook, job("ann", 0, 1), 0), level_at(outlook, job("ann", 0, 4), 0));
}

TEST(Outlook, WhoIsAboutToEndIsWorthMoreThanOneThatIsFresh) {
  Outlook outlook;
  for (int i = 0; i < 50; ++i)
    outlook.learn(job("ann", 86400.0 * 20 * i), Duration::seconds(10000));
  const QueuedJob fresh = job("ann", 86400.0 * 20 * 60);
  EXPECT_LT(level_at(outlook, fresh, 9000), level_at(outlook, fresh, 100) - 8);
  EXPECT_GT(level_at(outlook, fresh, 12000), level_at(outlook, fresh, 9000) + 8);
}

// Half of them end at once and half are long, two by two: that is found out, and then the first of
// two tells how long the other will run.
TEST(Outlook, WhatCameWithItTellsMoreThanAllOthers) {
  Outlook pairs, mixed;
  SeededRandom random(3);
  for (int i = 0; i < 100; ++i) {
    const double seconds = random.below(2) == 0 ? 100 : 100'000;
    const double other = random.below(2) == 0 ? 100 : 100'000;
    const double came = 86400.0 * 20 * i;
    for (Outlook* outlook : {&pairs, &mixed})
      outlook->learn(job("ann", came), Duration::seconds(seconds));
    pairs.learn(job("ann", came + 5), Duration::seconds(seconds));
    mixed.learn(job("ann", came + 5), Duration::seconds(other));
  }
  const QueuedJob next = job("ann", 86400.0 * 20 * 200 + 5);
  for (Outlook* outlook : {&pairs, &mixed}) {
    const int64_t before = level_at(*outlook, next, 0);
    outlook->learn(job("ann", 86400.0 * 20 * 200), Duration::seconds(100'000));
    const int64_t more = level_at(*outlook, next, 0) - before;
    if (outlook == &pairs)
      EXPECT_GT(more, 24);  // three doublings
    else
      EXPECT_LT(more, 8);
  }
}

// Half of all that ran took 100 s, the others 10,000 s.
TEST(Outlook, TellsHowLongTheLikeRuns) {
  Outlook outlook;
  for (int i = 0; i < 2; ++i) outlook.learn(job("ann", 0), Duration::seconds(100));
  EXPECT_EQ(outlook.like(job("ann", 0)), nullptr) << "too few";
  for (int i = 0; i < 200; ++i)
    outlook.learn(job("ann", 86400.0 * 20 * i), Duration::seconds(i % 2 == 0 ? 100 : 10'000));
  const QueuedJob next = job("ann", 86400.0 * 20 * 500);
  const auto like = outlook.like(next);
  ASSERT_NE(like, nullptr);
  const auto within = [&](const RunTimes& runs, double from, double to) {
    double part = 0;
    for (int i = 0; i < 200; ++i) {
      const double seconds = runs.at(i / 200.0).seconds();
      part += from <= seconds && seconds <= to ? 1 / 200.0 : 0;
    }
    return part;
  };
  // To the quarter of an octave in which they are kept.
  EXPECT_NEAR(within(*like, 80, 110), 0.5, 0.06);
  EXPECT_NEAR(within(*like, 8000, 12'000), 0.5, 0.06);
  // Who has run for 1,000 s before is none of the short ones: what is left of the long ones.
  const auto left = outlook.like(next, Duration::seconds(1000));
  EXPECT_GT(within(*left, 7000, 11'000), 0.9);
  EXPECT_NEAR(left->at(0).seconds(), 0, 1e-5);
}

// A few jobs of another shape say nothing; many do.
TEST(Outlook, OfANewShapeFewOthersSayNothing) {
  Outlook outlook;
  for (size_t i = 1; i < Outlook::kEnough; ++i) outlook.learn(job("ann", 0), Duration::seconds(20));
  EXPECT_NE(outlook.like(job("ann", 100)), nullptr);
  EXPECT_EQ(outlook.like(job("ann", 100, 8)), nullptr);
  outlook.learn(job("ann", 0), Duration::seconds(20));
  EXPECT_NE(outlook.like(job("ann", 100, 8)), nullptr);
}

TEST(Outlook, UsersAreToldApart) {
  Outlook outlook;
  for (int i = 0; i < 30; ++i) {
    outlook.learn(job("ann", 86400.0 * 20 * i), Duration::seconds(100));
    outlook.learn(job("bob", 86400.0 * 20 * i), Duration::seconds(100'000));
  }
  const double later = 86400.0 * 20 * 100;
  EXPECT_LT(level_at(outlook, job("ann", later), 0), level_at(outlook, job("bob", later), 0) - 16);
  EXPECT_TRUE(Outlook::near(job("ann", 50), job("ann", 60)));
  EXPECT_FALSE(Outlook::near(job("ann", 50), job("bob", 60)));
  EXPECT_FALSE(Outlook::near(job("ann", 50), job("ann", 60, 2)));
}

// The queue and what runs follow an outlook that changes: `late` turns out to be the shorter.
TEST(Outlook, ThePlanFollowsIt) {
  Cluster cluster;
  NodeInfo node{.name = "n", .pool = "p", .cpus = 8, .memory_bytes = 1 << 30};
  node.gpus.push_back({.uuid = "g"});
  cluster.apply(NodeChanged{node});
  cluster.apply(PoolChanged{{.pool = "p", .saves_when_stopped = true, .by_outlook = true}});
  const auto levels = [](double gpu_seconds) {
    return std::make_shared<const std::vector<ServiceLevel>>(
        1, ServiceLevel{0, rank_level(gpu_seconds)});
  };
  const Time now = Time{} + Duration::seconds(100'000);
  for (const char* id : {"early", "late"}) {
    QueuedJob made = job("ann", id[0] == 'e' ? 10 : 20);
    made.id = made.name = id;
    made.levels = levels(1000);
    cluster.apply(JobQueued{made});
  }
  const auto first = [&] { return plan(cluster, now).starts.front().job_id; };
  EXPECT_EQ(first(), "early");
  cluster.apply(OutlookChanged{"late", "", levels(800)});
  EXPECT_EQ(first(), "late");

  // Who runs makes room only for one with less than half before it.
  QueuedJob runs = job("ann", 5);
  runs.id = "r";
  runs.levels = levels(1500);
  const Place place{.node = "n", .gpus = {"g"}};
  cluster.apply(AttemptStarted{"r-1", "p", runs, {place}, Time{} + Duration::seconds(50'000)});
  const auto evicted = [&] { return plan(cluster, now).evictions.size(); };
  EXPECT_EQ(evicted(), 0U);
  const auto like =
      std::make_shared<const RunTimes>(RunTimes({}).no_longer_than(Duration::seconds(7)));
  cluster.apply(OutlookChanged{"r", "r-1", nullptr, like});
  EXPECT_EQ(evicted(), 0U) << "what is not told anew stays";
  for (const Duration expected : {Duration::seconds(60), Duration{}}) {
    cluster.apply(OutlookChanged{"r", "r-1", nullptr, nullptr, expected});
    cluster.apply(OutlookChanged{"late", "", nullptr, nullptr, expected});
    EXPECT_EQ(cluster.state().running.at("r-1").expected, Duration::seconds(60));
    EXPECT_EQ(cluster.waiting("late")->expected, Duration::seconds(60));
  }
  EXPECT_EQ(cluster.waiting("gone"), nullptr);
  cluster.apply(OutlookChanged{"r", "r-1", levels(2000)});
  EXPECT_EQ(evicted(), 1U);
}

}  // namespace
}  // namespace hearth::sched
