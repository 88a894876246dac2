#include "sched/place.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace hearth::sched {
namespace {

bool same_letter(char a, char b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return lower(a) == lower(b);
}

// "H100" names "NVIDIA H100 80GB HBM3".
bool names(std::string_view wanted, std::string_view model) {
  return std::search(model.begin(), model.end(), wanted.begin(), wanted.end(), same_letter) !=
         model.end();
}

// A cell of a node: its free GPUs that suit, and how many stand in it at all.
struct Group {
  std::vector<size_t> free;
  size_t all = 0;
  bool clean() const { return free.size() == all; }
};

std::vector<Group> groups_by(const Room& room, const std::vector<size_t>& candidates,
                             std::string Gpu::* cell) {
  std::map<std::string, Group> by_name;
  const auto& gpus = room.node->info.gpus;
  for (const size_t gpu : candidates) by_name[gpus[gpu].*cell].free.push_back(gpu);
  for (const Gpu& gpu : gpus) {
    const auto at = by_name.find(gpu.*cell);
    if (at != by_name.end()) ++at->second.all;
  }
  std::vector<Group> found;
  for (auto& [name, group] : by_name) found.push_back(std::move(group));
  return found;
}

// `count` of the candidates: from the cell that holds them whole and has the least left, a broken
// one first; else across cells, the fullest first, so that few are touched.
std::vector<size_t> pick(const Room& room, const std::vector<size_t>& candidates, size_t count,
                         bool by_link) {
  auto groups = groups_by(room, candidates, by_link ? &Gpu::link : &Gpu::numa);
  const Group* best = nullptr;
  for (const Group& group : groups) {
    const auto cost = [&](const Group& g) { return std::tuple(g.clean(), g.free.size()); };
    if (group.free.size() < count) continue;
    if (best == nullptr || cost(group) < cost(*best)) best = &group;
  }
  if (best != nullptr && by_link) {
    return {best->free.begin(), best->free.begin() + static_cast<ptrdiff_t>(count)};
  }
  if (best != nullptr) return pick(room, best->free, count, true);
  if (by_link) {
    std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
      return std::tuple(b.free.size(), a.free.front()) < std::tuple(a.free.size(), b.free.front());
    });
    std::vector<size_t> taken;
    for (const Group& group : groups)
      taken.insert(taken.end(), group.free.begin(), group.free.end());
    taken.resize(count);
    return taken;
  }
  return pick(room, candidates, count, true);
}

// The GPUs that one task would get there; nothing if it does not fit.
std::optional<std::vector<size_t>> fit(const Room& room, const TaskNeed& need,
                                       const std::string& model) {
  if (room.cpus < need.milli_cpus || room.memory < need.memory_bytes) return std::nullopt;
  const auto count = static_cast<size_t>(gpus_of(need));
  if (count == 0) return std::vector<size_t>();
  std::vector<size_t> candidates;
  for (size_t i = 0; i < room.gpus.size(); ++i) {
    const Gpu& gpu = room.node->info.gpus[i];
    if (room.gpus[i] && suits(gpu, need) && (model.empty() || gpu.model == model)) {
      candidates.push_back(i);
    }
  }
  if (candidates.size() < count) return std::nullopt;
  // A link cell that holds them all is better than a NUMA node that does: look there first.
  for (const Group& group : groups_by(room, candidates, &Gpu::link)) {
    if (group.free.size() >= count) return pick(room, candidates, count, true);
  }
  return pick(room, candidates, count, false);
}

void occupy(Room& room, const TaskNeed& need, const std::vector<size_t>& gpus) {
  room.cpus -= need.milli_cpus;
  room.memory -= need.memory_bytes;
  for (const size_t gpu : gpus) room.gpus[gpu] = false;
}

// How many of the tasks (by index, in this order) one room takes, and how.
std::vector<std::pair<size_t, Spot>> fill(Room room, size_t index, const QueuedJob& job,
                                          const std::vector<size_t>& tasks,
                                          const std::string& model) {
  std::vector<std::pair<size_t, Spot>> taken;
  for (const size_t task : tasks) {
    auto gpus = fit(room, job.tasks[task], model);
    if (!gpus) continue;
    occupy(room, job.tasks[task], *gpus);
    taken.emplace_back(task, Spot{index, std::move(*gpus)});
  }
  return taken;
}

