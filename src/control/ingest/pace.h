// How far a task has come, by the metrics that it logged last.
#pragma once

#include <optional>

#include "base/clock.h"
#include "db/database.h"

namespace hearth::control {

struct Pace {
  int64_t step = 0;  // the newest that was logged
  Time at;           // when, by the task's clock
  double steps_per_second = 0;
};
// Nothing while it has logged no metric. Reads two rows at most; what is damaged is passed over.
Result<std::optional<Pace>> pace_of(db::Session& session, const std::string& run_id,
                                    const std::string& task_id);

}  // namespace hearth::control
