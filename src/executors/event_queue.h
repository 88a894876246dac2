// What an executor has to tell its watcher, in order.
#pragma once

#include <deque>
#include <mutex>
#include <variant>

#include "executors/executor.h"

namespace hearth::executors {

class EventQueue {
 public:
  static constexpr size_t kMost = 65'536;  // waiting for a watcher; the oldest go

  // When it returns, the watcher before is no longer called.
  void watch(Watcher* watcher) {
    const std::lock_guard lock(watcher_mutex_);
    watcher_ = watcher;
  }
  void push(std::variant<TaskEvent, NodeEvent> event);
  // Calls the watcher, on the caller's thread, for what there is: one by one, and under no lock
  // that push() or the executor takes, as the watcher may call back.
  void deliver();

 private:
  std::mutex mutex_;  // guards the events
  std::deque<std::variant<TaskEvent, NodeEvent>> events_;
  std::mutex watcher_mutex_;  // held while the watcher is called
  Watcher* watcher_ = nullptr;
};

}  // namespace hearth::executors
