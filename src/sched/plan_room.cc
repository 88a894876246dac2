// What others must leave for, or what is kept from them: closing nodes, evictions, reservations.
#include <algorithm>
#include <utility>

#include "sched/planner.h"

namespace hearth::sched {

void Planner::leave_closed() {
  for (const int32_t index : state_.closing) {
    const NodeInfo& info = state_.cells.node(index).info;
    if (info.closes_at > now_) {
      wake(info.closes_at);
      continue;
    }
    if (options_.only_starts) continue;
    for (const std::string& id : state_.on_node[static_cast<size_t>(index)]) {
      Running& running = state_.running.at(id);
      if (running.stopping || kept_for(info, running.project_name)) continue;
      running.stopping = true;
      ++state_.stopping;
      evicted_.push_back(&running);
      Reason why{"node_closes", {}, "", "", {{"node", info.name}, {"why", info.closes_for}}};
      plan_.evictions.push_back({id, "", std::move(why)});
    }
  }
}

void Planner::take_reserved() {
  for (const auto& [job_id, kept] : state_.reserved) {
    const auto key = state_.queue_keys.find(job_id);
    if (key == state_.queue_keys.end()) continue;
    Queued& queued = state_.queues[key->second.first].at(key->second.second);
    state_.ask(queued);
    Reservation one{.job_id = job_id,
                    .project = project_of(queued, key->second.first),
                    .amounts = queued.amounts};
    const std::vector<char>* open = state_.open_to(queued.job, now_);
    bool stands = kept.places.size() == queued.job.tasks.size();
    for (size_t i = 0; stands && i < kept.places.size(); ++i) {
      const int32_t node = state_.cells.find({kept.pool, kept.places[i].node});
      stands = node >= 0 && state_.cells.node(node).open &&
               (open == nullptr || (*open)[static_cast<size_t>(node)] != 0);
      if (!stands) break;
      const GpuMask gpus = state_.cells.mask_of(node, kept.places[i].gpus);
      stands = (gpus & ~state_.cells.node(node).healthy) == 0 &&
               count_bits(gpus) == static_cast<int64_t>(kept.places[i].gpus.size());
      const TaskNeed& need = queued.job.tasks[i];
      one.grants.push_back(
          {node, need.milli_cpus, need.memory_bytes, gpus, kept.places[i].gpu_milli});
    }
    if (!stands) continue;
    take(one, +1);
    reserved_.emplace(job_id, std::move(one));
  }
}

void Planner::consider_reserved(int32_t project, Queued& queued, const Reservation& kept) {
  stopping_ones_hold();
  note_limits_passed(queued, kept);
  const bool there = std::all_of(kept.grants.begin(), kept.grants.end(),
                                 [&](const Grant& g) { return state_.cells.covered(g); }) &&
                     (kept.project < 0 || !state_.quotas.passed_limit(kept.project));
  if (there) return start(queued.job, kept.grants);
  // Room elsewhere, by chance, is better than waiting for those that still save their work.
  take(kept, -1);
  if (try_start(project, queued)) return;
  take(kept, +1);
  Reason reason{"preempting", {{"victims", static_cast<double>(state_.stopping)}}, "", ""};
  wait_behind(queued.job, std::move(reason));
  plan_.holds.push_back(hold_of(queued.job, kept.grants, true));
}

bool Planner::try_evict(int32_t project, Queued& queued) {
  stopping_ones_are_gone();
  auto cover = find_cover(state_, candidates_, queued, queued.ask, now_);
  if (!cover) {
    if (candidates_.later.micros != 0) wake(candidates_.later);
    return false;
  }
  // What they hold is taken until they have ended, and promised to this job from now on.
  for (Running* victim : cover->victims) {
    victim->stopping = true;
    ++state_.stopping;
    evicted_.push_back(victim);
    state_.account(*victim, -1);
    Reason why{"evicted",
               {{"priority", static_cast<double>(queued.job.priority)}},
               "",
               "",
               {{"job", queued.job.name}, {"project", queued.job.project}}};
    plan_.evictions.push_back({victim->id, queued.job.id, std::move(why)});
  }
  for (const Grant& grant : cover->grants) state_.cells.take(grant);
  charge(project, queued, cover->grants);
  plan_.holds.push_back(hold_of(queued.job, cover->grants, true));
  const auto victims = static_cast<double>(cover->victims.size());
  wait_behind(queued.job, {"preempting", {{"victims", victims}}, "", ""});
  return true;
}

void Planner::stopping_ones_are_gone() {
  if (std::exchange(gone_, true) || state_.stopping == 0) return;
  for (auto& [id, running] : state_.running) {
    if (running.stopping) state_.account(running, -1);
  }
}

void Planner::stopping_ones_hold() {
  if (!std::exchange(gone_, false) || state_.stopping == 0) return;
  for (auto& [id, running] : state_.running) {
    if (running.stopping) state_.account(running, +1);
  }
}

void Planner::hold(int32_t project, Queued& queued) {
  const Ask ask = within_limits(project_of(queued, project), queued).value_or(queued.ask);
  auto found = reserve_by_ends(state_, queued, ask, now_);
  if (!found) {
    const Time due = queued.job.queued_at + kPatience;
    if (due > now_) return wake(due);
    found = reserve_emptiest(state_, queued, ask, now_);
  }
  if (!found) return;  // its nodes are closed: nothing would come of holding
  hold_ = std::move(found);
  if (hold_->due.micros != 0) {
    const auto at = plan_.reasons.find(queued.job.id);
    if (at != plan_.reasons.end())
      at->second.numbers["starts_in_seconds"] = (hold_->due - now_).seconds();
  }
  plan_.holds.push_back(hold_of(queued.job, hold_->grants, false));
}

}  // namespace hearth::sched
