#include "sched/scarcity.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace hearth::sched {
namespace {

double steep(double pressure, double from) {
  return std::max(0.0, (std::min(pressure, Scarcity::kMaxPressure) - from) / (1 - from));
}

// The sets of models that some tasks cannot leave, the most demanded first, and their unions: the
// set under the largest pressure is one of them.
std::vector<Models> sets_of(const std::map<Models, double>& demand) {
  std::vector<std::pair<Models, double>> order(demand.begin(), demand.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::set<Models> known;
  std::vector<Models> sets;
  const auto add = [&](Models set) {
    if (sets.size() < Scarcity::kMaxSets && known.insert(set).second) sets.push_back(set);
  };
  for (const auto& [models, milli] : order) {
    const size_t before = sets.size();
    add(models);
    for (size_t i = 0; i < before; ++i) add(sets[i] | models);
  }
  return sets;
}

bool asks_as_much(const TaskShape& more, const TaskShape& less) {
  return more.gpu_milli() >= less.gpu_milli() && more.milli_cpus >= less.milli_cpus &&
         more.memory_bytes >= less.memory_bytes && (more.models & ~less.models) == 0;
}

struct Wanted {
  TaskShape shape;
  double count = 0;
  bool seen = true;  // or a whole node of some kind, taken as seen
};

TaskShape whole_node(const NodeShape& node) {
  return {node.total_milli_cpus, node.total_memory_bytes, Models{1} << node.model, node.gpu_count,
          kWholeGpu};
}

std::vector<Wanted> wanted(const Typical& arrivals, const std::set<TaskShape>& kinds) {
  std::vector<Wanted> large;
  for (const auto& [shape, count] : arrivals.seen()) {
    if (shape.gpus > 1) large.push_back({shape, static_cast<double>(count), true});
  }
  std::sort(large.begin(), large.end(), [](const Wanted& a, const Wanted& b) {
    const double asked_a = a.count * static_cast<double>(a.shape.gpu_milli());
    const double asked_b = b.count * static_cast<double>(b.shape.gpu_milli());
    return asked_a != asked_b ? asked_a > asked_b : a.shape < b.shape;
  });
  if (large.size() > Scarcity::kMaxLarge) large.resize(Scarcity::kMaxLarge);
  for (const TaskShape& kind : kinds) {
    if (large.size() == Scarcity::kMaxLarge + Scarcity::kMaxKinds) break;
    large.push_back({kind, 1, false});
  }
  return large;
}

}  // namespace

struct Scarcity::Totals {
  double free = 0;
  Prices of_model{};
  Models present = 0;
  std::set<TaskShape> kinds;  // of nodes, as tasks that fill one
};

Scarcity::Prices Scarcity::model_prices(const Typical& arrivals, const Totals& totals) {
  std::map<Models, double> demand;  // milli-GPU asked by tasks bound to some of the models here
  for (const auto& [shape, count] : arrivals.seen()) {
    const Models models = shape.models & totals.present;
    if (shape.gpus == 0 || models == 0 || models == totals.present) continue;
    demand[models] += static_cast<double>(count) * static_cast<double>(shape.gpu_milli());
  }
  Prices prices{};
  for (const Models set : sets_of(demand)) {
    if (set == totals.present) continue;
    double asked = 0, free = 0;
    for (const auto& [models, milli] : demand) {
      if ((models & ~set) == 0) asked += milli;
    }
    for (size_t m = 0; m < kMaxModels; ++m) {
      if ((set >> m & 1) != 0) free += totals.of_model[m];
    }
    asked *= totals.free / static_cast<double>(arrivals.gpu_milli_seen());
    const double price = steep(free > 0 ? asked / free : kMaxPressure, kModelFrom);
    for (size_t m = 0; m < kMaxModels; ++m) {
      if ((set >> m & 1) != 0) prices[m] = std::max(prices[m], price);
    }
  }
  return prices;
}

std::vector<Scarcity::Large> Scarcity::large_prices(const Typical& arrivals, const Totals& totals,
                                                    const std::vector<Alike>& nodes) {
  const std::vector<Wanted> all = wanted(arrivals, totals.kinds);
  const double rate = totals.free / static_cast<double>(arrivals.gpu_milli_seen());
  std::vector<Large> prices;
  for (const Wanted& large : all) {
    double need = 0, variance = 0;
    for (const Wanted& other : all) {
      if (!other.seen && &other != &large) continue;
      if (!asks_as_much(other.shape, large.shape)) continue;
      const double unit = static_cast<double>(other.shape.gpu_milli()) /
                          static_cast<double>(large.shape.gpu_milli());
      need += other.count * rate * unit;
      variance += other.count * rate * unit * unit;
    }
    need += kSigmas * std::sqrt(variance);
    int64_t slots = 0;
    for (const auto& [shape, count] : nodes) slots += count * shape.slots(large.shape);
    const double pressure = slots > 0 ? need / static_cast<double>(slots) : kMaxPressure;
    const double price = steep(pressure, kLargeFrom);
    if (price > 0) prices.push_back({large.shape, price * large.shape.gpus});
  }
  return prices;
}

bool Scarcity::refresh(const Typical& arrivals, const std::vector<Alike>& nodes) {
  if (arrivals.gpu_milli_seen() == 0) return false;
  Totals totals;
  for (const auto& [shape, count] : nodes) {
    if (shape.gpu_count == 0) continue;
    const auto free = static_cast<double>(count * shape.free_gpu_milli());
    totals.free += free;
    totals.of_model[static_cast<size_t>(shape.model)] += free;
    totals.present |= Models{1} << shape.model;
    totals.kinds.insert(whole_node(shape));
  }
  Prices model_price = model_prices(arrivals, totals);
  std::vector<Large> large = large_prices(arrivals, totals, nodes);
  if (model_price == model_price_ && large == large_) return false;
  model_price_ = model_price;
  large_ = std::move(large);
  return true;
}

double Scarcity::kept(const NodeShape& node) const {
  if (node.gpu_count == 0) return 0;
  double sum = kModelWeight * model_price_[static_cast<size_t>(node.model)] *
               static_cast<double>(node.free_gpu_milli()) / kWholeGpu;
  double most = 0;
  for (const Large& large : large_) {
    most = std::max(most, large.price * static_cast<double>(node.slots(large.shape)));
  }
  return sum + kLargeWeight * most;
}

}  // namespace hearth::sched
