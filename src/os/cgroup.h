// Control groups of a task: version 1 (also beside 2, "hybrid"), version 2 as root, version 2
// delegated to an ordinary user, or none, with words that say why.
//
// `cpus` is a weight (cpu.shares = 1024 x cpus, cpu.weight = 100 x cpus): a hard quota, which costs
// short programs up to 100 ms, only when asked. Task groups lie below a parent of their own, never
// in the server's unit. kernel: Documentation/admin-guide/cgroup-v{1,2}.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/clock.h"
#include "base/result.h"

namespace hearth::os {

enum class CgroupVersion { none, v1, v2 };

struct CgroupSupport {
  CgroupVersion version = CgroupVersion::none;
  bool memory = false, cpu = false, pids = false;  // limits that can be set
  bool freeze = false;
  bool delegated = false;  // v2 below a part that this user was given
  bool made = false;       // the parent is of our making: remove_parents() may take it away
  // v1: controller -> the directory below which tasks get theirs. v2: one entry "".
  std::map<std::string, std::string> parents;
  std::string why;  // what was found, and for each limit that cannot be set why, and the mend
};

struct CgroupOptions {
  // Only groups mounted at or below this are looked at.
  std::string mount = "/sys/fs/cgroup";
  // The folder of all tasks: below the highest group that we may write to (for root the top); with
  // a
  // "/" in front below the mount ("/system.slice/hearth-tasks.service", a unit with Delegate=yes).
  // Never within the unit of the server, whose restart would end the tasks.
  std::string parent = "hearth";
  // Whether to start a program inside a group, which tells for certain. Without it the call costs
  // well under a millisecond, and the first spawn into a group tells.
  bool probe = true;
};
// Makes the parent (on v2 with its controllers on), starts a small program in a group below it, and
// says what can be set there. Costs some milliseconds: call it once. On v2, when this process
// itself lives in the group that is to have children (a container), its processes move to a leaf
// beside.
CgroupSupport detect_cgroups(const CgroupOptions& options = {});

// A limit whose controller is not there is left out: CgroupSupport has said so.
struct CgroupLimits {
  int64_t memory_bytes = 0;         // 0 = no limit; swap is not given on top
  double cpus = 0;                  // weight; 0 = the default
  std::optional<double> cpu_quota;  // cores, hard
  int64_t pids = 0;                 // 0 = no limit
};

struct CgroupStats {
  int64_t memory_bytes = 0;       // now, page cache included
  int64_t memory_peak_bytes = 0;  // 0 where the kernel does not say
  int64_t oom_kills = 0;          // processes that the kernel ended for lack of memory
  Duration cpu;
  Duration throttled;  // by the quota
  int64_t read_bytes = 0, write_bytes = 0;
  int64_t pids = 0;
};

class Cgroup {
 public:
  // exists if there is one of that name; not_found if the parent has gone since it was detected
  // (remove_parents by another process): detect again. `name`: letters, digits, '-', '_', '.'.
  static Result<Cgroup> create(const CgroupSupport& support, const std::string& name,
                               const CgroupLimits& limits);
  // One made earlier, after a restart. not_found if none of its folders is there.
  static Result<Cgroup> open(const CgroupSupport& support, const std::string& name);
  Cgroup() = default;

  // What a process is moved by: write its pid.
  std::vector<std::string> procs_files() const;
  // What a process enters by, while it has one thread (SpawnOptions::enter_groups).
  std::vector<std::string> entry_files() const;
  const std::map<std::string, std::string>& folders() const { return folders_; }
  Result<void> add(pid_t pid) const;
  Result<std::vector<pid_t>> processes() const;  // subfolders included
  Result<CgroupStats> stats() const;
  // Nobody in it runs until thaw. unsupported where there is no freezer.
  Result<void> freeze() const;
  Result<void> thaw() const;
  // SIGKILL to all, again until it is empty; timeout if that does not come about.
  Result<void> kill_all(Duration deadline) const;
  // With empty subfolders; waits a little for the last exits. conflict while processes are in it.
  Result<void> remove() const;

 private:
  CgroupVersion version_ = CgroupVersion::none;
  std::map<std::string, std::string> folders_;  // as CgroupSupport::parents, with the name
};

// Where a process of one thread writes "0" to enter the group of this folder. Version 1 moves one
// thread at once, but a whole process only after a wait (expect_move).
std::string group_entry(const std::string& folder);

// Through cgroup.procs the kernel lets a process into another group only after a moment without a
// fork on any CPU, for which it waits 7 to 20 ms, unless a process was let in shortly before. This
// has it wait now, by moving this process to where it is: whoever moves one within the next 10 ms
// or so need not wait. unsupported where this process may not do that.
Result<void> expect_move(const std::string& mount = CgroupOptions().mount);

// Removes the parent where nothing is in it: whoever comes next makes it again.
void remove_parents(const CgroupSupport& support);

// The names of groups below the parent: what an earlier server left behind.
Result<std::vector<std::string>> list_cgroups(const CgroupSupport& support);

}  // namespace hearth::os
