// Child processes: spawn, wait, signal.
//
//   SpawnOptions options;
//   options.argv = {"python3", "train.py"};
//   options.environment = {"PATH=/usr/bin:/bin"};
//   Process child = TRY(spawn(options));
//   const std::optional<Exit> exit = TRY(child.wait(Duration::seconds(10)));
//
// The child is made by clone(CLONE_VM | CLONE_VFORK) and takes a handful of system calls to exec,
// so the cost does not grow with the parent's memory. Every step that fails in the child is an
// Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/clock.h"
#include "base/result.h"
#include "os/files.h"

namespace hearth::os {

struct Stdio {
  enum class Kind { null, inherit, fd } kind = Kind::null;
  int fd = -1;
  static Stdio null() { return {}; }                      // /dev/null
  static Stdio inherit() { return {Kind::inherit, -1}; }  // the parent's own
  static Stdio from(int fd) { return {Kind::fd, fd}; }  // stays the caller's; dup'ed into the child
};

struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary; all others are dropped
};
// The identity of a Unix account with its groups. not_found if there is none.
Result<Identity> identity_of(const std::string& user);

struct SpawnOptions {
  // Either a program with its arguments (argv[0] without a slash is looked up in PATH of
  // `environment`), or a text for `/bin/sh -c`.
  std::vector<std::string> argv;
  std::string program;  // executed in place of argv[0], a path with a slash; "": argv[0]
  std::string shell;
  std::vector<std::string> environment;  // "NAME=value", the whole of it: nothing is inherited
  std::string working_directory;         // "" = the parent's; entered with the child's identity
  Stdio standard_in, standard_out, standard_error;
  std::vector<int> keep_fds;  // open in the child under the same numbers; all others are closed

  bool new_session = true;                // setsid: a terminal's signals do not reach it
  std::optional<Identity> identity;       // needs root
  std::vector<std::string> enter_groups;  // to write "0" into before exec (Cgroup::entry_files)
  bool core_dumps = false;
  std::optional<uint64_t> open_files;  // RLIMIT_NOFILE, soft and hard
  bool no_new_privileges = false;
  int parent_death_signal = 0;  // when the spawning *thread* dies; 0 = none
  std::optional<int> oom_score_adj;
  std::optional<mode_t> file_mask;
};

struct Usage {
  Duration user, system;
  int64_t max_rss_bytes = 0;
};

struct Exit {
  int code = 0;    // when signal == 0
  int signal = 0;  // that ended it, or 0
  bool core = false;
  Usage usage;  // of the child and those of its descendants that it waited for
  bool success() const { return signal == 0 && code == 0; }
  // "exit code 3", "signal 9 (Killed)"
  std::string text() const;
};

// A child of this process. The destructor neither kills nor waits: call wait() until it answers.
class Process {
 public:
  Process() = default;
  Process(Process&&) noexcept = default;
  Process& operator=(Process&&) noexcept = default;
  bool valid() const { return static_cast<bool>(pidfd_); }
  pid_t pid() const { return pid_; }
  uint64_t start_time() const { return start_time_; }  // as in ProcessRef
  int pidfd() const { return pidfd_.get(); }           // readable by poll(2) when it has ended
  // Waits for its end at most so long (zero: only looks). Once ended, the same answer each time.
  Result<std::optional<Exit>> wait(Duration at_most);
  Result<Exit> wait();
  // Fine when it has ended already.
  Result<void> send_signal(int signal);

 private:
  friend Result<Process> spawn(const SpawnOptions&);
  pid_t pid_ = -1;
  uint64_t start_time_ = 0;
  Fd pidfd_;
  std::optional<Exit> exit_;
};

// Errors: not_found = the command is not there (so nothing ran), denied = it may not be run,
// invalid = the working directory cannot be entered or the options are wrong; anything else names
// its step. With `shell`, a missing command is the shell's exit code 127, one that may not be run
// 126.
Result<Process> spawn(const SpawnOptions& options);

// Runs to the end and returns what it wrote (bounded); for small helper programs.
struct RunResult {
  Exit exit;
  std::string output, errors;
  bool timed_out = false;  // it was killed
};
Result<RunResult> run(SpawnOptions options, Duration at_most, size_t max_output = 1 << 20);

// Any process, held so that its pid cannot come to mean another one.
class ProcessRef {
 public:
  // not_found if there is no such process, or if `start_time` (0 = any) is not its own.
  static Result<ProcessRef> open(pid_t pid, uint64_t start_time = 0);
  pid_t pid() const { return pid_; }
  uint64_t start_time() const { return start_time_; }  // clock ticks since boot
  int pidfd() const { return pidfd_.get(); }
  bool alive() const;                          // false for a zombie
  Result<void> send_signal(int signal) const;  // fine when it has ended
  // True when it ended within that time.
  bool wait_ended(Duration at_most) const;

 private:
  pid_t pid_ = -1;
  uint64_t start_time_ = 0;
  Fd pidfd_;
};

struct Pipe {
  Fd read, write;  // close-on-exec, blocking
};
Result<Pipe> make_pipe();
Result<void> set_nonblocking(int fd);

// Orphans below this process become its children instead of init's.
Result<void> become_subreaper();
// Takes the exit states of dead children that are not in `except`; how many.
size_t reap_orphans(const std::vector<pid_t>& except);

// This process's environment as "NAME=value".
std::vector<std::string> current_environment();
// "SIGTERM" for 15; "signal 77" for one without a name.
std::string signal_name(int signal);

}  // namespace hearth::os
