// The parts of a sweep; each is bounded by Retention's bounds.
#pragma once

#include "control/retention/retention.h"

namespace hearth::control {

// Rows that are only kept for a time.
Result<void> forget_rows(const Context& context, const RetentionOptions& options, Time now);
Result<void> forget_events(const Context& context, Time before);
// Segments whose last line is older; an event tells of each task whose log was cut.
Result<void> forget_logs(const Context& context, Time before);
// Of the jobs that have a checkpoint made since `since`: all but the newest `keep` of each.
Result<void> forget_checkpoints(const Context& context, Time since);

Result<void> mark_dying(const Context& context, Time now);
Result<void> remove_dying(const Context& context, CollectionGate& gate, Time marked_before);

}  // namespace hearth::control
