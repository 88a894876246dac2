#include "base/bounded_queue.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(BoundedQueue, KeepsTheOrderAndTheBound) {
  BoundedQueue<int> queue(2);
  EXPECT_EQ(queue.bound(), 2u);
  int one = 1, two = 2, three = 3;
  EXPECT_TRUE(queue.try_push(one));
  EXPECT_TRUE(queue.try_push(two));
  EXPECT_FALSE(queue.try_push(three));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(queue.try_push(three));
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), 3);
}

TEST(BoundedQueue, ARefusedItemIsStillTheCallers) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  auto first = std::make_unique<int>(1), second = std::make_unique<int>(2);
  EXPECT_TRUE(queue.try_push(first));
  EXPECT_FALSE(queue.try_push(second));
  EXPECT_EQ(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 2);
}

TEST(BoundedQueue, PopForGivesUp) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.pop_for(Duration::millis(5)), std::nullopt);
}

TEST(BoundedQueue, AClosedQueueIsDrainedAndThenEmpty) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.push(1));
  queue.close();
  int more = 2;
  EXPECT_FALSE(queue.push(2));
  EXPECT_FALSE(queue.try_push(more));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_EQ(queue.pop_for(Duration::seconds(10)), std::nullopt);
}

TEST(BoundedQueue, ClosingWakesWhoeverWaits) {
  BoundedQueue<int> empty(1), full(1);
  EXPECT_TRUE(full.push(1));
  std::thread popper([&] { EXPECT_EQ(empty.pop(), std::nullopt); });
  std::thread pusher([&] { EXPECT_FALSE(full.push(2)); });
  empty.close();
  full.close();
  popper.join();
  pusher.join();
}

TEST(BoundedQueue, ManyThreadsLoseAndDoubleNothing) {
  constexpr int kThreads = 4, kItems = 5000;
  BoundedQueue<int> queue(16);
  std::atomic<int64_t> sum{0};
  std::atomic<int> taken{0};
  std::vector<std::thread> producers, consumers;
  for (int t = 0; t < kThreads; ++t) {
    producers.emplace_back([&, t] {
      for (int i = 0; i < kItems; ++i) EXPECT_TRUE(queue.push(t * kItems + i));
    });
    consumers.emplace_back([&] {
      while (const auto item = queue.pop()) {
        EXPECT_LE(queue.size(), queue.bound());
        sum += *item;
        ++taken;
      }
    });
  }
  for (auto& thread : producers) thread.join();
  queue.close();
  for (auto& thread : consumers) thread.join();
  constexpr int64_t kAll = int64_t{kThreads} * kItems;
  EXPECT_EQ(taken, kAll);
  EXPECT_EQ(sum, kAll * (kAll - 1) / 2);
}

}  // namespace
}  // namespace hearth
