// How long a job will run, from those that ran before. Pure.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sched/scheduler.h"

namespace hearth::sched {

// "fashion-7" and "fashion-8" are runs of the same thing.
std::string_view stem(std::string_view name);

// Of the last runs of the same user, name and shape; where there are too few, of the same user and
// shape, then of the same shape (after QSSF in Helios, SC'21).
class Predictor {
 public:
  static constexpr size_t kFewest = 3;      // runs that say something
  static constexpr size_t kRemembers = 64;  // of each kind
  static constexpr size_t kMostKinds = 50'000;
  void learn(const QueuedJob& job, Duration ran);
  // The run of which a part `quantile` (0..1) of those before were shorter; of those that ran
  // longer than `already`.
  std::optional<Duration> predict(const QueuedJob& job, double quantile = 0.5,
                                  Duration already = {}) const;

 private:
  // How long they ran, the shortest first; null when there are too few.
  std::shared_ptr<const std::vector<Duration>> like(const QueuedJob& job, Duration already) const;
  std::map<std::string, std::deque<int64_t>> kinds_;
};

}  // namespace hearth::sched
