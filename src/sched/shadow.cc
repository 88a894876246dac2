#include "sched/shadow.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "sched/groups.h"

namespace hearth::sched {

Shadow::Shadow(const std::vector<Alike>& nodes, const std::map<TaskShape, int64_t>& arrivals) {
  std::map<NodeShape, int64_t> kinds;
  int64_t all = 0;
  for (const auto& [shape, count] : nodes) {
    if (shape.gpu_count == 0) continue;
    kinds[empty_of(shape)] += count;
    all += count;
  }
  // What is rounded away in one kind is given to the next, so the sum is right.
  const int64_t wanted = std::min(all, kMaxNodes);
  int64_t before = 0;
  for (const auto& [shape, count] : kinds) {
    const int64_t from = before * wanted / all, to = (before + count) * wanted / all;
    for (int64_t i = from; i < to; ++i) {
      nodes_.push_back(shape);
      gpu_milli_ += shape.free_gpu_milli();
    }
    before += count;
  }
  int64_t sum = 0;
  for (const auto& [shape, count] : arrivals) {
    sum += count;
    arrivals_.emplace_back(shape, sum);
  }
}

std::vector<TaskShape> Shadow::draw(uint64_t seed) const {
  std::vector<TaskShape> stream;
  if (arrivals_.empty()) return stream;
  SeededRandom random(seed);
  double asked = 0;
  while (stream.size() < kMaxArrivals && asked < kLoad * static_cast<double>(gpu_milli_)) {
    const auto at =
        static_cast<int64_t>(random.below(static_cast<uint64_t>(arrivals_.back().second)));
    const auto task =
        std::upper_bound(arrivals_.begin(), arrivals_.end(), at,
                         [](int64_t drawn, const auto& arrival) { return drawn < arrival.second; });
    stream.push_back(task->first);
    asked += static_cast<double>(task->first.gpu_milli());
  }
  return stream;
}

double Shadow::run(const Weights& weights, const std::vector<TaskShape>& stream) const {
  Groups groups(weights);
  for (size_t i = 0; i < nodes_.size(); ++i) groups.set(static_cast<uint32_t>(i), nodes_[i]);
  int64_t allocated = 0;
  for (const TaskShape& task : stream) {
    groups.arrived(task);
    const auto pick = groups.pick(task);
    if (!pick) continue;
    groups.set(pick->node, pick->after);
    allocated += task.gpu_milli();
  }
  return gpu_milli_ == 0 ? 0 : static_cast<double>(allocated) / static_cast<double>(gpu_milli_);
}

std::vector<Trial> Shadow::replay(const std::vector<Weights>& candidates, uint64_t seed) const {
  std::vector<Trial> trials;
  for (const Weights& weights : candidates) trials.push_back({weights, 0});
  for (size_t i = 0; i < kStreams; ++i) {
    const std::vector<TaskShape> stream = draw(seed + i);
    for (Trial& trial : trials) trial.allocated += run(trial.weights, stream) / kStreams;
  }
  return trials;
}

Weights Shadow::best(const std::vector<Weights>& candidates, uint64_t seed) const {
  const std::vector<Trial> trials = replay(candidates, seed);
  const Trial* best = &trials.front();
  for (const Trial& trial : trials) {
    const double bar = best == &trials.front() ? best->allocated + kMargin : best->allocated;
    if (trial.allocated > bar) best = &trial;
  }
  return best->weights;
}

std::vector<Weights> Shadow::candidates() {
  return {{},
          {.fragmentation = 0.25, .fill = 0.75},
          {.reserve = 0.5},
          {.reserve = 2},
          {.fragmentation = 0.5, .fill = 0.5}};
}

}  // namespace hearth::sched
