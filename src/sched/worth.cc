#include "sched/worth.h"

#include <algorithm>

namespace hearth::sched {
namespace {

constexpr size_t kMostBefore = 1024;  // tasks remembered for pools that come later

TaskShape shape_of(const Need& need) {
  return {.milli_cpus = need.cpus,
          .memory_bytes = need.memory,
          .models = need.models,
          .gpus = static_cast<int16_t>(std::min<int64_t>(need.gpus, INT16_MAX)),
          .milli_per_gpu = static_cast<int16_t>(need.milli)};
}

NodeShape shape_of(const Node& node) {
  NodeShape shape{.milli_cpus = node.free_cpus,
                  .memory_bytes = node.free_memory,
                  .total_milli_cpus = node.total_cpus,
                  .total_memory_bytes = node.total_memory,
                  .gpu_count = static_cast<int16_t>(node.gpus)};
  if (!node.models.empty()) shape.model = static_cast<int16_t>(node.models.front().first);
  for (size_t gpu = 0; gpu < node.gpus; ++gpu) {
    const bool well = (node.healthy & (GpuMask{1} << gpu)) != 0;
    shape.free_milli[gpu] =
        well ? static_cast<int16_t>(std::clamp<int64_t>(node.free_milli[gpu], 0, kWholeGpu)) : 0;
  }
  std::sort(shape.free_milli.begin(), shape.free_milli.begin() + node.gpus, std::greater<>());
  return shape;
}

// A shape is of few GPUs, of one model (not so where some are cut into MIG instances).
bool has_shape(const Node& node) {
  return node.gpus <= kMaxGpusPerNode && node.models.size() <= 1;
}

// What was free on the one GPU that a share is taken of, by what is left after it.
int64_t free_before(const NodeShape& before, const NodeShape& after) {
  for (size_t i = 0; i < before.free_milli.size(); ++i) {
    if (before.free_milli[i] != after.free_milli[i]) return before.free_milli[i];
  }
  return 0;
}

}  // namespace

Worth::Pool& Worth::of(const std::string& name) {
  auto& pool = pools_[name];
  if (pool == nullptr) {
    pool = std::make_unique<Pool>(weights_);
    for (const TaskShape& task : before_any_pool_) pool->groups.arrived(task);
  }
  return *pool;
}

void Worth::reweigh(const Weights& weights) {
  weights_ = weights;
  for (auto& [name, pool] : pools_) pool->groups.reweigh(weights);
}

void Worth::arrived(const std::string& pool, const Need& need) {
  const TaskShape shape = shape_of(need);
  if (pools_.empty() && before_any_pool_.size() < kMostBefore) before_any_pool_.push_back(shape);
  for (auto& [name, known] : pools_) {
    if (pool.empty() || pool == name) known->groups.arrived(shape);
  }
}

void Worth::follow(Cells& cells) {
  for (const int32_t index : cells.take_touched()) {
    const Node& node = cells.node(index);
    Pool& pool = of(node.key.first);
    const auto number = static_cast<uint32_t>(index);
    if (!node.open || node.free_cpus < 0 || node.free_memory < 0 || !has_shape(node)) {
      pool.groups.remove(number);
      pool.not_shaped += node.open && !has_shape(node);
    } else {
      pool.groups.set(number, shape_of(node));
    }
  }
}

double Worth::fragmented(const Cells& cells, const std::string& pool) {
  Value value(Weights::fragmentation_only());
  value.learn(of(pool).groups.typical().tasks());
  double lost = 0, free = 0;
  for (const Node& node : cells.nodes()) {
    if (!node.open || node.key.first != pool || !has_shape(node)) continue;
    const NodeShape shape = shape_of(node);
    lost += value.fragmentation(shape);
    free += static_cast<double>(shape.free_gpu_milli()) / kWholeGpu;
  }
  return free == 0 ? 0 : lost / free;
}

bool Worth::knows(Cells& cells, int32_t pool) {
  follow(cells);
  return of(cells.domains(Tier::pool)[static_cast<size_t>(pool)].name).not_shaped == 0;
}

std::optional<Worth::Best> Worth::pick(Cells& cells, int32_t pool, const Need& need,
                                       const std::function<bool(uint32_t)>* allowed) {
  follow(cells);
  Groups& groups = of(cells.domains(Tier::pool)[static_cast<size_t>(pool)].name).groups;
  const auto found =
      allowed == nullptr ? groups.pick(shape_of(need)) : groups.pick(shape_of(need), *allowed);
  if (!found) return std::nullopt;
  Best best{.node = static_cast<int32_t>(found->node), .score = found->score};
  const Node& node = cells.node(best.node);
  auto placed = fit(node, need, need.models);
  if (!placed) return std::nullopt;
  best.fit = *placed;
  if (need.shared() && need.gpus == 1 && !node.has_cells && need.gpu_memory == 0) {
    const int64_t free = free_before(shape_of(node), found->after);
    for (const size_t gpu : bits(candidates(node, need, need.models))) {
      if (node.free_milli[gpu] == free) {
        best.fit.gpus = GpuMask{1} << gpu;
        break;
      }
    }
  }
  return best;
}

}  // namespace hearth::sched
