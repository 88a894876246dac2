// A plan while it is made: by turns of the queue (plan.cc), with the room that evictions,
// reservations and closing nodes make or take (plan_room.cc), and why jobs wait (plan_why.cc).
// Inside sched alone.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sched/change.h"
#include "sched/limits.h"
#include "sched/preempt.h"
#include "sched/reserve.h"
#include "sched/state.h"

namespace hearth::sched {

// One job alone is asked about.
struct About {
  std::string job_id;
  bool only_whether = false;  // it starts: the plan ends with its turn
  // Answers:
  bool starts = false;           // only_whether
  std::optional<Raise> raise{};  // only_whether: the limit that alone stops it
  bool inexact = false;          // a trial in its place could not tell what a plan would do
};
Plan plan_about(Cluster::State& state, Time now, const PlanOptions& options, About& about);

// Such as no wait can mend.
inline bool is_final(const Reason& reason) {
  return reason.code == "never_fits" || reason.code == "never_quota" ||
         reason.code == "gpu_model_missing";
}

class Planner {
 public:
  Planner(Cluster::State& state, Time now, const PlanOptions& options, About* about = nullptr)
      : state_(state), now_(now), options_(options), about_(about) {}

  Plan run();

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

  Order order_of(const Head& head);
  bool entitled(int32_t project, const Queued& queued) const {
    return !queued.job.opportunistic && state_.quotas.entitled(project, queued.amounts);
  }
  void put_head(int32_t project, Queue::iterator at);

  // Whoever runs where a node has closed to it goes elsewhere.
  void leave_closed();

  // What others had to leave for it is nobody else's.
  void take_reserved();

  static int32_t project_of(const Queued& queued, int32_t project) {
    return queued.job.opportunistic ? -1 : project;
  }

  void take(const Reservation& one, int sign) {
    state_.account(one.grants, one.project, one.amounts, sign);
  }

  void consider(int32_t project, Queued& queued);

  void consider_reserved(int32_t project, Queued& queued, const Reservation& kept);

  // Over before the reservation falls due, so that it may run in its place.
  bool backfills(const QueuedJob& job) const;

  // Whether the reservation still stands when it falls due, if this runs on beyond.
  bool delays_nobody(int32_t project, const Amounts& amounts, const std::vector<Grant>& grants);

  std::optional<Ask> within_limits(int32_t payer, const Queued& queued) const {
    return sched::within_limits(state_, payer, queued);
  }

  bool try_start(int32_t project, Queued& queued);

  // Beside the reservation, when there is one.
  std::optional<Placed> find_place(int32_t project, Queued& queued, const Choice& choice);

  void charge(int32_t project, const Queued& queued, const std::vector<Grant>& grants);

  // With more of them it might start before others.
  void note_limits_passed(const Queued& queued, const Reservation& kept);
  void tell_whether(int32_t project, const Queued& queued);

  // What alone would start it now, by trial in its place in the queue.
  void look_for_changes(int32_t project, Queued& queued, Reason& reason);

  Trial try_as(int32_t project, const Queued& queued, QueuedJob job);
  Trial not_exact() {
    if (about_ != nullptr) about_->inexact = true;
    return Trial::unknown;
  }

  // Of a limit, for a job that was just tried in vain.
  void look_for_raise(int32_t project, Queued& queued, Reason& reason);

  // Each of which alone stops it.
  std::vector<Raise> raises_of(int32_t project, const Queued& queued) const;
  // The first that each limit stops, in whole or from a GPU model.
  void note_limits(int32_t project, const Queued& queued);

  void start(const QueuedJob& job, const std::vector<Grant>& grants);

  std::optional<Reason> never(int32_t project, Queued& queued);

  bool try_evict(int32_t project, Queued& queued);

  // For evictions what is stopping counts as free, for starts it does not. Told when it is needed,
  // as many jobs in a row may ask for the same.
  void stopping_ones_are_gone();
  void stopping_ones_hold();

  void wait(const QueuedJob& job, Reason reason);
  void wait_behind(const QueuedJob& job, Reason reason);
  void wake(Time at) {
    if (plan_.wake_at.micros == 0 || at < plan_.wake_at) plan_.wake_at = at;
  }

  Reason reason_of(int32_t project, Queued& queued);
  // The node first to close that is closed to a job.
  Reason node_closes(Queued& queued, const std::vector<char>& open);
  // It would fit if nothing were held.
  bool stopped_by_hold(int32_t project, Queued& queued);
  std::map<std::string, double> held_numbers() const {
    return {{"held_seconds", (now_ - hold_->since).seconds()}};
  }

  // From now on when its start can be told, else from kPatience on, what the job will need is
  // taken out of what others may use.
  void hold(int32_t project, Queued& queued);

  Hold hold_of(const QueuedJob& job, const std::vector<Grant>& grants, bool preempts) const;

  void finish();

  using Key = std::tuple<int32_t, int64_t, int64_t, std::string>;  // project, priority, run, shape
  // Where nodes close, it counts how long a job runs.
  Key key_of(int32_t project, const Queued& queued) const;
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

}  // namespace hearth::sched
