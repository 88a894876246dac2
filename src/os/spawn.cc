// spawn(): the parent prepares everything, the child only makes system calls.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "os/process.h"
#include "os/tree.h"

// clone(2) under the name that the sanitizers leave alone: their wrapper is made for fork.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);  // NOLINT

namespace hearth::os {
namespace {

// The child shares the parent's memory until exec: no sanitizer may keep books on it.
#define CHILD_CODE __attribute__((no_sanitize("address", "thread", "undefined"), noinline))

constexpr size_t kStackBytes = 64 << 10;
constexpr int kSignals = 64;
constexpr unsigned kMostFdsClosedByHand = 65536;
constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

enum class Step {
  none,
  session,
  group,
  score,
  limits,
  standard,
  files,
  identity,
  directory,
  privileges,
  death,
  exec
};

// All that the child needs, in plain arrays that the parent keeps alive.
struct Plan {
  char* const* candidates = nullptr;  // paths to try, ended by null
  char** arguments = nullptr;
  char** script_arguments = nullptr;  // {"/bin/sh", PATH, arguments...} for a text without "#!"
  char* const* environment = nullptr;
  const char* directory = nullptr;
  int standard[3] = {-1, -1, -1};
  const int* keep = nullptr;  // sorted
  size_t keep_count = 0;
  const int* groups_files = nullptr;  // open, of SpawnOptions::enter_groups
  size_t groups_files_count = 0;
  bool new_session = false, identity = false, core_dumps = false, no_new_privileges = false;
  uid_t uid = 0;
  gid_t gid = 0;
  const gid_t* groups = nullptr;
  size_t groups_count = 0;
  rlimit open_files{};
  bool set_open_files = false;
  int death_signal = 0;
  pid_t parent = 0;
  char score[16] = {};  // oom_score_adj as text
  size_t score_size = 0;
  int file_mask = -1;
  // What the child answers; the parent sleeps until it has executed or ended.
  Step step = Step::none;
  int error = 0;
};

CHILD_CODE bool child_failed(Plan* plan, Step step) {
  plan->step = step;
  plan->error = errno;
  return false;
}

CHILD_CODE bool child_standard(Plan* plan) {
  int from[3];
  // First out of the way of 0, 1 and 2, then into their places.
  for (int i = 0; i < 3; ++i) {
    from[i] = static_cast<int>(syscall(SYS_fcntl, plan->standard[i], F_DUPFD_CLOEXEC, 3));
    if (from[i] < 0) return child_failed(plan, Step::standard);
  }
  for (int i = 0; i < 3; ++i)
    if (syscall(SYS_dup3, from[i], i, 0) < 0) return child_failed(plan, Step::standard);
  return true;
}

CHILD_CODE bool child_close_range(unsigned first, unsigned last) {
  if (first > last) return true;
  if (syscall(SYS_close_range, first, last, CLOSE_RANGE_CLOEXEC) == 0) return true;
  if (errno != ENOSYS && errno != EINVAL && errno != EPERM) return false;
  if (last > kMostFdsClosedByHand) last = kMostFdsClosedByHand;
  for (unsigned fd = first; fd <= last; ++fd) syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
  return true;
}

CHILD_CODE bool child_files(Plan* plan) {
  unsigned first = 3;
  for (size_t i = 0; i < plan->keep_count; ++i) {
    const auto fd = static_cast<unsigned>(plan->keep[i]);
    if (syscall(SYS_fcntl, fd, F_SETFD, 0) < 0) return child_failed(plan, Step::files);
    if (!child_close_range(first, fd - 1)) return child_failed(plan, Step::files);
    first = fd + 1;
  }
  if (!child_close_range(first, ~0U)) return child_failed(plan, Step::files);
  return true;
}

CHILD_CODE bool child_limits(Plan* plan) {
  if (plan->score_size > 0) {
    const auto fd = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    if (fd < 0 || syscall(SYS_write, fd, plan->score, plan->score_size) < 0)
      return child_failed(plan, Step::score);
    syscall(SYS_close, fd);
  }
  rlimit none;
  none.rlim_cur = none.rlim_max = 0;
  if (!plan->core_dumps && syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, nullptr) != 0)
    return child_failed(plan, Step::limits);
  if (plan->set_open_files &&
      syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &plan->open_files, nullptr) != 0)
    return child_failed(plan, Step::limits);
  return true;
}

// By bare system calls: the C library would change the identity of every thread of the parent.
CHILD_CODE bool child_identity(Plan* plan) {
  if (!plan->identity) return true;
  if (syscall(SYS_setgroups, plan->groups_count, plan->groups) != 0 ||
      syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) != 0 ||
      syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) != 0)
    return child_failed(plan, Step::identity);
  return true;
}

CHILD_CODE void child_signals() {
  // All zero is SIG_DFL, whatever the fields' order on this processor.
  unsigned long zero[16];
  for (unsigned long& word : zero) word = 0;
  for (int signal = 1; signal <= kSignals; ++signal)
    syscall(SYS_rt_sigaction, signal, zero, nullptr, kSignals / 8);
}

