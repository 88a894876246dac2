// Why a job waits, and what alone would start it now.
#include <algorithm>

#include "sched/planner.h"
#include "sched/reasons.h"

namespace hearth::sched {

void Planner::note_limits_passed(const Queued& queued, const Reservation& kept) {
  if (kept.project < 0 || !state_.quotas.passed_limit(kept.project)) return;
  for (int32_t up = kept.project; up >= 0; up = state_.quotas.at(up).parent)
    limits_.try_emplace(up, queued.job.id);
}

void Planner::tell_whether(int32_t project, const Queued& queued) {
  about_->starts = !plan_.starts.empty() && plan_.starts.back().job_id == queued.job.id;
  const auto raises = raises_of(project, queued);
  if (!raises.empty()) about_->raise = raises.front();
}

void Planner::look_for_changes(int32_t project, Queued& queued, Reason& reason) {
  if (is_final(reason) || (about_ != nullptr && about_->job_id != queued.job.id)) return;
  const Key key = key_of(project, queued);
  const size_t version = plan_.starts.size() + plan_.evictions.size() + plan_.holds.size();
  auto known = looked_for_.find(key);
  if (known == looked_for_.end() || known->second.version != version) {
    if (looked_for_.size() >= options_.trials && about_ == nullptr) return;
    const Try attempt = [&](QueuedJob job) { return try_as(project, queued, std::move(job)); };
    auto found = smallest_changes(queued.job, state_.cells, attempt);
    known = looked_for_.insert_or_assign(key, Looked{version, std::move(found)}).first;
  }
  reason.changes = known->second.changes;
}

Trial Planner::try_as(int32_t project, const Queued& queued, QueuedJob job) {
  const size_t looks = state_.cells.nodes().size() * std::min<size_t>(job.tasks.size(), 4);
  if (about_ == nullptr && looks > looks_left_) return Trial::unknown;
  if (about_ == nullptr) looks_left_ -= looks;
  Queued trial{.job = std::move(job)};
  trial.shape = shape_of(trial.job);
  state_.ask(trial);
  // It would have another place in the queue.
  if (entitled(project, trial) != entitled(project, queued)) return not_exact();
  const Key key = key_of(project, trial);
  const bool fails = failed_.contains(key) || not_free_.contains(key);
  if (fails && trial.shape != queued.shape && !backfills(trial.job)) return Trial::waits;
  // Where it goes matters beside a reservation alone.
  Choice choice = state_.choice(trial.job, now_);
  if (!hold_) {
    choice.cache = nullptr;
    choice.worth = nullptr;
  }
  return find_place(project, trial, choice) ? Trial::starts : Trial::waits;
}

void Planner::look_for_raise(int32_t project, Queued& queued, Reason& reason) {
  if (is_final(reason) || (about_ != nullptr && about_->job_id != queued.job.id)) return;
  for (const Raise& raise : raises_of(project, queued)) {
    // Others before it would have their part of it.
    const auto first = limits_.find(raise.project);
    const bool others = first != limits_.end() && first->second != queued.job.id;
    if (others || (hold_ && state_.quotas.counts_in(hold_->project, raise.project))) {
      not_exact();
      continue;
    }
    const Raise before = state_.quotas.set_limit(raise);
    const bool starts = try_as(project, queued, QueuedJob(queued.job)) == Trial::starts;
    const Change change = change_of(state_.quotas, raise);
    state_.quotas.set_limit(before);
    if (!starts) continue;
    reason.changes.push_back(change);
    return;
  }
}

std::vector<Raise> Planner::raises_of(int32_t project, const Queued& queued) const {
  std::vector<Raise> alone;
  for (const auto& limits : limits_on(state_, project_of(queued, project), queued)) {
    if (limits.size() == 1) alone.push_back(limits.front());
  }
  return alone;
}

void Planner::note_limits(int32_t project, const Queued& queued) {
  if (!options_.reasons) return;
  for (const auto& limits : limits_on(state_, project_of(queued, project), queued)) {
    for (const Raise& raise : limits) limits_.try_emplace(raise.project, queued.job.id);
  }
}

std::optional<Reason> Planner::never(int32_t project, Queued& queued) {
  if (!queued.job.opportunistic) {
    if (auto reason = impossible_quota(state_.quotas, project, queued.amounts)) return reason;
  }
  return state_.impossible(queued);
}

Reason Planner::reason_of(int32_t project, Queued& queued) {
  if (stopped_by_hold(project, queued)) return {"behind", held_numbers(), "", ""};
  if (!within_limits(project_of(queued, project), queued)) {
    const auto over = over_limit(state_, project, queued);
    if (over) return quota_short(*over);
  }
  if (!place(state_.idle(), queued.ask, {})) return closed(state_.cells, queued.ask);
  const std::vector<char>* open = state_.open_to(queued.job, now_);
  const Choice there{.equalized = &state_.equalized, .only = open};
  if (open != nullptr && !place(state_.idle(), queued.ask, there))
    return node_closes(queued, *open);
  // Of what it may have by its limits.
  const auto allowed = within_limits(project_of(queued, project), queued);
  return shortage(state_.cells, queued.job, allowed ? *allowed : queued.ask, open);
}

Reason Planner::node_closes(Queued& queued, const std::vector<char>& open) {
  const NodeInfo* first = nullptr;
  for (const int32_t index : state_.closing) {
    const NodeInfo& info = state_.cells.node(index).info;
    if (open[static_cast<size_t>(index)] != 0) continue;
    if (first == nullptr || info.closes_at < first->closes_at) first = &info;
  }
  CHECK(first != nullptr);
  const double seconds = std::max(0.0, (first->closes_at - now_).seconds());
  // Were it to end in time: is there room now?
  const bool room = place(state_.cells, queued.ask, {.equalized = &state_.equalized}).has_value();
  return {"node_closes",
          {{"seconds", seconds}, {"room", room ? 1 : 0}},
          "",
          "",
          {{"node", first->name}, {"why", first->closes_for}}};
}

bool Planner::stopped_by_hold(int32_t project, Queued& queued) {
  if (!hold_) return false;
  const auto ask = within_limits(project_of(queued, project), queued);
  return ask && place(state_.cells, *ask, state_.choice(queued.job, now_)).has_value();
}

}  // namespace hearth::sched
