// Where an attempt and its tasks lie on disk, and who is alive there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/wire/protocol.h"
#include "domain/wire/task_spec.h"
#include "executors/executor.h"
#include "os/process.h"

namespace hearth::executors {

struct TaskFolder {
  std::string attempt_id, task_id;
  int64_t epoch = 1;
  std::string path;        // WORK/ATTEMPT/TASK
  int64_t first_port = 0;  // of its row; 0: it has none

  std::string order() const { return path + "/task.json"; }
  std::string lock() const { return path + "/lock"; }
  std::string log() const { return path + "/shim.log"; }
  std::string drained() const { return path + "/drained"; }  // there when its spool is empty
  std::string exit() const { return path + "/exit.json"; }   // there when the task has ended
  std::string marker() const { return "HEARTH_TASK=" + task_id; }
};

constexpr int64_t kMostOrderBytes = 16 << 20;

// Writes the attempt's folder whole. exists if it is there. invalid for ids that are no ids.
Result<std::vector<TaskFolder>> write_attempt(const std::string& work, const Launch& launch);
// The tasks of one attempt; empty when there is no such folder, or none of its folders holds an
// order (it is somebody else's).
Result<std::vector<TaskFolder>> read_attempt(const std::string& work, const std::string& attempt);
// All attempts, sorted.
Result<std::vector<TaskFolder>> read_attempts(const std::string& work);
// Before a program touches a data directory: unsupported when a task that is not drained has an
// order in a version of the shim protocol that the program does not speak, as it could neither
// hear that task's shim nor drain what it leaves.
Result<void> check_orders(const std::string& work, ProtocolRange ours = kShimProtocols);
// What unfinished writing and removing left behind: names in `work`.
Result<std::vector<std::string>> leftovers(const std::string& work);
std::string leftover_name(const std::string& attempt_id);  // for what is to be removed

// The process that holds the task's lock: its shim, or one that drains it.
std::optional<os::ProcessRef> holder(const TaskFolder& folder);

}  // namespace hearth::executors
