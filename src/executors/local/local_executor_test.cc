#include "executors/local/local_executor.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "base/units.h"
#include "executors/local/stale_groups.h"
#include "os/files.h"
#include "os/tree.h"
#include "tests/contract/executor_witness.h"

namespace hearth::executors {
namespace {

LocalOptions options_in(const std::string& work) {
  return {.work_directory = work,
          .shim = {HEARTH_TEST_SHIM},
          .node_name = "here",
          .nvml = "/nowhere/libnvidia-ml.so.1",
          .drain_pause = Duration::millis(10)};
}

std::unique_ptr<LocalExecutor> open_in(const std::string& work) {
  auto opened = LocalExecutor::open(options_in(work), system_clock());
  EXPECT_TRUE(opened.ok()) << opened.error().text();
  return opened.ok() ? std::move(opened).value() : nullptr;
}

class LocalExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto place = os::TemporaryDirectory::make();
    ASSERT_TRUE(place.ok());
    place_.emplace(std::move(place).value());
    work_ = place_->path() + "/work";
    open();
  }
  void TearDown() override {
    if (executor_ == nullptr) return;
    for (const auto& attempt : started_) ignore(executor_->stop(attempt, Duration{0}));
    for (const auto& task : tasks_) EXPECT_TRUE(witness_.wait_over(task)) << task;
  }
  void open() {
    executor_ = open_in(work_);
    ASSERT_NE(executor_, nullptr);
    executor_->watch(&witness_);
  }
  Launch start(const std::string& script, int tasks = 1) {
    const Launch launch = make_launch(script, tasks);
    const auto started = executor_->start(launch);
    EXPECT_TRUE(started.ok()) << started.error().text();
    started_.push_back(launch.attempt_id);
    for (const auto& task : launch.tasks) tasks_.push_back(task.task_id);
    return launch;
  }
  std::string folder(const Launch& launch, size_t task = 0) const {
    return work_ + "/" + launch.attempt_id + "/" + launch.tasks[task].task_id;
  }
  std::string history(const Launch& launch) const {
    return os::read_file(folder(launch) + "/history", 4096).value_or("");
  }
  // The shim, once it holds its lock and has begun.
  pid_t shim_of(const Launch& launch) const {
    for (int i = 0; i < 2000 && history(launch).empty(); ++i) ::usleep(5'000);
    const auto pid = os::lock_holder(folder(launch) + "/lock");
    return pid.ok() && *pid ? **pid : 0;
  }

  std::optional<os::TemporaryDirectory> place_;
  std::string work_;
  Witness witness_;
  std::unique_ptr<LocalExecutor> executor_;
  std::vector<std::string> started_, tasks_;
};

TEST_F(LocalExecutorTest, OrdersInAnotherVersionOfTheProtocolAreFoundBeforeTheStart) {
  const Launch launch = start("end=hangs");
  EXPECT_TRUE(check_orders(work_).ok());
  const auto older = check_orders(work_, {kShimProtocol + 1, kShimProtocol + 2});
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().code, Code::unsupported);
  EXPECT_NE(older.error().detail.find(folder(launch) + "/task.json"), std::string::npos);
  EXPECT_NE(older.error().mend.find("--drain"), std::string::npos);
  // One of which nothing is left to be drained is no reason.
  ASSERT_TRUE(executor_->stop(launch.attempt_id, Duration::seconds(10)).ok());
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  EXPECT_TRUE(check_orders(work_, {kShimProtocol + 1, kShimProtocol + 2}).ok());
}

TEST_F(LocalExecutorTest, OrdersAreSecret) {
  Launch launch = make_launch("run=1ms", 2);
  launch.tasks[0].secrets["KEY"] = "value";
  launch.tasks[0].shim_token = "hth_shim";
  ASSERT_TRUE(executor_->start(launch).ok());
  for (const auto& task : launch.tasks) ASSERT_TRUE(witness_.wait_over(task.task_id));
  const auto order = os::read_file(folder(launch) + "/task.json", 1 << 20);
  ASSERT_TRUE(order.ok());
  const auto spec = from_json<TaskSpec>(*order);
  ASSERT_TRUE(spec.ok()) << spec.error().text();
  EXPECT_EQ(spec->secrets.at("KEY"), "value");
  EXPECT_EQ(spec->shim_token, "hth_shim");
  EXPECT_EQ(os::status(folder(launch) + "/task.json")->st_mode & 07777, 0600U);
  EXPECT_EQ(os::status(folder(launch) + "/shim.log")->st_mode & 07777, 0600U);
  EXPECT_EQ(os::status(folder(launch))->st_mode & 07777, 0700U);
  EXPECT_EQ(os::status(work_ + "/" + launch.attempt_id)->st_mode & 07777, 0700U);
}

