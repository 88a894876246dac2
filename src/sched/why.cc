// What is asked about one job: why it waits, whether it can ever start.
#include <algorithm>

#include "sched/change.h"
#include "sched/planner.h"
#include "sched/reasons.h"

namespace hearth::sched {
namespace {

// By whole plans, of a job for which trials in its place could not tell.
class ByPlans {
 public:
  static constexpr size_t kMostPlans = 96, kMostRaises = 16;
  ByPlans(Cluster::State& state, Queued& queued, Time now)
      : state_(state), queued_(queued), original_(queued), now_(now) {}

  std::vector<Change> run() {
    const Try attempt = [&](QueuedJob job) {
      if (plans_ >= kMostPlans) return Trial::unknown;
      std::string shape = shape_of(job);
      queued_ = {.job = std::move(job), .shape = std::move(shape)};
      const bool starts = turn().starts;
      queued_ = original_;
      return starts ? Trial::starts : Trial::waits;
    };
    auto changes = smallest_changes(original_.job, state_.cells, attempt);
    if (const auto raise = smallest_raise()) changes.push_back(*raise);
    return changes;
  }

 private:
  About turn() {
    ++plans_;
    About about{.job_id = original_.job.id, .only_whether = true};
    plan_about(state_, now_, {.reasons = false}, about);
    return about;
  }
  About turn_with(const Raise& raise) {
    const Raise before = state_.quotas.set_limit(raise);
    const About about = turn();
    state_.quotas.set_limit(before);
    return about;
  }

  // Raised until it starts: what stops it first may be taken by others before it.
  std::optional<Change> smallest_raise() {
    std::optional<Raise> raise = turn().raise;
    for (size_t i = 0; raise && i < kMostRaises; ++i) {
      const About about = turn_with(*raise);
      if (about.starts) {
        if (turn_with({raise->project, raise->clause, raise->limit - 1}).starts) break;
        return change_of(state_.quotas, *raise);
      }
      const bool more = about.raise && about.raise->project == raise->project &&
                        about.raise->clause == raise->clause && about.raise->limit > raise->limit;
      raise = more ? about.raise : std::nullopt;
    }
    return std::nullopt;
  }

  Cluster::State& state_;
  Queued& queued_;
  const Queued original_;
  const Time now_;
  size_t plans_ = 0;
};

}  // namespace

Reason why(Cluster& cluster, const std::string& job_id, Time now) {
  Cluster::State& state = cluster.state();
  About about{.job_id = job_id};
  const Plan found = plan_about(state, now, {}, about);
  const auto at = found.reasons.find(job_id);
  const auto key = state.queue_keys.find(job_id);
  if (at == found.reasons.end() || key == state.queue_keys.end()) {
    const bool starts = std::any_of(found.starts.begin(), found.starts.end(),
                                    [&](const Start& start) { return start.job_id == job_id; });
    return {starts ? "now" : "unknown", {}, "", ""};
  }
  Reason reason = at->second;
  if (about.inexact) {
    Queued& queued = state.queues[key->second.first].at(key->second.second);
    reason.changes = ByPlans(state, queued, now).run();
  }
  return reason;
}

std::optional<Reason> never_fits(Cluster& cluster, const QueuedJob& job) {
  Cluster::State& state = cluster.state();
  const Ask ask = state.ask(job);
  if (!job.opportunistic) {
    const int32_t project = state.quotas.project(job.project);
    if (auto reason = impossible_quota(state.quotas, project, amounts_of(ask))) return reason;
  }
  return impossible(state.idle_in_service(), job, ask);
}

const std::optional<Reason>& Cluster::State::impossible(const Queued& queued) {
  constexpr size_t kMostShapes = 10'000;
  const uint64_t version = cells.topology_version() + pools_version;
  if (impossible_version_ != version || impossible_.size() >= kMostShapes) {
    impossible_.clear();
    impossible_version_ = version;
  }
  const auto [at, fresh] = impossible_.try_emplace(queued.shape);
  if (fresh) at->second = sched::impossible(idle_in_service(), queued.job, queued.ask);
  return at->second;
}

}  // namespace hearth::sched
