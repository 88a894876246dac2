// Which weights suit a cluster: past arrivals are replayed in shadow, on a small cluster of the
// same make, under each of several weights.
//
// The shadow cluster has the kinds of nodes of the real one in their proportions, at most
// kMaxNodes, all empty. Arrivals are drawn from the past ones until the GPU asked for reaches kLoad
// of the shadow's or kMaxArrivals have come; nothing leaves, what fits nowhere is dropped. The
// score is the share of the GPU in use at the end, mean over kStreams streams, which are the same
// for all candidates. Deterministic by seed; the cost is at most candidates * kStreams *
// kMaxArrivals decisions, and none of it is on the way of a real one.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sched/scarcity.h"
#include "sched/shape.h"
#include "sched/value.h"

namespace hearth::sched {

struct Trial {
  Weights weights;
  double allocated = 0;  // 0..1
};

class Shadow {
 public:
  static constexpr int64_t kMaxNodes = 200;
  static constexpr size_t kMaxArrivals = 3000, kStreams = 2;
  static constexpr double kLoad = 1.0;
  // Another candidate must be better than the first by this much.
  static constexpr double kMargin = 0.002;

  // Nodes count as empty ones of their kind; how often each task came.
  Shadow(const std::vector<Alike>& nodes, const std::map<TaskShape, int64_t>& arrivals);

  // In the order of the candidates.
  std::vector<Trial> replay(const std::vector<Weights>& candidates, uint64_t seed) const;
  // The first of the candidates unless another is clearly better.
  Weights best(const std::vector<Weights>& candidates, uint64_t seed) const;
  // Fill alone, some fragmentation in it, and less or more kept back for others.
  static std::vector<Weights> candidates();

 private:
  std::vector<TaskShape> draw(uint64_t seed) const;
  double run(const Weights& weights, const std::vector<TaskShape>& stream) const;

  std::vector<NodeShape> nodes_;
  std::vector<std::pair<TaskShape, int64_t>> arrivals_;  // with how many came up to each
  int64_t gpu_milli_ = 0;                                // of nodes_
};

}  // namespace hearth::sched
