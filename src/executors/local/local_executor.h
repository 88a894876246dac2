// Tasks as processes of this machine: one `hearth shim DIR` each, in a session of its own, outside
// of the server's unit, so that the server may stop, crash or be replaced while they run.
//
//   WORK/ATTEMPT/TASK/        task.json (0600), shim.log, drained; all else is the shim's
//   WORK/ATTEMPT/gang/        where `launch: mpi` hands commands from rank to rank (shim/gang.h)
//
// An attempt's folder appears whole (written as ATTEMPT.new, then renamed). Nothing is synced: a
// power loss ends the tasks too, and what they had acknowledged lies in the server's database. A
// folder without a uid is 0700; with one it is the server's and 0711, so that the task passes
// through to its working directory but cannot list or change what lies beside it.
//
// A shim that exits with 0 has ended its task and shipped its spool. Whatever else becomes of it
// (or whatever an earlier server left behind) `hearth shim --drain DIR` is run until it exits with
// 0; only then the task counts as ended. No bare pid is trusted: own children are held by pidfd,
// others by the lock file's holder, looked at again after its pidfd is open.
//
// Nodes that LocalOptions::lent names take the place of the one that is there: a task of any of
// them is a process of this machine like every other, bound to what it was granted by name alone.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "executors/event_queue.h"
#include "executors/executor.h"
#include "executors/local/task_folder.h"
#include "hw/gpu.h"
#include "hw/machine.h"
#include "hw/topology.h"
#include "os/cgroup.h"
#include "os/process.h"
#include "os/tree.h"

namespace hearth::executors {

struct LocalOptions {
  std::string work_directory;                               // made if it is not there
  std::vector<std::string> shim{"/proc/self/exe", "shim"};  // then DIR, or --drain DIR
  std::string program;                                      // executed; "": shim[0]
  std::vector<std::string> environment;                     // of shims; empty: this process's own
  std::string node_name;                                    // "": the host's name
  std::string pool = "local";
  std::vector<NodeInfo> lent;                     // nodes that are not there; empty: this machine
  double reserved_cpus = 0;                       // kept back for the server
  int64_t reserved_memory = 0;                    // bytes
  std::string nvml;                               // as hw::Gpus::open
  bool leave_unit = true;                         // see shim_group.h
  std::string cgroup_parent = "hearth";           // of tasks, as os::CgroupOptions::parent
  Duration drain_pause = Duration::seconds(1);    // before the second drain; then doubled
  Duration health_every = Duration::seconds(30);  // how often the GPUs are looked at
};

class LocalExecutor : public Executor {
 public:
  // Named bounds.
  static constexpr size_t kMostTasks = 4096;  // tracked at once
  static constexpr size_t kMostDrains = 16;   // at once
  static constexpr int kDrainTries = 5;       // then the task is lost
  static constexpr Duration kKillDeadline = Duration::seconds(5);
  static constexpr int kGroupTries = 5;                           // of starting a shim in its group
  static constexpr Duration kEndingWait = Duration::millis(500);  // at our end, for shims at theirs
  static constexpr size_t kMostLeftovers = 4096;                  // folders waiting to be removed

  // `clock` must outlive it. Errors: the work directory cannot be made.
  static Result<std::unique_ptr<LocalExecutor>> open(LocalOptions options, Clock& clock);
  // Leaves every task running, and no control group that nobody is in.
  ~LocalExecutor() override;

  void expect_start() override;
  Result<void> start(const Launch& launch) override;
  Result<void> stop(const std::string& attempt_id, Duration grace) override;
  Result<std::vector<Found>> recover() override;
  Result<void> forget(const std::string& attempt_id) override;
  void watch(Watcher* watcher) override;
  Result<std::vector<NodeInfo>> topology() override;
  Capabilities capabilities() override;

 private:
  enum class Phase { shim, drain_due, draining, ended, lost };
  struct Tracked {
    TaskFolder folder;
    Phase phase = Phase::shim;
    std::optional<os::Process> child;     // the shim or drain, when this process started it
    std::optional<os::ProcessRef> found;  // the shim, when an earlier server did
    int drains = 0;
    Time due;                     // steady; of the next drain
    std::optional<Time> kill_at;  // steady; after a stop
    int pidfd() const { return child ? child->pidfd() : found ? found->pidfd() : -1; }
    bool over() const { return phase == Phase::ended || phase == Phase::lost; }
  };
  using Tasks = std::map<std::string, Tracked>;  // by task id

  LocalExecutor(LocalOptions options, Clock& clock);
  Result<void> prepare();
  Result<void> make_shim_groups() const;
  void remove_groups();

  enum class Way { run, drain };
  Result<os::Process> spawn_shim(const TaskFolder& folder, Way way) const;
  Result<std::vector<Tracked>> spawn_all(const std::vector<TaskFolder>& folders);
  os::TreeQuery tree_of(const Tracked& task) const;
  Tracked& adopt(const TaskFolder& folder);  // one that an earlier server started
  NodeInfo node() const;
  std::vector<NodeInfo> nodes() const;
  Result<void> check_nodes(const Launch& launch) const;
  Result<Launch> with_ports(const Launch& launch) const;

  // The keeper thread (keeper.cc): ends, deadlines, drains, health. Those named _locked are called
  // under mutex_.
  void keep();
  void wait_for_news();
  Time next_due_locked() const;
  void look_at_ends_locked();
  void look_at_end_locked(Tracked& task);
  void after_shim_locked(Tracked& task, const std::optional<os::Exit>& exit);
  void after_drain_locked(Tracked& task, const std::optional<os::Exit>& exit);
  void retry_drain_locked(Tracked& task, const std::string& why);
  void finish_locked(Tracked& task);
  void start_due_drains_locked();
  std::vector<os::TreeQuery> due_kills_locked();
  void check_health();
  void report_locked(const Tracked& task, TaskEvent::Kind kind, std::string text = "");
  void wake() const;
  void clean();  // the cleaner thread: removes what was forgotten
  bool moves_wait() const;
  void expect_moves();  // a thread of its own, as it waits: see os::expect_move

  const LocalOptions options_;
  Clock& clock_;
  std::vector<std::string> shim_groups_;  // folders
  os::CgroupSupport groups_;              // of tasks
  hw::Machine machine_;                   // CPUs and memory alone
  std::shared_ptr<hw::Gpus> gpus_;
  os::Fd wake_;

  std::mutex start_mutex_;
  mutable std::mutex mutex_;  // guards what follows
  Tasks tasks_;
  hw::Topology topology_;
  Time next_health_;
  bool stopping_ = false;

  EventQueue events_;
  BoundedQueue<std::string> leftovers_{kMostLeftovers};
  BoundedQueue<std::monostate> moves_{1};  // of a task into its group
  std::thread keeper_, cleaner_, mover_;
};

}  // namespace hearth::executors
