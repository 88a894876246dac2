#include "sched/typical.h"

#include <algorithm>

namespace hearth::sched {

void Typical::arrived(const TaskShape& task) {
  if (!seen_.contains(task)) {
    while (seen_.size() >= kMaxSeen) fade(false);
  }
  ++seen_[task];
  ++total_;
  gpu_milli_ += task.gpu_milli();
  if (total_ < next_) return;
  learn();
  if (total_ >= kWindow) fade(true);
  next_ = std::min(2 * total_, kWindow);
}

void Typical::learn() {
  std::map<TaskShape, int64_t> counts;  // without memory
  for (const auto& [seen, count] : seen_) {
    TaskShape shape = seen;
    shape.memory_bytes = 0;
    counts[shape] += count;
  }
  std::vector<std::pair<TaskShape, int64_t>> order(counts.begin(), counts.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  tasks_.clear();
  double covered = 0;
  for (const auto& [shape, count] : order) {
    tasks_.push_back({shape, static_cast<double>(count)});
    covered += static_cast<double>(count);
    if (covered >= kCover * static_cast<double>(total_) || tasks_.size() == kMaxTypical) break;
  }
  for (TypicalTask& task : tasks_) task.weight /= covered;
  ++version_;
}

void Typical::fade(bool keep_single) {
  total_ = 0;
  gpu_milli_ = 0;
  for (auto at = seen_.begin(); at != seen_.end();) {
    at->second = (at->second + (keep_single ? 1 : 0)) / 2;
    if (at->second == 0) {
      at = seen_.erase(at);
      continue;
    }
    total_ += at->second;
    gpu_milli_ += at->second * at->first.gpu_milli();
    ++at;
  }
}

}  // namespace hearth::sched