// With a uid the task may pass through, but neither list nor change what is the shim's.
TEST_F(LocalExecutorTest, FoldersOfTasksWithAUid) {
  Launch launch = make_launch("run=1ms");
  launch.tasks[0].uid = launch.tasks[0].gid = 12345;
  ASSERT_TRUE(executor_->start(launch).ok());
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  const auto status = os::status(folder(launch));
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->st_mode & 07777, 0711U);
  EXPECT_EQ(status->st_uid, ::geteuid());
}

TEST_F(LocalExecutorTest, TasksOutliveTheServer) {
  const Launch launch = start("end=hangs");
  const pid_t shim = shim_of(launch);
  ASSERT_GT(shim, 0);
  executor_.reset();
  EXPECT_TRUE(os::process_info(shim).ok());
  open();
  const auto found = executor_->recover();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_TRUE(found->front().alive);
  EXPECT_EQ(found->front().epoch, 1);
  EXPECT_TRUE(executor_->start(launch).ok()) << "it runs already";
  ASSERT_TRUE(executor_->stop(launch.attempt_id, Duration::seconds(10)).ok());
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  // Nobody saw its exit code: it is drained to be sure.
  EXPECT_EQ(history(launch), "run\nstopped\ndrain\n");
  EXPECT_EQ(witness_.of(launch.tasks[0].task_id).back().kind, TaskEvent::Kind::ended);
  EXPECT_TRUE(executor_->forget(launch.attempt_id).ok());
}

