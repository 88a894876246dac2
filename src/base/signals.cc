#include "base/signals.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

namespace hearth {

struct SignalsState {
  struct Waiter {
    uint64_t id;
    std::string topic;
    uint64_t since;
    std::function<void()> wake;
  };
  std::mutex mutex;
  // Versions come from one counter, so a topic that was forgotten never repeats one.
  uint64_t counter = 0;
  uint64_t forgotten_up_to = 0;
  std::map<std::string, uint64_t, std::less<>> versions;
  std::vector<Waiter> waiters;
  uint64_t next_id = 1;

  uint64_t version(std::string_view topic) const {
    const auto found = versions.find(topic);
    return found == versions.end() ? forgotten_up_to : found->second;
  }
};

namespace {
// More topics than this are forgotten; whoever waits on one of them then looks once more in vain.
constexpr size_t kMostTopics = 65536;
}  // namespace

Signals::Signals() : state_(std::make_shared<SignalsState>()) {}
Signals::~Signals() = default;

void Signals::notify(std::string_view topic) {
  std::vector<std::function<void()>> wakes;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->versions.size() >= kMostTopics) {
      state_->forgotten_up_to = state_->counter;
      state_->versions.clear();
    }
    state_->versions[std::string(topic)] = ++state_->counter;
    std::erase_if(state_->waiters, [&](SignalsState::Waiter& waiter) {
      if (waiter.topic != topic) return false;
      wakes.push_back(std::move(waiter.wake));
      return true;
    });
  }
  for (const auto& wake : wakes) wake();
}

uint64_t Signals::version(std::string_view topic) const {
  const std::lock_guard lock(state_->mutex);
  return state_->version(topic);
}

Signals::Subscription Signals::wait(std::string_view topic, uint64_t since,
                                    std::function<void()> wake) {
  Subscription subscription;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->version(topic) <= since) {
      subscription.state_ = state_;
      subscription.id_ = state_->next_id++;
      state_->waiters.push_back({subscription.id_, std::string(topic), since, std::move(wake)});
      return subscription;
    }
  }
  wake();
  return subscription;
}

bool Signals::wait_for(std::string_view topic, uint64_t since, int64_t micros) {
  struct Flag {
    std::mutex mutex;
    std::condition_variable changed;
    bool set = false;
  };
  const auto flag = std::make_shared<Flag>();
  const Subscription subscription = wait(topic, since, [flag] {
    const std::lock_guard lock(flag->mutex);
    flag->set = true;
    flag->changed.notify_all();
  });
  std::unique_lock lock(flag->mutex);
  return flag->changed.wait_for(lock, std::chrono::microseconds(micros), [&] { return flag->set; });
}

Signals::Subscription& Signals::Subscription::operator=(Subscription&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(id_, other.id_);
  return *this;
}

Signals::Subscription::~Subscription() {
  const auto state = state_.lock();
  if (!state) return;
  std::function<void()> dropped;  // destroyed outside the lock
  const std::lock_guard lock(state->mutex);
  std::erase_if(state->waiters, [&](SignalsState::Waiter& waiter) {
    if (waiter.id != id_) return false;
    dropped = std::move(waiter.wake);
    return true;
  });
}

}  // namespace hearth
