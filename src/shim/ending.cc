#include "shim/ending.h"

#include <signal.h>

#include "base/format.h"
#include "base/units.h"
#include "domain/words.h"

namespace hearth::shim {
namespace {

constexpr int kNotFound = 127, kNotAllowed = 126;  // of a POSIX shell

Failure base(const TaskSpec& spec, FailureClass failure_class) {
  Failure failure;
  failure.failure_class = failure_class;
  failure.rank = spec.rank;
  failure.role = spec.role;
  return failure;
}

FailureClass class_of(const std::string& word) {
  for (size_t i = 0; i < Words<FailureClass>::words.size(); ++i)
    if (Words<FailureClass>::words[i] == word) return static_cast<FailureClass>(i);
  return word.empty() ? FailureClass::node : FailureClass::cancelled;
}

void describe_stop(Failure& failure, const std::string& stop_class) {
  if (stop_class == kGangStop) {
    failure.text = "ended with its gang: another task had failed";
    return;
  }
  switch (failure.failure_class) {
    case FailureClass::cancelled:
      failure.text = "cancelled";
      break;
    case FailureClass::preemption:
      failure.text = "ended to make room for another job";
      break;
    case FailureClass::time_limit:
      failure.text = "its time was over";
      break;
    case FailureClass::node:
      failure.text = "the node asked the task to end (SIGTERM to its supervisor)";
      break;
    default:
      failure.text = format("told to end ({})",
                            Words<FailureClass>::words[static_cast<size_t>(failure.failure_class)]);
      break;
  }
}

Failure of_signal(const TaskSpec& spec, const os::Exit& exit) {
  Failure failure = base(spec, FailureClass::signal);
  failure.signal = exit.signal;
  failure.text = format("ended by {}", exit.text());
  if (exit.signal == SIGKILL)
    failure.mend =
        "somebody killed it, or the whole machine ran out of memory: see the kernel's log";
  if (exit.signal == SIGSEGV || exit.signal == SIGBUS || exit.signal == SIGILL)
    failure.mend = "a fault in native code: look at the last lines of the log";
  return failure;
}

Failure of_code(const TaskSpec& spec, const Ending& ending) {
  const int code = ending.exit->code;
  Failure failure = base(spec, ending.disk_full ? FailureClass::disk : FailureClass::exit);
  failure.exit_code = code;
  failure.text = format("exit code {}", code);
  if (!ending.last_exception.empty()) failure.text += ": " + ending.last_exception;
  if (ending.disk_full) {
    failure.text += "; the disk of the working directory is full";
    failure.mend = "free some space on the node, or let the job write less";
  } else if (code == kNotFound && !spec.command.text.empty()) {
    failure.text = "exit code 127: the shell did not find a command";
    failure.mend = "look at the last lines of the log for its name, and at `environment`";
  } else if (code == kNotAllowed && !spec.command.text.empty()) {
    failure.text = "exit code 126: the shell may not run a command";
    failure.mend = "give the file the executable bit, or name its interpreter";
  } else if (code > 128 && code < 128 + 65) {
    failure.text += format(" (as a shell reports {})", os::signal_name(code - 128));
  }
  if (failure.mend.empty()) failure.mend = "the last lines of its log say why: `hearth job logs`";
  return failure;
}

Failure of_taken_port(const TaskSpec& spec, const Ending& ending) {
  Failure failure = base(spec, FailureClass::node);
  failure.exit_code = ending.exit->code;
  failure.text = format("port {}, which it was allotted, was taken by another program: {}",
                        *ending.taken_port, ending.exit->text());
  failure.mend = "another attempt gets other ports";
  return failure;
}

}  // namespace

std::optional<Failure> failure_of(const TaskSpec& spec, const Ending& ending) {
  if (ending.out_of_memory && !(ending.exit && ending.exit->success())) {
    Failure failure = base(spec, FailureClass::oom);
    failure.text = format("out of memory: the limit of {} was reached",
                          format_size(spec.resources.memory.bytes));
    failure.mend =
        "give resources.memory more, or let the job use less (a smaller batch, fewer "
        "loader processes)";
    if (ending.exit && ending.exit->signal != 0) failure.signal = ending.exit->signal;
    if (ending.exit && ending.exit->signal == 0) failure.exit_code = ending.exit->code;
    return failure;
  }
  if (ending.time_limit) {
    Failure failure = base(spec, FailureClass::time_limit);
    failure.text = format("the time limit of {} was over",
                          format_duration(Duration::seconds(spec.time_limit_seconds)));
    failure.mend = "give time_limit more; a retry goes on from the last checkpoint";
    return failure;
  }
  if (ending.stopped) {
    Failure failure = base(spec, class_of(ending.stop_class));
    describe_stop(failure, ending.stop_class);
    return failure;
  }
  if (!ending.exit) return base(spec, FailureClass::lost);
  if (ending.exit->success()) return std::nullopt;
  if (ending.taken_port) return of_taken_port(spec, ending);
  return ending.exit->signal != 0 ? of_signal(spec, *ending.exit) : of_code(spec, ending);
}

Failure start_failure(const TaskSpec& spec, const Error& error) {
  const FailureClass why = error.code == Code::unavailable ? FailureClass::disk
                           : error.code == Code::busy      ? FailureClass::node
                                                           : FailureClass::start;
  Failure failure = base(spec, why);
  failure.text = error.detail;
  failure.mend = error.mend;
  for (const FieldError& field : error.errors)
    failure.text += format("; {}: found {}, allowed: {}", field.path, field.found, field.allowed);
  return failure;
}

}  // namespace hearth::shim