CHILD_CODE bool child_prepare(Plan* plan) {
  child_signals();
  if (plan->new_session && syscall(SYS_setsid) < 0) return child_failed(plan, Step::session);
  for (size_t i = 0; i < plan->groups_files_count; ++i)
    if (syscall(SYS_write, plan->groups_files[i], "0", 1) != 1)
      return child_failed(plan, Step::group);
  if (!child_limits(plan) || !child_standard(plan) || !child_files(plan)) return false;
  if (plan->file_mask >= 0) syscall(SYS_umask, plan->file_mask);
  if (!child_identity(plan)) return false;
  if (plan->directory != nullptr && syscall(SYS_chdir, plan->directory) != 0)
    return child_failed(plan, Step::directory);
  if (plan->no_new_privileges && syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return child_failed(plan, Step::privileges);
  // After the identity: changing that one clears it.
  if (plan->death_signal != 0) {
    if (syscall(SYS_prctl, PR_SET_PDEATHSIG, plan->death_signal, 0, 0, 0) != 0)
      return child_failed(plan, Step::death);
    if (syscall(SYS_getppid) != plan->parent) {
      errno = ESRCH;
      return child_failed(plan, Step::death);
    }
  }
  unsigned long none[kSignals / 8 / sizeof(unsigned long)];
  for (unsigned long& word : none) word = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, nullptr, kSignals / 8);
  return true;
}

