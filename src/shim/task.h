// The life of one task in one shim: prepare, run, watch, save, end. Runs on the main thread; the
// threads beside it are OutputPump, SdkServer, Saver and Syncer.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hw/gpu.h"
#include "hw/sampler.h"
#include "os/cgroup.h"
#include "os/process.h"
#include "os/signals.h"
#include "os/tree.h"
#include "shim/checkpoint_watch.h"
#include "shim/ending.h"
#include "shim/event_files.h"
#include "shim/layout.h"
#include "shim/metric_gate.h"
#include "shim/output.h"
#include "shim/prepare.h"
#include "shim/saver.h"
#include "shim/sdk_server.h"
#include "shim/shim.h"
#include "shim/spool.h"
#include "shim/syncer.h"

namespace hearth::shim {

class Task {
 public:
  Task(const ShimOptions& options, const Layout& layout, const TaskSpec& spec, Spool& spool);
  ~Task();
  // From nothing to the end; the exit code of the shim.
  int run();
  // After a shim that died: ends what is left, saves what was asked for, says how it ended.
  int drain();

 private:
  struct Stop {
    bool asked = false;
    std::string stop_class;  // "": SIGTERM to us
    Duration grace;
  };
  Result<void> open();
  Result<void> live();
  Result<bool> prepare_task();  // false: it ended there
  Result<bool> start_process();
  os::CgroupSupport detect_groups() const;
  void make_group();
  Result<os::Process> spawn_process();
  std::unique_ptr<LogMetrics> log_metrics();
  std::unique_ptr<EventFiles> event_files(std::function<void(std::string)> complain);
  void watch();
  void wait_for_something();
  void look_after(Time now);
  void watch_memory(Time now);
  void sample(Time now);
  void look_for_checkpoints(Time now, bool ended);
  void describe_packages();
  void handle_stop(Time now);
  void end_process(int signal);
  void kill_rest();
  void drop_group();
  Result<void> save_rest();
  Result<void> finish(std::optional<Failure> failure);
  Result<void> write_exit(const StateRecord& last) const;
  int ship();
  void clean_up();

  bool keep_on(Duration pause);
  void take_signals();
  Stop stop() const;
  void order_stop(const std::string& stop_class, Duration grace, bool by_signal);
  os::TreeQuery tree() const;
  StateRecord state(TaskState to) const;
  void wake();

  const ShimOptions& options_;
  const Layout& layout_;
  const TaskSpec& spec_;
  Spool& spool_;
  os::SignalFd signals_;
  os::Fd wake_;
  MetricGate gate_;
  std::unique_ptr<OutputPump> output_;
  std::unique_ptr<SdkServer> sdk_;
  std::unique_ptr<Saver> saver_;
  std::unique_ptr<EventFiles> events_;  // after saver_, which it uses
  std::unique_ptr<Syncer> syncer_;
  std::optional<CheckpointWatch> checkpoints_;
  std::shared_ptr<hw::Gpus> gpus_;
  std::unique_ptr<hw::Sampler> sampler_;
  std::optional<os::TreeSampler> memory_;
  std::optional<os::Cgroup> group_;
  PreparedTask prepared_;
  os::Process process_;
  Ending ending_;
  Time started_, next_sample_, next_memory_, next_look_, kill_at_;
  bool stopping_ = false;
  std::atomic<bool> describing_{false};
  std::thread packages_;
  std::thread mover_;                                  // see os::expect_move
  std::map<std::string, std::string> found_packages_;  // of packages_, read after it is joined
  mutable std::mutex mutex_;
  Stop stop_;
  bool gone_ = false;
};

}  // namespace hearth::shim
