// What the parts of Tracking share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/format.h"
#include "base/metrics.h"
#include "control/access/access.h"
#include "control/emit.h"
#include "control/metric_points.h"
#include "control/tracking/relaxed.h"
#include "control/tracking/run_index.h"
#include "control/tracking/snapshots.h"
#include "control/tracking/tracking.h"

namespace hearth::control {

// What never changes of a run, and who may touch it.
struct RunFacts {
  std::string id, project, job_id;
};

struct Tracking::State {
  State(Context the_context, Access& the_access, TrackingOptions the_options);

  static constexpr size_t kMostFacts = 100'000;    // runs whose facts are kept
  static constexpr size_t kMostRunsInWork = 200;   // changed in one transaction
  static constexpr size_t kMostTidied = 100'000;   // runs that wait to be compacted
  static constexpr int64_t kMostJournal = 10'000;  // rows dropped in one transaction
  static constexpr int64_t kMostCollected = 20;    // runs whose rows go in one transaction
  static constexpr size_t kMostTold = 1000;        // damaged rows that the log names

  static std::string project_of(const Identity& who, const std::string& project) {
    if (!project.empty()) return project;
    return who.project.empty() ? "default" : who.project;
  }

  // --- rights: what the identity may not see is not there for it
  Result<void> may(const Identity& who, const std::string& project, Grade least,
                   const Error& missing);
  Result<RunFacts> facts(const std::string& run_id);
  Result<RunFacts> run_for(const Identity& who, const std::string& run_id, Grade least);
  Result<void> may_change(const Identity& who, const RunFacts& run);
  // Nothing: all may be seen.
  Result<std::optional<std::set<std::string>>> visible(const Identity& who,
                                                       const std::string& project);

  // --- experiments
  // Makes the default experiment of a project that has none.
  Result<void> ensure_default(const std::string& project);
  // By id or, for "0", the default one of `project`.
  Result<Experiment> experiment_for(const Identity& who, const std::string& id,
                                    const std::string& project, Grade least);
  static Result<std::optional<Experiment>> find_experiment(db::Session& session,
                                                           const std::string& id,
                                                           const std::string& project);
  // Reads, changes, writes and tells, in one transaction.
  Result<Experiment> change_experiment(
      const Identity& who, const std::string& id, const std::string& project, Grade least,
      const std::string& kind,
      const std::function<Result<void>(db::Session&, Experiment&)>& change);
  // Deletes or restores the runs that share the experiment's time of deletion.
  Result<void> sweep_runs(const Identity& who, const std::string& experiment_id, Time from,
                          Time to);

  // --- runs
  static Error missing_run(const std::string& id);
  static Error missing_experiment(const std::string& id);
  // Inside a write: not_found or conflict when the run is gone or deleted.
  static Result<void> check_active(db::Session& session, const std::string& run_id);
  Result<Run> change_run(const Identity& who, const std::string& id, const std::string& kind,
                         const std::function<Result<void>(db::Session&, Run&)>& change);
  Result<TrackedRun> tracked(db::Session& session, Run run);
  Result<TrackedRun> tracked(Run run);
  Result<Run> make_run(db::Session& session, const Identity& who, const NewRun& wanted,
                       const Experiment& experiment);
  Result<std::optional<Run>> claim_job_run(db::Session& session, const Identity& who,
                                           const NewRun& wanted, const Experiment& experiment);
  // The job that ends this run by itself: then its status is not the client's.
  static Result<bool> is_jobs_own(db::Session& session, const Run& run);

  // --- search
  // With the ids of default experiments in place of "0".
  Result<RunSearch> resolved(const Identity& who, RunSearch query);
  Result<void> add_whole(RunPage& page);

  // Logs damage, each once.
  void tell_damage(const std::vector<std::string>& damaged);

  // --- logging
  Result<void> write_batch(const Identity& who, const RunFacts& run, LogBatch batch);
  // What is going to be one row.
  struct RelaxedRow {
    std::string run_id, id;
    bool counted = false;  // then it is `made` already
    KeyedPoints points;
    PointRow made;
  };
  Result<void> add_relaxed(const std::string& run_id, const KeyedPoints& points,
                           std::vector<RelaxedRow>& rows);
  Result<void> write_relaxed(std::vector<RelaxedBatch> batches);
  void count_rows(const std::string& run_id);
  std::string make_id() { return new_id_of(context); }
  static std::string new_id_of(Context& context);

  // --- upkeep
  // False once the service is to stop: what is left waits for the next start.
  std::atomic<bool> stopping = false;
  bool goes_on() const { return !stopping; }
  // Whether rows come so fast that merging them is put off; asked in every round, under mutex.
  bool is_busy();
  // What a process that died left to be merged; once.
  Result<void> count_left();
  Result<void> compact_due();
  Result<void> collect_deleted();
  Result<void> trim_journal();
  std::atomic<bool> older_done = false, left_counted = false;
  void note_open(const std::vector<std::string>& runs);
  // Once in kDropPeriod.
  bool is_due_to_drop() {
    const int64_t now = context.clock.steady().micros;
    int64_t last = dropped_at;
    return now - last >= kDropPeriod.micros && dropped_at.compare_exchange_strong(last, now);
  }
  static constexpr Duration kDropPeriod = Duration::seconds(600);
  std::atomic<int64_t> dropped_at = 0;
  void run(Tracking& tracking);

  void tell(const std::string& run_id) {
    context.signals.notify(kEventsTopic);
    if (!run_id.empty()) context.signals.notify(run_topic(run_id));
  }

  Context context;
  Access& access;
  const TrackingOptions options;
  RunIndex index;
  Snapshots snapshots;
  RelaxedQueue relaxed;

  std::mutex mutex;  // guards what follows
  std::condition_variable wake;
  bool running = false;
  std::map<std::string, RunFacts> known;    // by run id
  std::set<std::string> defaults;           // projects whose default experiment is there
  std::map<std::string, int64_t> new_rows;  // of metric_batches, by run
  int64_t rows_come = 0;                    // since `counted_at`
  Time counted_at, merged_at;               // steady; merged_at: when nothing was put off last
  bool busy = false;                        // as it was found then
  std::vector<std::string> last_open;       // ended runs that upkeep looked at
  bool more_open = false;                   // more of them wait to be merged
  std::set<std::string> ended;              // runs whose last rows wait to be merged
  std::set<std::string> told;               // damage that the log has named
  std::thread thread;

  Gauge& rows_waiting = hearth::metrics().gauge("hearth_control_metric_rows_waiting",
                                                "Rows of points that wait to be merged, about");
  Gauge& rows_waiting_bound = hearth::metrics().gauge("hearth_control_metric_rows_waiting_bound",
                                                      "The same of one run at most");
};

// Checks of what a client sends.
Result<void> check_key(const std::string& key, std::string_view what);
Result<void> check_text(const std::string& text, size_t most, std::string_view what);
Result<void> check_new(const NewRun& wanted);
Result<void> check_new(const Experiment& wanted);
// A key as points are kept under it: with what they were measured on behind it.
std::string stored_key(const LoggedMetric& metric);
// What stands behind a stored key, put into `to`.
void read_mark(std::string_view mark, std::string& model_id, std::string& dataset_name,
               std::string& dataset_digest);
LatestMetric latest_of(const track::MetricSummary& summary);

}  // namespace hearth::control
