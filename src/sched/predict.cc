#include "sched/predict.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/format.h"
#include "sched/state.h"

namespace hearth::sched {
std::string_view stem(std::string_view name) {
  while (!name.empty() && (name.back() == '-' || (name.back() >= '0' && name.back() <= '9')))
    name.remove_suffix(1);
  return name;
}

namespace {

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

std::shared_ptr<const std::vector<Duration>> Predictor::like(const QueuedJob& job,
                                                             Duration already) const {
  for (const std::string& kind : kinds_of(job)) {
    const auto at = kinds_.find(kind);
    if (at == kinds_.end()) continue;
    std::vector<Duration> runs;
    for (const int64_t micros : at->second) {
      if (micros > already.micros) runs.push_back({micros - already.micros});
    }
    if (runs.size() < kFewest) continue;
    std::sort(runs.begin(), runs.end());
    return std::make_shared<const std::vector<Duration>>(std::move(runs));
  }
  return nullptr;
}

std::optional<Duration> Predictor::predict(const QueuedJob& job, double quantile,
                                           Duration already) const {
  const auto runs = like(job, already);
  if (!runs) return std::nullopt;
  const auto index =
      std::min(runs->size() - 1, static_cast<size_t>(quantile * static_cast<double>(runs->size())));
  return Duration{(*runs)[index].micros + already.micros};
}

}  // namespace hearth::sched
