// Jobs through the service and its loop, with a real database and the mock executor. The part of
// the shims is played by writing task states as control/ingest would.
#include "control/jobs/jobs.h"

#include "control/emit.h"
#include "control/metric_points.h"
#include "control/small_world_test.h"
#include "executors/mock/mock_executor.h"

namespace hearth::control {
namespace {

class JobsTest : public ::testing::Test {
 protected:
  JobsTest() : executor({.nodes = 1, .cpus = 4, .memory = 16LL << 30}, system_clock()) {
    jobs = std::make_unique<Jobs>(world.context(), *world.access, executor, options());
    need(jobs->start());
  }
  ~JobsTest() override { jobs->stop(); }
  static JobsOptions options() {
    JobsOptions options;
    options.server_url = "http://127.0.0.1:1";
    return options;
  }

  Job submit(const std::string& more = "") {
    SubmitRequest request;
    request.yaml = "hearth: 1\nname: train\ncommand: \"true\"\n" + more;
    return need(jobs->submit(world.member, request));
  }
  Job get(const std::string& id) { return need(jobs->get(world.member, id, "")); }
  // Waits until the loop has brought the job there; a bound on a hang, not a measure.
  Job until(const std::string& id, JobState state) {
    for (int i = 0; i < 2000; ++i) {
      Job job = get(id);
      if (job.state == state) return job;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "the job is " << word(get(id).state) << ", not " << word(state);
    return get(id);
  }
  void task_becomes(const std::string& job_id, TaskState state,
                    std::optional<FailureClass> why = std::nullopt) {
    const Job job = get(job_id);
    std::string task_id;
    world.write([&](db::Session& session) -> Result<void> {
      auto task = TRY(db::Table<Task>::find(session, "WHERE attempt_id = $1", {job.attempt_id}));
      CHECK(task);
      task->state = state;
      if (state == TaskState::running) task->running_at = world.clock.now();
      if (why) task->failure = Failure{*why, 3, {}, 0, "", "it broke", ""};
      TRY(db::Table<Task>::update(session, *task));
      TRY(emit(session, world.clock, server_actor(), task->project, "task.moved", task->id, 0));
      return {};
    });
    world.signals.notify(kQueueTopic);
  }

  SmallWorld world;
  executors::MockExecutor executor;
  std::unique_ptr<Jobs> jobs;
};

TEST_F(JobsTest, GoesFromQueuedToSucceededWithItsRun) {
  const Job job = submit("params: {lr: 0.1}\nlabels: {team: vision}\n");
  EXPECT_EQ(job.name, "train-1");
  until(job.id, JobState::preparing);
  task_becomes(job.id, TaskState::running);
  until(job.id, JobState::running);
  task_becomes(job.id, TaskState::saving);
  until(job.id, JobState::saving);
  task_becomes(job.id, TaskState::succeeded);
  const Job ended = until(job.id, JobState::succeeded);
  EXPECT_NE(ended.finished_at.micros, 0);
  EXPECT_EQ(ended.phases.front().name, "queued");
  world.write([&](db::Session& session) -> Result<void> {
    const hearth::Run run = TRY(db::Table<hearth::Run>::need(session, job.run_id));
    EXPECT_EQ(run.status, RunStatus::finished);
    EXPECT_EQ(run.params.at("lr"), "0.1");
    EXPECT_EQ(run.tags.at("team"), "vision");
    return {};
  });
  EXPECT_EQ(submit().name, "train-2");
}

TEST_F(JobsTest, AFailureOfARetriedClassIsTriedAgainAfterAPause) {
  const Job job = submit("retries: {limit: 1, for: [lost]}\n");
  until(job.id, JobState::preparing);
  task_becomes(job.id, TaskState::failed, FailureClass::lost);
  const Job waiting = until(job.id, JobState::queued);
  EXPECT_EQ(waiting.retries_used, 1);
  EXPECT_GT(waiting.next_attempt_at, world.clock.now());
  world.clock.advance(Duration::seconds(60));
  world.signals.notify(kQueueTopic);
  until(job.id, JobState::preparing);
  task_becomes(job.id, TaskState::failed, FailureClass::lost);
  const Job failed = until(job.id, JobState::failed);
  EXPECT_EQ(failed.failure->failure_class, FailureClass::lost);
  EXPECT_EQ(failed.attempts, 2);
}

// A search of many runs, sent off before anybody knew how long one takes.
TEST_F(JobsTest, AllThatWaitHearHowLongTheLikeOfThemRan) {
  std::vector<std::string> ids;
  for (int i = 0; i < 80; ++i) {
    ids.push_back(submit("resources: {cpus: 4}\n").id);
    world.clock.advance(Duration::millis(10));
  }
  for (int i = 0; i < 4; ++i) {
    until(ids[static_cast<size_t>(i)], JobState::preparing);
    task_becomes(ids[static_cast<size_t>(i)], TaskState::running);
    until(ids[static_cast<size_t>(i)], JobState::running);
    world.clock.advance(Duration::seconds(100));
    if (i < 3) task_becomes(ids[static_cast<size_t>(i)], TaskState::succeeded);
  }
  // In steps that are large but rare: a step that falls into a play looks like a slow one, after
  // which fewer are told of and later. Step upon step would keep it so.
  double starts_in = 0;
  for (int i = 0; i < 6000 && starts_in == 0; ++i) {
    if (i % 30 == 0) {
      world.clock.advance(Duration::seconds(30));
      world.signals.notify(kQueueTopic);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Job job = need(jobs->why(world.member, ids.back(), ""));
    ASSERT_TRUE(job.reason);
    const auto at = job.reason->numbers.find("starts_in_seconds");
    if (at != job.reason->numbers.end()) starts_in = at->second;
  }
  EXPECT_GT(starts_in, 76 * 50);  // 75 run before it, of about 100 s
}

TEST_F(JobsTest, OneThatWaitsAndOneThatIsCheckedAreToldWhenTheyStart) {
  SubmitRequest draft;
  draft.yaml = "hearth: 1\nname: train\ncommand: \"true\"\nresources: {cpus: 4, memory: 1GiB}\n";
  CheckAnswer answer = need(jobs->check(world.member, draft));
  EXPECT_EQ(answer.reason.code, "now");
  EXPECT_EQ(answer.start, StartGuess{});
  EXPECT_EQ(answer.asks, (Amounts{.cpus = 4, .gpus = 0, .memory_bytes = 1 << 30}));

  until(submit("resources: {cpus: 4}\ntime_limit: 10m\n").id, JobState::preparing);
  const Job waiting = submit("resources: {cpus: 4}\ntime_limit: 5m\n");
  std::map<std::string, double> numbers;
  for (int i = 0; i < 2000 && !numbers.contains("starts_to_seconds"); ++i) {
    const Job job = need(jobs->why(world.member, waiting.id, ""));
    if (job.reason) numbers = job.reason->numbers;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NEAR(numbers["starts_in_seconds"], 600, 1);
  EXPECT_LE(numbers["starts_from_seconds"], 600);
  EXPECT_GE(numbers["starts_to_seconds"], 600);
  Job shown = need(jobs->get(world.member, waiting.id, ""));  // a list tells the same
  ASSERT_TRUE(shown.reason);
  EXPECT_NEAR(shown.reason->numbers["starts_in_seconds"], 600, 1);
  EXPECT_TRUE(shown.reason->numbers.contains("starts_to_seconds"));
  answer = need(jobs->check(world.member, draft));
  ASSERT_TRUE(answer.start);
  EXPECT_NEAR(answer.start->in_seconds, 900, 1) << "behind the one that waits";
  EXPECT_EQ(answer.reason.numbers["starts_in_seconds"], answer.start->in_seconds);
}

TEST_F(JobsTest, HowFarForecastsWereOffIsKeptOverARestart) {
  const auto restart = [this](const std::string& kept) {
    jobs->stop();
    world.write([&](db::Session& session) -> Result<void> {
      return db::set_setting(session, "forecast_errors", kept);
    });
    jobs = std::make_unique<Jobs>(world.context(), *world.access, executor, options());
    need(jobs->start());
  };
  restart(R"({"first":{"low":-2,"high":3,"starts":150},"later":{"low":-1,"high":2,"starts":140}})");
  const Job runs = submit("resources: {cpus: 4}\ntime_limit: 10m\n");
  until(runs.id, JobState::preparing);
  const Job waits = submit("resources: {cpus: 4}\ntime_limit: 5m\n");
  double learnt_from = 0;
  for (int i = 0; i < 2000 && learnt_from == 0; ++i) {
    const Job job = need(jobs->why(world.member, waits.id, ""));
    if (job.reason && job.reason->numbers.contains("starts_learnt_from"))
      learnt_from = job.reason->numbers.at("starts_learnt_from");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GE(learnt_from, 140);
  task_becomes(runs.id, TaskState::succeeded);
  until(waits.id, JobState::preparing);
  jobs->stop();
  std::optional<std::string> kept;
  world.write([&](db::Session& session) -> Result<void> {
    kept = TRY(db::get_setting(session, "forecast_errors"));
    return {};
  });
  ASSERT_TRUE(kept);
  EXPECT_EQ(need(from_json<LearntErrors>(*kept)).first.starts, 151);
  restart(R"({"first":"nonsense"})");  // learnt anew, and everything else goes on
  EXPECT_EQ(get(waits.id).state, JobState::preparing);
}

TEST_F(JobsTest, CancelEndsAWaitingJobAtOnceAndTellsARunningOne) {
  const Job big = submit("resources: {cpus: 4}\n");
  until(big.id, JobState::preparing);
  task_becomes(big.id, TaskState::running);
  until(big.id, JobState::running);
  const Job waiting = submit("resources: {cpus: 4}\n");
  EXPECT_EQ(need(jobs->cancel(world.member, waiting.id)).state, JobState::cancelled);
  need(jobs->cancel(world.member, big.id));
  bool told = false;
  for (int i = 0; i < 2000 && !told; ++i) {
    told = need(jobs->tasks(world.member, big.id)).front().stop_asked;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(told);
  task_becomes(big.id, TaskState::failed, FailureClass::cancelled);
  EXPECT_EQ(until(big.id, JobState::cancelled).failure->text, "cancelled by ann");
}

TEST_F(JobsTest, AWaitingJobHasAReasonAndAnImpossibleOneIsRefused) {
  const Job big = submit("resources: {cpus: 4}\n");
  until(big.id, JobState::preparing);
  const Job waiting = submit("resources: {cpus: 2}\n");
  std::optional<Reason> reason;
  for (int i = 0; i < 2000 && !reason; ++i) {
    reason = get(waiting.id).reason;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(reason);
  EXPECT_FALSE(reason->text.empty());
  SubmitRequest request;
  request.yaml = "hearth: 1\nname: huge\ncommand: \"true\"\nresources: {cpus: 512}\n";
  const auto refused = jobs->submit(world.member, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
}

TEST_F(JobsTest, RightsHold) {
  const Job job = submit();
  EXPECT_FALSE(jobs->get(world.stranger, job.id, "").ok());
  EXPECT_TRUE(jobs->get(world.viewer, job.id, "").ok());
  SubmitRequest request;
  request.yaml = "hearth: 1\nname: x\ncommand: \"true\"\n";
  EXPECT_EQ(jobs->submit(world.viewer, request).error().code, Code::denied);
  EXPECT_EQ(jobs->cancel(world.viewer, job.id).error().code, Code::denied);
  const Identity bob = world.person("bob", "default", Grade::member);
  EXPECT_EQ(jobs->cancel(bob, job.id).error().code, Code::denied);
}

TEST_F(JobsTest, LiveParametersKeepTheirBounds) {
  const Job job = submit(
      "params: {lr: {value: 0.1, live: true, min: 0.01, max: 1}, fixed: 3, "
      "n: {value: 3, live: true}, on: {value: true, live: true}}\n");
  until(job.id, JobState::preparing);
  EXPECT_TRUE(jobs->set_live(world.member, job.id, {{"n", {"4.5"}}, {"on", {"false"}}}).ok());
  EXPECT_FALSE(jobs->set_live(world.member, job.id, {{"n", {"1e400"}}}).ok());
  EXPECT_FALSE(jobs->set_live(world.member, job.id, {{"on", {"1"}}}).ok());
  EXPECT_TRUE(jobs->set_live(world.member, job.id, {{"lr", {"0.5"}}}).ok());
  EXPECT_FALSE(jobs->set_live(world.member, job.id, {{"lr", {"2"}}}).ok());
  EXPECT_FALSE(jobs->set_live(world.member, job.id, {{"lr", {"\"x\""}}}).ok());
  const auto wrong = jobs->set_live(world.member, job.id, {{"rl", {"0.5"}}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().errors.front().allowed.find("lr"), std::string::npos);
  EXPECT_FALSE(jobs->set_live(world.member, job.id, {{"fixed", {"4"}}}).ok());
}

TEST_F(JobsTest, EachChangeOfALiveParameterStaysInTheHistory) {
  const Job job = submit("params: {lr: {value: 0.1, live: true, min: 0.01, max: 1}}\n");
  until(job.id, JobState::preparing);
  EXPECT_TRUE(jobs->set_live(world.member, job.id, {{"lr", {"0.5"}}}).ok());
  EXPECT_FALSE(jobs->set_live(world.member, job.id, {{"lr", {"2"}}}).ok());
  EXPECT_TRUE(jobs->set_live(world.member, job.id, {{"lr", {"0.2"}}}).ok());
  std::vector<std::string> found;
  need(world.database->read([&](db::Session& session) -> Result<void> {
    found.clear();
    return session.query(
        "SELECT before, value, asked_by, version FROM live_history WHERE run_id = $1 "
        "ORDER BY version",
        {job.run_id}, [&](const db::Row& row) -> Result<void> {
          found.push_back(
              format("{}->{} {} {}", row.text(0), row.text(1), row.text(2), row.integer(3)));
          return {};
        });
  }));
  EXPECT_EQ(found, (std::vector<std::string>{format("0.1->0.5 {} 1", world.member.user),
                                             format("0.5->0.2 {} 2", world.member.user)}));
}

TEST_F(JobsTest, AGangChangesAtAStepAheadOfEveryRank) {
  const Job job = submit("params: {lr: {value: 0.1, live: true, min: 0.01, max: 1}}\n");
  until(job.id, JobState::preparing);
  const auto at_step = [&] {
    need(jobs->set_live(world.member, job.id, {{"lr", {"0.5"}}}));
    return world.count("SELECT coalesce(at_step, -1) FROM live_params");
  };
  EXPECT_EQ(at_step(), -1);  // one process: at once
  Task other;
  std::string first_task;
  world.write([&](db::Session& session) -> Result<void> {
    other = *TRY(db::Table<Task>::find(session, "WHERE job_id = $1", {job.id}));
    first_task = other.id;
    other.id = new_id();
    other.rank = 1;
    other.version = 0;
    return db::Table<Task>::insert(session, other);
  });
  EXPECT_EQ(at_step(), -1);  // nobody knows where they are
  const Time now = world.clock.now();
  const auto log = [&](int64_t rank, const std::vector<KeyPoint>& points) {
    world.write([&](db::Session& session) -> Result<void> {
      const PointSource source{rank == 0 ? first_task : other.id, 1, rank};
      TRY(add_points(session, job.run_id, source, MetricKind::metric, by_key(points), new_id()));
      return {};
    });
  };
  const auto log_until = [&](int64_t rank, int64_t last) {  // 50 steps a second
    std::vector<KeyPoint> points;
    for (int64_t step = 0; step <= last; ++step)
      points.push_back({"loss", {step, now - Duration::millis(20 * (last - step)), 1}});
    log(rank, points);
  };
  log_until(0, 100);
  log_until(1, 110);
  EXPECT_EQ(at_step(), 110 + 2 * 50 + 1);
  // Rows that were merged count, and the number of an epoch is no step.
  log(1, {{"val/acc", {3, now - Duration::millis(10), 0.5}}});
  need(compact_run(*world.database, job.run_id, MetricKind::metric, [] { return new_id(); }, 1));
  world.clock.advance(Duration::seconds(4));
  EXPECT_EQ(at_step(), 110 + (4 + 2) * 50 + 1);  // they went on since
  world.clock.advance(Duration::seconds(-4));
  EXPECT_EQ(at_step(), 110 + (4 + 2) * 50 + 1);  // not ahead of the change before
  world.write([&](db::Session& session) -> Result<void> {
    auto attempt = TRY(db::Table<Attempt>::find(session, "WHERE job_id = $1", {job.id}));
    attempt->created_at = now + Duration::seconds(1);
    return db::Table<Attempt>::update(session, *attempt);
  });
  EXPECT_EQ(at_step(), 110 + 2 * 50 + 1);  // of another attempt
}

TEST_F(JobsTest, ARestartFindsWhatWasWrittenDownButNeverStarted) {
  const Job job = submit();
  until(job.id, JobState::preparing);
  jobs->stop();
  // The order never reached the executor: another one, which knows nothing.
  executors::MockExecutor fresh({.nodes = 1, .cpus = 4, .memory = 16LL << 30}, system_clock());
  jobs = std::make_unique<Jobs>(world.context(), *world.access, fresh, JobsOptions{});
  need(jobs->start());
  EXPECT_EQ(fresh.running(), 1u);
  task_becomes(job.id, TaskState::succeeded);
  until(job.id, JobState::succeeded);
  jobs->stop();
  jobs.reset(new Jobs(world.context(), *world.access, executor, JobsOptions{}));
}

}  // namespace
}  // namespace hearth::control