// Least first: free GPUs (so that a task without one keeps off nodes that have some), then CPUs. Of
// equal rooms the first in the caller's order is taken.
auto leftover(const Room& room) {
  return std::tuple(std::count(room.gpus.begin(), room.gpus.end(), true), room.cpus);
}

class Search {
 public:
  Search(const std::vector<Room>& rooms, const QueuedJob& job, const std::string& pool,
         const std::string& model)
      : rooms_(rooms), job_(job), pool_(pool), model_(model), remaining_(job.tasks.size()) {
    std::iota(remaining_.begin(), remaining_.end(), size_t{0});
    std::sort(remaining_.begin(), remaining_.end(), [&](size_t a, size_t b) {
      const auto size = [&](size_t task) {  // large ones first, then in the job's order
        const TaskNeed& need = job.tasks[task];
        return std::tuple(-need.milli_gpus, -need.milli_cpus, -need.memory_bytes, task);
      };
      return size(a) < size(b);
    });
  }

  // Room after room: one that takes all that remain, else the one that takes the most.
  size_t run(Placement& placement) {
    placement.assign(job_.tasks.size(), {});
    while (!remaining_.empty() && step(placement)) {
    }
    return job_.tasks.size() - remaining_.size();
  }

 private:
  bool step(Placement& placement) {
    std::vector<std::pair<size_t, Spot>> best;
    const Room* best_room = nullptr;
    for (size_t i = 0; i < rooms_.size(); ++i) {
      const Room& room = rooms_[i];
      if (room.key->first != pool_) continue;
      auto taken = fill(room, i, job_, remaining_, model_);
      if (taken.empty() || taken.size() < best.size()) continue;
      if (taken.size() == best.size() && leftover(*best_room) <= leftover(room)) continue;
      best = std::move(taken);
      best_room = &room;
    }
    for (auto& [task, spot] : best) {
      occupy(rooms_[spot.room], job_.tasks[task], spot.gpus);
      placement[task] = std::move(spot);
      std::erase(remaining_, task);
    }
    return !best.empty();
  }

  std::vector<Room> rooms_;
  const QueuedJob& job_;
  const std::string& pool_;
  const std::string& model_;
  std::vector<size_t> remaining_;
};

// The GPU models that some room has and some task may use; "" (any) alone when none needs a GPU,
// and as the last when the tasks themselves name different ones.
std::vector<std::string> models_for(const std::vector<Room>& rooms, const QueuedJob& job) {
  std::set<std::string> found;
  const TaskNeed* first = nullptr;
  bool differ = false;
  for (const TaskNeed& need : job.tasks) {
    if (gpus_of(need) == 0) continue;
    if (first == nullptr) first = &need;
    differ = differ || need.gpu_model != first->gpu_model;
    for (const Room& room : rooms) {
      for (const Gpu& gpu : room.node->info.gpus) {
        if (suits(gpu, need)) found.insert(gpu.model);
      }
    }
  }
  std::vector<std::string> models(found.begin(), found.end());
  if (first == nullptr || differ) models.emplace_back();
  return models;
}

std::vector<std::string> pools_of(const std::vector<Room>& rooms) {
  std::set<std::string> pools;
  for (const Room& room : rooms) pools.insert(room.key->first);
  return {pools.begin(), pools.end()};
}

// Enough of everything, of whatever model; makes nothing.
bool may_fit(const Room& room, const TaskNeed& need) {
  if (room.cpus < need.milli_cpus || room.memory < need.memory_bytes) return false;
  int64_t count = gpus_of(need);
  for (size_t i = 0; count > 0 && i < room.gpus.size(); ++i) {
    count -= room.gpus[i] && suits(room.node->info.gpus[i], need);
  }
  return count <= 0;
}

