// Which counter or rule stops a job. Inside sched alone; explain() makes the words.
//
// Codes and their numbers (tasks: of the gang; ahead: waiting jobs before this one):
//   cpus_short, memory_short, gpus_short   needed, free, total (of the node that comes nearest; in
//                   CPUs, bytes, GPUs), tasks, placed, ahead
//   gang_short      tasks, placed, ahead: each task fits somewhere, but not all at once
//                   all of these name closed, why_closed: a node with room for a task that is
//                   closed to the job
//   cells_short     needed, ahead: enough GPUs are free on a node, not within one NUMA node or link
//   quota_short     limit, used, needed, ahead; names project, what: a limit would be passed
//   preempting      victims, ahead: it starts when those that were asked to end have ended
//   node_closes     seconds (0: it has closed)
//                   names node, why: what would take it closes before it ends
//   no_node                nothing is known of any node
//   node_down       nodes, down: it needs nodes or GPUs that are out of service
//                   names closed, why_closed: a node that would take it, but takes nothing now
//   back_off        seconds
//   behind          ahead, held_seconds: it fits, but the room is held for a job that waits longer
//   never_fits      needed, most, and resource: 1 CPUs, 2 memory, 3 GPUs, 4 the gang as a whole;
//                   names cell (3: what is too small), rules (4: what the tasks must have together)
//   never_quota     limit, needed; names project, what: more than its limit
//   no_pool                names pool: no node is in it
//   gpu_model_missing      gpus (of other models, that it may use), names here (these models), pool
//                          (another one, that has such)
// starts_in_seconds is there beside others when the ends of what runs can be told; with
// starts_from_seconds, starts_to_seconds and starts_learnt_from (so many past starts) where it was
// forecast (forecast.h). Reason::changes are added by whoever decides (change.h).
#pragma once

#include "sched/place.h"
#include "sched/quota.h"

namespace hearth::sched {

// Why nothing could be placed on what is free, though it could if nothing else ran.
// `only`: the nodes that it may use; null: all.
Reason shortage(Cells& cells, const QueuedJob& job, const Ask& ask, const std::vector<char>* only);
// Why it could not be placed even if nothing else ran, though it could if all were in service.
Reason closed(const Cells& cells, const Ask& ask);
Reason quota_short(const OverLimit& over);
// Why it could not be placed even on the idle cluster (`all`); nothing when it could, or when no
// node is known yet.
std::optional<Reason> impossible(Cells& all, const QueuedJob& job, const Ask& ask);
std::optional<Reason> impossible_quota(const Quotas& quotas, int32_t project, const Amounts& asked);

}  // namespace hearth::sched
