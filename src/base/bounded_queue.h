// A queue between threads that never grows past its bound.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "base/clock.h"

namespace hearth {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t bound) : bound_(bound) {}

  // False when full or closed; the item is then still the caller's.
  bool try_push(T& item) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= bound_) return false;
      items_.push_back(std::move(item));
    }
    filled_.notify_one();
    return true;
  }
  // Waits for room; false only when closed.
  bool push(T item) {
    {
      std::unique_lock lock(mutex_);
      emptied_.wait(lock, [&] { return closed_ || items_.size() < bound_; });
      if (closed_) return false;
      items_.push_back(std::move(item));
    }
    filled_.notify_one();
    return true;
  }
  // Waits for an item; nothing once closed and drained.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    return take(lock);
  }
  // As pop, but gives up after `wait`.
  std::optional<T> pop_for(Duration wait) {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, wait.chrono(), [&] { return closed_ || !items_.empty(); });
    return take(lock);
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
    emptied_.notify_all();
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  size_t bound() const { return bound_; }

 private:
  std::optional<T> take(std::unique_lock<std::mutex>& lock) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    emptied_.notify_one();
    return item;
  }
  const size_t bound_;
  mutable std::mutex mutex_;
  std::condition_variable filled_, emptied_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace hearth
