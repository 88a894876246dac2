// Signals as readable events, and what a new program does before anything else.
#pragma once

#include <optional>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "os/files.h"

namespace hearth::os {

// Blocks them in this thread and all that it starts. Call it before any thread is started.
Result<void> block_signals(const std::vector<int>& signals);
void ignore_signal(int signal);  // SIGPIPE

struct SignalInfo {
  int signal = 0;
  pid_t sender = 0;
  uid_t sender_uid = 0;
};
// Blocks the signals and makes them readable.
class SignalFd {
 public:
  static Result<SignalFd> make(const std::vector<int>& signals);
  int fd() const { return fd_.get(); }  // for poll(2); non-blocking
  // The next one that came, or nothing.
  Result<std::optional<SignalInfo>> read();

 private:
  Fd fd_;
};

// Closes every descriptor from 3 on but those in `keep`: whoever started us may have left some
// open. Opens /dev/null where 0, 1 or 2 is closed.
Result<void> spawn_hygiene(const std::vector<int>& keep = {});

}  // namespace hearth::os
