// Strict order by priority and age, with room for others: a job that does not fit is passed by
// those that do, until it has waited kPatience; from then on what it needs is held for it, so that
// it starts when those that run now have ended. One job at a time holds.
#include <algorithm>
#include <unordered_map>

#include "sched/reasons.h"

namespace hearth::sched {
namespace {

class Planner {
 public:
  Planner(const Cluster::State& state, Time now)
      : state_(state), now_(now), free_(rooms(state, Fill::now)) {}

  Plan run() {
    for (const auto& [key, queued] : state_.queue) consider(queued);
    return std::move(plan_);
  }

 private:
  void consider(const Queued& queued) {
    const QueuedJob& job = queued.job;
    if (job.not_before > now_) {
      const double seconds = (job.not_before - now_).seconds();
      wait(job, {"back_off", {{"seconds", seconds}}, "", ""});
      wake(job.not_before);
      return;
    }
    // What failed for one of this shape fails for the next: free room only shrinks in a plan.
    if (const auto known = failed_.find(queued.shape); known != failed_.end()) {
      return wait_behind(job, known->second);
    }
    if (const auto placement = place(free_, job)) {
      plan_.starts.push_back({.job_id = job.id,
                              .pool = free_[placement->front().room].key->first,
                              .places = places_of(free_, job, *placement)});
      take(free_, job, *placement);
      if (!unheld_.empty()) take(unheld_, job, *placement);
      return;
    }
    if (auto reason = impossible(state_, job)) {
      failed_[queued.shape] = *reason;
      return wait(job, std::move(*reason));  // never in anybody's way
    }
    Reason reason = reason_of(job);
    failed_[queued.shape] = reason;
    wait_behind(job, std::move(reason));
    if (plan_.holds.empty()) hold(job);
  }

  void wait(const QueuedJob& job, Reason reason) {
    plan_.reasons.emplace(job.id, std::move(reason));
  }
  void wait_behind(const QueuedJob& job, Reason reason) {
    const bool counts = reason.code != "never_fits" && reason.code != "gpu_model_missing" &&
                        reason.code != "gpu_share_unsupported";
    if (counts) reason.numbers["ahead"] = static_cast<double>(ahead_++);
    wait(job, std::move(reason));
  }
  void wake(Time at) {
    if (plan_.wake_at.micros == 0 || at < plan_.wake_at) plan_.wake_at = at;
  }

  Reason reason_of(const QueuedJob& job) const {
    if (stopped_by_hold(job)) return {"behind", held_numbers(), "", ""};
    if (!place(rooms(state_, Fill::empty), job)) return closed(state_);
    return shortage(free_, job);
  }
  // It would fit if nothing were held.
  bool stopped_by_hold(const QueuedJob& job) const {
    return !plan_.holds.empty() && place(unheld_, job).has_value();
  }
  std::map<std::string, double> held_numbers() const {
    return {{"held_seconds", (now_ - held_since_).seconds()}};
  }

  // From kPatience on, what the job will need is taken out of what others may use: on the nodes
  // where it would go if nothing ran, those first of which most is free already.
  void hold(const QueuedJob& job) {
    const Time due = job.queued_at + kPatience;
    if (due > now_) return wake(due);
    const auto placement = place_on_emptiest(job);
    if (!placement) return;  // its nodes are closed: nothing would come of holding
    held_since_ = job.queued_at;
    unheld_ = free_;
    plan_.holds.push_back({.job_id = job.id, .places = places_of(chosen_, job, *placement)});
    for (size_t i = 0; i < placement->size(); ++i) {
      const Spot& spot = (*placement)[i];
      const auto at = std::find_if(free_.begin(), free_.end(), [&](const Room& room) {
        return room.key == chosen_[spot.room].key;
      });
      if (at == free_.end()) continue;
      at->cpus -= job.tasks[i].milli_cpus;
      at->memory -= job.tasks[i].memory_bytes;
      for (const size_t gpu : spot.gpus) at->gpus[gpu] = false;
    }
  }

  // On as few of the emptiest nodes as hold the job: they will be free first.
  std::optional<Placement> place_on_emptiest(const QueuedJob& job) {
    auto idle = rooms(state_, Fill::empty);
    std::sort(idle.begin(), idle.end(), [](const Room& a, const Room& b) {
      return std::tuple(-share_free(a), *a.key) < std::tuple(-share_free(b), *b.key);
    });
    for (size_t count = 1; !idle.empty(); count *= 2) {
      const size_t some = std::min(count, idle.size());
      chosen_.assign(idle.begin(), idle.begin() + static_cast<ptrdiff_t>(some));
      if (auto placement = place(chosen_, job)) return placement;
      if (some == idle.size()) break;
    }
    return std::nullopt;
  }
  static double share_free(const Room& room) {
    const NodeState& node = *room.node;
    const double cpus = node.total_cpus == 0 ? 1
                                             : static_cast<double>(node.free_cpus) /
                                                   static_cast<double>(node.total_cpus);
    if (node.info.gpus.empty()) return cpus;
    const auto gpus = std::count(node.gpu_free.begin(), node.gpu_free.end(), true);
    return static_cast<double>(gpus) / static_cast<double>(node.info.gpus.size());
  }

  const Cluster::State& state_;
  const Time now_;
  std::vector<Room> free_;    // less what this plan starts and holds
  std::vector<Room> unheld_;  // the same without the hold; empty while nothing is held
  std::vector<Room> chosen_;
  Time held_since_;
  std::unordered_map<std::string, Reason> failed_;  // by shape
  int64_t ahead_ = 0;
  Plan plan_;
};

}  // namespace

Plan plan(const Cluster& cluster, Time now) {
  return Planner(cluster.state(), now).run();
}

std::optional<Reason> never_fits(const Cluster& cluster, const QueuedJob& job) {
  return impossible(cluster.state(), job);
}

}  // namespace hearth::sched
