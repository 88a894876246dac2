#include "executors/mock/mock_executor.h"

#include <gtest/gtest.h>

#include "tests/contract/executor_witness.h"

namespace hearth::executors {
namespace {

TEST(MockTask, ReadsItsScript) {
  const auto task = parse_mock_task("run=2s prepare=10ms exit=3 class=oom end=vanishes");
  ASSERT_TRUE(task.ok()) << task.error().text();
  EXPECT_EQ(task->run.micros, 2'000'000);
  EXPECT_EQ(task->prepare.micros, 10'000);
  EXPECT_EQ(task->exit_code, 3);
  EXPECT_EQ(task->failure_class, FailureClass::oom);
  EXPECT_EQ(task->end, MockTask::End::vanishes);
  EXPECT_TRUE(parse_mock_task("").ok());
  EXPECT_FALSE(parse_mock_task("walk=2s").ok());
  EXPECT_FALSE(parse_mock_task("run").ok());
  EXPECT_FALSE(parse_mock_task("class=tired").ok());
}

// What a server would see of each task, in order.
class FakeServer {
 public:
  MockOptions options() {
    MockOptions options;
    options.sync = [this](const TaskSpec& spec, const SyncHead& head) -> Result<SyncAnswer> {
      for (const StateRecord& record : head.states) {
        EXPECT_EQ(record.seq, static_cast<int64_t>(states[spec.task_id].size()) + 1);
        states[spec.task_id].push_back(record);
      }
      SyncAnswer answer;
      answer.stop = stop;
      return answer;
    };
    return options;
  }
  std::map<std::string, std::vector<StateRecord>> states;
  bool stop = false;
};

std::string words(const std::vector<StateRecord>& records) {
  std::string text;
  for (const StateRecord& record : records) {
    text += std::string(Words<TaskState>::words[static_cast<size_t>(record.state)]) + " ";
  }
  return text;
}

TEST(MockExecutor, GoesByItsClockAlone) {
  ManualClock clock;
  FakeServer server;
  MockExecutor executor(server.options(), clock);
  Witness witness;
  executor.watch(&witness);
  const Launch launch = make_launch("prepare=1s run=10s exit=2");
  const std::string task = launch.tasks[0].task_id;
  ASSERT_TRUE(executor.start(launch).ok());
  executor.run_due();
  EXPECT_EQ(words(server.states[task]), "preparing ");
  clock.advance(Duration::seconds(1));
  executor.run_due();
  EXPECT_EQ(words(server.states[task]), "preparing starting running ");
  clock.advance(Duration::seconds(9));
  executor.run_due();
  EXPECT_EQ(executor.running(), 1U);
  clock.advance(Duration::seconds(1));
  executor.run_due();
  EXPECT_EQ(words(server.states[task]), "preparing starting running failed ");
  const auto& last = server.states[task].back();
  EXPECT_EQ(last.exit_code, 2);
  EXPECT_EQ(last.failure->text, "exit code 2");
  EXPECT_EQ(witness.of(task).back().kind, TaskEvent::Kind::ended);
  EXPECT_EQ(executor.next_due().micros, 0);
}

TEST(MockExecutor, StopByTheServersAnswer) {
  ManualClock clock;
  FakeServer server;
  MockExecutor executor(server.options(), clock);
  const Launch launch = make_launch("end=hangs");
  ASSERT_TRUE(executor.start(launch).ok());
  clock.advance(Duration::seconds(1));
  executor.run_due();
  EXPECT_EQ(executor.running(), 1U);
  server.stop = true;
  clock.advance(Duration::seconds(1));
  executor.run_due();
  EXPECT_EQ(executor.running(), 0U);
  EXPECT_EQ(server.states[launch.tasks[0].task_id].back().failure->failure_class,
            FailureClass::cancelled);
}

TEST(MockExecutor, FailsToStartAsTold) {
  ManualClock clock;
  MockExecutor executor({}, clock);
  EXPECT_EQ(executor.start(make_launch("start_error=full")).error().code, Code::unavailable);
  EXPECT_EQ(executor.start(make_launch("nonsense")).error().code, Code::unavailable);
  EXPECT_EQ(executor.running(), 0U);
}

TEST(MockExecutor, NodesComeAndGo) {
  ManualClock clock;
  MockExecutor executor({.nodes = 2, .gpus = 8}, clock);
  Witness witness;
  executor.watch(&witness);
  executor.set_ready("mock-1", false);
  executor.run_due();
  ASSERT_TRUE(witness.wait_nodes(3));
  EXPECT_FALSE(witness.last_node().ready);
  const auto nodes = executor.topology();
  ASSERT_EQ(nodes->at(1).gpus.size(), 8U);
  EXPECT_EQ(nodes->at(1).gpus[5].numa, "numa1");
  EXPECT_EQ(nodes->at(1).gpus[5].link, "nvlink2");
}

}  // namespace
}  // namespace hearth::executors
