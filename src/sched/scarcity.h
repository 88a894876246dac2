// What is worth keeping back: GPU models that few may do without, and nodes whole enough for large
// tasks. The expected demand is that of the arrivals so far, continued until all that is free now
// is asked for.
//
//   free    GPU free in the cluster; d_t = free * (GPU asked by t so far) / (GPU asked so far) is
//           what the tasks t will still ask.
//   models  For a set M of models: pressure(M) = (sum of d_t over the t that may use models of M
//           alone) / (free on M), as in Hall's condition. A model's pressure is the largest of the
//           sets that hold it; price(m) = steep(pressure, 0.7).
//   large   For a task k of more than one GPU: slots(n, k) = how many k fit node n at once. The
//           need counts all tasks j that ask as much as k of everything, in units of k, and kSigmas
//           standard deviations of a Poisson stream. price(k) = steep(need / slots, 0.3) * GPUs of
//           k. For each kind of node one arrival that fills a whole one is taken as seen: who has
//           seen little should break few clean nodes of a rare kind.
//   steep(r, from) = (min(r, 3) - from) / (1 - from), at least 0.
//
//   kept(n) = 0.16 * price(model) * free GPUs of n + 0.12 * max over k of price(k) * slots(n, k)
//
// in GPUs. A placement costs kept(before) - kept(after). Pressures are rounded down to multiples of
// kGrain, so that prices change seldom. Which tasks and sets are looked at is as of the last
// learn(); what is free is counted with every node that moves; prices are as of the last reprice().
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "sched/shape.h"
#include "sched/typical.h"

namespace hearth::sched {

struct Alike {
  NodeShape shape;
  int64_t nodes = 0;  // in this state
};

class Scarcity {
 public:
  // The most demanded of each are looked at.
  static constexpr size_t kMaxSets = 128, kMaxLarge = 64, kMaxKinds = 32;
  static constexpr double kModelFrom = 0.7, kModelWeight = 0.16;
  static constexpr double kLargeFrom = 0.3, kLargeWeight = 0.12;
  static constexpr double kMaxPressure = 3, kSigmas = 2, kGrain = 0.05;

  // The order of the nodes does not matter.
  void learn(const Typical& arrivals, const std::vector<Alike>& nodes);
  void entered(const NodeShape& node) { count(node, 1); }
  void left(const NodeShape& node) { count(node, -1); }
  // True if a price changed. `gpu_milli_seen`: asked by all that arrived.
  bool reprice(int64_t gpu_milli_seen);
  double kept(const NodeShape& node) const;

 private:
  struct Set {
    Models models = 0;
    double asked = 0;  // milli-GPU, by tasks that cannot leave it
  };
  struct Large {
    TaskShape shape;
    double need = 0, variance = 0;  // among the arrivals so far
    int64_t slots = 0;              // in the cluster
  };
  struct Price {
    TaskShape shape;
    double gpus = 0;
    bool operator==(const Price&) const = default;
  };
  using Prices = std::array<double, kMaxModels>;

  void count(const NodeShape& node, int64_t nodes);
  Prices model_prices(double rate) const;
  std::vector<Price> large_prices(double rate) const;

  std::vector<Set> sets_;
  std::vector<Large> large_;
  std::array<int64_t, kMaxModels> free_{};  // milli-GPU by model
  Prices model_price_{};
  std::vector<Price> price_;  // of those large ones that have one
};

}  // namespace hearth::sched
