#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "sched/state.h"

namespace hearth::sched {
namespace {

int64_t milli(double amount) {
  return std::llround(amount * 1000);
}

// Free = all of the node less what its attempts hold.
void recount(Cluster::State& state, const NodeKey& key) {
  const auto at = state.nodes.find(key);
  if (at == state.nodes.end()) return;
  NodeState& node = at->second;
  node.total_cpus = milli(node.info.cpus);
  node.total_memory = node.info.memory_bytes;
  node.free_cpus = node.total_cpus;
  node.free_memory = node.total_memory;
  node.gpu_free.assign(node.info.gpus.size(), false);
  for (size_t i = 0; i < node.info.gpus.size(); ++i) node.gpu_free[i] = node.info.gpus[i].healthy;
  for (const std::string& attempt : state.on_node[key]) {
    for (const Use& use : state.attempts[attempt]) {
      if (use.node != key) continue;
      node.free_cpus -= use.cpus;
      node.free_memory -= use.memory;
      for (size_t i = 0; i < node.info.gpus.size(); ++i) {
        const auto& uuid = node.info.gpus[i].uuid;
        if (std::find(use.gpus.begin(), use.gpus.end(), uuid) != use.gpus.end()) {
          node.gpu_free[i] = false;
        }
      }
    }
  }
}

void leave_queue(Cluster::State& state, const std::string& job_id) {
  const auto key = state.queue_keys.find(job_id);
  if (key == state.queue_keys.end()) return;
  state.queue.erase(key->second);
  state.queue_keys.erase(key);
}

struct Apply {
  Cluster::State& state;

  void operator()(const NodeChanged& event) const {
    const NodeKey key{event.node.pool, event.node.name};
    state.nodes[key].info = event.node;
    recount(state, key);
  }
  void operator()(const NodeGone& event) const { state.nodes.erase({event.pool, event.name}); }
  void operator()(const JobQueued& event) const {
    leave_queue(state, event.job.id);
    QueueKey key{event.job.priority, event.job.queued_at, event.job.id};
    state.queue[key] = {event.job, shape_of(event.job)};
    state.queue_keys[event.job.id] = std::move(key);
  }
  void operator()(const JobGone& event) const { leave_queue(state, event.job_id); }
  void operator()(const AttemptStarted& event) const {
    leave_queue(state, event.job.id);
    if (state.attempts.contains(event.attempt_id)) return;  // told twice
    std::vector<Use>& uses = state.attempts[event.attempt_id];
    for (const Place& place : event.places) {
      Use use{.node = {event.pool, place.node}, .gpus = place.gpus};
      for (const TaskNeed& need : event.job.tasks) {
        if (need.role != place.role || need.rank != place.rank) continue;
        use.cpus = need.milli_cpus;
        use.memory = need.memory_bytes;
      }
      state.on_node[use.node].insert(event.attempt_id);
      uses.push_back(std::move(use));
    }
    for (const Use& use : uses) recount(state, use.node);
  }
  void operator()(const AttemptEnded& event) const {
    const auto at = state.attempts.find(event.attempt_id);
    if (at == state.attempts.end()) return;
    const std::vector<Use> uses = std::move(at->second);
    state.attempts.erase(at);
    for (const Use& use : uses) state.on_node[use.node].erase(event.attempt_id);
    for (const Use& use : uses) recount(state, use.node);
  }
};

}  // namespace

std::string shape_of(const QueuedJob& job) {
  std::string shape;
  for (const TaskNeed& need : job.tasks) {
    shape += format("{} {} {} {} {} {};", need.milli_cpus, need.memory_bytes, need.milli_gpus,
                    need.gpu_share_milli, need.gpu_memory_bytes, join(need.gpu_model, "|"));
  }
  return shape;
}

QueuedJob queued_job(const Job& job) {
  QueuedJob queued{.id = job.id,
                   .name = job.name,
                   .project = job.project,
                   .owner = job.owner,
                   .priority = job.priority,
                   .queued_at = job.created_at,
                   .not_before = job.next_attempt_at};
  int64_t rank = 0;
  for (const auto& [name, role] : roles_of(job.spec)) {
    const Resources& r = role.resources;
    for (int64_t i = 0; i < role.replicas; ++i) {
      queued.tasks.push_back({.role = name,
                              .rank = rank++,
                              .milli_cpus = milli(r.cpus),
                              .memory_bytes = r.memory.bytes,
                              .milli_gpus = milli(static_cast<double>(r.gpus) * r.gpu_share),
                              .gpu_model = r.gpu_model,
                              .gpu_share_milli = milli(r.gpu_share),
                              .gpu_memory_bytes = r.gpu_memory ? r.gpu_memory->bytes : 0});
    }
  }
  return queued;
}

Cluster::Cluster() : state_(std::make_unique<State>()) {}
Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;

void Cluster::apply(const ClusterEvent& event) {
  std::visit(Apply{*state_}, event);
}

std::vector<NodeInfo> Cluster::nodes() const {
  std::vector<NodeInfo> found;
  for (const auto& [key, node] : state_->nodes) found.push_back(node.info);
  return found;
}

}  // namespace hearth::sched
