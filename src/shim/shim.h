// The supervisor of one task: `hearth shim DIR`, started by an executor.
//
// DIR holds task.json (wire/task_spec.h). The shim prepares code, data and environment, runs the
// user's process, keeps what it writes in a spool on disk and ships it, and leaves nothing behind.
// Training never waits for the server. README.md says what lies where in DIR.
#pragma once

#include <string>

#include "base/clock.h"
#include "domain/wire/protocol.h"

namespace hearth::shim {

struct ShimOptions {
  std::string directory;
  // Only end what is left of the task, write down how it ended, and ship the spool.
  bool drain = false;
  std::string sdk_directory;  // appended to PYTHONPATH of the task; "": none
  std::string cgroup_mount = "/sys/fs/cgroup";
  std::string cgroup_parent = "hearth";  // as os::CgroupOptions::parent
  bool cgroups = true;                   // false: memory is watched
  std::string nvml;                      // as hw::Gpus::open
  Duration first_sample = Duration::seconds(1);
  Duration sample_interval = Duration::seconds(5);
  ProtocolRange protocols = kShimProtocols;  // tests speak others
  // Before a server that reads none of them is tried again.
  Duration protocol_pause = Duration::seconds(15);
};

// Exit codes for the executor.
constexpr int kShimDone = 0;    // ended, and the server has all of it (or wants none of it)
constexpr int kShimFailed = 1;  // DIR cannot be read or written; words on stderr
constexpr int kShimBusy = 75;   // another shim holds DIR

// Returns when the task has ended and all is acknowledged. SIGTERM ends the task in order. Blocks
// signals and takes orphans in: call it in a process of its own, before any thread is started.
int run_shim(const ShimOptions& options);

}  // namespace hearth::shim
