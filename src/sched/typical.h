// What usually arrives, learnt from the tasks that have arrived and from nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sched/shape.h"

namespace hearth::sched {

struct TypicalTask {
  TaskShape shape;    // memory is left out
  double weight = 0;  // share of the arrivals; all together 1
};

class Typical {
 public:
  // Tasks count until kWindow have arrived; then every count is halved, so what came longer ago
  // counts less. At most kMaxSeen shapes are kept, at most kMaxTypical are typical.
  static constexpr int64_t kFirst = 16, kWindow = 16384;
  static constexpr size_t kMaxSeen = 4096, kMaxTypical = 128;
  static constexpr double kCover = 0.95;

  void arrived(const TaskShape& task);

  // The most frequent shapes that cover kCover of the arrivals, as of the arrival that brought the
  // number of arrivals to kFirst, twice that and so on. Every such moment has its version.
  const std::vector<TypicalTask>& tasks() const { return tasks_; }
  uint64_t version() const { return version_; }

  // All shapes that count, with how often each came, up to this moment.
  const std::map<TaskShape, int64_t>& seen() const { return seen_; }
  int64_t gpu_milli_seen() const { return gpu_milli_; }

 private:
  void learn();
  // Halves the counts; what has come once is forgotten, or kept.
  void fade(bool keep_single);

  std::map<TaskShape, int64_t> seen_;
  std::vector<TypicalTask> tasks_;
  int64_t total_ = 0, gpu_milli_ = 0, next_ = kFirst;
  uint64_t version_ = 0;
};

}  // namespace hearth::sched
