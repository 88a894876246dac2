// What a Cluster holds. Inside sched alone.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sched/scheduler.h"

namespace hearth::sched {

// One machine and what is free on it. Free amounts fall below zero when a node has shrunk under
// what runs there.
struct NodeState {
  NodeInfo info;
  int64_t total_cpus = 0, total_memory = 0;  // milli-CPU, bytes
  int64_t free_cpus = 0, free_memory = 0;
  std::vector<bool> gpu_free;  // as info.gpus; false also for an unhealthy one
  bool open() const { return info.ready && !info.cordoned; }
};
using NodeKey = std::pair<std::string, std::string>;  // pool, name

// What one running task holds.
struct Use {
  NodeKey node;
  int64_t cpus = 0, memory = 0;
  std::vector<std::string> gpus;
};

// Higher priority first, then older, then the id: a total order.
struct QueueKey {
  int64_t priority = 0;
  Time queued_at;
  std::string id;
  bool operator<(const QueueKey& other) const { return key() < other.key(); }

 private:
  std::tuple<int64_t, int64_t, const std::string&> key() const {
    return {-priority, queued_at.micros, id};
  }
};
struct Queued {
  QueuedJob job;
  std::string shape;  // equal for jobs that need the same: what fails for one fails for all
};

struct Cluster::State {
  std::map<NodeKey, NodeState> nodes;
  std::map<QueueKey, Queued> queue;
  std::map<std::string, QueueKey> queue_keys;        // by job id
  std::map<std::string, std::vector<Use>> attempts;  // by attempt id
  std::map<NodeKey, std::set<std::string>> on_node;  // attempts with a task there
};

std::string shape_of(const QueuedJob& job);

}  // namespace hearth::sched