// A gang of one, which is most jobs: the same answer as Search gives, without its scratch copies.
std::optional<Placement> place_one(const std::vector<Room>& rooms, const TaskNeed& need) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < rooms.size(); ++i) {
    if (may_fit(rooms[i], need)) candidates.push_back(i);
  }
  while (!candidates.empty()) {
    const auto best = std::min_element(
        candidates.begin(), candidates.end(),
        [&](size_t a, size_t b) { return leftover(rooms[a]) < leftover(rooms[b]); });
    const Room& room = rooms[*best];
    std::set<std::string> models;
    for (const Gpu& gpu : room.node->info.gpus) models.insert(gpu.model);
    if (gpus_of(need) == 0) models = {""};
    for (const auto& model : models) {
      if (auto gpus = fit(room, need, model)) return Placement{{*best, std::move(*gpus)}};
    }
    candidates.erase(best);  // enough GPUs, but not of one model
  }
  return std::nullopt;
}

// The best over pools and models: the number of tasks placed and how.
std::pair<size_t, Placement> best_of(const std::vector<Room>& rooms, const QueuedJob& job) {
  std::pair<size_t, Placement> best;
  for (const TaskNeed& need : job.tasks) {
    if (need.gpu_share_milli != 1000 && need.milli_gpus > 0) return best;
  }
  if (job.tasks.size() == 1) {
    if (auto placement = place_one(rooms, job.tasks.front())) best = {1, std::move(*placement)};
    return best;
  }
  const auto models = models_for(rooms, job);
  for (const auto& pool : pools_of(rooms)) {
    for (const auto& model : models) {
      Placement placement;
      const size_t count = Search(rooms, job, pool, model).run(placement);
      if (count > best.first) best = {count, std::move(placement)};
      if (best.first == job.tasks.size()) return best;
    }
  }
  return best;
}

}  // namespace

bool suits(const Gpu& gpu, const TaskNeed& need) {
  if (gpu.memory_bytes < need.gpu_memory_bytes) return false;
  return need.gpu_model.empty() ||
         std::any_of(need.gpu_model.begin(), need.gpu_model.end(),
                     [&](const std::string& wanted) { return names(wanted, gpu.model); });
}

std::vector<Room> rooms(const Cluster::State& state, Fill fill) {
  std::vector<Room> found;
  for (const auto& [key, node] : state.nodes) {
    if (fill != Fill::ever && !node.open()) continue;
    Room room{.key = &key, .node = &node, .cpus = node.total_cpus, .memory = node.total_memory};
    room.gpus.assign(node.info.gpus.size(), true);
    if (fill == Fill::now) {
      room.cpus = node.free_cpus;
      room.memory = node.free_memory;
      room.gpus = node.gpu_free;
    } else if (fill == Fill::empty) {
      for (size_t i = 0; i < room.gpus.size(); ++i) room.gpus[i] = node.info.gpus[i].healthy;
    }
    found.push_back(std::move(room));
  }
  return found;
}

std::optional<Placement> place(const std::vector<Room>& rooms, const QueuedJob& job) {
  auto [count, placement] = best_of(rooms, job);
  if (count < job.tasks.size() || job.tasks.empty()) return std::nullopt;
  return std::move(placement);
}

size_t place_some(const std::vector<Room>& rooms, const QueuedJob& job) {
  return best_of(rooms, job).first;
}

void take(std::vector<Room>& rooms, const QueuedJob& job, const Placement& placement) {
  for (size_t i = 0; i < placement.size(); ++i) {
    occupy(rooms[placement[i].room], job.tasks[i], placement[i].gpus);
  }
}

std::vector<Place> places_of(const std::vector<Room>& rooms, const QueuedJob& job,
                             const Placement& placement) {
  std::vector<Place> places;
  for (size_t i = 0; i < placement.size(); ++i) {
    const Room& room = rooms[placement[i].room];
    Place place{.role = job.tasks[i].role, .rank = job.tasks[i].rank, .node = room.node->info.name};
    for (const size_t gpu : placement[i].gpus) place.gpus.push_back(room.node->info.gpus[gpu].uuid);
    std::sort(place.gpus.begin(), place.gpus.end());
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace hearth::sched
