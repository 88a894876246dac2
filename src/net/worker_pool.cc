#include "net/worker_pool.h"

#include <utility>

#include "net/byte_stream.h"

namespace hearth::net {

WorkerPool::WorkerPool(int workers, size_t most_queued) : most_queued_(most_queued) {
  threads_.reserve(static_cast<size_t>(workers));
  for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
  close();
}

bool WorkerPool::try_post(std::function<void()> job) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || requests_ >= most_queued_) return false;
    ++requests_;
    jobs_.push_back({Kind::request, std::move(job)});
    wake = idle_ > 0;
  }
  if (wake) filled_.notify_one();
  return true;
}

void WorkerPool::post(std::function<void()> job) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    jobs_.push_back({Kind::step, std::move(job)});
    wake = idle_ > 0;
  }
  if (wake) filled_.notify_one();
}

void WorkerPool::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  filled_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

size_t WorkerPool::queued() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void WorkerPool::work() {
  block_sigpipe();
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    filled_.wait(lock, [&] { return closed_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (job.kind == Kind::request) --requests_;
    lock.unlock();
    job.run();
    job.run = nullptr;  // what it holds is let go outside the lock
    lock.lock();
  }
}

}  // namespace hearth::net
