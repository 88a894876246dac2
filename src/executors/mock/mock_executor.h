// An executor that starts nothing: attempts follow a script. For tests of others, and for
// `hearth up --executor mock`, which shows the whole server without running anybody's code.
//
//   ManualClock clock;
//   MockExecutor executor({.nodes = 4, .gpus = 8}, clock);
//   executor.start(launch); clock.advance(...); executor.run_due();
//
// Deterministic: what is due happens in run_due(), in order of time and task, on the caller's
// thread. With `own_thread` a thread calls it by the real clock instead.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/signals.h"
#include "domain/wire/sync.h"
#include "executors/event_queue.h"
#include "executors/executor.h"
#include "executors/mock_task.h"

namespace hearth::executors {

struct MockOptions {
  int64_t nodes = 1;  // named mock-0, mock-1 ...
  double cpus = 64;
  int64_t memory = int64_t{256} << 30;
  int64_t gpus = 0;  // on each node; two to a link, half of them in each NUMA node
  std::string gpu_model = "Mock GPU 80GB";
  std::string pool = "mock";
  // The script; default: the task's variable MOCK_TASK as above.
  std::function<MockTask(const TaskSpec&)> script;
  // Where a shim would sync to: states go there as it would send them. Without it only the events
  // of the executor are given. Called under no lock.
  std::function<Result<SyncAnswer>(const TaskSpec&, const SyncHead&)> sync;
  // With `sync`: how often a running task asks whether it is to stop.
  Duration poll_every = Duration::millis(200);
  bool own_thread = false;
};

class MockExecutor : public Executor {
 public:
  static constexpr size_t kMostTasks = 100'000;

  MockExecutor(MockOptions options, Clock& clock);
  ~MockExecutor() override;

  Result<void> start(const Launch& launch) override;
  Result<void> stop(const std::string& attempt_id, Duration grace) override;
  Result<std::vector<Found>> recover() override;
  Result<void> forget(const std::string& attempt_id) override;
  void watch(Watcher* watcher) override;
  Result<std::vector<NodeInfo>> topology() override;
  Capabilities capabilities() override;

  void run_due();         // all that is due by the clock, and what follows from it at once
  Time next_due() const;  // steady; {0} when nothing is to come
  // Tests: a node stops taking tasks (or takes them again), and tells the watcher.
  void set_ready(const std::string& node, bool ready);
  size_t running() const;

 private:
  enum class Step { prepare, run, end, over };
  struct Tracked {
    TaskSpec spec;
    std::string node;
    MockTask script;
    Step step = Step::prepare;  // the next one
    Time due;
    Time poll;  // when it asks next; {0}: not
    int64_t state_seq = 0;
    bool stopped = false;
    bool lost = false;
  };
  // When something happens to it next; nothing when it is over or hangs.
  static std::optional<Time> due_of(const Tracked& task);
  void advance(const std::string& task_id);
  void step_locked(Tracked& task, std::vector<StateRecord>& states);
  StateRecord record_locked(Tracked& task, TaskState state);
  StateRecord last_state_locked(Tracked& task);
  void tell(const TaskSpec& spec, const std::vector<StateRecord>& states);
  void report_locked(const Tracked& task, TaskEvent::Kind kind, std::string text = "");
  void loop();

  const MockOptions options_;
  Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Tracked> tasks_;  // by task id
  std::vector<NodeInfo> nodes_;
  bool stopping_ = false;
  EventQueue events_;
  Signals signals_;
  std::thread thread_;
};

}  // namespace hearth::executors
