// Wakes those who wait for a topic ("jobs", "task:01H..."). A signal carries nothing: the truth is
// in the database, a signal only says "look again". No signal is lost between looking and waiting:
// read version(topic) first, then the state, then wait for a version greater than that.
// A notify costs what its topic's own waiters cost, however many wait for other topics.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace hearth {

class Signals {
 public:
  Signals();
  ~Signals();
  void notify(std::string_view topic);
  uint64_t version(std::string_view topic) const;
  // Calls `wake` once, on the notifying thread and under no lock, as soon as version(topic) > since
  // (at once if it already is). Destroying the Subscription forgets it; wake must be quick.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&&) noexcept = default;
    Subscription& operator=(Subscription&&) noexcept;
    ~Subscription();

   private:
    friend class Signals;
    std::weak_ptr<struct SignalsState> state_;
    std::string topic_;
    uint64_t id_ = 0;
  };
  Subscription wait(std::string_view topic, uint64_t since, std::function<void()> wake);
  // Blocks for at most `micros`; true when the version is greater than since.
  bool wait_for(std::string_view topic, uint64_t since, int64_t micros);

 private:
  std::shared_ptr<struct SignalsState> state_;
};

}  // namespace hearth
