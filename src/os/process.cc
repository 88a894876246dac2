#include "os/process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/format.h"
#include "os/tree.h"

namespace hearth::os {
namespace {

constexpr size_t kPipeBytes = 64 << 10;
constexpr int kMostGroups = 65536;

Duration from_timeval(const timeval& value) {
  return {int64_t{value.tv_sec} * 1'000'000 + value.tv_usec};
}

// Rounded up, so that a wait is never shorter than asked for.
int poll_millis(Duration left) {
  const int64_t millis = (left.micros + 999) / 1000;
  return static_cast<int>(std::clamp<int64_t>(millis, 0, std::numeric_limits<int>::max()));
}

// Whether `fd` became readable in that time.
bool readable_within(int fd, Duration at_most) {
  const Time end = system_clock().steady() + at_most;
  pollfd look{fd, POLLIN, 0};
  for (;;) {
    const int ready = poll(&look, 1, poll_millis(end - system_clock().steady()));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR && errno != EAGAIN) return false;
  }
}

Result<void> signal_by(int pidfd, int signal) {
  if (syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0 || errno == ESRCH) return {};
  return Error::from_errno(format("sending {}", signal_name(signal)), errno);
}

// What has come in so far; false at the end or when nobody may read on.
bool drain(const Fd& fd, std::string& into, size_t bound) {
  char buffer[kPipeBytes];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    const size_t room = bound - std::min(bound, into.size());
    into.append(buffer, std::min(room, static_cast<size_t>(got)));
  }
}

}  // namespace

std::string Exit::text() const {
  if (signal == 0) return format("exit code {}", code);
  return format("signal {} ({})", signal, strsignal(signal));
}

Result<std::optional<Exit>> Process::wait(Duration at_most) {
  if (exit_) return exit_;
  if (!valid()) return Error::internal("waiting for a process that was not started");
  if (!readable_within(pidfd_.get(), at_most)) return std::optional<Exit>();
  siginfo_t info{};
  rusage usage{};
  long done = 0;
  do done = syscall(SYS_waitid, P_PIDFD, pidfd_.get(), &info, WEXITED, &usage);
  while (done != 0 && errno == EINTR);
  if (done != 0) return Error::from_errno(format("waiting for process {}", pid_), errno);
  Exit exit;
  if (info.si_code == CLD_EXITED) exit.code = info.si_status;
  if (info.si_code != CLD_EXITED) exit.signal = info.si_status;
  exit.core = info.si_code == CLD_DUMPED;
  exit.usage = {from_timeval(usage.ru_utime), from_timeval(usage.ru_stime),
                int64_t{usage.ru_maxrss} * 1024};
  exit_ = exit;
  return exit_;
}

Result<Exit> Process::wait() {
  for (;;) {
    const std::optional<Exit> exit = TRY(wait(Duration::seconds(3600)));
    if (exit) return *exit;
  }
}

Result<void> Process::send_signal(int signal) {
  if (exit_) return {};
  return signal_by(pidfd_.get(), signal);
}

Result<ProcessRef> ProcessRef::open(pid_t pid, uint64_t start_time) {
  const Error gone = Error::not_found(format("there is no process {}", pid));
  if (pid <= 0) return gone;
  ProcessRef ref;
  ref.pid_ = pid;
  ref.pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!ref.pidfd_ && (errno == ESRCH || errno == EINVAL)) return gone;
  if (!ref.pidfd_) return Error::from_errno(format("opening process {}", pid), errno);
  const auto info = process_info(pid);
  // Alive after the look, so what was looked at was this process and not a later one of its number.
  if (!info.ok() || !ref.alive()) return gone;
  if (start_time != 0 && info->start_time != start_time)
    return Error::not_found(format("process {} is another one by now", pid));
  ref.start_time_ = info->start_time;
  return ref;
}

bool ProcessRef::alive() const {
  return pidfd_ && !readable_within(pidfd_.get(), {});
}

Result<void> ProcessRef::send_signal(int signal) const {
  return signal_by(pidfd_.get(), signal);
}

bool ProcessRef::wait_ended(Duration at_most) const {
  return readable_within(pidfd_.get(), at_most);
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("making a pipe", errno);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<void> set_nonblocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return Error::from_errno("making a descriptor non-blocking", errno);
  return {};
}

Result<void> become_subreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    return Error::from_errno("becoming the reaper of orphans", errno);
  return {};
}

size_t reap_orphans(const std::vector<pid_t>& except) {
  const auto kept = [&](pid_t pid) {
    return std::find(except.begin(), except.end(), pid) != except.end();
  };
  size_t reaped = 0;
  // One call tells that there is nothing to do, as mostly.
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
      return reaped;
    if (kept(info.si_pid)) break;
    if (waitpid(info.si_pid, nullptr, WNOHANG) == info.si_pid) ++reaped;
  }
  // One that is kept stands before the others: those have to be looked for.
  for (const ProcessInfo& info : list_processes()) {
    if (info.parent != getpid() || info.state != 'Z' || kept(info.pid)) continue;
    if (waitpid(info.pid, nullptr, WNOHANG) == info.pid) ++reaped;
  }
  return reaped;
}

std::vector<std::string> current_environment() {
  std::vector<std::string> out;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) out.emplace_back(*at);
  return out;
}

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? format("SIG{}", name) : format("signal {}", signal);
}

Result<Identity> identity_of(const std::string& user) {
  passwd entry{};
  passwd* found = nullptr;
  std::string buffer(16384, '\0');
  const int error = getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (error != 0) return Error::from_errno(format("looking up the account {}", user), error);
  if (found == nullptr) return Error::not_found(format("there is no account {}", user));
  Identity identity{entry.pw_uid, entry.pw_gid, {}};
  int count = 64;
  identity.groups.resize(static_cast<size_t>(count));
  while (getgrouplist(user.c_str(), entry.pw_gid, identity.groups.data(), &count) < 0) {
    if (count > kMostGroups) return Error::internal(format("{} is in too many groups", user));
    identity.groups.resize(static_cast<size_t>(count));
  }
  identity.groups.resize(static_cast<size_t>(count));
  return identity;
}

Result<RunResult> run(SpawnOptions options, Duration at_most, size_t max_output) {
  Pipe out = TRY(make_pipe()), err = TRY(make_pipe());
  TRY(set_nonblocking(out.read.get()));
  TRY(set_nonblocking(err.read.get()));
  options.standard_out = Stdio::from(out.write.get());
  options.standard_error = Stdio::from(err.write.get());
  options.new_session = true;
  Process child = TRY(spawn(options));
  out.write.reset();
  err.write.reset();

  RunResult result;
  const Time end = system_clock().steady() + at_most;
  bool more_out = true, more_err = true, ended = false;
  while (!ended) {
    const Duration left = end - system_clock().steady();
    if (left.micros <= 0 && !result.timed_out) {
      result.timed_out = true;
      // Its number is its group's, and is not given to another before we have waited for it.
      kill(-child.pid(), SIGKILL);
    }
    pollfd look[3] = {{child.pidfd(), POLLIN, 0},
                      {more_out ? out.read.get() : -1, POLLIN, 0},
                      {more_err ? err.read.get() : -1, POLLIN, 0}};
    if (poll(look, 3, result.timed_out ? -1 : poll_millis(left)) < 0 && errno != EINTR)
      return Error::from_errno("waiting for a helper program", errno);
    ended = look[0].revents != 0;
    if (more_out) more_out = drain(out.read, result.output, max_output);
    if (more_err) more_err = drain(err.read, result.errors, max_output);
  }
  result.exit = TRY(child.wait());
  return result;
}

}  // namespace hearth::os
