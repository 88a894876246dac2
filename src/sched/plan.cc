// Projects within their promise first, then by priority, fair share and age, with room for others:
// one job that does not fit has its place reserved (reserve.h) and is passed by those that do not
// delay it. A job may have others evicted (preempt.h); what they free is kept for it.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "sched/change.h"
#include "sched/limits.h"
#include "sched/planner.h"
#include "sched/preempt.h"
#include "sched/reasons.h"
#include "sched/reserve.h"

namespace hearth::sched {
namespace {

bool is_final(const Reason& reason) {
  return reason.code == "never_fits" || reason.code == "never_quota" ||
         reason.code == "gpu_model_missing";
}

class Planner {
 public:
  Planner(Cluster::State& state, Time now, const PlanOptions& options, About* about = nullptr)
      : state_(state), now_(now), options_(options), about_(about) {}

  Plan run() {
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

 private:
  using Queue = std::map<QueueKey, Queued>;
  struct Head {
    int32_t project;
    Queue::iterator at;
  };
  static constexpr int64_t kAfterAll = std::numeric_limits<int64_t>::max();
  // Least first.
  struct Order {
    bool beyond;  // its project's promise
    int64_t priority;
    double share;
    int64_t aged;
    std::string id;
    bool operator<(const Order& o) const {
      return std::tie(beyond, priority, share, aged, id) <
             std::tie(o.beyond, o.priority, o.share, o.aged, o.id);
    }
  };

  Order order_of(const Head& head) {
    Queued& queued = head.at->second;
    state_.ask(queued);
    const bool mine = entitled(head.project, queued);
    const int64_t waited = std::max<int64_t>(0, (now_ - queued.job.queued_at).micros);
    const int64_t priority = state_.standing(queued.job) + waited / kAgeing.micros;
    return {!mine && state_.quotas.any_guarantee(),
            queued.job.opportunistic ? kAfterAll : -priority,
            state_.quotas.share(head.project, state_.all), head.at->first.aged(), queued.job.id};
  }
  bool entitled(int32_t project, const Queued& queued) const {
    return !queued.job.opportunistic && state_.quotas.entitled(project, queued.amounts);
  }
  void put_head(int32_t project, Queue::iterator at) {
    if (at == state_.queues[project].end()) return;
    const Head head{project, at};
    heads_.emplace(order_of(head), head);
  }

  // Whoever runs where a node has closed to it goes elsewhere.
  void leave_closed() {
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

  // What others had to leave for it is nobody else's.
  void take_reserved() {
    for (const auto& [job_id, kept] : state_.reserved) {
      const auto key = state_.queue_keys.find(job_id);
      if (key == state_.queue_keys.end()) continue;
      Queued& queued = state_.queues[key->second.first].at(key->second.second);
      state_.ask(queued);
      Reservation one{.job_id = job_id,
                      .project = project_of(queued, key->second.first),
                      .amounts = queued.amounts};
      bool stands = kept.places.size() == queued.job.tasks.size();
      for (size_t i = 0; stands && i < kept.places.size(); ++i) {
        const int32_t node = state_.cells.find({kept.pool, kept.places[i].node});
        stands = node >= 0 && state_.cells.node(node).open;
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

  static int32_t project_of(const Queued& queued, int32_t project) {
    return queued.job.opportunistic ? -1 : project;
  }

  void take(const Reservation& one, int sign) {
    state_.account(one.grants, one.project, one.amounts, sign);
  }

  void consider(int32_t project, Queued& queued) {
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

  void consider_reserved(int32_t project, Queued& queued, const Reservation& kept) {
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

  // Over before the reservation falls due, so that it may run in its place.
  bool backfills(const QueuedJob& job) const {
    return hold_ && hold_->due.micros != 0 && job.expected.micros > 0 &&
           now_ + job.expected <= hold_->due;
  }

  // Whether the reservation still stands when it falls due, if this runs on beyond.
  bool delays_nobody(int32_t project, const Amounts& amounts, const std::vector<Grant>& grants) {
    const size_t cells_mark = state_.cells.mark(), quota_mark = state_.quotas.mark();
    for (const Running* running : hold_->ended) state_.account(*running, -1);
    for (const Reservation& one : over_by_then_) take(one, -1);
    take(*hold_, +1);
    state_.account(grants, project, amounts, +1);
    const auto covered = [&](const Grant& grant) { return state_.cells.covered(grant); };
    // When nobody knows what will have ended, what it takes must lie beside.
    const bool stands = (hold_->due.micros == 0 ||
                         std::all_of(hold_->grants.begin(), hold_->grants.end(), covered)) &&
                        std::all_of(grants.begin(), grants.end(), covered) &&
                        (hold_->due.micros == 0 || hold_->project < 0 ||
                         !state_.quotas.passed_limit(hold_->project));
    state_.cells.undo(cells_mark);
    state_.quotas.undo(quota_mark);
    return stands;
  }

  std::optional<Ask> within_limits(int32_t payer, const Queued& queued) const {
    return sched::within_limits(state_, payer, queued);
  }

  bool try_start(int32_t project, Queued& queued) {
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

  // Beside the reservation, when there is one.
  std::optional<Placed> find_place(int32_t project, Queued& queued, const Choice& choice) {
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

  void charge(int32_t project, const Queued& queued, const std::vector<Grant>& grants) {
    state_.quotas.charge(project_of(queued, project), amounts_of(state_.cells, grants), +1);
  }

  // With more of them it might start before others.
  void note_limits_passed(const Queued& queued, const Reservation& kept) {
    if (kept.project < 0 || !state_.quotas.passed_limit(kept.project)) return;
    for (int32_t up = kept.project; up >= 0; up = state_.quotas.at(up).parent)
      limits_.try_emplace(up, queued.job.id);
  }
  void tell_whether(int32_t project, const Queued& queued) {
    about_->starts = !plan_.starts.empty() && plan_.starts.back().job_id == queued.job.id;
    const auto raises = raises_of(project, queued);
    if (!raises.empty()) about_->raise = raises.front();
  }

  // What alone would start it now, by trial in its place in the queue.
  void look_for_changes(int32_t project, Queued& queued, Reason& reason) {
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

  Trial try_as(int32_t project, const Queued& queued, QueuedJob job) {
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
  Trial not_exact() {
    if (about_ != nullptr) about_->inexact = true;
    return Trial::unknown;
  }

  // Of a limit, for a job that was just tried in vain.
  void look_for_raise(int32_t project, Queued& queued, Reason& reason) {
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

  // Each of which alone stops it.
  std::vector<Raise> raises_of(int32_t project, const Queued& queued) const {
    std::vector<Raise> alone;
    for (const auto& limits : limits_on(state_, project_of(queued, project), queued)) {
      if (limits.size() == 1) alone.push_back(limits.front());
    }
    return alone;
  }
  // The first that each limit stops, in whole or from a GPU model.
  void note_limits(int32_t project, const Queued& queued) {
    if (!options_.reasons) return;
    for (const auto& limits : limits_on(state_, project_of(queued, project), queued)) {
      for (const Raise& raise : limits) limits_.try_emplace(raise.project, queued.job.id);
    }
  }

  void start(const QueuedJob& job, const std::vector<Grant>& grants) {
    Hold placed = hold_of(job, grants, false);
    plan_.starts.push_back(
        {.job_id = job.id, .pool = std::move(placed.pool), .places = std::move(placed.places)});
  }

  std::optional<Reason> never(int32_t project, Queued& queued) {
    if (!queued.job.opportunistic) {
      if (auto reason = impossible_quota(state_.quotas, project, queued.amounts)) return reason;
    }
    return state_.impossible(queued);
  }

  bool try_evict(int32_t project, Queued& queued) {
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

  // For evictions what is stopping counts as free, for starts it does not. Told when it is needed,
  // as many jobs in a row may ask for the same.
  void stopping_ones_are_gone() {
    if (std::exchange(gone_, true) || state_.stopping == 0) return;
    for (auto& [id, running] : state_.running) {
      if (running.stopping) state_.account(running, -1);
    }
  }
  void stopping_ones_hold() {
    if (!std::exchange(gone_, false) || state_.stopping == 0) return;
    for (auto& [id, running] : state_.running) {
      if (running.stopping) state_.account(running, +1);
    }
  }

  void wait(const QueuedJob& job, Reason reason) {
    if (options_.reasons) plan_.reasons.emplace(job.id, std::move(reason));
  }
  void wait_behind(const QueuedJob& job, Reason reason) {
    if (!options_.reasons) return;
    if (!is_final(reason)) {
      reason.numbers["ahead"] = static_cast<double>(plan_.waiting.size());
      plan_.waiting.push_back(job.id);
    }
    wait(job, std::move(reason));
  }
  void wake(Time at) {
    if (plan_.wake_at.micros == 0 || at < plan_.wake_at) plan_.wake_at = at;
  }

  Reason reason_of(int32_t project, Queued& queued) {
    if (stopped_by_hold(project, queued)) return {"behind", held_numbers(), "", ""};
    if (!within_limits(project_of(queued, project), queued)) {
      const auto over = over_limit(state_, project, queued);
      if (over) return quota_short(*over);
    }
    if (!place(state_.idle(), queued.ask, {})) return closed(state_.cells);
    const std::vector<char>* open = state_.open_to(queued.job, now_);
    const Choice there{.equalized = &state_.equalized, .only = open};
    if (open != nullptr && !place(state_.idle(), queued.ask, there)) return node_closes(*open);
    // Of what it may have by its limits.
    const auto allowed = within_limits(project_of(queued, project), queued);
    return shortage(state_.cells, queued.job, allowed ? *allowed : queued.ask, open);
  }
  // The node first to close that is closed to a job.
  Reason node_closes(const std::vector<char>& open) const {
    const NodeInfo* first = nullptr;
    for (const int32_t index : state_.closing) {
      const NodeInfo& info = state_.cells.node(index).info;
      if (open[static_cast<size_t>(index)] != 0) continue;
      if (first == nullptr || info.closes_at < first->closes_at) first = &info;
    }
    CHECK(first != nullptr);
    const double seconds = std::max(0.0, (first->closes_at - now_).seconds());
    return {"node_closes",
            {{"seconds", seconds}},
            "",
            "",
            {{"node", first->name}, {"why", first->closes_for}}};
  }
  // It would fit if nothing were held.
  bool stopped_by_hold(int32_t project, Queued& queued) {
    if (!hold_) return false;
    const auto ask = within_limits(project_of(queued, project), queued);
    return ask && place(state_.cells, *ask, state_.choice(queued.job, now_)).has_value();
  }
  std::map<std::string, double> held_numbers() const {
    return {{"held_seconds", (now_ - hold_->since).seconds()}};
  }

  // From now on when its start can be told, else from kPatience on, what the job will need is
  // taken out of what others may use.
  void hold(int32_t project, Queued& queued) {
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

  Hold hold_of(const QueuedJob& job, const std::vector<Grant>& grants, bool preempts) const {
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

  void finish() {
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

  using Key = std::tuple<int32_t, int64_t, int64_t, std::string>;  // project, priority, run, shape
  // Where nodes close, it counts how long a job runs.
  Key key_of(int32_t project, const Queued& queued) const {
    const int64_t run = state_.closing.empty() ? 0 : queued.job.expected.micros;
    return {project_of(queued, project), state_.standing(queued.job), run, queued.shape};
  }
  struct Looked {
    size_t version;  // of what the plan had decided by then
    std::vector<Change> changes;
  };
  Cluster::State& state_;
  const Time now_;
  const PlanOptions options_;
  About* const about_;  // null: about all
  std::map<Order, Head> heads_;
  std::map<std::string, Reservation> reserved_;  // by job id
  std::optional<Reservation> hold_;
  std::vector<Reservation> over_by_then_;  // started in this plan, over when the hold falls due
  std::map<Key, Reason> failed_;
  std::set<Key> not_free_;  // found no place without evictions
  std::map<Key, Looked> looked_for_;
  size_t looks_left_ = kTrialLooks;
  std::map<int32_t, std::string> limits_;  // project -> the first job that a limit of it stops
  Candidates candidates_;
  bool gone_ = false;  // stopping ones count as gone
  std::vector<Running*> evicted_;
  Plan plan_;
};

}  // namespace

Plan plan(Cluster& cluster, Time now, const PlanOptions& options) {
  return Planner(cluster.state(), now, options).run();
}

Plan plan_about(Cluster::State& state, Time now, const PlanOptions& options, About& about) {
  return Planner(state, now, options, &about).run();
}

}  // namespace hearth::sched
