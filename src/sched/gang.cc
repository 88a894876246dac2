#include "sched/gang.h"

#include <algorithm>
#include <tuple>

namespace hearth::sched {
namespace {

// Places tasks on nodes of one set, on the overlay; undone when it goes out of scope.
class Filling {
 public:
  Filling(Cells& cells, const Ask& ask, ModelMask models, const Choice& choice)
      : cells_(cells), ask_(ask), models_(models), choice_(choice), mark_(cells.mark()) {
    grants_.resize(ask.tasks);
  }
  ~Filling() { cells_.undo(mark_); }
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;

  // Group after group over these nodes; true when all tasks have a place.
  bool fill(const std::vector<int32_t>& nodes) {
    return std::all_of(ask_.groups.begin(), ask_.groups.end(),
                       [&](const Group& group) { return fill_group(group, nodes) || partial_; });
  }
  // Goes on when a group does not fit whole.
  void allow_partial() { partial_ = true; }

  size_t placed() const { return placed_; }
  size_t nodes() const { return used_.size(); }
  int64_t span() const { return span_; }
  std::vector<Grant> grants() && { return std::move(grants_); }
  Leftover left() const {
    Leftover sum;
    for (const int32_t index : used_) {
      const Leftover one = leftover(cells_.node(index));
      sum.milli_gpus += one.milli_gpus;
      sum.cpus += one.cpus;
    }
    return sum;
  }

 private:
  struct Room {
    int64_t tasks;  // that it takes
    int32_t node;
    int32_t rack;
    Leftover left;
    bool used;
  };
  using Rooms = std::vector<Room>;

  bool is_used(int32_t node) const {
    return std::find(used_.begin(), used_.end(), node) != used_.end();
  }

  Rooms rooms_for(const Group& group, const std::vector<int32_t>& nodes) const {
    Rooms rooms;
    for (const int32_t index : nodes) {
      const Node& node = cells_.node(index);
      if (!choice_.allowed(index)) continue;
      int64_t tasks = capacity(node, group.need, group.need.models & models_);
      if (ask_.spread) tasks = std::min<int64_t>(tasks, is_used(index) ? 0 : 1);
      if (tasks > 0) rooms.push_back({tasks, index, node.rack, leftover(node), is_used(index)});
    }
    return rooms;
  }

  // One that holds all that remain: the tightest; else the one that takes the most.
  static bool better(const Room& a, const Room& b, int64_t remaining, bool spreads) {
    const bool a_all = a.tasks >= remaining, b_all = b.tasks >= remaining;
    if (a_all != b_all) return a_all;
    if (a_all && a.used != b.used) return a.used;
    if (!a_all && a.tasks != b.tasks) return a.tasks > b.tasks;
    if (a.left != b.left) return spreads ? b.left < a.left : a.left < b.left;
    return a.node < b.node;
  }

  // The rack to go on with, by the same rule; all rooms when racks are unknown.
  static int32_t best_rack(const Rooms& rooms, int64_t remaining) {
    std::map<int32_t, int64_t> tasks;
    for (const Room& room : rooms) tasks[room.rack] += room.tasks;
    int32_t best = tasks.begin()->first;
    for (const auto& [rack, here] : tasks) {
      const int64_t most = tasks[best];
      const bool all = here >= remaining, best_all = most >= remaining;
      if (all != best_all ? all : (all ? here < most : here > most)) best = rack;
    }
    return best;
  }

  // As many as each gets when the fewest nodes that will do share them evenly.
  static int64_t even_share(const Rooms& rooms, int64_t remaining) {
    std::vector<int64_t> sizes;
    for (const Room& room : rooms) sizes.push_back(room.tasks);
    std::sort(sizes.rbegin(), sizes.rend());
    int64_t sum = 0, count = 0;
    for (const int64_t size : sizes) {
      if (sum >= remaining) break;
      sum += size;
      ++count;
    }
    return count == 0 ? remaining : (remaining + count - 1) / count;
  }

  bool fill_group(const Group& group, const std::vector<int32_t>& nodes) {
    Rooms rooms = rooms_for(group, nodes);
    size_t next = 0;
    int32_t rack = -1;
    while (next < group.tasks.size() && !rooms.empty()) {
      const auto remaining = static_cast<int64_t>(group.tasks.size() - next);
      if (!partial_ && next == 0 && sum(rooms) < remaining) return false;
      const bool goes_on = std::any_of(rooms.begin(), rooms.end(),
                                       [&](const Room& room) { return room.rack == rack; });
      if (next == 0 || !goes_on) rack = best_rack(rooms, remaining);
      auto best = rooms.end();
      for (auto at = rooms.begin(); at != rooms.end(); ++at) {
        if (at->rack != rack) continue;
        const bool spreads = choice_.spreads(cells_.node(at->node));
        if (best == rooms.end() || better(*at, *best, remaining, spreads)) best = at;
      }
      const int64_t share = ask_.balanced ? even_share(rooms, remaining) : remaining;
      const int64_t wanted = std::min({best->tasks, remaining, share});
      next += put(group, next, wanted, best->node);
      rooms.erase(best);
    }
    return next == group.tasks.size();
  }

  static int64_t sum(const Rooms& rooms) {
    int64_t tasks = 0;
    for (const Room& room : rooms) tasks += room.tasks;
    return tasks;
  }

  // Up to `count` of the group's tasks from `next` on; how many there were.
  size_t put(const Group& group, size_t next, int64_t count, int32_t node) {
    size_t done = 0;
    for (; done < static_cast<size_t>(count); ++done) {
      const auto found = fit(cells_.node(node), group.need, group.need.models & models_);
      if (!found) break;
      const Grant grant{node, group.need.cpus, group.need.memory, found->gpus, found->milli};
      cells_.take(grant);
      grants_[group.tasks[next + done]] = grant;
      span_ += found->span * 2 + found->breaks;
    }
    placed_ += done;
    if (done > 0 && !is_used(node)) used_.push_back(node);
    return done;
  }

