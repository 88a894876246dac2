// All processes of a task, however they ran away: by cgroup, by descent, by session and by a marker
// in their environment. Frameworks ignore SIGTERM and open sessions of their own, so one way alone
// does not find them.
//
// Nothing is ever signalled by a bare pid: each process is held by a pidfd whose start time was
// compared with the one that was found. This process, its ancestors and pid 1 are never part of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/clock.h"
#include "base/result.h"
#include "os/process.h"

namespace hearth::os {

struct ProcessInfo {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  uint64_t start_time = 0;  // clock ticks since boot
  char state = '?';         // as in /proc/PID/stat; Z and X are dead
  bool kernel = false;      // a thread of the kernel's
  std::string command;      // comm
  Duration cpu;             // own and of children waited for
  int64_t threads = 0;
  int64_t rss_bytes = 0;
};
Result<ProcessInfo> process_info(pid_t pid);
std::vector<ProcessInfo> list_processes();  // dead ones included

// Whoever is named by any of these belongs to the tree, and so do all their descendants.
struct TreeQuery {
  struct Root {
    pid_t pid = 0;
    uint64_t start_time = 0;  // 0 = do not compare
  };
  std::vector<Root> roots;
  std::vector<pid_t> sessions;  // session or process group ids
  std::vector<std::string>
      cgroup_procs;    // files of pids, subfolders included (Cgroup::procs_files)
  std::string marker;  // "HEARTH_TASK=01H...", one whole variable
  std::vector<pid_t> except;
};
// Those alive, sorted by pid.
std::vector<ProcessInfo> find_tree(const TreeQuery& query);

// The pids that stand in a group's file (cgroup.procs) and in those of the groups below it.
std::vector<pid_t> pids_in_group(const std::string& procs_file);

struct KillOptions {
  int first_signal = 15;                      // 0: straight to SIGKILL
  Duration grace = Duration::seconds(10);     // from first_signal to SIGKILL
  Duration deadline = Duration::seconds(10);  // from SIGKILL to giving up
};
struct KillReport {
  int found = 0;  // processes seen in all
  int rounds = 0;
  bool used_kill = false;  // SIGKILL was needed
};
// Ends them all: first_signal, then after the grace stop and SIGKILL, again and again until a look
// finds none. timeout with the names of those left when the deadline passes.
Result<KillReport> kill_tree(const TreeQuery& query, const KillOptions& options);

struct TreeSample {
  int processes = 0;
  int64_t threads = 0;
  int64_t pss_bytes = 0;  // shared pages counted once; RSS for those whose PSS may not be read
  int64_t swap_bytes = 0;
  Duration cpu;                             // since the sampler began; never falls
  int64_t read_bytes = 0, write_bytes = 0;  // to and from disks; never fall
};
// Samples one tree again and again. Not thread-safe.
class TreeSampler {
 public:
  explicit TreeSampler(TreeQuery query) : query_(std::move(query)) {}
  TreeSample sample();
  TreeQuery& query() { return query_; }

 private:
  struct Seen {
    pid_t parent = 0;
    Duration cpu;
    int64_t read_bytes = 0, write_bytes = 0;
  };
  TreeQuery query_;
  std::map<std::pair<pid_t, uint64_t>, Seen> seen_;
  Duration ended_cpu_;
  int64_t ended_read_ = 0, ended_write_ = 0;
  TreeSample last_;
};

}  // namespace hearth::os
