// Shapes: what of a node is free and what a task asks, as far as the value of a place depends on
// it. No names: nodes in equal state are one shape, tasks that ask the same are one shape.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace hearth::sched {

inline constexpr int kMaxGpusPerNode = 16;
inline constexpr int kWholeGpu = 1000;  // milli-GPU
inline constexpr int kMaxModels = 64;
using Models = uint64_t;  // bit m: GPU model m, numbered by the caller
inline constexpr Models kAnyModel = ~Models{0};

struct TaskShape {
  int64_t milli_cpus = 0, memory_bytes = 0;
  Models models = kAnyModel;
  int16_t gpus = 0;                   // on how many GPUs
  int16_t milli_per_gpu = kWholeGpu;  // of each of them, 1..1000
  int64_t gpu_milli() const { return int64_t{gpus} * milli_per_gpu; }
  auto operator<=>(const TaskShape&) const = default;
};

// How many times `each` is in what is free, at most `most`.
inline int64_t times(int64_t free, int64_t each, int64_t most) {
  return each > 0 ? std::min(most, std::max<int64_t>(0, free) / each) : most;
}

struct NodeShape {
  int64_t milli_cpus = 0, memory_bytes = 0;  // free
  int64_t total_milli_cpus = 0, total_memory_bytes = 0;
  int16_t model = 0;  // 0..63
  int16_t gpu_count = 0;
  std::array<int16_t, kMaxGpusPerNode> free_milli{};  // most free first, 0 beyond gpu_count

  int64_t free_gpu_milli() const;
  int whole_gpus() const;  // that nobody uses
  // How many such tasks the node takes at once; one that asks several shares may count too well.
  int64_t slots(const TaskShape& task) const;
  auto operator<=>(const NodeShape&) const = default;
};

// A node of this kind with nothing on it.
NodeShape empty_of(const NodeShape& node);

// Does the task fit. One whose GPUs all have equally much free takes any of them.
bool fits(const NodeShape& node, const TaskShape& task);

// What is left when the task, which fits, takes the GPUs at [first, first + gpus) of free_milli.
NodeShape after(const NodeShape& node, const TaskShape& task, int first);

// The last place in free_milli from which `after` may be called: the tightest GPUs that hold it.
int tightest(const NodeShape& node, const TaskShape& task);

// Calls f(NodeShape left) for every choice of GPU that makes a difference: a task of one GPU has
// one per amount free, all others take the tightest that hold them. Nothing if it does not fit.
template <typename F>
void each_way(const NodeShape& node, const TaskShape& task, F f) {
  if (!fits(node, task)) return;
  const int last = tightest(node, task);
  int first = task.gpus == 1 ? 0 : last;
  while (true) {
    f(after(node, task, first));
    const int16_t tried = node.free_milli[static_cast<size_t>(first)];
    do ++first;
    while (first <= last && node.free_milli[static_cast<size_t>(first)] == tried);
    if (first > last) return;
  }
}

struct ShapeHash {
  size_t operator()(const NodeShape& shape) const;
  size_t operator()(const TaskShape& shape) const;
};

}  // namespace hearth::sched
