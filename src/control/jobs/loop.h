// The job loop: one thread that tails the events, feeds the cluster, carries out plans and ends
// what must end. Everything it does is first written down; a crash at any point is mended by
// recover().
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/bounded_queue.h"
#include "base/metrics.h"
#include "control/jobs/forecasts.h"
#include "control/jobs/history.h"
#include "control/jobs/launch.h"
#include "control/jobs/reconcile.h"
#include "control/jobs/told_ends.h"
#include "control/supply.h"

namespace hearth::control {

class JobLoop : public executors::Watcher {
 public:
  JobLoop(Context context, Access& access, executors::Executor& executor, JobsOptions options);
  ~JobLoop() override;
  Result<void> start();
  void stop();
  void hold() { holding_ = true; }
  void release();

  std::optional<Reason> reason_of(const std::string& job_id);  // of the last plan
  WaitingJobs waiting();
  // By a plan of its own, with all that would start it now.
  std::optional<Reason> why(const std::string& job_id);
  std::optional<Reason> never_fits(const sched::QueuedJob& job);
  // What the plan would say of this job if it were submitted now; code "now" if it would start.
  struct Outlook {
    Reason reason;
    std::optional<StartGuess> start;
  };
  Outlook would_wait(sched::QueuedJob job);
  std::vector<NodeInfo> nodes();
  std::map<std::string, sched::ProjectUse> use();

  void on_task(const executors::TaskEvent& event) override;
  void on_node(const executors::NodeEvent& event) override;

  // Named bounds.
  static constexpr int64_t kEventsAtOnce = 1000;
  static constexpr size_t kStartsAtOnce = 64;
  // Running jobs that are asked before a forecast how far they are, and those of owners of whom one
  // has ended: so many of each, so often.
  static constexpr int64_t kMostAsked = 64;
  static constexpr Duration kAskEvery = Duration::seconds(5);
  static constexpr size_t kMostRenewed = 256;  // waiting jobs, before a forecast
  static constexpr Duration kKeepErrorsEvery = Duration::seconds(60);
  static constexpr size_t kMostExecutorEvents = 65'536;
  static constexpr Duration kLongestSleep = Duration::seconds(5);
  static constexpr Duration kGrace = Duration::seconds(10);
  // A stopped task that has not ended by grace and this is ended by the executor.
  static constexpr Duration kStopPatience = Duration::seconds(15);

 private:
  using ExecutorEvent = std::variant<executors::TaskEvent, executors::NodeEvent>;

  void run();
  Result<void> load_all();  // at start: nodes, queued jobs, running attempts
  Result<void> recover();   // what the executor still knows
  Result<void> load_supply();
  void feed_supply();
  Result<bool> read_events();  // true: there was news
  Result<void> take_executor_events();
  Result<void> update_job(const std::string& job_id);
  void follow(const Reconciled& r);  // cluster and signals after a commit
  Result<void> carry_out_plan();
  Result<void> evict_attempts(const std::vector<sched::Eviction>& evictions);
  Result<void> start_jobs(const std::vector<sched::Start>& starts);
  void launch(PreparedLaunch prepared);
  void fail_launch(const PreparedLaunch& prepared, const Error& error);
  // The time until the next forecast. It is made when it is due, unless something came up since
  // `version` of the queue's topic: then it goes on later.
  std::optional<Duration> forecast_when_due(uint64_t version);
  bool forecast_is_due();
  // What is known by now of the ends of jobs that run, and of those that wait.
  Result<void> ask_for_ends();
  void renew_waiting();
  // How far forecasts were off: over restarts.
  void load_errors();
  void keep_errors(Duration at_most_every);
  Result<void> write_reasons(const std::map<std::string, Reason>& reasons);
  void force_stops();
  void look_at_clock();
  void look_at_queue();
  void apply(const sched::ClusterEvent& event);
  void remember(History history);
  void learn(const Job& ended);

  Context context_;
  Access& access_;
  executors::Executor& executor_;
  const JobsOptions options_;
  // Guards cluster_, forecasts_, reasons_ and oldest_queued_; history_, which the loop alone
  // changes, from those that only ask.
  std::mutex mutex_;
  sched::Cluster cluster_;
  Forecasts forecasts_{context_.clock};
  std::map<std::string, Reason> reasons_;
  Time oldest_queued_;  // {0}: none is
  // The loop thread's own:
  Supply supply_;
  History history_;
  ToldEnds told_ends_;
  std::string asked_last_;  // job that was asked how far it is
  Time asked_at_;           // on the steady clock
  LearntErrors kept_errors_;
  Time errors_kept_at_;                     // on the steady clock
  std::set<std::string> ended_of_;          // owners of whom a job has ended, not yet looked at
  std::map<std::string, int64_t> ends_of_;  // of jobs since this server began, by their owner
  size_t last_renewed_ = 0;  // place in the queue of the last job whose outlook was looked at
  int64_t last_seq_ = 0;
  std::string last_error_;  // said once, not every second while it lasts
  Time wake_at_{0};
  struct Waits {
    Time since;
    int64_t ends = 0;  // of its owner's jobs, that its outlook has heard of
  };
  std::map<std::string, Waits> queued_;                // by job id
  std::map<std::string, std::string> active_;          // attempt id -> job id, in the cluster
  std::map<std::string, std::set<std::string>> open_;  // attempt id -> tasks not yet heard ended
  std::set<std::string> evicted_;                      // attempts that were told so
  std::map<std::string, Time> force_at_;               // attempt id -> when the executor ends it
  BoundedQueue<ExecutorEvent> executor_events_{kMostExecutorEvents};
  Counter& starts_ = metrics().counter("hearth_control_starts_total", "Attempts that were started");
  Counter& evictions_ = metrics().counter("hearth_control_evictions_total",
                                          "Attempts that were told to make room for others");
  Histogram& waits_ = metrics().histogram(
      "hearth_control_first_wait_seconds", "From a job's submission to its first start",
      {1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 7 * 24 * 3600});
  std::atomic<bool> stopping_{false}, holding_{false};
  std::thread thread_;
};

}  // namespace hearth::control
