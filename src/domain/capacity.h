// What there is and who may have it: quotas of projects, pools, orders about nodes, reservations.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/node.h"

namespace hearth {

constexpr std::string_view kOfModel = "gpu_models.";

// Amounts of a quota. What is not named is not promised (guaranteed) or not bounded (limit).
struct Amounts {
  std::optional<double> cpus, gpus;
  std::optional<int64_t> memory_bytes;
  std::map<std::string, double> gpu_models;  // GPUs by model, named as in a job file
  bool operator==(const Amounts&) const = default;
};
template <>
struct Describe<Amounts> {
  static constexpr std::string_view name = "Amounts", doc = "How much of what.";
  static void fields(Fields<Amounts>& f) {
    f("cpus", &Amounts::cpus, "CPU cores").min(0).max(1e9).example("64");
    f("gpus", &Amounts::gpus, "GPUs; a share counts as its part").min(0).max(1e6).example("8");
    f("memory_bytes", &Amounts::memory_bytes, "memory").min(0).max(0x1.0p52);
    f("gpu_models", &Amounts::gpu_models, "GPUs by model")
        .matches("[A-Za-z0-9][A-Za-z0-9 ._/-]{0,127}", "a GPU's name")
        .max(64)
        .example("{H100: 4}");
  }
};

// Each amount by its path in a quota: "gpus", "memory_bytes", "gpu_models.H100"; and back.
inline std::map<std::string, double> flat(const Amounts& amounts) {
  std::map<std::string, double> all;
  if (amounts.cpus) all["cpus"] = *amounts.cpus;
  if (amounts.gpus) all["gpus"] = *amounts.gpus;
  if (amounts.memory_bytes) all["memory_bytes"] = static_cast<double>(*amounts.memory_bytes);
  for (const auto& [model, gpus] : amounts.gpu_models) all[std::string(kOfModel) + model] = gpus;
  return all;
}
inline Amounts amounts_of(const std::map<std::string, double>& all) {
  Amounts amounts;
  for (const auto& [what, amount] : all) {
    if (what == "cpus") amounts.cpus = amount;
    if (what == "gpus") amounts.gpus = amount;
    if (what == "memory_bytes") amounts.memory_bytes = static_cast<int64_t>(amount);
    if (what.starts_with(kOfModel)) amounts.gpu_models[what.substr(kOfModel.size())] = amount;
  }
  return amounts;
}

// Of a project and all below it. A guarantee is lent while it is idle, and given back at need; a
// limit is never passed. Beyond the guarantees the smaller share by weight goes first.
struct Quota {
  std::string id, project;
  double weight = 1;
  Amounts guaranteed, limit;
  std::string changed_by;
  Time changed_at;
  int64_t version = 0;
  bool operator==(const Quota&) const = default;
};
template <>
struct Describe<Quota> {
  static constexpr std::string_view name = "Quota", doc = "What a project may have.";
  static void fields(Fields<Quota>& f) {
    f("id", &Quota::id, "ULID").output_only();
    f("project", &Quota::project, "whose, with all projects below it").output_only();
    f("weight", &Quota::weight, "of its fair share beside other projects of its parent")
        .min(0.001)
        .max(1e6);
    f("guaranteed", &Quota::guaranteed, "has it whenever it asks; lent while idle");
    f("limit", &Quota::limit, "never uses more");
    f("changed_by", &Quota::changed_by, "user name").output_only();
    f("changed_at", &Quota::changed_at, "when").output_only();
    f("version", &Quota::version, "counts changes; ETag and If-Match").output_only();
  }
};

struct QuotaStatus {
  Quota quota;
  std::string parent;      // project above
  Amounts used, borrowed;  // now; beyond what is guaranteed, where something is
  double share = 0;
  int64_t running = 0, queued = 0;  // jobs of the project itself
  bool operator==(const QuotaStatus&) const = default;
};
template <>
struct Describe<QuotaStatus> {
  static constexpr std::string_view name = "QuotaStatus", doc = "A quota and what is used of it.";
  static void fields(Fields<QuotaStatus>& f) {
    f("quota", &QuotaStatus::quota, "what it may have");
    f("parent", &QuotaStatus::parent, "the project above it, if any");
    f("used", &QuotaStatus::used, "by it and all below now, opportunistic jobs left out");
    f("borrowed", &QuotaStatus::borrowed, "what of it is beyond the guarantee");
    f("share", &QuotaStatus::share,
      "the largest part of what there is, now and by the past day, over its weight; less goes "
      "first");
    f("running", &QuotaStatus::running, "jobs of the project itself that run");
    f("queued", &QuotaStatus::queued, "jobs of the project itself that wait");
  }
};

enum class Packing { centralized, equalized };
template <>
struct Words<Packing> {
  static constexpr std::string_view name = "Packing";
  static constexpr std::array<std::string_view, 2> words{"centralized", "equalized"};
};

// Nodes that are scheduled alike. A pool is there when a node is in it or its rules are set.
struct Pool {
  std::string id, name, description;
  Packing packing = Packing::centralized;
  bool by_name_only = false;
  bool preempts = true;
  bool saves_when_stopped = false;
  double minimum_run_seconds = 60;
  std::vector<double> service_levels;
  std::string changed_by;
  Time changed_at;
  int64_t version = 0;
  bool operator==(const Pool&) const = default;
};
template <>
struct Describe<Pool> {
  static constexpr std::string_view name = "Pool", doc = "Nodes that are scheduled alike.";
  static void fields(Fields<Pool>& f) {
    f("id", &Pool::id, "ULID").output_only();
    f("name", &Pool::name, "unique name").output_only();
    f("description", &Pool::description, "for people").max(4096);
    f("packing", &Pool::packing, "`centralized` fills nodes up, `equalized` loads them evenly");
    f("by_name_only", &Pool::by_name_only, "runs only jobs that name the pool");
    f("preempts", &Pool::preempts, "jobs there may be stopped for others of more right");
    f("saves_when_stopped", &Pool::saves_when_stopped,
      "jobs there save their work when they are told to stop, so none of it counts as lost");
    f("minimum_run_seconds", &Pool::minimum_run_seconds, "before a job may be stopped for another")
        .min(0)
        .max(366.0 * 86400);
    f("service_levels", &Pool::service_levels,
      "GPU-seconds, ascending: past each, a job makes room for those that have had less")
        .max(16)
        .example("[3600, 36000]");
    f("changed_by", &Pool::changed_by, "user name").output_only();
    f("changed_at", &Pool::changed_at, "when").output_only();
    f("version", &Pool::version, "counts changes; ETag and If-Match").output_only();
  }
};

struct PoolStatus {
  Pool pool;
  int64_t nodes = 0, open_nodes = 0;
  double cpus = 0, free_cpus = 0;
  int64_t gpus = 0;
  double free_gpus = 0;
  std::map<std::string, int64_t> gpu_models;
  int64_t tasks = 0;
  bool operator==(const PoolStatus&) const = default;
};
template <>
struct Describe<PoolStatus> {
  static constexpr std::string_view name = "PoolStatus", doc = "A pool and what is in it.";
  static void fields(Fields<PoolStatus>& f) {
    f("pool", &PoolStatus::pool, "its rules");
    f("nodes", &PoolStatus::nodes, "nodes in it");
    f("open_nodes", &PoolStatus::open_nodes, "of these, that take tasks");
    f("cpus", &PoolStatus::cpus, "CPU cores of all");
    f("free_cpus", &PoolStatus::free_cpus, "of those that take tasks");
    f("gpus", &PoolStatus::gpus, "GPUs of all");
    f("free_gpus", &PoolStatus::free_gpus, "of those that take tasks; shares count as their part");
    f("gpu_models", &PoolStatus::gpu_models, "GPUs of all by model");
    f("tasks", &PoolStatus::tasks, "that run there");
  }
};

// What an admin said about a node; the executor says the rest.
struct NodeOrder {
  std::string id, node;
  bool cordoned = false;
  Time drain_at;  // {0}: is not drained
  std::string reason, changed_by;
  std::string pool;  // "": the executor's
  Time changed_at;
  int64_t version = 0;
  bool operator==(const NodeOrder&) const = default;
};
template <>
struct Describe<NodeOrder> {
  static constexpr std::string_view name = "NodeOrder", doc = "What an admin said about a node.";
  static void fields(Fields<NodeOrder>& f) {
    f("id", &NodeOrder::id, "ULID");
    f("node", &NodeOrder::node, "its name");
    f("cordoned", &NodeOrder::cordoned, "takes no new tasks");
    f("drain_at", &NodeOrder::drain_at, "when its tasks are stopped and go elsewhere");
    f("reason", &NodeOrder::reason, "for people");
    f("pool", &NodeOrder::pool, "it belongs to; empty: as its executor says");
    f("changed_by", &NodeOrder::changed_by, "user name");
    f("changed_at", &NodeOrder::changed_at, "when");
    f("version", &NodeOrder::version, "counts changes");
  }
};

struct NodeTask {
  std::string job_id, job, project, task_id, role;
  int64_t rank = 0;
  std::vector<std::string> gpus;
  double cpus = 0, gpu_share = 1;
  int64_t memory_bytes = 0;
  bool operator==(const NodeTask&) const = default;
};
template <>
struct Describe<NodeTask> {
  static constexpr std::string_view name = "NodeTask", doc = "A task that holds part of a node.";
  static void fields(Fields<NodeTask>& f) {
    f("job_id", &NodeTask::job_id, "ULID; absent when the caller may not see the job");
    f("job", &NodeTask::job, "its name; absent when the caller may not see the job");
    f("project", &NodeTask::project, "its project; absent when the caller may not see it");
    f("task_id", &NodeTask::task_id, "ULID; absent when the caller may not see the job");
    f("role", &NodeTask::role, "of the task");
    f("rank", &NodeTask::rank, "of the task");
    f("gpus", &NodeTask::gpus, "UUIDs that it holds");
    f("gpu_share", &NodeTask::gpu_share, "part of each of them");
    f("cpus", &NodeTask::cpus, "CPU cores that it holds");
    f("memory_bytes", &NodeTask::memory_bytes, "memory that it holds");
  }
};

struct NodeStatus {
  NodeInfo node;
  double free_cpus = 0, free_gpus = 0;
  int64_t free_memory_bytes = 0;
  std::string reason, changed_by;  // of the last order about it
  std::vector<NodeTask> tasks;
  std::vector<std::string> reservations;  // names, of now and later
  bool operator==(const NodeStatus&) const = default;
};
template <>
struct Describe<NodeStatus> {
  static constexpr std::string_view name = "NodeStatus", doc = "A node and what runs there.";
  static void fields(Fields<NodeStatus>& f) {
    f("node", &NodeStatus::node, "what it is");
    f("free_cpus", &NodeStatus::free_cpus, "CPU cores that no task holds");
    f("free_gpus", &NodeStatus::free_gpus, "GPUs that no task holds; shares count as their part");
    f("free_memory_bytes", &NodeStatus::free_memory_bytes, "memory that no task holds");
    f("reason", &NodeStatus::reason, "of the last order about it");
    f("changed_by", &NodeStatus::changed_by, "who gave that order");
    f("tasks", &NodeStatus::tasks, "that run there");
    f("reservations", &NodeStatus::reservations, "names, of now and later");
  }
};

// Nodes kept for projects, or for nobody (maintenance), for a time. Jobs that would not have ended
// when it begins are not started there; those that run there still are stopped, and go elsewhere.
struct Reservation {
  std::string id, name;
  std::vector<std::string> nodes;
  std::string pool;
  Time from, until;
  std::vector<std::string> projects;
  bool maintenance = false;
  std::string reason, created_by;
  Time created_at;
  int64_t version = 0;
  bool operator==(const Reservation&) const = default;
};
template <>
struct Describe<Reservation> {
  static constexpr std::string_view name = "Reservation",
                                    doc = "Nodes kept for projects, or for maintenance.";
  static void fields(Fields<Reservation>& f) {
    f("id", &Reservation::id, "ULID").output_only();
    f("name", &Reservation::name, "unique name")
        .required()
        .matches("[a-z0-9][a-z0-9._-]{0,62}", "a-z, 0-9, '.', '_', '-', at most 63 characters");
    f("nodes", &Reservation::nodes, "names of nodes").max(10'000).example("[gpu-3, gpu-4]");
    f("pool", &Reservation::pool, "or all nodes of this pool").max(63);
    f("from", &Reservation::from, "when it begins").required();
    f("until", &Reservation::until, "when it is over").required();
    f("projects", &Reservation::projects, "whose jobs run there then, with all projects below")
        .max(100);
    f("maintenance", &Reservation::maintenance, "no job runs there then");
    f("reason", &Reservation::reason, "for people").max(1024);
    f("created_by", &Reservation::created_by, "user name").output_only();
    f("created_at", &Reservation::created_at, "when").output_only();
    f("version", &Reservation::version, "counts changes").output_only();
  }
};

}  // namespace hearth
