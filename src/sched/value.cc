#include "sched/value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/clock.h"

namespace hearth::sched {
namespace {

constexpr uint64_t kSeed = 0x48656172;
constexpr int64_t kMaxCpus = std::numeric_limits<int32_t>::max();
static_assert(Value::kDraws == 32, "one bit of a uint32_t each");
static_assert(Typical::kMaxTypical <= 256, "one byte in a sequence");

// A quarter of the median CPU request, weighted by arrivals.
int64_t quarter_of_median(std::vector<TypicalTask> tasks) {
  std::sort(tasks.begin(), tasks.end(), [](const TypicalTask& a, const TypicalTask& b) {
    return std::pair(a.shape.milli_cpus, a.weight) < std::pair(b.shape.milli_cpus, b.weight);
  });
  double below = 0;
  for (const TypicalTask& task : tasks) {
    below += task.weight;
    if (below >= 0.5) return std::max<int64_t>(task.shape.milli_cpus / 4, 1);
  }
  return 1;
}

// For each amount free on a GPU the largest sum of typical shares that it holds.
std::array<int16_t, kWholeGpu + 1> sums_of_shares(const std::vector<TypicalTask>& tasks) {
  std::array<int16_t, kWholeGpu + 1> sums{};
  for (int16_t free = 1; free <= kWholeGpu; ++free) {
    int16_t most = sums[static_cast<size_t>(free - 1)];
    for (const auto& [shape, weight] : tasks) {
      if (shape.gpus == 0 || shape.milli_per_gpu > free) continue;
      const int rest = sums[static_cast<size_t>(free - shape.milli_per_gpu)];
      most = std::max(most, static_cast<int16_t>(rest + shape.milli_per_gpu));
    }
    sums[static_cast<size_t>(free)] = most;
  }
  return sums;
}

}  // namespace

struct Value::Room {
  int32_t cpus = 0;
  int whole = 0, parts = 0;
  int16_t part[kMaxGpusPerNode] = {};  // free on GPUs partly in use, least first
  int16_t least = 0;                   // what is smaller is of no use to anybody

