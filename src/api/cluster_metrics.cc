#include "api/cluster_metrics.h"

#include <map>

#include "db/tables.h"
#include "domain/job.h"

namespace hearth::api {
namespace {

// By name, in the order of their first sample.
class Families {
 public:
  void add(const std::string& name, const std::string& help, Labels labels, double value) {
    const auto [at, made] = index_.try_emplace(name, all_.size());
    if (made) all_.push_back({name, help, {}});
    all_[at->second].samples.emplace_back(std::move(labels), value);
  }
  std::vector<GaugeFamily> take() { return std::move(all_); }

 private:
  std::vector<GaugeFamily> all_;
  std::map<std::string, size_t> index_;
};

Result<void> add_jobs(Families& to, const Services& services) {
  std::map<std::string, int64_t> count;
  for (const JobState state :
       {JobState::queued, JobState::preparing, JobState::running, JobState::saving})
    count[std::string(word(state))] = 0;
  TRY(services.context.database.read([&](db::Session& session) -> Result<void> {
    for (auto& [state, jobs] : count)
      TRY(session.query("SELECT COUNT(*) FROM jobs WHERE state = $1", {state},
                        [&](const db::Row& row) -> Result<void> {
                          jobs = row.integer(0);
                          return {};
                        }));
    return {};
  }));
  for (const auto& [state, jobs] : count)
    to.add("hearth_jobs", "Jobs that have not ended", {{"state", state}},
           static_cast<double>(jobs));
  control::WaitingJobs waiting = services.jobs.waiting();
  if (services.draining() && count["queued"] > 0)
    waiting.by_reason = {{"draining", count["queued"]}};
  for (const auto& [code, jobs] : waiting.by_reason)
    to.add("hearth_jobs_waiting", "Jobs that wait, by the code of their reason", {{"reason", code}},
           static_cast<double>(jobs));
  to.add("hearth_jobs_oldest_wait_seconds",
         "How long the job that has waited longest is queued, since its last attempt if it had one",
         {},
         waiting.queued_since.micros == 0
             ? 0
             : (services.context.clock.now() - waiting.queued_since).seconds());
  return {};
}

void add_node(Families& to, const NodeStatus& status) {
  const NodeInfo& node = status.node;
  const Labels labels{{"node", node.name}, {"pool", node.pool}};
  const auto add = [&](const std::string& name, const std::string& help, double value) {
    to.add("hearth_node_" + name, help, labels, value);
  };
  add("ready", "1: its executor is well", node.ready ? 1 : 0);
  add("cordoned", "1: an admin has closed it to new tasks", node.cordoned ? 1 : 0);
  add("tasks", "Tasks that run there", static_cast<double>(status.tasks.size()));
  add("cpus", "CPU cores for tasks", node.cpus);
  add("free_cpus", "CPU cores that no task holds", status.free_cpus);
  add("memory_bytes", "Memory for tasks", static_cast<double>(node.memory_bytes));
  add("free_memory_bytes", "Memory that no task holds",
      static_cast<double>(status.free_memory_bytes));
  add("gpus", "GPUs", static_cast<double>(node.gpus.size()));
  add("free_gpus", "Healthy GPUs that no task holds; a share counts as its part", status.free_gpus);
  std::map<std::string, double> held;
  for (const NodeTask& task : status.tasks)
    for (const std::string& uuid : task.gpus) held[uuid] += task.gpu_share;
  for (const Gpu& gpu : node.gpus) {
    Labels of_gpu = labels;
    of_gpu["gpu"] = gpu.uuid;
    of_gpu["model"] = gpu.model;
    to.add("hearth_gpu_healthy", "1: it may be given to jobs", of_gpu, gpu.healthy ? 1 : 0);
    to.add("hearth_gpu_held", "The part of it that tasks hold, 0 to 1", of_gpu, held[gpu.uuid]);
  }
}

void add_project(Families& to, const QuotaStatus& status) {
  const std::string& project = status.quota.project;
  const auto add_amounts = [&](const std::string& kind, const std::string& help,
                               const Amounts& amounts) {
    for (const auto& [path, amount] : flat(amounts)) {
      Labels labels{{"project", project}};
      std::string what = path;
      if (path.starts_with(kOfModel)) {
        labels["model"] = path.substr(kOfModel.size());
        what = "gpus_of_model";
      }
      to.add("hearth_project_" + kind + "_" + what, help, labels, amount);
    }
  };
  for (const auto& [state, jobs] :
       {std::pair{"queued", status.queued}, {"running", status.running}})
    to.add("hearth_project_jobs", "Jobs of the project itself",
           {{"project", project}, {"state", state}}, static_cast<double>(jobs));
  to.add("hearth_project_share",
         "The largest part of what there is, now and by the past day, "
         "over its weight",
         {{"project", project}}, status.share);
  add_amounts("used", "Held by the project and those below it, opportunistic jobs left out",
              status.used);
  add_amounts("guaranteed", "What its quota promises", status.quota.guaranteed);
  add_amounts("limit", "What it may use at most", status.quota.limit);
}

}  // namespace

Result<std::vector<GaugeFamily>> cluster_metrics(const Services& services, const Identity& who) {
  Families all;
  TRY(add_jobs(all, services));
  for (const NodeStatus& node : TRY(services.capacity.nodes(who))) add_node(all, node);
  for (const QuotaStatus& quota : TRY(services.capacity.quotas(who))) add_project(all, quota);
  return all.take();
}

}  // namespace hearth::api
