#include "os/signals.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/numbers.h"

namespace hearth::os {
namespace {

sigset_t set_of(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

// For kernels before 5.9.
void close_listed(unsigned first, unsigned last) {
  const auto entries = list_directory("/proc/self/fd");
  if (!entries.ok()) return;
  for (const Entry& entry : *entries) {
    const auto fd = leading_number<unsigned>(entry.name);
    if (fd && *fd >= first && *fd <= last) ::close(static_cast<int>(*fd));
  }
}

void close_between(unsigned first, unsigned last) {
  if (first <= last && syscall(SYS_close_range, first, last, 0) != 0) close_listed(first, last);
}

}  // namespace

Result<void> block_signals(const std::vector<int>& signals) {
  const sigset_t set = set_of(signals);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
    return Error::from_errno("blocking signals", error);
  return {};
}

void ignore_signal(int signal) {
  ::signal(signal, SIG_IGN);
}

Result<SignalFd> SignalFd::make(const std::vector<int>& signals) {
  TRY(block_signals(signals));
  const sigset_t set = set_of(signals);
  SignalFd out;
  out.fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!out.fd_) return Error::from_errno("making signals readable", errno);
  return out;
}

Result<std::optional<SignalInfo>> SignalFd::read() {
  signalfd_siginfo info{};
  ssize_t got = 0;
  do got = ::read(fd(), &info, sizeof info);
  while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::optional<SignalInfo>();
  if (got != sizeof info) return Error::from_errno("reading a signal", errno);
  return std::optional(
      SignalInfo{static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid), info.ssi_uid});
}

Result<void> spawn_hygiene(const std::vector<int>& keep) {
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0)
      return Error::from_errno("opening /dev/null", errno);
  std::vector<int> kept = keep;
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (const int fd : kept) {
    if (fd < static_cast<int>(first)) continue;
    close_between(first, static_cast<unsigned>(fd) - 1);
    first = static_cast<unsigned>(fd) + 1;
  }
  close_between(first, ~0U);
  return {};
}

}  // namespace hearth::os
