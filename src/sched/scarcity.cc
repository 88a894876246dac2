#include "sched/scarcity.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

namespace hearth::sched {
namespace {

double steep(double pressure, double from) {
  const double grains = std::floor(std::min(pressure, Scarcity::kMaxPressure) / Scarcity::kGrain);
  return std::max(0.0, (grains * Scarcity::kGrain - from) / (1 - from));
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

std::vector<Wanted> wanted(const Typical& arrivals, const std::vector<Alike>& nodes) {
  std::set<TaskShape> kinds;
  for (const auto& [shape, count] : nodes) {
    if (shape.gpu_count > 0) kinds.insert(whole_node(shape));
  }
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

void Scarcity::count(const NodeShape& node, int64_t nodes) {
  if (node.gpu_count == 0) return;
  free_[static_cast<size_t>(node.model)] += nodes * node.free_gpu_milli();
  for (Large& large : large_) large.slots += nodes * node.slots(large.shape);
}

void Scarcity::learn(const Typical& arrivals, const std::vector<Alike>& nodes) {
  Models present = 0;
  for (const auto& [shape, count] : nodes) {
    if (shape.gpu_count > 0) present |= Models{1} << shape.model;
  }
  std::map<Models, double> demand;  // milli-GPU asked by tasks bound to some of the models here
  for (const auto& [shape, count] : arrivals.seen()) {
    const Models models = shape.models & present;
    if (shape.gpus == 0 || models == 0 || models == present) continue;
    demand[models] += static_cast<double>(count) * static_cast<double>(shape.gpu_milli());
  }
  sets_.clear();
  for (const Models set : sets_of(demand)) {
    if (set == present) continue;
    double asked = 0;
    for (const auto& [models, milli] : demand) {
      if ((models & ~set) == 0) asked += milli;
    }
    sets_.push_back({set, asked});
  }
  large_.clear();
  const std::vector<Wanted> all = wanted(arrivals, nodes);
  for (const Wanted& one : all) {
    Large large{one.shape};
    for (const Wanted& other : all) {
      if (!other.seen && &other != &one) continue;
      if (!asks_as_much(other.shape, one.shape)) continue;
      const double unit =
          static_cast<double>(other.shape.gpu_milli()) / static_cast<double>(one.shape.gpu_milli());
      large.need += other.count * unit;
      large.variance += other.count * unit * unit;
    }
    large_.push_back(large);
  }
  free_ = {};
  for (const auto& [shape, count] : nodes) this->count(shape, count);
}

Scarcity::Prices Scarcity::model_prices(double rate) const {
  Prices prices{};
  for (const Set& set : sets_) {
    int64_t free = 0;
    for (Models rest = set.models; rest != 0; rest &= rest - 1) {
      free += free_[static_cast<size_t>(std::countr_zero(rest))];
    }
    const double pressure = free > 0 ? set.asked * rate / static_cast<double>(free) : kMaxPressure;
    const double price = steep(pressure, kModelFrom);
    if (price == 0) continue;
    for (Models rest = set.models; rest != 0; rest &= rest - 1) {
      double& most = prices[static_cast<size_t>(std::countr_zero(rest))];
      most = std::max(most, price);
    }
  }
  return prices;
}

std::vector<Scarcity::Price> Scarcity::large_prices(double rate) const {
  std::vector<Price> prices;
  for (const Large& large : large_) {
    if (large.slots == 0) continue;  // nothing is left to keep
    const double need = large.need * rate + kSigmas * std::sqrt(large.variance * rate);
    const double price = steep(need / static_cast<double>(large.slots), kLargeFrom);
    if (price > 0) prices.push_back({large.shape, price * large.shape.gpus});
  }
  return prices;
}

bool Scarcity::reprice(int64_t gpu_milli_seen) {
  if (gpu_milli_seen == 0) return false;
  int64_t free = 0;
  for (const int64_t milli : free_) free += milli;
  const double rate = static_cast<double>(free) / static_cast<double>(gpu_milli_seen);
  Prices model_price = model_prices(rate);
  std::vector<Price> price = large_prices(rate);
  if (model_price == model_price_ && price == price_) return false;
  model_price_ = model_price;
  price_ = std::move(price);
  return true;
}

double Scarcity::kept(const NodeShape& node) const {
  if (node.gpu_count == 0) return 0;
  double sum = kModelWeight * model_price_[static_cast<size_t>(node.model)] *
               static_cast<double>(node.free_gpu_milli()) / kWholeGpu;
  double most = 0;
  for (const Price& price : price_) {
    most = std::max(most, price.gpus * static_cast<double>(node.slots(price.shape)));
  }
  return sum + kLargeWeight * most;
}

}  // namespace hearth::sched
