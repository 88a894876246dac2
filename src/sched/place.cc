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
    std::optional<Placed> best;
    std::optional<FitCache::Entry> least;
    for (size_t pool = 0; pool < cells_.domains(Tier::pool).size(); ++pool) {
      const Domain& domain = cells_.domains(Tier::pool)[pool];
      if (domain.nodes.empty() || !ask_.takes(domain.name)) continue;
      int32_t node = -1;
      FitCache::Entry entry;
      if (!in_pool(static_cast<int32_t>(pool), domain, node, entry)) continue;
      if (least && !better(entry, *least, false)) continue;
      least = entry;
      best = Placed{.nodes = 1};
      best->grants.push_back({node, need_.cpus, need_.memory, entry.fit.gpus, entry.fit.milli});
    }
    return best;
  }

 private:
  bool in_pool(int32_t pool, const Domain& domain, int32_t& node, FitCache::Entry& entry) {
    const bool spreads = choice_.spreads(cells_.node(domain.nodes.front()));
    const bool valued = choice_.worth != nullptr && !spreads && domain.with_cells == 0 &&
                        need_.gpus > 0 && need_.gpu_memory == 0 &&
                        choice_.worth->knows(cells_, pool);
    if (valued) return by_worth(pool, nullptr, node, entry);
    scan(domain, spreads, node, entry);
    if (node < 0 || spreads || choice_.worth == nullptr || need_.gpu_memory > 0 ||
        cells_.node(node).gpus == 0 || !choice_.worth->knows(cells_, pool))
      return node >= 0;
    // Of those with as few cells touched, the one that is worth most.
    auto& entries = choice_.cache->of(need_, cells_.nodes().size());
    const std::function<bool(uint32_t)> as_good = [&](uint32_t index) {
      const FitCache::Entry& other = entries[index];
      return choice_.allowed(static_cast<int32_t>(index)) && other.fits &&
             other.fit.span == entry.fit.span && other.fit.breaks == entry.fit.breaks &&
             other.fit.left == entry.fit.left;
    };
    by_worth(pool, &as_good, node, entry);
    return true;
  }

  bool by_worth(int32_t pool, const std::function<bool(uint32_t)>* allowed, int32_t& node,
                FitCache::Entry& entry) {
    const std::function<bool(uint32_t)> only = [&](uint32_t index) {
      return choice_.allowed(static_cast<int32_t>(index));
    };
    if (allowed == nullptr && choice_.only != nullptr) allowed = &only;
    const auto best = choice_.worth->pick(cells_, pool, need_, allowed);
    if (!best) return false;
    node = best->node;
    entry.fits = true;
    entry.fit = best->fit;
    entry.left = leftover(cells_.node(node));
    return true;
  }

  void scan(const Domain& domain, bool spreads, int32_t& best_node, FitCache::Entry& best) {
    std::vector<FitCache::Entry>* cached =
        choice_.cache == nullptr ? nullptr : &choice_.cache->of(need_, cells_.nodes().size());
    FitCache::Entry fresh;
    for (const int32_t index : domain.nodes) {
      const Node& node = cells_.node(index);
      if (!node.open || !choice_.allowed(index)) continue;
      FitCache::Entry& entry = cached == nullptr ? fresh : (*cached)[static_cast<size_t>(index)];
      if (cached == nullptr || entry.version != node.version) {
        const auto found = fit(node, need_, need_.models);
        entry = {.version = node.version, .fits = found.has_value()};
        if (found) entry.fit = *found;
        if (found) entry.left = leftover(node);
      }
      if (!entry.fits || (best_node >= 0 && !better(entry, best, spreads))) continue;
      best_node = index;
      best = entry;
    }
  }

  // The leftover of GPUs counts first: a task without one keeps off nodes that have some.
  static bool better(const FitCache::Entry& a, const FitCache::Entry& b, bool spreads) {
    if (a.fit.span != b.fit.span) return a.fit.span < b.fit.span;
    if (a.fit.breaks != b.fit.breaks) return b.fit.breaks;
    if (a.fit.left != b.fit.left) return a.fit.left < b.fit.left;
    return spreads ? b.left < a.left : a.left < b.left;
  }

  Cells& cells_;
  const Ask& ask_;
  const Choice& choice_;
  const Need& need_;
};

ModelMask models_in(const Cells& cells, const Ask& ask) {
  ModelMask found = 0;
  for (const Domain& pool : cells.domains(Tier::pool)) {
    if (!ask.takes(pool.name)) continue;
    for (size_t m = 0; m < pool.milli_gpus.size(); ++m) {
      if (pool.milli_gpus[m] > 0) found |= ModelMask{1} << m;
    }
  }
  return found & ask.models;
}

}  // namespace

std::vector<FitCache::Entry>& FitCache::of(const Need& need, size_t nodes) {
  const auto at = classes_.find(need);
  const size_t most =
      std::clamp(kMostEntries / std::max<size_t>(1, nodes), size_t{1}, kMostClasses);
  if (at == classes_.end() && classes_.size() >= most) classes_.clear();
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
