#include "base/signals.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace hearth {
namespace {

// More topics than this are forgotten; whoever asks for one of them then looks once more in vain.
constexpr size_t kMostTopics = 65536;

using Wake = std::function<void()>;

}  // namespace

struct SignalsState {
  mutable std::mutex mutex;
  // Versions come from one counter, so a topic that was forgotten never repeats one.
  uint64_t counter = 0;
  uint64_t forgotten_up_to = 0;
  std::map<std::string, uint64_t, std::less<>> versions;
  // By topic, then by subscription: a notify touches its own waiters alone.
  std::map<std::string, std::unordered_map<uint64_t, Wake>, std::less<>> waiters;
  uint64_t next_id = 1;

  uint64_t version(std::string_view topic) const {
    const auto found = versions.find(topic);
    return found == versions.end() ? forgotten_up_to : found->second;
  }
  void raise(std::string_view topic) {
    if (versions.size() >= kMostTopics) {
      forgotten_up_to = counter;
      versions.clear();
    }
    ++counter;
    const auto found = versions.find(topic);
    if (found != versions.end()) {
      found->second = counter;
    } else {
      versions.emplace(topic, counter);
    }
  }
};

Signals::Signals() : state_(std::make_shared<SignalsState>()) {}
Signals::~Signals() = default;

void Signals::notify(std::string_view topic) {
  std::unordered_map<uint64_t, Wake> woken;
  {
    const std::lock_guard lock(state_->mutex);
    state_->raise(topic);
    const auto found = state_->waiters.find(topic);
    if (found == state_->waiters.end()) return;
    woken = std::move(found->second);
    state_->waiters.erase(found);
  }
  for (const auto& [id, wake] : woken) wake();
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
      subscription.topic_ = topic;
      subscription.id_ = state_->next_id++;
      state_->waiters[subscription.topic_].emplace(subscription.id_, std::move(wake));
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
  std::swap(topic_, other.topic_);
  std::swap(id_, other.id_);
  return *this;
}

Signals::Subscription::~Subscription() {
  const auto state = state_.lock();
  if (!state) return;
  Wake dropped;  // destroyed outside the lock
  const std::lock_guard lock(state->mutex);
  const auto found = state->waiters.find(topic_);
  if (found == state->waiters.end()) return;
  const auto own = found->second.find(id_);
  if (own == found->second.end()) return;
  dropped = std::move(own->second);
  found->second.erase(own);
  if (found->second.empty()) state->waiters.erase(found);
}

}  // namespace hearth
