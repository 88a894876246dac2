// Brings what is written down about a job forward: task states -> attempt -> job.
#pragma once

#include "control/access/access.h"
#include "control/context.h"
#include "domain/job.h"

namespace hearth::control {

struct Reconciled {
  Job job;
  std::optional<Attempt> attempt;
  std::vector<Task> tasks;
  bool changed = false;                 // something is to be written
  bool attempt_ended = false;           // now, by this step
  std::vector<std::string> stop_tasks;  // told to end by this step
  double unit = 0;                      // spread of the back-off
};

// Reads the job and says what it should become; writes nothing.
Result<std::optional<Reconciled>> look(db::Session& session, Context& context,
                                       const std::string& job_id);
// Inside a write: looks again and writes it down, with events, run, tokens and outbox.
Result<std::optional<Reconciled>> reconcile(db::Session& session, Context& context, Access& access,
                                            const std::string& job_id);

// Inside a write: tells the tasks of an attempt to end with class `preemption`, which is tried
// again from its checkpoint. The tasks that are told now; none when it has ended or was told
// before.
Result<std::vector<std::string>> evict(db::Session& session, Context& context,
                                       const std::string& attempt_id, const Reason& reason);

// Inside a write: a task of which nothing more will be heard.
Result<void> mark_lost(db::Session& session, Context& context, const std::string& task_id,
                       FailureClass why, const std::string& text);

}  // namespace hearth::control
