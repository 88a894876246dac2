// Who logs a task's metrics, so that nothing is charted twice: a script that calls hearth.log often
// prints the same numbers. See docs/ways-in.md for the rule.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace hearth::shim {

// Thread-safe.
class MetricGate {
 public:
  static constexpr size_t kMostKeys = 10'000;  // remembered

  // The SDK's records: from now on log lines are no metrics.
  void client_logged(const std::map<std::string, double>& values) {
    logs_itself_.store(true, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    for (const auto& [key, value] : values)
      if (keys_.size() < kMostKeys) keys_.insert(key);
  }
  // Scalars in event files: the same.
  void events_logged() { logs_itself_.store(true, std::memory_order_relaxed); }

  bool logs_itself() const { return logs_itself_.load(std::memory_order_relaxed); }
  // The SDK logged this key: it wins over event files.
  bool client_has(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    return keys_.contains(key);
  }

 private:
  std::atomic<bool> logs_itself_{false};
  mutable std::mutex mutex_;
  std::set<std::string> keys_;
};

}  // namespace hearth::shim