CHILD_CODE int child_main(void* argument) {
  Plan* const plan = static_cast<Plan*>(argument);
  if (child_prepare(plan)) {
    int error = ENOENT;
    for (size_t i = 0; plan->candidates[i] != nullptr; ++i) {
      char* const path = plan->candidates[i];
      syscall(SYS_execve, path, plan->arguments, plan->environment);
      if (errno == ENOEXEC) {
        plan->script_arguments[1] = path;
        syscall(SYS_execve, plan->script_arguments[0], plan->script_arguments, plan->environment);
      }
      if (errno == ENOENT || errno == ENOTDIR) continue;
      error = errno;
      if (errno != EACCES) break;
    }
    errno = error;
    child_failed(plan, Step::exec);
  }
  syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

// --- the parent's side -----------------------------------------------------------------------

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> candidates_for(const std::string& program,
                                        const std::vector<std::string>& environment) {
  if (program.find('/') != std::string::npos) return {program};
  std::string_view path = kDefaultPath;
  for (const std::string& variable : environment)
    if (variable.starts_with("PATH=")) path = std::string_view(variable).substr(5);
  std::vector<std::string> out;
  for (const std::string_view folder : split(path, ':'))
    out.push_back(folder.empty() ? "./" + program : format("{}/{}", folder, program));
  return out;
}

Result<void> check(const SpawnOptions& options) {
  if (options.argv.empty() == options.shell.empty())
    return Error::invalid("a process needs either a program or a text for the shell");
  if (!options.argv.empty() && options.argv[0].empty())
    return Error::invalid("the name of the program is empty");
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (std::any_of(options.argv.begin(), options.argv.end(), has_nul) || has_nul(options.shell) ||
      std::any_of(options.environment.begin(), options.environment.end(), has_nul))
    return Error::invalid("a NUL stands in the command or its environment");
  return {};
}

std::string_view words_of(Step step) {
  switch (step) {
    case Step::none:
      return "starting";
    case Step::session:
      return "opening a session";
    case Step::group:
      return "joining the control group";
    case Step::score:
      return "setting oom_score_adj";
    case Step::limits:
      return "setting resource limits";
    case Step::standard:
      return "connecting standard input and output";
    case Step::files:
      return "closing inherited files";
    case Step::identity:
      return "taking on the identity";
    case Step::directory:
      return "entering the working directory";
    case Step::privileges:
      return "giving up new privileges";
    case Step::death:
      return "binding the child to its parent";
    case Step::exec:
      return "executing";
  }
  return "starting";
}

// The storage behind a Plan.
class Prepared {
 public:
  Result<void> prepare(const SpawnOptions& options) {
    TRY(check(options));
    arguments_ = options.argv;
    if (!options.shell.empty()) arguments_ = {"/bin/sh", "-c", options.shell};
    environment_ = options.environment;
    program_ = options.program.empty() ? arguments_[0] : options.program;
    candidates_ = candidates_for(program_, environment_);
    directory_ = options.working_directory;
    argument_pointers_ = pointers(arguments_);
    candidate_pointers_ = pointers(candidates_);
    environment_pointers_ = pointers(environment_);
    script_pointers_ = {shell_.data(), nullptr};
    script_pointers_.insert(script_pointers_.end(), argument_pointers_.begin() + 1,
                            argument_pointers_.end());
    plan.candidates = candidate_pointers_.data();
    plan.arguments = argument_pointers_.data();
    plan.script_arguments = script_pointers_.data();
    plan.environment = environment_pointers_.data();
    if (!directory_.empty()) plan.directory = directory_.c_str();
    TRY(prepare_files(options));
    prepare_rest(options);
    return {};
  }

  Error error() const {
    const std::string& program = program_;
    if (plan.step == Step::directory)
      return Error::invalid(format("the working directory {} cannot be entered: {}", directory_,
                                   std::strerror(plan.error)));
    if (plan.step == Step::exec && plan.error == ENOENT) {
      if (candidates_.size() == 1 && exists(candidates_[0]))
        return Error::not_found(format("{} is there, but not what its first line names", program));
      return Error::not_found(format("command not found: {}", program),
                              candidates_.size() > 1 ? "look at PATH of the environment" : "");
    }
    if (plan.step == Step::exec)
      return Error::from_errno(format("command cannot be run: {}", program), plan.error);
    Error error = Error::from_errno(format("{} for {}", words_of(plan.step), program), plan.error);
    // Only a missing command is "not found".
    if (error.code == Code::not_found) error.code = Code::internal;
    return error;
  }

  Plan plan;

 private:
  Result<void> prepare_files(const SpawnOptions& options) {
    null_ = Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null_) return Error::from_errno("opening /dev/null", errno);
    const Stdio* const wanted[3] = {&options.standard_in, &options.standard_out,
                                    &options.standard_error};
    for (int i = 0; i < 3; ++i) {
      int fd = null_.get();
      if (wanted[i]->kind == Stdio::Kind::fd) fd = wanted[i]->fd;
      if (wanted[i]->kind == Stdio::Kind::inherit && fcntl(i, F_GETFD) >= 0) fd = i;
      plan.standard[i] = fd;
    }
    keep_ = options.keep_fds;
    std::sort(keep_.begin(), keep_.end());
    keep_.erase(std::unique(keep_.begin(), keep_.end()), keep_.end());
    if (!keep_.empty() && keep_[0] < 3)
      return Error::invalid("keep_fds is for descriptors from 3 on");
    plan.keep = keep_.data();
    plan.keep_count = keep_.size();
    for (const std::string& path : options.enter_groups) {
      Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (!file) {
        Error error = Error::from_errno(format("opening {}", path), errno);
        if (error.code == Code::not_found) error.code = Code::internal;
        return error;
      }
      group_numbers_.push_back(file.get());
      group_files_.push_back(std::move(file));
    }
    plan.groups_files = group_numbers_.data();
    plan.groups_files_count = group_numbers_.size();
    return {};
  }

  void prepare_rest(const SpawnOptions& options) {
    plan.new_session = options.new_session;
    plan.core_dumps = options.core_dumps;
    plan.no_new_privileges = options.no_new_privileges;
    plan.death_signal = options.parent_death_signal;
    plan.parent = getpid();
    if (options.file_mask) plan.file_mask = static_cast<int>(*options.file_mask);
    if (options.open_files) {
      plan.set_open_files = true;
      plan.open_files.rlim_cur = plan.open_files.rlim_max = *options.open_files;
    }
    if (options.oom_score_adj) {
      const std::string text = format("{}", *options.oom_score_adj);
      plan.score_size = std::min(text.size(), sizeof plan.score);
      std::copy_n(text.begin(), plan.score_size, plan.score);
    }
    if (options.identity) {
      groups_ = options.identity->groups;
      plan.identity = true;
      plan.uid = options.identity->uid;
      plan.gid = options.identity->gid;
      plan.groups = groups_.data();
      plan.groups_count = groups_.size();
    }
  }

  std::vector<std::string> arguments_, environment_, candidates_;
  std::string program_, directory_, shell_ = "/bin/sh";
  std::vector<char*> argument_pointers_, candidate_pointers_, environment_pointers_,
      script_pointers_;
  Fd null_;
  std::vector<int> keep_, group_numbers_;
  std::vector<Fd> group_files_;
  std::vector<gid_t> groups_;
};

class ChildStack {
 public:
  ChildStack()
      : base_(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  ~ChildStack() {
    if (base_ != MAP_FAILED) munmap(base_, kStackBytes);
  }
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;
  bool ok() const { return base_ != MAP_FAILED; }
  void* top() const { return static_cast<char*>(base_) + kStackBytes; }

 private:
  void* base_;
};

}  // namespace

Result<Process> spawn(const SpawnOptions& options) {
  Prepared prepared;
  TRY(prepared.prepare(options));
  const ChildStack stack;
  if (!stack.ok()) return Error::from_errno("making a stack for a child", errno);

  // No handler of ours may run in the child while it shares our memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int pidfd = -1;
  const int pid = __clone(child_main, stack.top(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
                          &prepared.plan, &pidfd);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return Error::from_errno("making a child process", error);

  Process process;
  process.pid_ = pid;
  process.pidfd_ = Fd(pidfd);
  if (prepared.plan.step != Step::none) {
    ignore(process.wait());
    return prepared.error();
  }
  const auto info = process_info(pid);
  if (info.ok()) process.start_time_ = info->start_time;
  return process;
}

}  // namespace hearth::os
