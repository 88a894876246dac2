#include "executors/event_queue.h"

namespace hearth::executors {

void EventQueue::push(std::variant<TaskEvent, NodeEvent> event) {
  const std::lock_guard lock(mutex_);
  if (events_.size() >= kMost) events_.pop_front();
  events_.push_back(std::move(event));
}

void EventQueue::deliver() {
  for (;;) {
    const std::lock_guard lock(watcher_mutex_);
    if (watcher_ == nullptr) return;
    std::variant<TaskEvent, NodeEvent> event;
    {
      const std::lock_guard events(mutex_);
      if (events_.empty()) return;
      event = std::move(events_.front());
      events_.pop_front();
    }
    if (const auto* task = std::get_if<TaskEvent>(&event)) watcher_->on_task(*task);
    if (const auto* node = std::get_if<NodeEvent>(&event)) watcher_->on_node(*node);
  }
}

}  // namespace hearth::executors
