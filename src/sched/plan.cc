// Projects within their promise first, then by priority, fair share and age, with room for others:
// one job that does not fit has its place reserved (reserve.h) and is passed by those that do not
// delay it. A job may have others evicted (preempt.h); what they free is kept for it.
#include <algorithm>
#include <utility>

#include "sched/planner.h"
#include "sched/reasons.h"

namespace hearth::sched {

Plan Planner::run() {
  state_.quotas.pass(now_, state_.all);
  leave_closed();
  take_reserved();
  for (auto& [project, queue] : state_.queues) put_head(project, queue.begin());
  while (!heads_.empty()) {
    const auto first = heads_.begin();
    const Head head = first->second;
    // Others' starts may have changed its standing; then it waits for its turn again.
    const Order order = order_of(head);
    const bool same = !(order < first->first) && !(first->first < order);
    heads_.erase(first);
    if (!same) {
      heads_.emplace(order, head);
      continue;
    }
    consider(head.project, head.at->second);
    if (about_ != nullptr && about_->only_whether && about_->job_id == head.at->second.job.id) {
      tell_whether(head.project, head.at->second);
      break;
    }
    put_head(head.project, std::next(head.at));
  }
  finish();
  return std::move(plan_);
}

Planner::Order Planner::order_of(const Head& head) {
  Queued& queued = head.at->second;
  state_.ask(queued);
  const bool mine = entitled(head.project, queued);
  const int64_t waited = std::max<int64_t>(0, (now_ - queued.job.queued_at).micros);
  const int64_t priority = state_.standing(queued.job) + waited / kAgeing.micros;
  return {!mine && state_.quotas.any_guarantee(), queued.job.opportunistic ? kAfterAll : -priority,
          state_.quotas.share(head.project, state_.all), head.at->first.aged(), queued.job.id};
}

void Planner::put_head(int32_t project, Queue::iterator at) {
  if (at == state_.queues[project].end()) return;
  const Head head{project, at};
  heads_.emplace(order_of(head), head);
}

void Planner::consider(int32_t project, Queued& queued) {
  const QueuedJob& job = queued.job;
  if (job.not_before > now_) {
    const double seconds = (job.not_before - now_).seconds();
    wait(job, {"back_off", {{"seconds", seconds}}, "", ""});
    return wake(job.not_before);
  }
  if (const auto kept = reserved_.find(job.id); kept != reserved_.end())
    return consider_reserved(project, queued, kept->second);
  // What failed for one of this shape fails for the next: what is free only shrinks in a plan.
  const Key key = key_of(project, queued);
  if (const auto known = failed_.find(key); known != failed_.end() && !backfills(job)) {
    Reason reason = known->second;
    look_for_changes(project, queued, reason);
    not_exact();
    return wait_behind(job, std::move(reason));
  }
  const bool tried = not_free_.contains(key) && !backfills(job);
  if (!tried) stopping_ones_hold();
  if (!tried && try_start(project, queued)) return;
  not_free_.insert(key);
  if (options_.only_starts) {
    failed_[key] = {};
    return;
  }
  if (auto reason = never(project, queued)) {
    failed_[key] = *reason;
    return wait(job, std::move(*reason));  // never in anybody's way
  }
  if (try_evict(project, queued)) return;
  stopping_ones_hold();
  if (!options_.reasons) {
    failed_[key] = {};
  } else {
    Reason reason = reason_of(project, queued);
    failed_[key] = reason;
    look_for_changes(project, queued, reason);
    if (tried)
      not_exact();
    else
      look_for_raise(project, queued, reason);
    wait_behind(job, std::move(reason));
  }
  if (!hold_ && !state_.has_levels()) hold(project, queued);
}

bool Planner::backfills(const QueuedJob& job) const {
  return hold_ && hold_->due.micros != 0 && job.expected.micros > 0 &&
         now_ + job.expected <= hold_->due;
}

bool Planner::delays_nobody(int32_t project, const Amounts& amounts,
                            const std::vector<Grant>& grants) {
  const size_t cells_mark = state_.cells.mark(), quota_mark = state_.quotas.mark();
  for (const Running* running : hold_->ended) state_.account(*running, -1);
  for (const Reservation& one : over_by_then_) take(one, -1);
  take(*hold_, +1);
  state_.account(grants, project, amounts, +1);
  const auto covered = [&](const Grant& grant) { return state_.cells.covered(grant); };
  // When nobody knows what will have ended, what it takes must lie beside.
  const bool stands =
      (hold_->due.micros == 0 ||
       std::all_of(hold_->grants.begin(), hold_->grants.end(), covered)) &&
      std::all_of(grants.begin(), grants.end(), covered) &&
      (hold_->due.micros == 0 || hold_->project < 0 || !state_.quotas.passed_limit(hold_->project));
  state_.cells.undo(cells_mark);
  state_.quotas.undo(quota_mark);
  return stands;
}

bool Planner::try_start(int32_t project, Queued& queued) {
  note_limits(project, queued);
  auto placed = find_place(project, queued, state_.choice(queued.job, now_));
  if (!placed) return false;
  for (const Grant& grant : placed->grants) state_.cells.take(grant);
  charge(project, queued, placed->grants);
  start(queued.job, placed->grants);
  if (backfills(queued.job)) {
    const Amounts amounts = amounts_of(state_.cells, placed->grants);
    over_by_then_.push_back({.grants = std::move(placed->grants),
                             .project = project_of(queued, project),
                             .amounts = amounts});
  }
  return true;
}

std::optional<Placed> Planner::find_place(int32_t project, Queued& queued, const Choice& choice) {
  const int32_t payer = project_of(queued, project);
  const auto now_free = [&]() -> std::optional<Placed> {
    const auto ask = within_limits(payer, queued);
    return ask ? place(state_.cells, *ask, choice) : std::nullopt;
  };
  auto placed = now_free();
  if (!placed || !hold_ || backfills(queued.job)) return placed;
  if (delays_nobody(payer, queued.amounts, placed->grants)) return placed;
  // Not there, but perhaps beside the cells that are kept.
  const size_t mark = state_.cells.mark();
  for (const Grant& grant : hold_->grants) state_.cells.take(grant);
  placed = now_free();
  state_.cells.undo(mark);
  if (placed && !delays_nobody(payer, queued.amounts, placed->grants)) placed.reset();
  return placed;
}

void Planner::charge(int32_t project, const Queued& queued, const std::vector<Grant>& grants) {
  state_.quotas.charge(project_of(queued, project), amounts_of(state_.cells, grants), +1);
}

void Planner::start(const QueuedJob& job, const std::vector<Grant>& grants) {
  Hold placed = hold_of(job, grants, false);
  plan_.starts.push_back(
      {.job_id = job.id, .pool = std::move(placed.pool), .places = std::move(placed.places)});
}

void Planner::wait(const QueuedJob& job, Reason reason) {
  if (options_.reasons) plan_.reasons.emplace(job.id, std::move(reason));
}

void Planner::wait_behind(const QueuedJob& job, Reason reason) {
  if (!options_.reasons) return;
  if (!is_final(reason)) {
    reason.numbers["ahead"] = static_cast<double>(plan_.waiting.size());
    plan_.waiting.push_back(job.id);
  }
  wait(job, std::move(reason));
}

Hold Planner::hold_of(const QueuedJob& job, const std::vector<Grant>& grants, bool preempts) const {
  Hold made{.job_id = job.id, .preempts = preempts};
  for (size_t i = 0; i < grants.size(); ++i) {
    const Node& node = state_.cells.node(grants[i].node);
    made.pool = node.key.first;
    Place place{.role = job.tasks[i].role,
                .rank = job.tasks[i].rank,
                .node = node.info.name,
                .gpu_milli = grants[i].milli};
    for (const size_t gpu : bits(grants[i].gpus)) place.gpus.push_back(node.info.gpus[gpu].uuid);
    std::sort(place.gpus.begin(), place.gpus.end());
    made.places.push_back(std::move(place));
  }
  return made;
}

void Planner::finish() {
  // Those that wait may take the place of one that falls to a lower level.
  if (!state_.queues.empty() && state_.has_levels()) {
    for (const auto& [id, running] : state_.running) {
      if (const Time next = state_.next_level(running, now_); next.micros != 0) wake(next);
    }
  }
  state_.cells.undo(0);
  state_.quotas.undo(0);
  for (Running* victim : evicted_) victim->stopping = false;
  state_.stopping -= evicted_.size();
}

Planner::Key Planner::key_of(int32_t project, const Queued& queued) const {
  const int64_t run = state_.closing.empty() ? 0 : queued.job.expected.micros;
  return {project_of(queued, project), state_.standing(queued.job), run, queued.shape};
}

Plan plan(Cluster& cluster, Time now, const PlanOptions& options) {
  return Planner(cluster.state(), now, options).run();
}

Plan plan_about(Cluster::State& state, Time now, const PlanOptions& options, About& about) {
  return Planner(state, now, options, &about).run();
}

}  // namespace hearth::sched
