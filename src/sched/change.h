// The smallest changes of a job that would start it now, found by trial. Inside sched alone.
#pragma once

#include <functional>
#include <vector>

#include "sched/cells.h"
#include "sched/quota.h"
#include "sched/scheduler.h"

namespace hearth::sched {

enum class Trial { starts, waits, unknown };
// Whether the job would start now if it were this one; unknown: that cannot be told, or too much
// was asked already.
using Try = std::function<Trial(QueuedJob)>;

// Less than this part of its CPUs or memory, or of a GPU, and it would be another job.
inline constexpr int64_t kLeastPart = 4;  // a quarter
// What an amount is changed by at least.
inline constexpr int64_t kCpuStep = 100;                  // milli-CPU
inline constexpr int64_t kMemoryStep = int64_t{1} << 20;  // bytes
inline constexpr int64_t kShareStep = 50;                 // milli-GPU

// Each alone would start it, and the next smaller one would not. In this order: how it lies (a
// wider cell, level, tasks on one node), another GPU model, less of one thing, the one of which the
// largest part stays first.
std::vector<Change> smallest_changes(const QueuedJob& job, const Cells& cells, const Try& attempt);
// The same job with the change made; limits are none of its own.
QueuedJob changed(QueuedJob job, const Change& change);

// In words of a quota; a limit is never rounded down.
Change change_of(const Quotas& quotas, const Raise& raise);

}  // namespace hearth::sched
