// The bounded pool of threads on which handlers run.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hearth::net {

class WorkerPool {
 public:
  WorkerPool(int workers, size_t most_queued);
  ~WorkerPool();  // close()

  // A request's first job; false when most_queued of them wait already, or the pool is closed.
  [[nodiscard]] bool try_post(std::function<void()> job);
  // A later step of a request that was taken (the end of a wait, the next piece of a stream, a part
  // of a file). Not refused: each connection has one such job at most, and connections are bounded.
  void post(std::function<void()> job);
  // Runs what is queued, then ends the threads. Later jobs are dropped.
  void close();
  size_t queued() const;  // requests, as bounded

 private:
  enum class Kind { request, step };
  struct Job {
    Kind kind;
    std::function<void()> run;
  };
  void work();

  const size_t most_queued_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Job> jobs_;
  size_t requests_ = 0;  // among jobs_
  int idle_ = 0;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hearth::net
