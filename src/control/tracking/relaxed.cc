#include "control/tracking/relaxed.h"

namespace hearth::control {

namespace {
constexpr auto kRetry = std::chrono::milliseconds(200);
}  // namespace

RelaxedQueue::RelaxedQueue(Duration window,
                           std::function<Result<void>(std::vector<RelaxedBatch>)> write,
                           std::function<void(const Error&)> lost)
    : window_(window), write_(std::move(write)), lost_(std::move(lost)) {}

RelaxedQueue::~RelaxedQueue() {
  stop();
}

void RelaxedQueue::start() {
  const std::lock_guard lock(mutex_);
  if (running_) return;
  running_ = true;
  thread_ = std::thread([this] { run(); });
}

void RelaxedQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<void> RelaxedQueue::add(RelaxedBatch batch) {
  std::unique_lock lock(mutex_);
  if (!running_) {
    lock.unlock();
    return write_({std::move(batch)});
  }
  written_.wait(lock, [&] { return points_ < kMostWaiting || !running_; });
  points_ += batch.points.points.size();
  ++added_;
  waiting_.push_back(std::move(batch));
  if (waiting_.size() == 1) wake_.notify_all();
  return {};
}

Result<void> RelaxedQueue::flush() {
  std::unique_lock lock(mutex_);
  const uint64_t mine = added_;
  now_ = true;
  wake_.notify_all();
  written_.wait(lock, [&] { return done_ >= mine || !running_; });
  return done_ >= mine ? last_ : Error::unavailable("the server is stopping");
}

// Holds the lock on entry and on return, not while it writes.
Result<void> RelaxedQueue::write_all(std::unique_lock<std::mutex>& lock) {
  std::vector<RelaxedBatch> batches;
  batches.swap(waiting_);
  const uint64_t upto = added_;
  size_t points = 0;
  for (const RelaxedBatch& batch : batches) points += batch.points.points.size();
  lock.unlock();
  auto done = write_(batches);
  lock.lock();
  if (!done.ok() && done.error().code == Code::unavailable && running_) {
    waiting_.insert(waiting_.begin(), std::make_move_iterator(batches.begin()),
                    std::make_move_iterator(batches.end()));
    return done;
  }
  if (!done.ok()) lost_(done.error());
  points_ -= points;
  done_ = upto;
  last_ = done;
  written_.notify_all();
  return done;
}

void RelaxedQueue::run() {
  std::unique_lock lock(mutex_);
  while (running_ || !waiting_.empty()) {
    wake_.wait(lock, [&] { return !running_ || !waiting_.empty() || now_; });
    if (running_ && !now_)
      wake_.wait_for(lock, window_.chrono(), [&] { return !running_ || now_; });
    now_ = false;
    const auto done = write_all(lock);
    if (!done.ok() && !waiting_.empty()) wake_.wait_for(lock, kRetry, [&] { return !running_; });
  }
  written_.notify_all();
}

}  // namespace hearth::control
