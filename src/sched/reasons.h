// Which counter or rule stops a job. Inside sched alone; explain() makes the words.
//
// Codes and their numbers (tasks: of the gang; ahead: waiting jobs before this one):
//   cpus_short, memory_short, gpus_short   needed, free, total (of the node that comes nearest; in
//                   CPUs, bytes, GPUs), fits_with (less of it that would start now; absent when no
//                   such change alone helps), tasks, placed, ahead
//   gang_short      tasks, placed, ahead: each task fits somewhere, but not all at once
//   no_node                nothing is known of any node
//   node_down              nodes, down: it needs nodes or GPUs that are out of service
//   back_off        seconds
//   behind          ahead, held_seconds: it fits, but the room is held for a job that waits longer
//   never_fits      needed, most, and resource: 1 CPUs, 2 memory, 3 GPUs, 4 the gang as a whole
//   gpu_model_missing      gpus (of other models)
//   gpu_share_unsupported  share
#pragma once

#include "sched/place.h"

namespace hearth::sched {

// Why nothing could be placed in `free`, though it could if nothing else ran.
Reason shortage(const std::vector<Room>& free, const QueuedJob& job);
// Why it could not be placed even if nothing else ran, though it could if all were in service.
Reason closed(const Cluster::State& state);
// Why it could not be placed even on the idle cluster; nothing when it could, or when no node is
// known yet.
std::optional<Reason> impossible(const Cluster::State& state, const QueuedJob& job);

}  // namespace hearth::sched