TEST_F(LocalExecutorTest, WhatDiedMeanwhileIsDrained) {
  const Launch launch = start("end=hangs");
  const pid_t shim = shim_of(launch);
  ASSERT_GT(shim, 0);
  executor_.reset();
  ASSERT_EQ(::kill(shim, SIGKILL), 0);
  while (os::lock_holder(folder(launch) + "/lock").value_or(1)) ::usleep(1'000);
  open();
  const auto found = executor_->recover();
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_FALSE(found->front().alive);
  EXPECT_FALSE(found->front().drained);
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  EXPECT_EQ(history(launch), "run\ndrain\n");
  EXPECT_TRUE(executor_->recover()->front().drained);
  // Another server later: the mark says that nothing is left.
  open();
  EXPECT_TRUE(executor_->recover()->front().drained);
  EXPECT_EQ(history(launch), "run\ndrain\n");
}

TEST_F(LocalExecutorTest, AKilledShimIsDrainedAndTheTaskEnded) {
  const Launch launch = start("end=hangs");
  ASSERT_EQ(::kill(shim_of(launch), SIGKILL), 0);
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  EXPECT_EQ(witness_.of(launch.tasks[0].task_id).back().kind, TaskEvent::Kind::ended);
  EXPECT_EQ(history(launch), "run\ndrain\n");
}

TEST_F(LocalExecutorTest, LostWhenItCannotBeDrained) {
  const Launch launch = start("end=hangs");
  const pid_t shim = shim_of(launch);
  ASSERT_TRUE(os::write_file_atomic(folder(launch) + "/drain_fails", "", 0600).ok());
  ASSERT_EQ(::kill(shim, SIGKILL), 0);
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  const auto last = witness_.of(launch.tasks[0].task_id).back();
  EXPECT_EQ(last.kind, TaskEvent::Kind::lost);
  EXPECT_NE(last.text.find("exit code 1"), std::string::npos) << last.text;
  EXPECT_EQ(history(launch), "run\ndrain\ndrain\ndrain\ndrain\ndrain\n");
  EXPECT_TRUE(executor_->forget(launch.attempt_id).ok());
}

TEST_F(LocalExecutorTest, LostWhenItsDirectoryIsGone) {
  const Launch launch = start("end=hangs");
  const pid_t shim = shim_of(launch);
  ASSERT_TRUE(os::remove_tree(work_ + "/" + launch.attempt_id).ok());
  ASSERT_EQ(::kill(shim, SIGKILL), 0);
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  const auto last = witness_.of(launch.tasks[0].task_id).back();
  EXPECT_EQ(last.kind, TaskEvent::Kind::lost);
  EXPECT_NE(last.text.find("is gone"), std::string::npos) << last.text;
}

TEST_F(LocalExecutorTest, NothingOfAKilledTaskIsLeft) {
  const Launch launch = start("end=hangs ignores_stop=1");
  const pid_t shim = shim_of(launch);
  ASSERT_GT(shim, 0);
  const os::TreeQuery query{.marker = "HEARTH_TASK=" + launch.tasks[0].task_id};
  for (int i = 0; i < 2000 && os::find_tree(query).empty(); ++i) ::usleep(5'000);
  ASSERT_FALSE(os::find_tree(query).empty());
  ASSERT_TRUE(executor_->stop(launch.attempt_id, Duration::millis(50)).ok());
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  EXPECT_TRUE(os::find_tree(query).empty());
  EXPECT_FALSE(os::process_info(shim).ok()) << "a zombie";
}

TEST_F(LocalExecutorTest, LeavesNoControlGroup) {
  auto options = options_in(work_ + "2");
  options.cgroup_parent = "hearth-executor-test-" + std::to_string(::getpid());
  const auto there = [&] {
    size_t found = 0;
    for (const char* tree : {"", "/memory", "/cpu"}) {
      found += os::exists(std::string("/sys/fs/cgroup") + tree + "/" + options.cgroup_parent);
    }
    return found;
  };
  auto executor = LocalExecutor::open(options, system_clock());
  ASSERT_TRUE(executor.ok());
  if (there() == 0) GTEST_SKIP() << "no control groups here, or not where root has them";
  // Somebody is in it: another server's task.
  const auto groups = os::detect_cgroups({.parent = options.cgroup_parent});
  auto other = os::Cgroup::create(groups, "task-of-another", {});
  ASSERT_TRUE(other.ok()) << other.error().text();
  executor->reset();
  EXPECT_GT(there(), 0U);
  ASSERT_TRUE(other->remove().ok());
  executor = LocalExecutor::open(options, system_clock());
  ASSERT_TRUE(executor.ok());
  executor->reset();
  EXPECT_EQ(there(), 0U);
}

// A supervisor that was killed and whose folder is gone leaves its task's group to whoever comes.
TEST_F(LocalExecutorTest, RemovesGroupsThatNobodyComesFor) {
  const os::CgroupOptions place{.parent = "hearth-executor-test2-" + std::to_string(::getpid())};
  const auto groups = os::detect_cgroups(place);
  if (groups.version == os::CgroupVersion::none) GTEST_SKIP() << groups.why;
  const std::string stale = "task-" + new_id(), held = new_id(), used = "task-" + new_id();
  ASSERT_TRUE(os::Cgroup::create(groups, stale, {}).ok());
  ASSERT_TRUE(os::Cgroup::create(groups, "task-" + held, {}).ok());
  const auto busy = os::Cgroup::create(groups, used, {});
  const auto strange = os::Cgroup::create(groups, "something-else", {});
  ASSERT_TRUE(busy.ok() && strange.ok());
  os::SpawnOptions sleeper;
  sleeper.program = "/bin/sleep";
  sleeper.argv = {"DIR/" + held, "600"};
  auto shim = os::spawn(sleeper);
  sleeper.argv = {"sleep", "600"};
  sleeper.enter_groups = busy->entry_files();
  auto inside = os::spawn(sleeper);
  ASSERT_TRUE(inside.ok() && shim.ok());
  remove_stale_groups(groups);
  EXPECT_EQ(os::list_cgroups(groups)->size(), 3U);
  EXPECT_FALSE(os::Cgroup::open(groups, stale).ok());
  for (os::Process* process : {&*inside, &*shim}) {
    ignore(process->send_signal(SIGKILL));
    ignore(process->wait());
  }
  remove_stale_groups(groups);
  EXPECT_EQ(*os::list_cgroups(groups), std::vector<std::string>{"something-else"});
  EXPECT_TRUE(strange->remove().ok());
  os::remove_parents(groups);
}

TEST_F(LocalExecutorTest, AShimThatCannotStartLeavesNothing) {
  auto options = options_in(work_ + "2");
  options.shim = {"/nowhere/hearth", "shim"};
  auto executor = LocalExecutor::open(options, system_clock());
  ASSERT_TRUE(executor.ok());
  const auto started = (*executor)->start(make_launch("", 2));
  EXPECT_EQ(started.error().code, Code::unavailable);
  EXPECT_TRUE((*executor)->recover()->empty());
  EXPECT_TRUE(os::list_directory(work_ + "2")->empty());
}

TEST_F(LocalExecutorTest, HalfWrittenAttemptsGo) {
  executor_.reset();
  const std::string fresh = work_ + "/" + new_id() + ".new",
                    gone = work_ + "/" + new_id() + ".gone";
  const std::string checkpoints = work_ + "/" + new_id() + "/checkpoints";
  for (const auto& path : {fresh, gone, checkpoints}) {
    ASSERT_TRUE(os::make_directories(path + "/x").ok());
  }
  open();
  for (int i = 0; i < 2000 && (os::status(fresh).ok() || os::status(gone).ok()); ++i) {
    ::usleep(5'000);
  }
  EXPECT_FALSE(os::status(fresh).ok());
  EXPECT_FALSE(os::status(gone).ok());
  EXPECT_TRUE(executor_->recover()->empty());
  EXPECT_TRUE(os::status(checkpoints).ok()) << "not an attempt: not ours";
}

TEST_F(LocalExecutorTest, StrangeIdsAreRefused) {
  Launch launch = make_launch("");
  launch.attempt_id = "../../etc";
  EXPECT_EQ(executor_->start(launch).error().code, Code::invalid);
  launch = make_launch("");
  launch.tasks[0].task_id = "a/b";
  EXPECT_EQ(executor_->start(launch).error().code, Code::invalid);
}

TEST_F(LocalExecutorTest, TheNodeLessItsReserve) {
  auto options = options_in(work_ + "2");
  const NodeInfo whole = executor_->topology()->front();
  options.reserved_cpus = 0.5;
  options.reserved_memory = 1 << 20;
  auto executor = LocalExecutor::open(options, system_clock());
  ASSERT_TRUE(executor.ok());
  const NodeInfo node = (*executor)->topology()->front();
  EXPECT_EQ(node.name, "here");
  EXPECT_EQ(node.pool, "local");
  EXPECT_EQ(node.cpus, whole.cpus - 0.5);
  EXPECT_EQ(node.memory_bytes, whole.memory_bytes - (1 << 20));
}

TEST_F(LocalExecutorTest, ASickGpuIsTold) {
  const std::string gpus = place_->path() + "/gpus";
  ASSERT_TRUE(os::write_file_atomic(gpus, "2:H100-80GB\n").ok());
  ::setenv("HEARTH_FAKE_GPUS", ("@" + gpus).c_str(), 1);
  auto options = options_in(work_ + "2");
  options.nvml = HEARTH_FAKE_NVML;
  options.health_every = Duration::millis(20);
  auto executor = LocalExecutor::open(options, system_clock());
  ASSERT_TRUE(executor.ok());
  Witness witness;
  (*executor)->watch(&witness);
  ASSERT_TRUE(witness.wait_nodes(1));
  ASSERT_EQ(witness.last_node().gpus.size(), 2U);
  const std::string uuid = witness.last_node().gpus[1].uuid;
  ASSERT_TRUE(os::write_file_atomic(gpus, "1:H100-80GB\n1:H100-80GB lost=1\n").ok());
  ASSERT_TRUE(witness.wait_nodes(2));
  const NodeInfo node = witness.last_node();
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_TRUE(node.gpus[0].healthy);
  EXPECT_FALSE(node.gpus[1].healthy);
  EXPECT_EQ(node.gpus[1].uuid, uuid);
  EXPECT_NE(node.gpus[1].problem.find("fallen off"), std::string::npos);
  ASSERT_TRUE(os::write_file_atomic(gpus, "2:H100-80GB\n").ok());
  ASSERT_TRUE(witness.wait_nodes(3));
  EXPECT_TRUE(witness.last_node().gpus[1].healthy);
  (*executor)->watch(nullptr);
}

}  // namespace
}  // namespace hearth::executors
