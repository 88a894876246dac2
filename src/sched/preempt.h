// Which running gangs would have to end for a job to start. Inside sched alone.
#pragma once

#include "sched/state.h"

namespace hearth::sched {

struct Cover {
  std::vector<Running*> victims;  // none: those that are stopping already make enough room
  std::vector<Grant> grants;      // where the job goes then
};

// Victims are whole gangs of less standing: opportunistic ones; those of projects that use more
// than they are promised, for a job within its project's promise; those of a lower priority in the
// same project, or in one that has no promise kept by it. Those that lose the least work since
// their last checkpoint go first. The place is proved with the victims gone; none more is taken
// than this place needs. The cluster is left as it was. `later`: when the first that has not yet
// run for its pool's minimum may be evicted; not touched when there is none.
std::optional<Cover> find_cover(Cluster::State& state, const Queued& job, const Ask& ask, Time now,
                                Time& later);

}  // namespace hearth::sched
