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
// in GPUs. A placement costs kept(before) - kept(after). Prices are as of the last refresh.
#pragma once

#include <cstdint>
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
  static constexpr double kMaxPressure = 3, kSigmas = 2;

  // True if a price changed. The order of the nodes does not matter.
  bool refresh(const Typical& arrivals, const std::vector<Alike>& nodes);
  double kept(const NodeShape& node) const;

 private:
  struct Large {
    TaskShape shape;
    double price = 0;
    bool operator==(const Large&) const = default;
  };
  using Prices = std::array<double, kMaxModels>;
  struct Totals;
  static Prices model_prices(const Typical& arrivals, const Totals& totals);
  static std::vector<Large> large_prices(const Typical& arrivals, const Totals& totals,
                                         const std::vector<Alike>& nodes);

  Prices model_price_{};
  std::vector<Large> large_;  // those with a price
};

}  // namespace hearth::sched
