#include "base/signals.h"

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include <gtest/gtest.h>

#include "base/format.h"

namespace hearth {
namespace {

TEST(Signals, ANotifyWakesTheWaitersOfItsTopicOnce) {
  Signals signals;
  int first = 0, second = 0, other = 0;
  const uint64_t since = signals.version("a");
  const auto one = signals.wait("a", since, [&] { ++first; });
  const auto two = signals.wait("a", since, [&] { ++second; });
  const auto three = signals.wait("b", signals.version("b"), [&] { ++other; });
  signals.notify("a");
  signals.notify("a");
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(other, 0);
}

TEST(Signals, WhoComesLateIsWokenAtOnce) {
  Signals signals;
  const uint64_t since = signals.version("a");
  signals.notify("a");
  int woken = 0;
  const auto subscription = signals.wait("a", since, [&] { ++woken; });
  EXPECT_EQ(woken, 1);
}

TEST(Signals, ADestroyedSubscriptionIsForgotten) {
  Signals signals;
  int woken = 0;
  {
    const auto subscription = signals.wait("a", signals.version("a"), [&] { ++woken; });
  }
  signals.notify("a");
  EXPECT_EQ(woken, 0);
}

TEST(Signals, AMovedSubscriptionStaysAlive) {
  Signals signals;
  int woken = 0;
  Signals::Subscription kept;
  {
    auto subscription = signals.wait("a", signals.version("a"), [&] { ++woken; });
    kept = std::move(subscription);
  }
  signals.notify("a");
  EXPECT_EQ(woken, 1);
}

TEST(Signals, ASubscriptionMayOutliveItsSignals) {
  Signals::Subscription subscription;
  {
    Signals signals;
    subscription = signals.wait("a", signals.version("a"), [] {});
  }
}

TEST(Signals, AWakeMayWaitAgain) {
  Signals signals;
  int woken = 0;
  std::vector<Signals::Subscription> kept;
  std::function<void()> again = [&] {
    ++woken;
    kept.push_back(signals.wait("a", signals.version("a"), again));
  };
  kept.push_back(signals.wait("a", signals.version("a"), again));
  signals.notify("a");
  signals.notify("a");
  EXPECT_EQ(woken, 2);
}

TEST(Signals, ForgottenTopicsNeverRepeatAVersion) {
  Signals signals;
  signals.notify("first");
  const uint64_t since = signals.version("first");
  for (int i = 0; i < 70'000; ++i) signals.notify(format("topic {}", i));
  EXPECT_GE(signals.version("first"), since);
  const uint64_t before = signals.version("first");
  signals.notify("first");
  EXPECT_GT(signals.version("first"), before);
}

TEST(Signals, WaitForBlocksUntilNotified) {
  Signals signals;
  const uint64_t since = signals.version("a");
  EXPECT_FALSE(signals.wait_for("a", since, 1'000));
  std::thread notifier([&] { signals.notify("a"); });
  EXPECT_TRUE(signals.wait_for("a", since, 10'000'000));
  notifier.join();
}

TEST(Signals, NoWakeIsLostBetweenThreads) {
  Signals signals;
  constexpr int kRounds = 2'000;
  std::atomic<int> state = 0;
  std::thread notifier([&] {
    for (int i = 0; i < kRounds; ++i) {
      ++state;
      signals.notify("a");
    }
  });
  int seen = 0;
  while (seen < kRounds) {
    const uint64_t since = signals.version("a");
    seen = state;
    if (seen < kRounds) ASSERT_TRUE(signals.wait_for("a", since, 10'000'000));
  }
  notifier.join();
}

// Ten thousand waiters of other topics must not be visited: 20,000 notifies would then take
// minutes.
TEST(Signals, OtherTopicsWaitersCostNothing) {
  Signals signals;
  std::vector<Signals::Subscription> waiting;
  for (int i = 0; i < 10'000; ++i) waiting.push_back(signals.wait(format("task:{}", i), 0, [] {}));
  const std::clock_t start = std::clock();  // of this process: others' work does not count
  for (int i = 0; i < 20'000; ++i) signals.notify("jobs");
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 2);
}

}  // namespace
}  // namespace hearth
