// Between who removes objects and who copies them: while somebody holds the gate nothing is
// removed.
#pragma once

#include <condition_variable>
#include <mutex>

namespace hearth::control {

class CollectionGate {
 public:
  // Waits for a removal that is under way (short: a bounded piece).
  class Hold {
   public:
    explicit Hold(CollectionGate& gate) : gate_(gate) {
      std::unique_lock lock(gate_.mutex_);
      ++gate_.holds_;
      gate_.ended_.wait(lock, [&] { return !gate_.removing_; });
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      const std::lock_guard lock(gate_.mutex_);
      --gate_.holds_;
    }

   private:
    CollectionGate& gate_;
  };

  // For who removes, around each piece: false while it is held.
  bool begin_removal() {
    const std::lock_guard lock(mutex_);
    if (holds_ > 0 || removing_) return false;
    return removing_ = true;
  }
  void end_removal() {
    {
      const std::lock_guard lock(mutex_);
      removing_ = false;
    }
    ended_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  int holds_ = 0;
  bool removing_ = false;
};

}  // namespace hearth::control
