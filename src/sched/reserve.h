// When and where a job that waits will start, from the expected ends of what runs: the reservation
// of EASY backfill. Inside sched alone.
#pragma once

#include "sched/state.h"

namespace hearth::sched {

struct Reservation {
  std::string job_id;
  std::vector<Grant> grants;
  int32_t project = -1;
  Amounts amounts;
  Time since;                   // the job waits since
  Time due;                     // it starts then; {0}: nobody knows
  std::vector<Running*> ended;  // that will have ended by then
};

// The earliest start if all ends are as expected; nothing when too many have no expected end.
std::optional<Reservation> reserve_by_ends(Cluster::State& state, const Queued& job, const Ask& ask,
                                           Time now);
// Where it would go if nothing ran, on the nodes of which the most is free: they will be free
// first.
std::optional<Reservation> reserve_emptiest(Cluster::State& state, const Queued& job,
                                            const Ask& ask, Time now);

}  // namespace hearth::sched