  // Takes the tightest GPUs; false, and nothing changed, if they do not suffice.
  bool take(int gpus, int16_t milli) {
    if (milli == kWholeGpu) {
      if (whole < gpus) return false;
      whole -= gpus;
      return true;
    }
    int at = 0;
    while (at < parts && part[at] < milli) ++at;
    if (parts - at + whole < gpus) return false;
    for (int i = 0; i < gpus; ++i) {
      // What the one before left stands at its place or further down: the next is tried above.
      if (at + i < parts) {
        put(at + i, static_cast<int16_t>(part[at + i] - milli));
      } else {
        --whole;
        put(parts++, static_cast<int16_t>(kWholeGpu - milli));
      }
    }
    sweep();
    return true;
  }
  // Part `at` is `milli` from now on, which is less than it was.
  void put(int at, int16_t milli) {
    for (; at > 0 && part[at - 1] > milli; --at) part[at] = part[at - 1];
    part[at] = milli;
  }
  void sweep() {
    int gone = 0;
    while (gone < parts && part[gone] < least) ++gone;
    if (gone == 0) return;
    for (int i = gone; i < parts; ++i) part[i - gone] = part[i];
    parts -= gone;
  }
};

void Value::learn(const std::vector<TypicalTask>& tasks) {
  tasks_.clear();
  for (const auto& [shape, weight] : tasks) {
    tasks_.push_back({static_cast<int32_t>(std::min(shape.milli_cpus, kMaxCpus)), shape.gpus,
                      shape.milli_per_gpu, shape.models, weight});
  }
  cpu_step_ = quarter_of_median(tasks);
  usable_ = sums_of_shares(tasks);
  forget();
  if (weights_.fill != 0) draw();
}

void Value::forget() {
  rounded_.clear();
  fills_.clear();
}

void Value::draw() {
  sequences_.assign(kSequences, {});
  offered_.assign(tasks_.size(), {});
  if (tasks_.empty()) return;
  SeededRandom random(kSeed);
  std::array<size_t, kSequences> stratum;
  for (size_t i = 0; i < kDraws; ++i) {
    std::iota(stratum.begin(), stratum.end(), size_t{0});
    for (size_t s = kSequences - 1; s > 0; --s) std::swap(stratum[s], stratum[random.below(s + 1)]);
    for (size_t s = 0; s < kSequences; ++s) {
      double at = (static_cast<double>(stratum[s]) + 0.5) / kSequences;
      size_t t = 0;
      while (t + 1 < tasks_.size() && at >= tasks_[t].weight) at -= tasks_[t++].weight;
      sequences_[s][i] = static_cast<uint8_t>(t);
      offered_[t][s] |= uint32_t{1} << i;
    }
  }
}

double Value::fragmentation(const NodeShape& node) const {
  const int64_t free = node.free_gpu_milli();
  if (free == 0) return 0;
  double sum = 0;
  for (const Task& task : tasks_) {
    int64_t unusable = free;
    const bool open =
        task.gpus > 0 && task.milli_cpus <= node.milli_cpus && (task.models >> node.model & 1) != 0;
    if (open) {
      int enough = 0;
      int64_t usable = 0;
      for (; enough < node.gpu_count; ++enough) {
        const int16_t milli = node.free_milli[static_cast<size_t>(enough)];
        if (milli < task.milli) break;
        usable += milli;
      }
      if (enough >= task.gpus) unusable = free - usable;
    }
    sum += task.weight * static_cast<double>(unusable);
  }
  return sum / kWholeGpu;
}

double Value::fill(const NodeShape& node) {
  NodeShape rounded;  // memory and totals do not matter here
  rounded.milli_cpus = std::clamp<int64_t>(node.milli_cpus, 0, kMaxCpus) / cpu_step_ * cpu_step_;
  rounded.model = node.model;
  rounded.gpu_count = node.gpu_count;
  int64_t lost = 0;
  for (int i = 0; i < node.gpu_count; ++i) {
    const int16_t free = node.free_milli[static_cast<size_t>(i)];
    const int16_t usable = free == kWholeGpu ? free : usable_[static_cast<size_t>(free)];
    rounded.free_milli[static_cast<size_t>(i)] = usable;
    lost += free - usable;
  }
  if (rounded_.size() >= kMaxFills) forget();
  const uint32_t number = rounded_.number(rounded);
  if (number == fills_.size()) fills_.push_back(fill_of(rounded));
  const int64_t left = fills_[number];
  return static_cast<double>(left + lost * int64_t{kSequences}) / (kSequences * kWholeGpu);
}

int64_t Value::fill_of(const NodeShape& node) const {
  const int64_t free = node.free_gpu_milli();
  const auto cpus = static_cast<int32_t>(node.milli_cpus);
  std::array<uint32_t, kSequences> visit{};
  int32_t least_cpus = std::numeric_limits<int32_t>::max();
  int16_t least_milli = kWholeGpu;
  bool any = false;
  for (size_t t = 0; t < tasks_.size(); ++t) {
    const Task& task = tasks_[t];
    if (task.milli_cpus > cpus || (task.models >> node.model & 1) == 0) continue;
    if (task.gpus > node.gpu_count) continue;
    if (task.gpus > 0) {
      if (node.free_milli[static_cast<size_t>(task.gpus - 1)] < task.milli) continue;
      any = true;
      least_cpus = std::min(least_cpus, task.milli_cpus);
      least_milli = std::min(least_milli, task.milli);
    }
    for (size_t s = 0; s < kSequences; ++s) visit[s] |= offered_[t][s];
  }
  if (!any) return free * int64_t{kSequences};
  Room start;
  start.cpus = cpus;
  start.least = least_milli;
  start.whole = node.whole_gpus();
  for (int i = start.whole; i < node.gpu_count; ++i) {
    start.put(start.parts++, node.free_milli[static_cast<size_t>(i)]);
  }
  start.sweep();
  int64_t left = 0;
  for (size_t s = 0; s < kSequences; ++s) {
    Room room = start;
    left += free;
    for (uint32_t bits = visit[s]; bits != 0; bits &= bits - 1) {
      const Task& task = tasks_[sequences_[s][static_cast<size_t>(std::countr_zero(bits))]];
      if (task.milli_cpus > room.cpus) continue;
      if (task.gpus > 0) {
        if (!room.take(task.gpus, task.milli)) continue;
        left -= task.gpus * task.milli;
        if (room.whole + room.parts == 0) break;
      }
      room.cpus -= task.milli_cpus;
      if (room.cpus < least_cpus) break;
    }
  }
  return left;
}

double Value::loss(const NodeShape& node) {
  double sum = 0;
  if (weights_.fragmentation != 0) sum += weights_.fragmentation * fragmentation(node);
  if (weights_.fill != 0) sum += weights_.fill * fill(node);
  return sum;
}

double Value::gain(double loss_before, double loss_after, const NodeShape& after) const {
  double sum = loss_before - loss_after;
  if (weights_.grain > 0) sum = std::floor(sum / weights_.grain) * weights_.grain;
  if (weights_.fit == 0) return sum;
  double used = 0;
  if (after.total_milli_cpus > 0) {
    used += 1 - static_cast<double>(after.milli_cpus) / static_cast<double>(after.total_milli_cpus);
  }
  if (after.gpu_count > 0) {
    used += 1 - static_cast<double>(after.free_gpu_milli()) / (after.gpu_count * kWholeGpu);
  }
  return sum + weights_.fit * used / 2;
}

}  // namespace hearth::sched
