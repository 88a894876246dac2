#include "sched/fit.h"

#include <algorithm>

namespace hearth::sched {
namespace {

GpuMask lowest(GpuMask mask, int64_t count) {
  GpuMask taken = 0;
  for (; count > 0; --count) {
    taken |= mask & -mask;
    mask &= mask - 1;
  }
  return taken;
}

// Of a share of this GPU: as much as is asked of it or of its memory, whichever is more.
int64_t milli_on(const Node& node, size_t gpu, const Need& need) {
  if (!need.shared() || need.gpu_memory == 0) return need.milli;
  const int64_t memory = std::max<int64_t>(1, node.info.gpus[gpu].memory_bytes);
  return std::max(need.milli, (need.gpu_memory * kWholeGpu + memory - 1) / memory);
}

// The cell that holds `count` of the free GPUs and is best left least; 0: none does.
GpuMask best_cell(const Node& node, const std::vector<GpuMask>& cells, GpuMask free,
                  int64_t count) {
  GpuMask best = 0;
  std::pair<bool, int64_t> least;
  for (const GpuMask cell : cells) {
    const int64_t here = count_bits(cell & free);
    if (here < count) continue;
    const bool clean = (node.whole & cell) == (node.healthy & cell);
    const std::pair<bool, int64_t> cost{clean && here > count, here};
    if (best == 0 || cost < least) {
      best = cell;
      least = cost;
    }
  }
  return best;
}

// Across cells: the fullest first, so that few are touched; the last from the smallest that does.
GpuMask across(const Node& node, GpuMask free, int64_t count) {
  GpuMask taken = 0;
  while (count > 0) {
    if (const GpuMask last = best_cell(node, node.links, free, count); last != 0) {
      return taken | lowest(last & free, count);
    }
    GpuMask most = 0;
    for (const GpuMask cell : node.links) {
      if (count_bits(cell & free) > count_bits(most & free)) most = cell;
    }
    taken |= most & free;
    count -= count_bits(most & free);
    free &= ~most;
  }
  return taken;
}

bool breaks_clean(const Node& node, GpuMask taken) {
  if (!node.has_cells) return false;
  return std::any_of(node.links.begin(), node.links.end(), [&](GpuMask cell) {
    const GpuMask all = cell & node.healthy;
    return (taken & cell) != 0 && (node.whole & all) == all && (taken & all) != all;
  });
}

// A cell with few left serves few others: it is used up first, wherever it lies.
uint8_t left_in_cells(const Node& node, GpuMask taken) {
  if (node.links.size() < 2) return 0;
  int64_t left = 0;
  for (const GpuMask cell : node.links) {
    if ((cell & taken) != 0) left += count_bits(cell & node.whole & ~taken);
  }
  return static_cast<uint8_t>(left);
}

std::optional<Fit> fit_whole(const Node& node, const Need& need, GpuMask free) {
  Fit found;
  if (const GpuMask cell = best_cell(node, node.links, free, need.gpus); cell != 0) {
    found.gpus = lowest(cell & free, need.gpus);
  } else if (need.inside == Inside::link) {
    return std::nullopt;
  } else if (const GpuMask numa = best_cell(node, node.numas, free, need.gpus); numa != 0) {
    found.gpus = across(node, free & numa, need.gpus);
    found.span = 1;
  } else if (need.inside == Inside::numa) {
    return std::nullopt;
  } else {
    found.gpus = across(node, free, need.gpus);
    found.span = 2;
  }
  found.breaks = breaks_clean(node, found.gpus);
  found.left = left_in_cells(node, found.gpus);
  return found;
}

std::optional<Fit> fit_share(const Node& node, const Need& need, GpuMask free) {
  std::vector<std::pair<int64_t, size_t>> order;  // what is free, which
  for (const size_t gpu : bits(free)) order.emplace_back(node.free_milli[gpu], gpu);
  std::sort(order.begin(), order.end());
  Fit found{.milli = need.milli};
  int64_t left = need.gpus;
  for (const auto& [milli, gpu] : order) {
    if (left == 0) break;
    if (milli == kWholeGpu) break;
    found.gpus |= GpuMask{1} << gpu;
    found.milli = std::max(found.milli, milli_on(node, gpu, need));
    --left;
  }
  if (left > 0) {
    Need whole = need;
    whole.gpus = left;
    const GpuMask rest = free & node.whole;
    if (count_bits(rest) < left) return std::nullopt;
    const auto more = fit_whole(node, whole, rest);
    if (!more) return std::nullopt;
    found.gpus |= more->gpus;
    found.breaks = more->breaks;
    found.span = more->span;
    for (const size_t gpu : bits(more->gpus))
      found.milli = std::max(found.milli, milli_on(node, gpu, need));
  }
  for (const size_t gpu : bits(found.gpus)) {
    if (node.free_milli[gpu] < found.milli) return std::nullopt;
  }
  return found;
}

}  // namespace

Need need_of(const TaskNeed& task, const std::vector<std::string>& models) {
  Need need{.cpus = task.milli_cpus,
            .memory = task.memory_bytes,
            .milli = std::clamp<int64_t>(task.gpu_share_milli, 1, kWholeGpu),
            .gpu_memory = task.gpu_memory_bytes,
            .inside = task.inside};
  need.gpus = (task.milli_gpus + need.milli - 1) / need.milli;
  if (need.gpus == 0) {
    need.milli = kWholeGpu;
    need.gpu_memory = 0;
    need.inside = Inside::any;
    return need;
  }
  if (task.gpu_model.empty()) return need;
  need.models = 0;
  for (size_t i = 0; i < models.size(); ++i) {
    const bool named =
        std::any_of(task.gpu_model.begin(), task.gpu_model.end(),
                    [&](const auto& wanted) { return names_model(wanted, models[i]); });
    if (named) need.models |= ModelMask{1} << i;
  }
  return need;
}

GpuMask candidates(const Node& node, const Need& need, ModelMask models) {
  GpuMask found = 0;
  for (const auto& [model, mask] : node.models) {
    if ((models & need.models & (ModelMask{1} << model)) != 0) found |= mask;
  }
  found &= need.shared() ? node.healthy : node.whole;
  if (!need.shared() && need.gpu_memory == 0) return found;
  for (const size_t gpu : bits(found)) {
    const bool fits = need.shared() ? node.free_milli[gpu] >= milli_on(node, gpu, need) &&
                                          milli_on(node, gpu, need) <= kWholeGpu
                                    : node.info.gpus[gpu].memory_bytes >= need.gpu_memory;
    if (!fits) found &= ~(GpuMask{1} << gpu);
  }
  return found;
}

std::optional<Fit> fit(const Node& node, const Need& need, ModelMask models) {
  if (!node.open || node.free_cpus < need.cpus || node.free_memory < need.memory) return {};
  if (need.gpus == 0) return Fit{};
  std::optional<Fit> best;
  for (const auto& [model, mask] : node.models) {
    const ModelMask one = ModelMask{1} << model;
    if ((one & models) == 0) continue;
    const GpuMask free = candidates(node, need, one);
    if (count_bits(free) < need.gpus) continue;
    const auto here = need.shared() ? fit_share(node, need, free) : fit_whole(node, need, free);
    const auto cost = [](const Fit& f) { return std::pair(f.span, f.breaks); };
    if (here && (!best || cost(*here) < cost(*best))) best = here;
  }
  return best;
}

int64_t capacity(const Node& node, const Need& need, ModelMask models) {
  if (!node.open) return 0;
  constexpr int64_t kMany = int64_t{1} << 40;
  int64_t most = times(node.free_cpus, need.cpus, kMany);
  most = times(node.free_memory, need.memory, most);
  if (need.gpus == 0 || most == 0) return most;
  const GpuMask free = candidates(node, need, models);
  int64_t tasks = 0;
  if (need.shared()) {
    for (const size_t gpu : bits(free)) tasks += node.free_milli[gpu] / milli_on(node, gpu, need);
    tasks /= need.gpus;
  } else if (need.inside == Inside::any) {
    tasks = count_bits(free) / need.gpus;
  } else {
    for (const GpuMask cell : need.inside == Inside::link ? node.links : node.numas)
      tasks += count_bits(free & cell) / need.gpus;
  }
  return std::min(most, tasks);
}

Leftover leftover(const Node& node) {
  Leftover left{.cpus = node.free_cpus};
  for (const size_t gpu : bits(node.healthy)) left.milli_gpus += node.free_milli[gpu];
  return left;
}

}  // namespace hearth::sched
