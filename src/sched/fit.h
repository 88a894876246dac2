// One task on one node: which of its GPUs it would get, and how good that is. Inside sched alone.
#pragma once

#include <compare>
#include <optional>

#include "sched/cells.h"
#include "sched/scheduler.h"

namespace hearth::sched {

// A TaskNeed against the models that are known.
struct Need {
  int64_t cpus = 0, memory = 0;
  int64_t gpus = 0;
  int64_t milli = kWholeGpu;  // of each GPU; a share when less than that
  int64_t gpu_memory = 0;     // each GPU has so much; of a share: its part of it is so much
  ModelMask models = ~ModelMask{0};
  Inside inside = Inside::any;
  auto operator<=>(const Need&) const = default;
  bool shared() const { return milli < kWholeGpu; }
};
Need need_of(const TaskNeed& task, const std::vector<std::string>& models);

struct Fit {
  GpuMask gpus = 0;
  int64_t milli = kWholeGpu;
  uint8_t span = 0;     // 0: within one link cell, 1: one NUMA node, 2: across
  bool breaks = false;  // takes a part of a clean link cell
  uint8_t left = 0;     // GPUs left whole in the link cells it touches, where there are several
};

// GPUs of the node that this task could use as they are now, each by itself.
GpuMask candidates(const Node& node, const Need& need, ModelMask models);
// Which GPUs: of one model; the fewest and tightest cells; a cell in use before a clean one; the
// cell with the least left. A share goes on a GPU in use before a whole one, the fullest first.
// Nothing when the node does not take it.
std::optional<Fit> fit(const Node& node, const Need& need, ModelMask models);
// How many such tasks the node takes, by counting (never too few, and exact but for cells).
int64_t capacity(const Node& node, const Need& need, ModelMask models);

// What is left after it, least first: GPUs (so that a task without one keeps off nodes that have
// some), then CPUs.
struct Leftover {
  int64_t milli_gpus = 0, cpus = 0;
  auto operator<=>(const Leftover&) const = default;
};
Leftover leftover(const Node& node);

}  // namespace hearth::sched
