#include "sched/preempt.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace hearth::sched {
namespace {

class Search {
 public:
  Search(Cluster::State& state, Candidates& candidates, const Queued& queued, const Ask& ask,
         Time now)
      : state_(state),
        found_(candidates),
        queued_(queued),
        ask_(ask),
        now_(now),
        standing_(state.standing(queued.job)),
        project_(queued.job.opportunistic ? -1 : state.quotas.project(queued.job.project)),
        entitled_(project_ >= 0 && state.quotas.entitled(project_, queued.amounts)),
        cells_mark_(state.cells.mark()),
        quota_mark_(state.quotas.mark()) {}
  ~Search() {
    for (Running* victim : gone_) victim->evicted = false;
    state_.cells.undo(cells_mark_);
    state_.quotas.undo(quota_mark_);
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  std::optional<Cover> run() {
    if (state_.stopping > 0 && allowed()) {
      if (auto placed = place(state_.cells, ask_, state_.choice(queued_.job, now_)))
        return Cover{.grants = std::move(placed->grants)};
    }
    find_candidates();
    if (found_.all.empty() || !may_be_enough()) return std::nullopt;
    if (ask_.within == Level::node || ask_.tasks == 1) return on_one_node();
    std::optional<Cover> best;
    EvictionCost least;
    const Tier tier = ask_.within == Level::rack    ? Tier::rack
                      : ask_.within == Level::spine ? Tier::spine
                                                    : Tier::pool;
    for (const Domain& domain : state_.cells.domains(tier)) {
      auto found = in_nodes(domain.nodes);
      if (found && (!best || cost_of(*found) < least)) {
        least = cost_of(*found);
        best = std::move(found);
      }
    }
    return best;
  }

 private:
  using Candidate = Candidates::One;

  bool allowed() const {
    return project_ < 0 || !state_.quotas.over_limit(project_, queued_.amounts);
  }

  void evict(Running& running) {
    state_.account(running, -1);
    running.evicted = true;
    gone_.push_back(&running);
  }
  void restore(Running& running) {
    state_.account(running, +1);
    running.evicted = false;
    std::erase(gone_, &running);
  }

  // As things stand now: a project is asked back no more than it has beyond its promise.
  bool evictable(const Running& running) const {
    if (running.evicted || running.stopping) return false;
    const bool opportunistic = queued_.job.opportunistic;
    if (running.project < 0) return !opportunistic || state_.standing(running, now_) < standing_;
    if (opportunistic) return false;
    const Quotas& quotas = state_.quotas;
    if (running.project != project_ &&
        quotas.may_reclaim(project_, queued_.amounts, running.project, running.amounts))
      return true;
    if (state_.standing(running, now_) >= standing_) return false;
    // Whoever keeps within its promise, or has come down to it, is left in peace by the mere
    // priority of one that is not: it would have it back at once, and so on for ever.
    return running.project == project_ || entitled_ ||
           !quotas.within_guarantee(running.project, queued_.amounts, running.amounts);
  }

  EvictionCost cost_of(const Running& running) const {
    const Time saved = std::max(running.started_at, running.saved_at);
    const bool keeps = state_.policy(running.pool).saves_when_stopped;
    const double lost = keeps ? 1.0 : std::max(1.0, (now_ - saved).seconds());
    const double size =
        static_cast<double>(std::max(running.amounts[kGpus], running.amounts[kCpus] / 8));
    double standing = static_cast<double>(1 + running.priority);
    if (running.project < 0) standing = 0.01;
    // Each level of service down makes it ten times easier to let go; by outlook, each doubling.
    const int64_t levels = (running.priority - state_.standing(running, now_)) / kLevelStep;
    const double fine = state_.policy(running.pool).by_outlook ? kLevelsPerOctave : 1;
    standing *= std::pow(0.1, static_cast<double>(levels) / fine);
    return {running.ends_when_evicted && running.project >= 0 ? 1.0 : 0.0, size * lost * standing};
  }
  EvictionCost cost_of(const Cover& cover) const {
    EvictionCost sum;
    for (const Running* victim : cover.victims) sum += cost_of(*victim);
    return sum;
  }

  // Of one kind are jobs for which the same may be evicted.
  std::string kind() const {
    return format("{} {} {} {}", project_, standing_, queued_.shape, queued_.job.pool);
  }

  void find_candidates() {
    std::string wanted = kind();
    if (found_.kind == wanted) return;
    found_ = {};
    found_.kind = std::move(wanted);
    for (auto& [id, running] : state_.running) {
      if (!evictable(running)) continue;
      const PoolPolicy& policy = state_.policy(running.pool);
      if (!policy.preempts || !ask_.takes(running.pool)) continue;
      const Time from = running.started_at + policy.minimum_run;
      if (from > now_) {
        if (found_.later.micros == 0 || from < found_.later) found_.later = from;
        continue;
      }
      const Candidate one{&running, cost_of(running)};
      found_.all.push_back(one);
      for (const Grant& grant : running.grants) {
        auto& here = found_.by_node[grant.node];
        if (here.empty() || here.back().running != &running) here.push_back(one);
      }
    }
    for (auto& [node, here] : found_.by_node) {
      std::sort(here.begin(), here.end(), cheaper);
      found_.order.emplace(here.front().cost, node);
    }
  }

  // Counters that say early that no cover exists.
  bool may_be_enough() {
    Amounts sum(3);
    for (const Domain& pool : state_.cells.domains(Tier::pool)) {
      sum[kCpus] += std::max<int64_t>(0, pool.free_cpus);
      sum[kMemory] += std::max<int64_t>(0, pool.free_memory);
      for (const int64_t milli : pool.milli_gpus) sum[kGpus] += std::max<int64_t>(0, milli);
    }
    const size_t mark = state_.quotas.mark();
    std::vector<Running*> tried;
    const auto enough = [&] {
      return sum[kCpus] >= ask_.cpus && sum[kMemory] >= ask_.memory &&
             sum[kGpus] >= ask_.milli_gpus && allowed();
    };
    for (const Candidate& candidate : found_.all) {
      if (enough()) break;
      Running& running = *candidate.running;
      if (!evictable(running)) continue;
      running.evicted = true;
      tried.push_back(&running);
      state_.quotas.charge(running.project, running.amounts, -1);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += running.amounts[i];
    }
    const bool found = enough();
    for (Running* running : tried) running->evicted = false;
    state_.quotas.undo(mark);
    return found;
  }

  // The node first on which the cheapest victim is cheaper than elsewhere.
  std::optional<Cover> on_one_node() {
    std::optional<Cover> best;
    EvictionCost least;
    for (auto at = found_.order.begin(); at != found_.order.end();) {
      const auto [at_least, node] = *at;
      if (best && at_least >= least) break;
      auto& here = found_.by_node[node];
      const auto gone = [](const Candidate& one) { return one.running->stopping; };
      if (gone(here.front())) {
        // Those that stop by now have made their room; the node has its turn by the next.
        std::erase_if(here, gone);
        found_.order.erase(at);
        if (!here.empty()) found_.order.emplace(here.front().cost, node);
        at = found_.order.lower_bound({at_least, node});
        continue;
      }
      ++at;
      if (!could_hold(node, here)) continue;
      auto found = with(here, {node});
      if (found && (!best || cost_of(*found) < least)) {
        least = cost_of(*found);
        best = std::move(found);
      }
    }
    return best;
  }

  bool could_hold(int32_t index, const std::vector<Candidate>& here) const {
    const Node& node = state_.cells.node(index);
    if (!node.open || !state_.choice(queued_.job, now_).allowed(index)) return false;
    int64_t cpus = node.free_cpus, memory = node.free_memory;
    GpuMask gpus = 0;
    for (const size_t gpu : bits(node.healthy)) {
      if (node.free_milli[gpu] > 0) gpus |= GpuMask{1} << gpu;
    }
    for (const Candidate& candidate : here) {
      for (const Grant& grant : candidate.running->grants) {
        if (grant.node != index) continue;
        cpus += grant.cpus;
        memory += grant.memory;
        gpus |= grant.gpus & node.healthy;
      }
    }
    return cpus >= ask_.cpus && memory >= ask_.memory && count_bits(gpus) >= ask_.gpus;
  }

  static bool cheaper(const Candidate& a, const Candidate& b) {
    if (a.cost != b.cost) return a.cost < b.cost;
    if (a.running->queued_at != b.running->queued_at)
      return b.running->queued_at < a.running->queued_at;  // whoever came last
    return a.running->id < b.running->id;
  }

  // Node after node, those first that are cleared for the least per task that they then take.
  std::optional<Cover> in_nodes(const std::vector<int32_t>& nodes) {
    std::map<int32_t, std::vector<Candidate>> by_node;
    std::vector<char> here(state_.cells.nodes().size());
    for (const int32_t node : nodes) here[static_cast<size_t>(node)] = 1;
    for (const Candidate& candidate : found_.all) {
      const auto& grants = candidate.running->grants;
      const auto at = std::find_if(grants.begin(), grants.end(), [&](const Grant& grant) {
        return here[static_cast<size_t>(grant.node)] != 0;
      });
      if (at != grants.end()) by_node[at->node].push_back(candidate);
    }
    std::vector<std::pair<EvictionCost, int32_t>> order;
    for (auto& [node, there] : by_node) {
      std::sort(there.begin(), there.end(), cheaper);
      order.emplace_back(cost_per_task(node, there), node);
    }
    std::sort(order.begin(), order.end());
    std::vector<Candidate> all;
    for (const auto& [cost, node] : order) {
      if (std::isfinite(cost.for_good))
        all.insert(all.end(), by_node[node].begin(), by_node[node].end());
    }
    for (const auto& [cost, node] : order) {
      if (!std::isfinite(cost.for_good))
        all.insert(all.end(), by_node[node].begin(), by_node[node].end());
    }
    return with(all, nodes);
  }

  // Without end where it would take none.
  EvictionCost cost_per_task(int32_t index, const std::vector<Candidate>& there) {
    const size_t mark = state_.cells.mark();
    EvictionCost cost;
    for (const Candidate& candidate : there) {
      cost += candidate.cost;
      for (const Grant& grant : candidate.running->grants) {
        if (grant.node == index) state_.cells.give(grant);
      }
    }
    const Need& need = ask_.groups.front().need;
    const auto tasks = static_cast<double>(capacity(state_.cells.node(index), need, need.models));
    state_.cells.undo(mark);
    if (tasks == 0) return {INFINITY, INFINITY};
    return {cost.for_good / tasks, cost.work / tasks};
  }

  // Evicts in this order until it fits, looking after 1, 2, 4, 8... of them, then takes back
  // whom the place does not need.
  std::optional<Cover> with(const std::vector<Candidate>& order,
                            const std::vector<int32_t>& nodes) {
    const size_t cells_mark = state_.cells.mark(), quota_mark = state_.quotas.mark();
    const size_t before = gone_.size();
    std::vector<char> only(state_.cells.nodes().size());
    const Choice open = state_.choice(queued_.job, now_);
    for (const int32_t node : nodes) only[static_cast<size_t>(node)] = open.allowed(node) ? 1 : 0;
    const Choice choice{.cache = &state_.cache, .equalized = &state_.equalized, .only = &only};
    std::optional<Placed> placed;
    size_t next_look = 1, evicted = 0;
    for (size_t i = 0; i < order.size() && !placed; ++i) {
      Running& running = *order[i].running;
      if (evictable(running)) {
        evict(running);
        ++evicted;
      }
      if (evicted < next_look && i + 1 < order.size()) continue;
      next_look = evicted + std::max<size_t>(1, ask_.tasks == 1 ? 1 : evicted / 4);
      if (allowed()) placed = place(state_.cells, ask_, choice);
    }
    std::optional<Cover> cover;
    if (placed) cover = prune(std::move(placed->grants), before);
    for (size_t i = before; i < gone_.size(); ++i) gone_[i]->evicted = false;
    gone_.resize(before);
    state_.cells.undo(cells_mark);
    state_.quotas.undo(quota_mark);
    return cover;
  }

  Cover prune(std::vector<Grant> grants, size_t before) {
    for (const Grant& grant : grants) state_.cells.take(grant);
    if (project_ >= 0) state_.quotas.charge(project_, queued_.amounts, +1);
    std::vector<Running*> victims(gone_.begin() + static_cast<ptrdiff_t>(before), gone_.end());
    std::sort(victims.begin(), victims.end(),
              [&](Running* a, Running* b) { return cheaper({b, cost_of(*b)}, {a, cost_of(*a)}); });
    Cover cover{.grants = std::move(grants)};
    for (Running* victim : victims) {
      restore(*victim);
      const bool stays =
          std::all_of(victim->grants.begin(), victim->grants.end(),
                      [&](const Grant& g) { return !on_open(g) || state_.cells.covered(g); }) &&
          std::all_of(cover.grants.begin(), cover.grants.end(),
                      [&](const Grant& g) { return state_.cells.covered(g); });
      if (stays && limits_hold()) continue;
      evict(*victim);
      cover.victims.push_back(victim);
    }
    std::reverse(cover.victims.begin(), cover.victims.end());
    return cover;
  }
  bool on_open(const Grant& grant) const { return state_.cells.node(grant.node).open; }
  bool limits_hold() const { return project_ < 0 || !state_.quotas.passed_limit(project_); }

  Cluster::State& state_;
  Candidates& found_;
  const Queued& queued_;
  const Ask& ask_;
  const Time now_;
  const int64_t standing_;
  const int32_t project_;
  const bool entitled_;  // the job keeps within its project's promise
  const size_t cells_mark_, quota_mark_;
  std::vector<Running*> gone_;
};

}  // namespace

std::optional<Cover> find_cover(Cluster::State& state, Candidates& candidates, const Queued& job,
                                const Ask& ask, Time now) {
  return Search(state, candidates, job, ask, now).run();
}

}  // namespace hearth::sched
