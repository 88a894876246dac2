// How well starts kept to switches and NVLink cliques: told of a replay (simulate.h).
#pragma once

#include "sched/cells.h"
#include "sched/scheduler.h"

namespace hearth::sched {

struct LinkUse {
  // Starts (of a job that was evicted, each) of one task with two whole GPUs or more that some link
  // cell could hold, if it were free.
  int64_t jobs = 0;
  int64_t inside = 0;  // of these, lie in one
  int64_t missed = 0;  // lie in several though one with room for all was free
  // Took a part of a clean cell though a partly used one held them all.
  int64_t broke_clean = 0;

  // A start of that job, before it has taken what it was granted.
  void add(const Cells& cells, const QueuedJob& job, const Start& start);
};

}  // namespace hearth::sched
