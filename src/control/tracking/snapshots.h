// Orders of runs that are kept for pages that jump. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"

namespace hearth::control {

class Snapshots {
 public:
  static constexpr size_t kMostSnapshots = 32;  // the one that was not used longest goes
  static constexpr Duration kLife = Duration::seconds(600);  // after its last use

  struct Snapshot {
    std::string owner;  // whose
    uint64_t generation = 0;
    std::vector<uint32_t> runs;
  };
  void keep(const std::string& name, std::shared_ptr<const Snapshot> snapshot, Time now) {
    const std::lock_guard lock(mutex_);
    forget(now);
    if (all_.size() >= kMostSnapshots) {
      auto oldest = all_.begin();
      for (auto at = all_.begin(); at != all_.end(); ++at)
        if (at->second.used < oldest->second.used) oldest = at;
      all_.erase(oldest);
    }
    all_[name] = {std::move(snapshot), now};
  }
  // Null: there is none of that name (any more) for this owner.
  std::shared_ptr<const Snapshot> find(const std::string& name, const std::string& owner,
                                       Time now) {
    const std::lock_guard lock(mutex_);
    forget(now);
    const auto at = all_.find(name);
    if (at == all_.end() || at->second.snapshot->owner != owner) return nullptr;
    at->second.used = now;
    return at->second.snapshot;
  }

 private:
  struct Kept {
    std::shared_ptr<const Snapshot> snapshot;
    Time used;
  };
  void forget(Time now) {
    std::erase_if(all_, [&](const auto& entry) { return now - entry.second.used > kLife; });
  }

  std::mutex mutex_;
  std::map<std::string, Kept> all_;
};

}  // namespace hearth::control
