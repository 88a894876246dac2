// For tests of executors and of what stands on them: a watcher that remembers, and orders for tasks
// that follow a script.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/id.h"
#include "executors/executor.h"

namespace hearth::executors {

// Keeps what it was told.
class Witness : public Watcher {
 public:
  void on_task(const TaskEvent& event) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(event);
    changed_.notify_all();
  }
  void on_node(const NodeEvent& event) override {
    const std::lock_guard lock(mutex_);
    nodes_.push_back(event.node);
    changed_.notify_all();
  }
  // Waits until `enough(tasks, nodes)`; false after 20 s.
  bool wait(const std::function<bool(const std::vector<TaskEvent>&, const std::vector<NodeInfo>&)>&
                enough) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20),
                             [&] { return enough(tasks_, nodes_); });
  }
  bool wait_over(const std::string& task_id) {
    return wait([&](const auto& tasks, const auto&) {
      return std::any_of(tasks.begin(), tasks.end(), [&](const TaskEvent& event) {
        return event.task_id == task_id && event.kind != TaskEvent::Kind::started;
      });
    });
  }
  bool wait_nodes(size_t count) {
    return wait([&](const auto&, const auto& nodes) { return nodes.size() >= count; });
  }
  std::vector<TaskEvent> of(const std::string& task_id) {
    const std::lock_guard lock(mutex_);
    std::vector<TaskEvent> found;
    for (const TaskEvent& event : tasks_) {
      if (event.task_id == task_id) found.push_back(event);
    }
    return found;
  }
  NodeInfo last_node() {
    const std::lock_guard lock(mutex_);
    return nodes_.back();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TaskEvent> tasks_;
  std::vector<NodeInfo> nodes_;
};

inline Launch make_launch(const std::string& script, int tasks = 1) {
  Launch launch;
  launch.attempt_id = new_id();
  for (int i = 0; i < tasks; ++i) {
    TaskSpec task;
    task.task_id = new_id();
    task.attempt_id = launch.attempt_id;
    task.rank = i;
    task.env["MOCK_TASK"] = script;
    launch.tasks.push_back(task);
    launch.nodes.emplace_back();
  }
  return launch;
}

}  // namespace hearth::executors
