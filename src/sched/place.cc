#include "sched/place.h"

#include <algorithm>
#include <tuple>

#include "sched/gang.h"

namespace hearth::sched {
namespace {

// The best node for a task alone.
class Single {
 public:
  Single(Cells& cells, const Ask& ask, const Choice& choice)
      : cells_(cells), ask_(ask), choice_(choice), need_(ask.groups.front().need) {}

  std::optional<Placed> run() {
    std::vector<FitCache::Entry>* cached =
        choice_.cache == nullptr ? nullptr : &choice_.cache->of(need_, cells_.nodes().size());
    const uint64_t tuned = choice_.value == nullptr ? 0 : choice_.value->version() << 40;
    FitCache::Entry fresh;
    const FitCache::Entry* best = nullptr;
    FitCache::Entry best_fresh;
    int32_t best_node = -1;
    for (size_t i = 0; i < cells_.nodes().size(); ++i) {
      const Node& node = cells_.nodes()[i];
      if (!usable(node, static_cast<int32_t>(i))) continue;
      FitCache::Entry& entry = cached == nullptr ? fresh : (*cached)[i];
      if (cached == nullptr || entry.version != node.version + tuned) {
        work_out(node, entry);
        entry.version = node.version + tuned;
      }
      if (!entry.fits) continue;
      if (best != nullptr && !better(node, entry, cells_.node(best_node), *best)) continue;
      best_node = static_cast<int32_t>(i);
      if (cached == nullptr) best_fresh = entry;
      best = cached == nullptr ? &best_fresh : &entry;
    }
    if (best == nullptr) return std::nullopt;
    Placed placed{.nodes = 1};
    placed.grants.push_back({best_node, need_.cpus, need_.memory, best->fit.gpus, best->fit.milli});
    return placed;
  }

 private:
  bool usable(const Node& node, int32_t index) const {
    return node.open && (ask_.pool.empty() || node.key.first == ask_.pool) &&
           choice_.allowed(index);
  }

  void work_out(const Node& node, FitCache::Entry& entry) const {
    auto found = fit(node, need_, need_.models);
    entry.fits = found.has_value();
    if (!found) return;
    entry.value = 0;
    if (choice_.value != nullptr) {
      if (need_.shared() && !node.has_cells) *found = choice_.value->refine(node, need_, *found);
      entry.value = choice_.value->gain(node, need_, *found);
    }
    entry.fit = *found;
    entry.left = leftover(node);
  }

  bool better(const Node& node, const FitCache::Entry& a, const Node& other,
              const FitCache::Entry& b) const {
    if (a.fit.span != b.fit.span) return a.fit.span < b.fit.span;
    if (a.fit.breaks != b.fit.breaks) return b.fit.breaks;
    const bool spreads = choice_.spreads(node);
    if (spreads && choice_.spreads(other)) return b.left < a.left;
    // A task without a GPU keeps off nodes that have some before anything else.
    if (need_.gpus == 0 && (node.gpus == 0) != (other.gpus == 0)) return node.gpus == 0;
    if (a.value != b.value) return a.value > b.value;
    return a.left < b.left;
  }

  Cells& cells_;
  const Ask& ask_;
  const Choice& choice_;
  const Need& need_;
};

ModelMask models_in(const Cells& cells, const Ask& ask) {
  ModelMask found = 0;
  for (const Domain& pool : cells.domains(Tier::pool)) {
    if (!ask.pool.empty() && pool.name != ask.pool) continue;
    for (size_t m = 0; m < pool.milli_gpus.size(); ++m) {
      if (pool.milli_gpus[m] > 0) found |= ModelMask{1} << m;
    }
  }
  return found & ask.models;
}

}  // namespace

std::vector<FitCache::Entry>& FitCache::of(const Need& need, size_t nodes) {
  const auto at = classes_.find(need);
  if (at == classes_.end() && classes_.size() == kMostClasses) classes_.clear();
  auto& entries = classes_[need];
  if (entries.size() < nodes) entries.resize(nodes);
  return entries;
}

Ask ask_of(const QueuedJob& job, const std::vector<std::string>& models) {
  Ask ask{.tasks = job.tasks.size(),
          .within = job.within,
          .spread = job.spread,
          .balanced = job.balanced,
          .pool = job.pool};
  std::map<Need, Group> groups;
  for (size_t i = 0; i < job.tasks.size(); ++i) {
    const Need need = need_of(job.tasks[i], models);
    Group& group = groups[need];
    group.need = need;
    group.tasks.push_back(i);
    ask.cpus += need.cpus;
    ask.memory += need.memory;
    ask.milli_gpus += need.gpus * need.milli;
    if (!need.shared()) ask.gpus += need.gpus;
    if (need.gpus > 0) ask.models &= need.models;
  }
  for (auto& [need, group] : groups) ask.groups.push_back(std::move(group));
  std::sort(ask.groups.begin(), ask.groups.end(), [](const Group& a, const Group& b) {
    const auto size = [](const Group& g) {
      return std::tuple(-g.need.gpus * g.need.milli, -g.need.cpus, -g.need.memory, g.tasks.front());
    };
    return size(a) < size(b);
  });
  return ask;
}

std::optional<Placed> place(Cells& cells, const Ask& ask, const Choice& choice) {
  if (ask.tasks == 0) return std::nullopt;
  if (ask.tasks == 1) return Single(cells, ask, choice).run();
  std::optional<Placed> best;
  const auto consider = [&](ModelMask models) {
    auto placed = place_gang(cells, ask, models, choice);
    const auto cost = [](const Placed& p) { return std::pair(p.tier, p.nodes); };
    if (placed && (!best || cost(*placed) < cost(*best))) best = std::move(placed);
  };
  if (!ask.any_gpu() || ask.models == 0) {
    consider(~ModelMask{0});
    return best;
  }
  for (const size_t model : bits(models_in(cells, ask))) consider(ModelMask{1} << model);
  return best;
}

size_t place_some(Cells& cells, const Ask& ask, const Choice& choice) {
  if (!ask.any_gpu() || ask.models == 0) return place_most(cells, ask, ~ModelMask{0}, choice);
  size_t most = 0;
  for (const size_t model : bits(models_in(cells, ask)))
    most = std::max(most, place_most(cells, ask, ModelMask{1} << model, choice));
  return most;
}

}  // namespace hearth::sched
