// What every Executor does alike: one suite, instantiated for all of them in one file of a test
// program. Tasks follow the script in their variable MOCK_TASK (executors/mock/mock_executor.h).
//
//   INSTANTIATE_TEST_SUITE_P(Mock, ExecutorContract, ::testing::Values(ExecutorFactory{...}));
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/contract/executor_witness.h"

namespace hearth::executors {

struct ExecutorFactory {
  std::string name;
  // With an empty place of its own.
  std::function<std::unique_ptr<Executor>()> make;
  // Returns when the tasks of an attempt that was started follow their script.
  std::function<void(Executor&, const Launch&)> wait_running;
};
inline std::ostream& operator<<(std::ostream& out, const ExecutorFactory& factory) {
  return out << factory.name;
}

class ExecutorContract : public ::testing::TestWithParam<ExecutorFactory> {
 protected:
  void SetUp() override {
    executor_ = GetParam().make();
    ASSERT_NE(executor_, nullptr);
    const auto nodes = executor_->topology();
    ASSERT_TRUE(nodes.ok()) << nodes.error().text();
    ASSERT_FALSE(nodes->empty());
    node_ = nodes->front().name;
    executor_->watch(&witness_);
  }
  void TearDown() override {
    for (const auto& attempt : started_) ignore(executor_->stop(attempt, Duration{0}));
    for (const auto& task : tasks_) EXPECT_TRUE(witness_.wait_over(task)) << task;
    executor_->watch(nullptr);
  }
  Launch start(const std::string& script, int tasks = 1) {
    Launch launch = make_launch(script, tasks);
    for (auto& node : launch.nodes) node = node_;
    const auto started = executor_->start(launch);
    EXPECT_TRUE(started.ok()) << started.error().text();
    started_.push_back(launch.attempt_id);
    for (const auto& task : launch.tasks) tasks_.push_back(task.task_id);
    return launch;
  }
  std::vector<Found> found() { return executor_->recover().value_or({}); }

  Witness witness_;
  std::unique_ptr<Executor> executor_;
  std::string node_;
  std::vector<std::string> started_, tasks_;
};

TEST_P(ExecutorContract, StartsEndsForgets) {
  const Launch launch = start("run=20ms");
  const std::string& task = launch.tasks[0].task_id;
  ASSERT_TRUE(witness_.wait_over(task));
  const auto events = witness_.of(task);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, TaskEvent::Kind::started);
  EXPECT_EQ(events[1].kind, TaskEvent::Kind::ended);
  EXPECT_EQ(events[1].attempt_id, launch.attempt_id);
  EXPECT_EQ(events[1].epoch, 1);
  const auto known = found();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].task_id, task);
  EXPECT_FALSE(known[0].alive);
  EXPECT_TRUE(known[0].drained);
  EXPECT_TRUE(executor_->forget(launch.attempt_id).ok());
  EXPECT_TRUE(found().empty());
  EXPECT_TRUE(executor_->forget(launch.attempt_id).ok());
}

TEST_P(ExecutorContract, StartingTwiceStartsOnce) {
  const Launch launch = start("end=hangs");
  EXPECT_TRUE(executor_->start(launch).ok());
  Launch newer = launch;
  newer.epoch = 2;
  EXPECT_EQ(executor_->start(newer).error().code, Code::conflict);
  ASSERT_TRUE(executor_->stop(launch.attempt_id, Duration::seconds(10)).ok());
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  const auto events = witness_.of(launch.tasks[0].task_id);
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const auto& e) { return e.kind == TaskEvent::Kind::started; }),
            1);
}

TEST_P(ExecutorContract, AGangIsStartedWhole) {
  const Launch launch = start("run=20ms", 3);
  for (const auto& task : launch.tasks) EXPECT_TRUE(witness_.wait_over(task.task_id));
  EXPECT_EQ(found().size(), 3U);
}

TEST_P(ExecutorContract, AGangWithAWrongMemberStartsNobody) {
  Launch launch = make_launch("end=hangs", 3);
  for (auto& node : launch.nodes) node = node_;
  launch.tasks.back().task_id = "no id";
  EXPECT_FALSE(executor_->start(launch).ok());
  EXPECT_TRUE(found().empty());
  EXPECT_TRUE(witness_.of(launch.tasks[0].task_id).empty());
}