  Cells& cells_;
  const Ask& ask_;
  const ModelMask models_;
  const Choice& choice_;
  const size_t mark_;
  bool partial_ = false;
  std::vector<Grant> grants_;
  std::vector<int32_t> used_;
  size_t placed_ = 0;
  int64_t span_ = 0;
};

class Gang {
 public:
  Gang(Cells& cells, const Ask& ask, ModelMask models, const Choice& choice)
      : cells_(cells), ask_(ask), models_(models), choice_(choice) {}

  std::optional<Placed> run() {
    if (!ask_.spread) {
      for (size_t pool = 0; pool < cells_.domains(Tier::pool).size(); ++pool) try_nodes(pool);
      if (best_) return std::move(best_);
    }
    if (ask_.within == Level::node) return std::nullopt;
    for (const Tier tier : kTiers) {
      if (tier == Tier::spine && ask_.within == Level::rack) break;
      if (tier == Tier::pool && ask_.within != Level::any) break;
      for (const Domain& domain : cells_.domains(tier)) try_domain(domain, tier);
      if (best_) break;
    }
    return std::move(best_);
  }

  size_t most() {
    size_t found = 0;
    const auto look = [&](const std::vector<int32_t>& nodes) {
      Filling filling(cells_, ask_, models_, choice_);
      filling.allow_partial();
      filling.fill(nodes);
      found = std::max(found, filling.placed());
    };
    const auto& tiers = cells_.domains(ask_.within == Level::rack    ? Tier::rack
                                       : ask_.within == Level::spine ? Tier::spine
                                                                     : Tier::pool);
    for (const Domain& domain : tiers) {
      if (!in_pool(domain)) continue;
      if (ask_.within != Level::node) look(domain.nodes);
      for (const int32_t node : domain.nodes) {
        if (ask_.within == Level::node) look({node});
      }
    }
    return found;
  }

 private:
  using Cost = std::tuple<int64_t, bool, Leftover>;  // cells touched, not the wanted order, left

  bool in_pool(const Domain& domain) const {
    return ask_.takes(cells_.domains(Tier::pool)[static_cast<size_t>(domain.pool)].name);
  }

  bool may_hold(const Domain& domain) const {
    if (domain.free_cpus < ask_.cpus || domain.free_memory < ask_.memory) return false;
    int64_t whole = 0, milli = 0;
    for (size_t m = 0; m < domain.whole_gpus.size(); ++m) {
      if ((models_ & (ModelMask{1} << m)) == 0) continue;
      whole += domain.whole_gpus[m];
      milli += domain.milli_gpus[m];
    }
    return whole >= ask_.gpus && milli >= ask_.milli_gpus;
  }

  bool may_hold(const Node& node) const {
    if (!node.open || node.free_cpus < ask_.cpus || node.free_memory < ask_.memory) return false;
    return count_bits(node.whole) >= ask_.gpus;
  }

  void try_nodes(size_t pool) {
    const Domain& domain = cells_.domains(Tier::pool)[pool];
    if (!in_pool(domain) || !may_hold(domain)) return;
    for (const int32_t index : domain.nodes) {
      const Node& node = cells_.node(index);
      if (!may_hold(node) || !choice_.allowed(index)) continue;
      const Leftover left = leftover(node);
      // Without cells to compare, one that leaves more than the best is not worth a trial.
      const bool plain = !ask_.any_gpu() || !node.has_cells;
      if (plain && best_ && !choice_.spreads(node) && !(Cost{0, false, left} < cost_)) continue;
      Filling filling(cells_, ask_, models_, choice_);
      if (!filling.fill({index})) continue;
      keep(std::move(filling), 0, choice_.spreads(node) ? flip(left) : left);
    }
  }

  void try_domain(const Domain& domain, Tier tier) {
    if (!in_pool(domain) || !may_hold(domain)) return;
    Filling filling(cells_, ask_, models_, choice_);
    if (!filling.fill(domain.nodes)) return;
    // The domain that keeps the least for others; a job spread evenly wants the contrary.
    Leftover left{.cpus = domain.free_cpus};
    for (const int64_t milli : domain.milli_gpus) left.milli_gpus += milli;
    if (!domain.nodes.empty() && choice_.spreads(cells_.node(domain.nodes.front())))
      left = flip(left);
    keep(std::move(filling), static_cast<int>(tier) + 1, left);
  }

  static Leftover flip(Leftover left) { return {-left.milli_gpus, -left.cpus}; }

  void keep(Filling&& filling, int tier, Leftover left) {
    const Cost cost{filling.span(), false, left};
    const size_t nodes = filling.nodes();
    if (best_ && std::tuple(nodes, cost) >= std::tuple(best_->nodes, cost_)) return;
    cost_ = cost;
    best_ = Placed{.tier = tier, .nodes = nodes};
    best_->grants = std::move(filling).grants();
  }

  Cells& cells_;
  const Ask& ask_;
  const ModelMask models_;
  const Choice& choice_;
  std::optional<Placed> best_;
  Cost cost_;
};

}  // namespace

std::optional<Placed> place_gang(Cells& cells, const Ask& ask, ModelMask models,
                                 const Choice& choice) {
  return Gang(cells, ask, models, choice).run();
}

size_t place_most(Cells& cells, const Ask& ask, ModelMask models, const Choice& choice) {
  return Gang(cells, ask, models, choice).most();
}

}  // namespace hearth::sched
