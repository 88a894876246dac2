#include "sched/link_use.h"

#include <algorithm>

#include "sched/fit.h"

namespace hearth::sched {
namespace {

bool is_clean(const Node& node, GpuMask cell) {
  return (node.whole & cell) == (node.healthy & cell);
}

// Whether a cell that `wanted` takes has room for the whole task.
template <typename F>
bool any_holds(const Cells& cells, const Need& need, F wanted) {
  return std::any_of(cells.nodes().begin(), cells.nodes().end(), [&](const Node& node) {
    if (!node.has_cells || !fit(node, need, need.models)) return false;
    const GpuMask free = candidates(node, need, need.models);
    return std::any_of(node.links.begin(), node.links.end(), [&](GpuMask cell) {
      return count_bits(cell & free) >= need.gpus && wanted(node, cell);
    });
  });
}

}  // namespace

void LinkUse::add(const Cells& cells, const QueuedJob& job, const Start& start) {
  if (start.places.size() != 1) return;
  const Need need = need_of(job.tasks.front(), cells.models());
  if (need.gpus == 0 || need.shared()) return;
  const int32_t index = cells.find({start.pool, start.places.front().node});
  if (index < 0 || !cells.node(index).has_cells) return;
  const Node& node = cells.node(index);
  const GpuMask taken = cells.mask_of(index, start.places.front().gpus);
  const auto largest = [](const Node& one) {
    int64_t most = 0;
    for (const GpuMask cell : one.links) most = std::max(most, count_bits(cell));
    return most;
  };
  const bool breaks = std::any_of(node.links.begin(), node.links.end(), [&](GpuMask cell) {
    return (taken & cell) != 0 && (cell & node.healthy & ~taken) != 0 && is_clean(node, cell);
  });
  broke_clean += breaks && any_holds(cells, need, [](const Node& other, GpuMask cell) {
                   return !is_clean(other, cell);
                 });
  const bool fits_a_cell =
      std::any_of(cells.nodes().begin(), cells.nodes().end(),
                  [&](const Node& other) { return largest(other) >= need.gpus; });
  if (need.gpus < 2 || !fits_a_cell) return;
  ++jobs;
  const bool in_one = std::any_of(node.links.begin(), node.links.end(),
                                  [&](GpuMask cell) { return (taken & ~cell) == 0; });
  inside += in_one;
  missed += !in_one && any_holds(cells, need, [](const Node&, GpuMask) { return true; });
}

}  // namespace hearth::sched