// Who dies takes nobody along here: that the others are stopped is decided above.
TEST_P(ExecutorContract, MembersOfAGangEndOneByOneAndAreForgottenTogether) {
  Launch launch = make_launch("end=hangs", 3);
  for (auto& node : launch.nodes) node = node_;
  launch.tasks[1].env["MOCK_TASK"] = "run=10ms";
  ASSERT_TRUE(executor_->start(launch).ok());
  started_.push_back(launch.attempt_id);
  for (const auto& task : launch.tasks) tasks_.push_back(task.task_id);
  ASSERT_TRUE(witness_.wait_over(launch.tasks[1].task_id));
  int alive = 0;
  for (const Found& one : found()) alive += one.alive;
  EXPECT_EQ(alive, 2);
  EXPECT_EQ(executor_->forget(launch.attempt_id).error().code, Code::conflict);
  EXPECT_TRUE(executor_->start(launch).ok());  // still the same start
  ASSERT_TRUE(executor_->stop(launch.attempt_id, Duration::seconds(10)).ok());
  for (const auto& task : launch.tasks) EXPECT_TRUE(witness_.wait_over(task.task_id));
  EXPECT_TRUE(executor_->forget(launch.attempt_id).ok());
  EXPECT_TRUE(found().empty());
}

TEST_P(ExecutorContract, StopEndsWhatHangs) {
  const Launch launch = start("end=hangs", 2);
  const auto known = found();
  ASSERT_EQ(known.size(), 2U);
  EXPECT_TRUE(known[0].alive);
  EXPECT_FALSE(known[0].drained);
  EXPECT_TRUE(executor_->stop(launch.attempt_id, Duration::seconds(10)).ok());
  EXPECT_TRUE(executor_->stop(launch.attempt_id, Duration::seconds(10)).ok());
  for (const auto& task : launch.tasks) EXPECT_TRUE(witness_.wait_over(task.task_id));
  EXPECT_TRUE(executor_->stop(launch.attempt_id, Duration{0}).ok());
}

TEST_P(ExecutorContract, StopAnswersAtOnceAndKillsAfterTheGrace) {
  const Launch launch = start("end=hangs ignores_stop=1");
  GetParam().wait_running(*executor_, launch);
  const auto start = std::chrono::steady_clock::now();
  // Wide enough apart for a machine on which much else runs.
  ASSERT_TRUE(executor_->stop(launch.attempt_id, Duration::millis(1500)).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1400));
  ASSERT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1450));
}

TEST_P(ExecutorContract, OneThatVanishesIsTold) {
  const Launch launch = start("run=10ms end=vanishes");
  EXPECT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
}

TEST_P(ExecutorContract, WhatRunsIsNotForgotten) {
  const Launch launch = start("end=hangs");
  EXPECT_EQ(executor_->forget(launch.attempt_id).error().code, Code::conflict);
  EXPECT_EQ(found().size(), 1U);
}

TEST_P(ExecutorContract, StrangersAreFine) {
  const std::string stranger = new_id();
  EXPECT_TRUE(executor_->stop(stranger, Duration{0}).ok());
  EXPECT_TRUE(executor_->forget(stranger).ok());
  EXPECT_TRUE(found().empty());
}

TEST_P(ExecutorContract, AnEmptyGangIsInvalid) {
  EXPECT_EQ(executor_->start(make_launch("", 0)).error().code, Code::invalid);
}

TEST_P(ExecutorContract, NodesAreToldAndNamed) {
  ASSERT_TRUE(witness_.wait_nodes(1));
  const auto nodes = executor_->topology();
  ASSERT_TRUE(nodes.ok());
  std::set<std::string> names;
  for (const NodeInfo& node : *nodes) {
    EXPECT_FALSE(node.pool.empty());
    EXPECT_GT(node.cpus, 0);
    EXPECT_GT(node.memory_bytes, 0);
    names.insert(node.pool + "/" + node.name);
  }
  EXPECT_EQ(names.size(), nodes->size());
  EXPECT_FALSE(executor_->capabilities().limits.empty());
}

TEST_P(ExecutorContract, EventsWaitForTheirWatcher) {
  executor_->watch(nullptr);
  const Launch launch = start("run=5ms");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(witness_.of(launch.tasks[0].task_id).empty());
  executor_->watch(&witness_);
  EXPECT_TRUE(witness_.wait_over(launch.tasks[0].task_id));
  EXPECT_EQ(witness_.of(launch.tasks[0].task_id).size(), 2U);
}

}  // namespace hearth::executors
