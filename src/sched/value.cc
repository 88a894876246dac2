#include "sched/value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

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
    return true;
  }
  // Part `at` is `milli` from now on, which is less than it was.
  void put(int at, int16_t milli) {
    for (; at > 0 && part[at - 1] > milli; --at) part[at] = part[at - 1];
    part[at] = milli;
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
  if (!tasks_.empty()) {
    SeededRandom random(kSeed);
    std::array<size_t, kSequences> stratum;
    for (size_t i = 0; i < kDraws; ++i) {
      std::iota(stratum.begin(), stratum.end(), size_t{0});
      for (size_t s = kSequences - 1; s > 0; --s)
        std::swap(stratum[s], stratum[random.below(s + 1)]);
      for (size_t s = 0; s < kSequences; ++s) {
        double at = (static_cast<double>(stratum[s]) + 0.5) / kSequences;
        size_t t = 0;
        while (t + 1 < tasks_.size() && at >= tasks_[t].weight) at -= tasks_[t++].weight;
        sequences_[s].task[i] = static_cast<uint8_t>(t);
      }
    }
  }
  find_steps();
  for (Sequence& sequence : sequences_) sort_out(sequence);
}

void Value::find_steps() {
  std::set<int32_t> cpus;
  std::set<int16_t> shares;
  for (const Task& task : tasks_) {
    cpus.insert(task.milli_cpus);
    if (task.gpus > 0 && task.milli < kWholeGpu) shares.insert(task.milli);
  }
  cpu_steps_.assign(cpus.begin(), cpus.end());
  shares_ = shares.size();
  for (int16_t free = 0; free <= kWholeGpu; ++free) {
    shares_within_[static_cast<size_t>(free)] =
        static_cast<uint8_t>(std::distance(shares.begin(), shares.upper_bound(free)));
  }
}

void Value::sort_out(Sequence& sequence) const {
  sequence.within_cpus.assign(cpu_steps_.size() + 1, 0);
  sequence.within_gpus.assign(shares_ + kMaxGpusPerNode + 1, 0);
  for (size_t i = 0; i < kDraws && !tasks_.empty(); ++i) {
    const Task& task = tasks_[sequence.task[i]];
    const Draws draw = Draws{1} << i;
    if (task.gpus > 0) sequence.asks_gpu |= draw;
    for (size_t model = 0; model < kMaxModels; ++model) {
      if ((task.models >> model & 1) != 0) sequence.may_use[model] |= draw;
    }
    for (size_t step = 0; step < cpu_steps_.size(); ++step) {
      if (task.milli_cpus <= cpu_steps_[step]) sequence.within_cpus[step + 1] |= draw;
    }
    size_t least = 0;
    if (task.gpus > 0) {
      least = task.milli < kWholeGpu ? shares_within_[static_cast<size_t>(task.milli)]
                                     : shares_ + static_cast<size_t>(task.gpus);
    }
    for (size_t step = least; step < sequence.within_gpus.size(); ++step)
      sequence.within_gpus[step] |= draw;
  }
}

size_t Value::gpu_step(const Room& room) const {
  if (room.whole > 0) return shares_ + static_cast<size_t>(room.whole);
  return room.parts == 0 ? 0 : shares_within_[static_cast<size_t>(room.part[room.parts - 1])];
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
  Room start;
  start.cpus = static_cast<int32_t>(node.milli_cpus);
  start.whole = node.whole_gpus();
  for (int i = start.whole; i < node.gpu_count; ++i)
    start.put(start.parts++, node.free_milli[static_cast<size_t>(i)]);
  const size_t gpus = gpu_step(start);
  const auto cpus = static_cast<size_t>(
      std::upper_bound(cpu_steps_.begin(), cpu_steps_.end(), start.cpus) - cpu_steps_.begin());
  int64_t left = node.free_gpu_milli() * int64_t{kSequences};
  for (const Sequence& sequence : sequences_) {
    Room room = start;
    size_t cpu_step = cpus;
    // Those that may still find room: of the others nothing has to be known.
    Draws next = sequence.may_use[static_cast<size_t>(node.model)] & sequence.within_cpus[cpus] &
                 sequence.within_gpus[gpus];
    while ((next & sequence.asks_gpu) != 0) {
      const Task& task = tasks_[sequence.task[static_cast<size_t>(std::countr_zero(next))]];
      next &= next - 1;
      if (task.gpus > 0) {
        if (!room.take(task.gpus, task.milli)) continue;
        left -= task.gpus * task.milli;
        next &= sequence.within_gpus[gpu_step(room)];
      }
      room.cpus -= task.milli_cpus;
      while (cpu_step > 0 && cpu_steps_[cpu_step - 1] > room.cpus) --cpu_step;
      next &= sequence.within_cpus[cpu_step];
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
