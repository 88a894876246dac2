// Jobs of several tasks: what their orders say, how one failure ends the others, where they resume.
#include <mutex>

#include "control/emit.h"
#include "control/jobs/jobs.h"
#include "control/jobs/reconcile.h"
#include "control/small_world_test.h"
#include "executors/mock/mock_executor.h"

namespace hearth::control {
namespace {

class GangTest : public ::testing::Test {
 protected:
  GangTest() : executor(mock(), system_clock()) {
    jobs = std::make_unique<Jobs>(world.context(), *world.access, executor, JobsOptions{});
    need(jobs->start());
  }
  ~GangTest() override { jobs->stop(); }

  executors::MockOptions mock() {
    executors::MockOptions options{.nodes = 1, .cpus = 8, .memory = 32LL << 30};
    options.script = [this](const TaskSpec& spec) {
      const std::lock_guard lock(mutex);
      orders.push_back(spec);
      return executors::MockTask{};
    };
    return options;
  }
  Job submit(const std::string& rest) {
    SubmitRequest request;
    request.yaml = "hearth: 1\nname: gang\n" + rest;
    return need(jobs->submit(world.member, request));
  }
  // The orders of the attempt with this number, once all are there.
  std::vector<TaskSpec> attempt(const std::string& job, int64_t number, size_t tasks) {
    std::vector<TaskSpec> found;
    for (int i = 0; i < 2000 && found.size() < tasks; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const std::lock_guard lock(mutex);
      found.clear();
      for (const TaskSpec& spec : orders)
        if (spec.job_id == job && spec.attempt_number == number) found.push_back(spec);
    }
    EXPECT_EQ(found.size(), tasks);
    return found;
  }
  void becomes(const TaskSpec& spec, TaskState state,
               std::optional<FailureClass> why = std::nullopt) {
    world.write([&](db::Session& session) -> Result<void> {
      Task task = TRY(db::Table<Task>::need(session, spec.task_id));
      task.state = state;
      (state == TaskState::saving ? task.saving_at : task.running_at) = world.clock.now();
      if (why) {
        task.failure = Failure{};
        task.failure->failure_class = *why;
        task.failure->text = "it broke";
      }
      TRY(db::Table<Task>::update(session, task));
      return emit(session, world.clock, server_actor(), task.project, "task.moved", task.id, 0).ok()
                 ? Result<void>{}
                 : Error::internal("no event");
    });
    world.signals.notify(kQueueTopic);
  }
  Task task(const TaskSpec& spec) {
    Task found;
    world.write([&](db::Session& session) -> Result<void> {
      found = TRY(db::Table<Task>::need(session, spec.task_id));
      return {};
    });
    return found;
  }
  bool is_told(const TaskSpec& spec) {
    for (int i = 0; i < 2000; ++i) {
      if (task(spec).stop_asked) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  void ended(const std::string& job) {
    for (int i = 0; i < 2000; ++i) {
      if (finished(need(jobs->get(world.member, job, "")).state)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "the job does not end";
  }
  // Of the next attempt of a job of one task, which comes after a pause.
  std::vector<TaskSpec> after_pause(const std::string& job, int64_t number) {
    for (int i = 0; i < 2000; ++i) {
      if (need(jobs->get(world.member, job, "")).state == JobState::queued) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    world.clock.advance(Duration::seconds(600));
    world.signals.notify(kQueueTopic);
    return attempt(job, number, 1);
  }
  void saved(const TaskSpec& spec, int64_t step, const std::string& digest) {
    world.write([&](db::Session& session) -> Result<void> {
      Checkpoint one;
      one.id = new_id();
      one.job_id = spec.job_id;
      one.attempt_id = spec.attempt_id;
      one.task_id = spec.task_id;
      one.run_id = spec.run_id;
      one.project = "default";
      one.manifest_digest = digest;
      one.step = step;
      one.created_at = world.clock.now();
      world.clock.advance(Duration::millis(1));
      return db::Table<Checkpoint>::insert(session, one);
    });
  }

  std::mutex mutex;
  std::vector<TaskSpec> orders;
  SmallWorld world;
  executors::MockExecutor executor;
  std::unique_ptr<Jobs> jobs;
};

TEST_F(GangTest, EveryOrderNamesAllTasksInTheOrderOfTheirRanks) {
  const Job job =
      submit("roles: {ps: {command: p}, worker: {replicas: 2, command: w}}\nlaunch: plain\n");
  const auto tasks = attempt(job.id, 1, 3);
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(tasks[i].rank, static_cast<int64_t>(i));
    EXPECT_EQ(tasks[i].world_size, 3);
    EXPECT_EQ(tasks[i].peers, tasks[0].peers);
    EXPECT_EQ(tasks[i].gang_secret, tasks[0].gang_secret);
    ASSERT_EQ(tasks[i].peers.size(), 3U);
    EXPECT_EQ(tasks[i].peers[i].role, i == 0 ? "ps" : "worker");
    EXPECT_EQ(tasks[i].peers[i].node, tasks[i].node);
  }
  EXPECT_EQ(tasks[0].gang_secret.size(), 32U);
  const Job other = submit("roles: {worker: {replicas: 2, command: w}}\nlaunch: torchrun\n");
  EXPECT_NE(attempt(other.id, 1, 2)[0].gang_secret, tasks[0].gang_secret);
  // One process that needs nobody is told of nobody.
  const Job alone = submit("command: x\n");
  EXPECT_TRUE(attempt(alone.id, 1, 1)[0].peers.empty());
  EXPECT_TRUE(attempt(alone.id, 1, 1)[0].gang_secret.empty());
}

TEST_F(GangTest, AFailedProcessStopsThoseThatRunAndLeavesThoseThatSave) {
  const Job job = submit("roles: {worker: {replicas: 3, command: w}}\n");
  const auto tasks = attempt(job.id, 1, 3);
  becomes(tasks[0], TaskState::saving);  // it came to a good end
  becomes(tasks[1], TaskState::running);
  becomes(tasks[2], TaskState::saving, FailureClass::exit);
  EXPECT_TRUE(is_told(tasks[1]));
  EXPECT_EQ(task(tasks[1]).stop_class, "gang");
  EXPECT_FALSE(task(tasks[0]).stop_asked);
  EXPECT_FALSE(task(tasks[2]).stop_asked);
}

TEST_F(GangTest, AnEvictedAttemptEndsWholeAndComesBackAtOnce) {
  const Job job = submit(
      "roles: {worker: {replicas: 2, command: w}}\nretries: {limit: 0, for: [preemption]}\n");
  const auto tasks = attempt(job.id, 1, 2);
  becomes(tasks[0], TaskState::running);
  becomes(tasks[1], TaskState::running);
  Context context = world.context();
  std::vector<std::string> told, again;
  world.write([&](db::Session& session) -> Result<void> {
    told = TRY(evict(session, context, tasks[0].attempt_id, Reason{"preempted", {}, "", ""}));
    again = TRY(evict(session, context, tasks[0].attempt_id, Reason{"preempted", {}, "", ""}));
    return {};
  });
  EXPECT_EQ(told.size(), 2U);
  EXPECT_TRUE(again.empty());
  EXPECT_EQ(task(tasks[1]).stop_class, "preemption");
  becomes(tasks[0], TaskState::failed, FailureClass::preemption);
  becomes(tasks[1], TaskState::failed, FailureClass::preemption);
  EXPECT_EQ(attempt(job.id, 2, 2).size(), 2U);  // the clock stands still: no pause
}

TEST_F(GangTest, ARetryGoesOnFromTheNewestStepOfTheLowestRank) {
  const Job job =
      submit("roles: {worker: {replicas: 2, command: w}}\nretries: {limit: 3, for: [lost]}\n");
  const auto tasks = attempt(job.id, 1, 2);
  saved(tasks[0], 10, "old");
  saved(tasks[0], 20, "rank 0");
  saved(tasks[1], 20, "rank 1");
  becomes(tasks[1], TaskState::failed, FailureClass::lost);
  becomes(tasks[0], TaskState::failed, FailureClass::cancelled);
  for (int i = 0; i < 2000 && need(jobs->get(world.member, job.id, "")).retries_used == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  world.clock.advance(Duration::seconds(60));
  world.signals.notify(kQueueTopic);
  for (const TaskSpec& spec : attempt(job.id, 2, 2)) {
    EXPECT_EQ(spec.resume_manifest_digest, "rank 0");
    EXPECT_EQ(spec.resume_step, 20);
  }
}

TEST_F(GangTest, ARetryGoesOnFromTheCheckpointItIsAskedFor) {
  const Job job = submit("command: \"true\"\nretries: {limit: 3, for: [lost]}\n");
  auto tasks = attempt(job.id, 1, 1);
  saved(tasks[0], 10, "good");
  saved(tasks[0], 20, "diverged");
  becomes(tasks[0], TaskState::failed, FailureClass::exit);
  ended(job.id);
  const std::string good = need(jobs->checkpoints(world.member, job.id)).front().id;
  EXPECT_EQ(jobs->retry(world.member, job.id, new_id()).error().code, Code::not_found);
  need(jobs->retry(world.member, job.id, good));
  tasks = attempt(job.id, 2, 1);
  EXPECT_EQ(tasks[0].resume_manifest_digest, "good");
  EXPECT_EQ(tasks[0].resume_step, 10);
  // It has saved nothing: what it was asked for still holds.
  becomes(tasks[0], TaskState::failed, FailureClass::lost);
  tasks = after_pause(job.id, 3);
  EXPECT_EQ(tasks[0].resume_manifest_digest, "good");
  saved(tasks[0], 12, "newer");
  becomes(tasks[0], TaskState::failed, FailureClass::lost);
  tasks = after_pause(job.id, 4);
  EXPECT_EQ(tasks[0].resume_manifest_digest, "newer");
  becomes(tasks[0], TaskState::failed, FailureClass::exit);
  ended(job.id);
  // Another job's is none of this one's.
  const Job other = submit("command: \"true\"\n");
  becomes(attempt(other.id, 1, 1)[0], TaskState::failed, FailureClass::exit);
  ended(other.id);
  EXPECT_EQ(jobs->retry(world.member, other.id, good).error().code, Code::not_found);
}

}  // namespace
}  // namespace hearth::control
