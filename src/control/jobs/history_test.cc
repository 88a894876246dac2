#include "control/jobs/history.h"

#include <gtest/gtest.h>

#include "control/small_world_test.h"

namespace hearth::control {
namespace {

Job ended(const std::string& name, double seconds, JobState state = JobState::succeeded) {
  Job job{.name = name, .project = "default", .owner = "ann", .state = state};
  job.started_at = Time{6'000'000};
  job.created_at = Time{1'000'000};
  job.finished_at = job.created_at + Duration::seconds(seconds + 5);
  job.phases = {{"queued", job.created_at, 5, 0},
                {"running", job.created_at + Duration::seconds(5), seconds, 1}};
  return job;
}

TEST(History, ExpectsWhatSuchJobsTook) {
  History history;
  Job waits = ended("train-9", 0, JobState::queued);
  waits.phases.resize(1);
  EXPECT_EQ(history.queued(waits).expected.micros, 0);  // nobody knows
  for (const double seconds : {100.0, 200.0, 300.0, 400.0, 500.0})
    history.learn(ended("train-1", seconds));
  history.learn(ended("train-2", 9000, JobState::failed));
  EXPECT_EQ(history.queued(waits).expected, Duration::seconds(300));
  // Its limit is the most.
  waits.spec.time_limit = Span{Duration::seconds(150)};
  EXPECT_EQ(history.queued(waits).expected, Duration::seconds(150));
  // Of one that was stopped for another, what is left: half of those that ran longer took no more.
  waits.spec.time_limit.reset();
  waits.phases.push_back({"running", waits.created_at, 150, 1});
  EXPECT_EQ(history.queued(waits).expected, Duration::seconds(400 - 150));
}

TEST(History, ItsChancesCountWhatFailedToo) {
  History history;
  Job waits = ended("train-9", 0, JobState::queued);
  waits.phases.resize(1);
  EXPECT_EQ(history.queued(waits).like, nullptr);
  for (int i = 0; i < 20; ++i) {
    history.learn(ended("train-1", 1000));
    history.learn(ended("train-2", 10, JobState::failed));
    history.learn(ended("train-3", 0, JobState::cancelled));  // never ran
  }
  const auto like = history.queued(waits).like;
  ASSERT_NE(like, nullptr);
  const auto part_below = [](const sched::RunTimes& runs, double seconds) {
    double part = 0;
    for (int i = 0; i < 100; ++i)
      part += runs.at(i / 100.0) <= Duration::seconds(seconds) ? 0.01 : 0;
    return part;
  };
  EXPECT_NEAR(part_below(*like, 20), 0.5, 0.1);
  EXPECT_NEAR(part_below(*like, 1300), 1, 0.05);
  // A job ends at its limit.
  waits.spec.time_limit = Span{Duration::seconds(600)};
  EXPECT_EQ(history.queued(waits).like->at(0.99), Duration::seconds(600));
  EXPECT_NEAR(part_below(*history.queued(waits).like, 20), 0.5, 0.1);
}

// Its time counts from the beginning of its attempt, as that of the scheduler does.
TEST(History, OfWhatRunsThisAttemptCountsNothing) {
  History history;
  for (const double seconds : {100.0, 200.0, 300.0, 400.0, 500.0})
    history.learn(ended("train-1", seconds));
  Job runs = ended("train-9", 0, JobState::running);
  runs.finished_at = {};
  runs.attempts = 1;
  runs.phases = {{"queued", runs.created_at, 5, 0},
                 {"preparing", runs.created_at + Duration::seconds(5), 250, 1},
                 {"running", runs.created_at + Duration::seconds(255), 0, 1}};
  EXPECT_EQ(history.queued(runs).expected, Duration::seconds(300));
  runs.attempts = 2;
  EXPECT_EQ(history.queued(runs).expected, Duration::seconds(400 - 250));
}

TEST(History, ALimitIsBetterThanNothing) {
  Job waits = ended("other-1", 0, JobState::queued);
  waits.spec.time_limit = Span{Duration::seconds(60)};
  EXPECT_EQ(History().queued(waits).expected, Duration::seconds(60));
}

TEST(History, IsReadFromTheRows) {
  SmallWorld world;
  for (int i = 0; i < 3; ++i) {
    Job job = ended(format("train-{}", i), 50);
    job.id = new_id(world.clock, system_random());
    world.write([&](db::Session& session) { return db::Table<Job>::insert(session, job); });
  }
  History history;
  need(world.database->read([&](db::Session& session) { return history.load(session); }));
  Job waits = ended("train-7", 0, JobState::queued);
  waits.phases.resize(1);
  EXPECT_EQ(history.queued(waits).expected, Duration::seconds(50));
}

}  // namespace
}  // namespace hearth::control
