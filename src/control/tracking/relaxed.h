// Metrics that were answered before they are on disk: they wait here for at most the window, then
// one thread writes all of them in one transaction.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "control/metric_points.h"

namespace hearth::control {

struct RelaxedBatch {
  std::string run_id;
  KeyedPoints points;
};

// Thread-safe.
class RelaxedQueue {
 public:
  // More than this waits for the disk: add() waits then too.
  static constexpr size_t kMostWaiting = 2'000'000;  // points

  // `write` returns when all of them are synced. What it cannot write now (unavailable) is tried
  // again; any other error is told to `lost` and the batch is gone.
  RelaxedQueue(Duration window, std::function<Result<void>(std::vector<RelaxedBatch>)> write,
               std::function<void(const Error&)> lost);
  ~RelaxedQueue();
  void start();
  // Writes what waits, then ends the thread. Without start() add() writes by itself.
  void stop();
  Result<void> add(RelaxedBatch batch);
  // Returns when all that was added before is written.
  Result<void> flush();

 private:
  void run();
  Result<void> write_all(std::unique_lock<std::mutex>& lock);

  const Duration window_;
  const std::function<Result<void>(std::vector<RelaxedBatch>)> write_;
  const std::function<void(const Error&)> lost_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, written_;
  bool running_ = false, now_ = false;
  std::vector<RelaxedBatch> waiting_;
  size_t points_ = 0;
  uint64_t added_ = 0, done_ = 0;  // batches
  Result<void> last_;
  std::thread thread_;
};

}  // namespace hearth::control
