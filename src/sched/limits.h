// Which limits of quotas stop a job, by the GPU models that it may have. Inside sched alone.
//
// `payer` is the project that pays for it; -1: it is opportunistic, and nothing is charged.
#pragma once

#include "sched/state.h"

namespace hearth::sched {

// The models of which one more is within all limits; nothing when there is none.
std::optional<Ask> within_limits(const Cluster::State& state, int32_t payer, const Queued& queued);
// The first limit that stops it, if any does.
std::optional<OverLimit> over_limit(const Cluster::State& state, int32_t payer,
                                    const Queued& queued);
// The limits that stop it, raised so far that they do not: for each model that it may have (once,
// when it may not choose).
std::vector<std::vector<Raise>> limits_on(const Cluster::State& state, int32_t payer,
                                          const Queued& queued);

}  // namespace hearth::sched
