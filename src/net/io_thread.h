// One thread of the event loop and what its connections share: the clock of their time-outs, the
// read buffer.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>

#include "base/clock.h"
#include "net/loop.h"

namespace hearth::net {

class Connection;

// Shared: a wake-up that is on its way from another thread keeps it alive.
class IoThread : public std::enable_shared_from_this<IoThread> {
 public:
  static constexpr size_t kReadBytes = 64 << 10;

  explicit IoThread(Duration tick);
  void start();
  // Ends the loop once nothing is left to run, and joins.
  void join();

  Executor executor() { return context_.get_executor(); }
  template <typename Job>
  void post(Job&& job) {
    asio::post(context_.get_executor(), std::forward<Job>(job));
  }

  // All below: on this thread alone.
  void add(Connection& connection);
  void remove(Connection& connection);
  void for_each(const std::function<void(Connection&)>& visit);
  // What a read put here is good until the coroutine waits for anything.
  std::span<char> scratch() { return *scratch_; }
  std::string new_request_id();

 private:
  void arm();
  void sweep();

  const Duration tick_;
  // One thread runs it, others only post.
  asio::io_context context_{1};
  asio::executor_work_guard<Executor> work_;
  Timer timer_;
  bool armed_ = false;
  std::unordered_set<Connection*> connections_;
  std::unique_ptr<std::array<char, kReadBytes>> scratch_;
  SeededRandom random_;
  std::thread thread_;
};

}  // namespace hearth::net
