#include "sched/predict.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/format.h"
#include "sched/state.h"

namespace hearth::sched {
namespace {

// "fashion-7" and "fashion-8" are runs of the same thing.
std::string_view stem(std::string_view name) {
  while (!name.empty() && (name.back() == '-' || (name.back() >= '0' && name.back() <= '9')))
    name.remove_suffix(1);
  return name;
}

std::array<std::string, 3> kinds_of(const QueuedJob& job) {
  const std::string shape = shape_of(job);
  return {format("{}\n{}\n{}", job.owner, stem(job.name), shape),
          format("{}\n\n{}", job.owner, shape), format("\n\n{}", shape)};
}

}  // namespace

void Predictor::learn(const QueuedJob& job, Duration ran) {
  for (const std::string& kind : kinds_of(job)) {
    if (kinds_.size() >= kMostKinds && !kinds_.contains(kind)) continue;
    auto& runs = kinds_[kind];
    runs.push_back(ran.micros);
    if (runs.size() > kRemembers) runs.pop_front();
  }
}

std::optional<Duration> Predictor::predict(const QueuedJob& job, double quantile,
                                           Duration already) const {
  for (const std::string& kind : kinds_of(job)) {
    const auto at = kinds_.find(kind);
    if (at == kinds_.end()) continue;
    std::vector<int64_t> runs;
    for (const int64_t micros : at->second) {
      if (micros > already.micros) runs.push_back(micros);
    }
    if (runs.size() < kFewest) continue;
    const auto index =
        std::min(runs.size() - 1, static_cast<size_t>(quantile * static_cast<double>(runs.size())));
    std::nth_element(runs.begin(), runs.begin() + static_cast<ptrdiff_t>(index), runs.end());
    return Duration{runs[index]};
  }
  return std::nullopt;
}

}  // namespace hearth::sched
