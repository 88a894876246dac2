// Gangs of more than one task: the tightest domain that holds all of them. Inside sched alone.
#pragma once

#include "sched/place.h"

namespace hearth::sched {

// GPUs of `models` alone. The cells are left as they were.
std::optional<Placed> place_gang(Cells& cells, const Ask& ask, ModelMask models,
                                 const Choice& choice);
// How many of its tasks find a place at once in the pool (or rack, or node, if it must lie within
// one) that takes the most.
size_t place_most(Cells& cells, const Ask& ask, ModelMask models, const Choice& choice);

}  // namespace hearth::sched
