// How a task ended, in words: the difference between an exit code, a signal, too little memory, the
// time limit, an order, a missing command and a full disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/job.h"
#include "domain/wire/task_spec.h"
#include "os/process.h"

namespace hearth::shim {

struct Ending {
  std::optional<os::Exit> exit;  // of the user's process; none if it never ran
  bool out_of_memory = false;    // by the control group, or by our own watch
  bool time_limit = false;
  std::string stop_class;  // an order to end: its class, "" = the node's (SIGTERM to us)
  bool stopped = false;
  bool disk_full = false;
  std::string last_exception;         // of a Python traceback
  std::optional<int64_t> taken_port;  // of those allotted to it, one that another program has
};
constexpr std::string_view kGangStop = "gang";  // class of an order to end: another task failed
// Nothing when it succeeded.
std::optional<Failure> failure_of(const TaskSpec& spec, const Ending& ending);
// Of a task that never ran.
Failure start_failure(const TaskSpec& spec, const Error& error);

}  // namespace hearth::shim
