// Runs of jobs: the one that is a job's own, those below it, and what a job may change of others.
#include "control/ingest/metric_store.h"
#include "control/tracking/tracking_world_test.h"

namespace hearth::control {
namespace {

class JobTrackingTest : public TrackingTest {
 protected:
  JobTrackingTest() {
    run = world.add_run("fashion-1");
    job.id = run.job_id;
    job.name = "fashion-1";
    job.project = "default";
    job.owner = "ann";
    job.state = JobState::running;
    job.run_id = run.id;
    who = SmallWorld::job_identity(run, TokenKind::job);
    try_again(1);
    world.write(
        [&](db::Session& session) -> Result<void> { return db::Table<Job>::insert(session, job); });
  }
  void try_again(int64_t number, std::optional<int64_t> resume_step = {}) {
    Attempt attempt{.id = new_id(), .job_id = job.id, .number = number, .project = "default"};
    attempt.resume_step = resume_step;
    Task task{.id = new_id(), .attempt_id = attempt.id, .job_id = job.id};
    task.run_id = run.id;
    task.project = "default";
    who.task_id = task.id;
    world.write([&](db::Session& session) -> Result<void> {
      TRY(db::Table<Attempt>::insert(session, attempt));
      return db::Table<Task>::insert(session, task);
    });
  }

  void end_job() {
    job.state = JobState::succeeded;
    world.write(
        [&](db::Session& session) -> Result<void> { return db::Table<Job>::update(session, job); });
  }

  Run run;
  Job job;
  Identity who;
};

// It logs at step 6 again, but 4 and 5 were computed from a state that is no more.
TEST_F(JobTrackingTest, WhatWasLoggedBehindTheCheckpointIsOvertaken) {
  const auto add = [&](int64_t attempt, int64_t from) {
    world.write([&](db::Session& session) -> Result<void> {
      std::vector<KeyPoint> points;
      for (int64_t step = from; step < 10; ++step)
        points.push_back({"loss", {step, {step * 1000}, 1}});
      TRY(add_points(session, run.id, {"task", attempt, 0}, MetricKind::metric, by_key(points),
                     new_id()));
      return {};
    });
  };
  add(1, 0);
  try_again(2, 3);
  const auto steps = [&] {
    std::vector<int64_t> list;
    for (const auto& point : need(tracking.history(who, {.run_id = run.id, .key = "loss"})).points)
      list.push_back(point.step);
    return list;
  };
  EXPECT_EQ(steps().size(), 10U);  // until the second attempt has logged
  add(2, 6);
  EXPECT_EQ(steps(), (std::vector<int64_t>{0, 1, 2, 3, 6, 7, 8, 9}));
}

TEST_F(JobTrackingTest, TheFirstRunOfAnAttemptIsTheJobsOwn) {
  const std::string e = experiment("named");
  const TrackedRun first =
      need(tracking.create_run(who, {.experiment_id = e, .name = "mine", .tags = {{"a", "b"}}}));
  EXPECT_EQ(first.run.id, run.id);
  EXPECT_EQ(first.run.experiment_id, e);
  EXPECT_EQ(first.run.name, "fashion-1");
  EXPECT_EQ(first.run.tags.at("a"), "b");
  const TrackedRun second = need(tracking.create_run(who, {.experiment_id = e}));
  EXPECT_NE(second.run.id, run.id);
  EXPECT_EQ(second.run.parent_id, run.id);
  EXPECT_EQ(second.run.job_id, job.id);
  // The job alone ends its run; a child is its client's.
  need(tracking.update_run(who, run.id, {.status = RunStatus::finished}));
  EXPECT_NE(need(tracking.get_run(who, run.id)).run.status, RunStatus::finished);
  need(tracking.update_run(who, second.run.id, {.status = RunStatus::finished}));
  EXPECT_EQ(need(tracking.get_run(who, second.run.id)).run.status, RunStatus::finished);
  // A later attempt goes on with the job's run.
  try_again(2);
  EXPECT_EQ(need(tracking.create_run(who, {.experiment_id = e})).run.id, run.id);
  EXPECT_NE(need(tracking.create_run(who, {.experiment_id = e})).run.id, run.id);
  need(tracking.log_batch(who, run.id, {.metrics = {metric("m", 1)}}));
  EXPECT_EQ(need(tracking.history(who, {.run_id = run.id, .key = "m"})).points.at(0).attempt, 2);
  const std::string foreign = add_run(e);
  EXPECT_EQ(code_of(tracking.set_tag(who, foreign, "a", "b")), Code::denied);
}

// 1e-3 in a job file is 0.001 to Python; and a retry may log another host.
TEST_F(JobTrackingTest, WhatTheJobFileGaveAScriptMayLogAnewOnceAnAttempt) {
  world.write([&](db::Session& session) -> Result<void> {
    Run own = TRY(db::Table<Run>::need(session, run.id));
    own.params["lr"] = "1e-3";
    own.given_params = {"lr"};
    return db::Table<Run>::update(session, own);
  });
  const auto log = [&](const Identity& by, const std::string& key, const std::string& value) {
    return tracking.log_batch(by, run.id, {.params = {{key, value}}});
  };
  const auto param = [&](const std::string& key) {
    return need(tracking.get_run(world.viewer, run.id)).run.params.at(key);
  };
  EXPECT_EQ(code_of(log(world.member, "lr", "0.001")), Code::invalid) << "not the job itself";
  need(tracking.create_run(who, {}));
  need(log(who, "lr", "0.001"));
  need(log(who, "lr", "0.001"));
  need(log(who, "host", "a"));
  EXPECT_EQ(param("lr"), "0.001");
  EXPECT_EQ(code_of(log(who, "lr", "0.002")), Code::invalid);
  EXPECT_EQ(code_of(log(who, "host", "b")), Code::invalid);
  try_again(2);
  need(tracking.create_run(who, {}));
  need(log(who, "host", "b"));
  need(log(who, "lr", "0.001"));
  EXPECT_EQ(param("host"), "b");
  EXPECT_EQ(code_of(log(who, "host", "c")), Code::invalid);
  EXPECT_EQ(code_of(log(who, "lr", "0.002")), Code::invalid);
}

TEST_F(JobTrackingTest, ARunIsNotDeletedWhileItsJobGoesOn) {
  need(tracking.create_run(who, {}));
  const std::string child = need(tracking.create_run(who, {})).run.id;
  for (const Identity& by : {world.member, who})
    EXPECT_EQ(code_of(tracking.delete_run(by, run.id)), Code::conflict);
  EXPECT_EQ(code_of(tracking.delete_run(world.member, child)), Code::conflict);
  need(tracking.delete_run(who, child));
  end_job();
  need(tracking.delete_run(world.member, run.id));
}

TEST_F(JobTrackingTest, NeitherRenamesNorDeletesAnExperimentWithRunsOfOthers) {
  const std::string own = experiment("own"), shared = experiment("shared");
  need(tracking.create_run(who, {.experiment_id = own}));
  add_run(shared);
  EXPECT_EQ(code_of(tracking.rename_experiment(who, shared, "x")), Code::denied);
  EXPECT_EQ(code_of(tracking.delete_experiment(who, shared)), Code::denied);
  need(tracking.set_experiment_tag(who, shared, "team", "vision"));
  need(tracking.rename_experiment(who, own, "mine"));
  for (const Identity& by : {world.member, who})
    EXPECT_EQ(code_of(tracking.delete_experiment(by, own)), Code::conflict) << "the job goes on";
  end_job();
  need(tracking.delete_experiment(who, own));
}

}  // namespace
}  // namespace hearth::control
