// Where a gang would go: a scratch copy of what is free, and the search on it. Inside sched alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sched/state.h"

namespace hearth::sched {

// What is free on one node in a trial.
struct Room {
  const NodeKey* key = nullptr;
  const NodeState* node = nullptr;
  int64_t cpus = 0, memory = 0;
  std::vector<bool> gpus;
};
enum class Fill {
  now,    // what is free, on nodes that take tasks
  empty,  // as if nothing ran, on nodes that take tasks
  ever,   // as if nothing ran and every node and GPU were well and open
};
std::vector<Room> rooms(const Cluster::State& state, Fill fill);

// A gang placed: per task, in the job's order, which room and which of its GPUs.
struct Spot {
  size_t room = 0;
  std::vector<size_t> gpus;
};
using Placement = std::vector<Spot>;

// All of the job's tasks or nothing, in one pool. One GPU model for all tasks; as few nodes as
// possible, then those with the least left over; within a node as few switches or NVLink cliques,
// then partly used ones before clean ones. The same input gives the same answer.
std::optional<Placement> place(const std::vector<Room>& rooms, const QueuedJob& job);
// How many of the tasks can be placed at once at most by the same search; for reasons.
size_t place_some(const std::vector<Room>& rooms, const QueuedJob& job);

void take(std::vector<Room>& rooms, const QueuedJob& job, const Placement& placement);
std::vector<Place> places_of(const std::vector<Room>& rooms, const QueuedJob& job,
                             const Placement& placement);

// May this task use that GPU, apart from whether it is free.
bool suits(const Gpu& gpu, const TaskNeed& need);
inline int64_t gpus_of(const TaskNeed& need) {
  return need.milli_gpus / 1000;
}

}  // namespace hearth::sched
