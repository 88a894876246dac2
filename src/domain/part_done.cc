#include "domain/part_done.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

namespace hearth {
namespace {

std::optional<double> positive(const Run& run, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = run.params.find(name);
    if (found == run.params.end()) continue;
    double value = 0;
    const char* end = found->second.data() + found->second.size();
    const auto [read, error] = std::from_chars(found->second.data(), end, value);
    if (error == std::errc() && read == end && std::isfinite(value) && value > 0) return value;
  }
  return std::nullopt;
}

std::optional<PartDone> part_of(double done, double all, Time at) {
  if (!std::isfinite(done)) return std::nullopt;
  return PartDone{std::clamp(done / all, 0.0, 1.0), at};
}

}  // namespace

std::optional<double> epochs_wanted(const Run& run) {
  return positive(run, {"epochs", "num_epochs", "max_epochs", "num_train_epochs"});
}

std::optional<PartDone> part_done(const Run& run) {
  if (const auto told = run.metrics.find("progress"); told != run.metrics.end())
    return part_of(told->second.value, 1, told->second.time);
  const LatestMetric* last = nullptr;
  for (const auto& [key, metric] : run.metrics)
    if (!key.starts_with("system/") && (last == nullptr || metric.step > last->step))
      last = &metric;
  const auto of_steps = [&](std::optional<double> all) -> std::optional<PartDone> {
    if (!all || last == nullptr) return std::nullopt;
    return part_of(static_cast<double>(last->step), *all, last->time);
  };
  // Where it is set, trainers end by it whatever their epochs say.
  if (const auto bounded = of_steps(positive(run, {"max_steps"}))) return bounded;
  const auto epochs = epochs_wanted(run);
  if (const auto epoch = run.metrics.find("epoch"); epochs && epoch != run.metrics.end())
    return part_of(epoch->second.value, *epochs, epoch->second.time);
  return of_steps(positive(run, {"total_steps", "num_steps"}));
}

}  // namespace hearth
