// The Executor interface: who starts the shims. Local processes, pods, or one Slurm job; all start
// the same thing, `hearth shim DIR`, one per task.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "domain/node.h"
#include "domain/wire/task_spec.h"

namespace hearth::executors {

// One attempt: a gang. Starting it twice with the same id and epoch starts it once.
struct Launch {
  std::string attempt_id;
  int64_t epoch = 1;
  std::vector<TaskSpec> tasks;
  std::vector<std::string> nodes;  // of each task
};

// What the executor itself saw; the shim's own words come by the sync and win over these.
struct TaskEvent {
  enum class Kind { started, ended, lost };
  Kind kind = Kind::started;
  std::string attempt_id, task_id;
  int64_t epoch = 1;
  std::string text;  // of `lost`: what is known
};
struct NodeEvent {
  NodeInfo node;
};
struct Watcher {
  virtual ~Watcher() = default;
  virtual void on_task(const TaskEvent& event) = 0;
  virtual void on_node(const NodeEvent& event) = 0;
};

struct Capabilities {
  bool gangs = true;
  bool gpu_shares = false;
  bool images = false;
  std::string limits;  // how memory is limited there
};

// A task found after a restart of the server.
struct Found {
  std::string attempt_id, task_id;
  int64_t epoch = 1;
  bool alive = false;    // its shim holds its lock
  bool drained = false;  // dead, and nothing is left in its spool
};

class Executor {
 public:
  virtual ~Executor() = default;
  // A job has come that may start at once: what start() would have to wait for may begin. Never
  // waits; nothing comes of it when no start follows.
  virtual void expect_start() {}
  // Returns when the order is on disk and the shims are being started. Errors: unavailable (try
  // again), invalid (can never start). Partial starts are undone before an error is returned.
  virtual Result<void> start(const Launch& launch) = 0;
  // Asks the shims to end (SIGTERM to them: they end their task in words), then kills what is left
  // after `grace`. Idempotent; unknown attempts are fine.
  virtual Result<void> stop(const std::string& attempt_id, Duration grace) = 0;
  // After a restart: what runs, what has ended meanwhile. Dead shims' spools are drained by a shim
  // started for that alone (`hearth shim --drain DIR`).
  virtual Result<std::vector<Found>> recover() = 0;
  // Forgets an ended attempt and removes its directories, once its spools are drained.
  virtual Result<void> forget(const std::string& attempt_id) = 0;
  // Calls the watcher from a thread of its own until destroyed.
  virtual void watch(Watcher* watcher) = 0;
  virtual Result<std::vector<NodeInfo>> topology() = 0;
  virtual Capabilities capabilities() = 0;
};

}  // namespace hearth::executors
