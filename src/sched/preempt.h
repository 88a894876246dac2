// Which running gangs would have to end for a job to start. Inside sched alone.
#pragma once

#include <compare>

#include "sched/state.h"

namespace hearth::sched {

struct Cover {
  std::vector<Running*> victims;  // none: those that are stopping already make enough room
  std::vector<Grant> grants;      // where the job goes then
};

// What an eviction costs: jobs that end for good by it first, then the work that is lost.
struct EvictionCost {
  double for_good = 0, work = 0;
  auto operator<=>(const EvictionCost&) const = default;
  EvictionCost& operator+=(const EvictionCost& other) {
    for_good += other.for_good;
    work += other.work;
    return *this;
  }
};

// Who may be evicted for jobs of one kind, looked up once for all of them in a plan.
struct Candidates {
  struct One {
    Running* running;
    EvictionCost cost;
  };
  std::string kind;                                  // of the jobs that this was made for
  std::vector<One> all;                              // those that stop by now are passed over
  std::map<int32_t, std::vector<One>> by_node;       // cheapest first
  std::set<std::pair<EvictionCost, int32_t>> order;  // of the cheapest on a node
  Time later;  // when the first that has not run for its pool's minimum may be
};

// Victims are whole gangs of less standing: opportunistic ones; those of projects that use more
// than they are promised, for a job within its project's promise; those of a lower priority in the
// same project, or in one that is beyond its promise, or when the job itself keeps within its own.
// Those that lose the least work since their last checkpoint go first, and last those that would
// not be tried again. The place is proved with the
// victims gone; none more is taken than this place needs. What those that are stopping hold must be
// free on the cells and quotas when this is called; they are left as they were.
std::optional<Cover> find_cover(Cluster::State& state, Candidates& candidates, const Queued& job,
                                const Ask& ask, Time now);

}  // namespace hearth::sched
