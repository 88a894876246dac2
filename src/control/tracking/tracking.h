// Experiments, runs and their metrics as a tracking client and the page see them: creating,
// logging, searching, charts. MLflow's REST face and our own routes are thin decoders over this
// service.
//
// Ids. Run ids are ULIDs; an imported run keeps the id it had. Experiment ids are ULIDs too, but
// for the default experiment, named "Default", that each project has from its first use on: its id
// is "0" in the project `default` and "0-PROJECT" elsewhere. So every id is unique over all
// projects. Who gives "0" means the default experiment of `project`; answers bear the real id.
//
// Projects. An empty `project` is that of the token, or "default". Ids are found in every project
// that the caller may see; what it may not see is `not_found`.
//
// Time is what clients log (ms for MLflow); a point's time is kept in microseconds.
//
// Jobs. With a job's token the first create_run() of an attempt answers the job's own run (moved to
// the experiment named), later ones make children of it, with the job's id. The status and the end
// of a job's own run are the job's alone: update_run() leaves them as they are.
//
// Thread-safe. A call returns when its change is synced to disk and seen by every later search.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/context.h"
#include "control/metric_points.h"
#include "control/tracking/run_search.h"
#include "domain/identity.h"
#include "domain/run.h"
#include "domain/wire/imports.h"

namespace hearth::control {

class Access;

// Named bounds. A face with smaller ones (MLflow's) checks these itself, before it calls.
constexpr size_t kMostTrackedKeyBytes = 1024;    // of metrics, params and tags
constexpr size_t kMostParamBytes = 64 << 10;     // of a param's value
constexpr size_t kMostTagBytes = 128 << 10;      // of a tag's value
constexpr size_t kMostRunNameBytes = 1000;       // of a run's or an experiment's name
constexpr size_t kMostTrackedParams = 10'000;    // of one run
constexpr size_t kMostTrackedTags = 2'000;       // of one run
constexpr size_t kMostBatchMetrics = 100'000;    // of one log_batch
constexpr size_t kMostRunInputs = 1'000;         // of one run, in one call
constexpr size_t kMostInputBytes = 16 << 20;     // of a dataset's schema and profile together
constexpr size_t kMostQueriedRuns = 200;         // of one metrics query
constexpr int64_t kMostHistoryPoints = 100'000;  // of one page of a history
constexpr int64_t kMostFoundRuns = 50'000;       // of one page of a search

using Texts = std::map<std::string, std::string>;

struct NewExperiment {
  std::string project, name, artifact_location;
  Texts tags;
};

struct NewRun {
  std::string project;        // of "0" and of an empty experiment_id
  std::string experiment_id;  // "": the default experiment
  std::string id;             // of an import; "": a new one. exists when it is taken
  std::string name;           // "": one is made up
  std::string user;           // as the client says; "": who asks
  std::optional<Time> started_at;
  std::string parent_id;  // "": the tag mlflow.parentRunId, if there is one
  Texts params, tags;
};
struct RunChange {
  std::optional<RunStatus> status;
  std::optional<Time> finished_at;  // set to now when the status ends the run and none is given
  std::optional<std::string> name;
};

// A logged value. What a logged model or a dataset was measured on is kept with the point.
struct LoggedMetric {
  std::string key;
  double value = 0;
  Time time;
  int64_t step = 0;
  std::string model_id, dataset_name, dataset_digest;
  std::string run_id;  // of model_metrics(): the run that logged it
};
enum class Durability {
  durable,  // answered after the commit is synced
  relaxed,  // metrics are answered at once and synced within 10 ms; params and tags are durable
};
// One transaction: all of it or nothing. Of a param that is there already the same value is fine,
// another is `invalid`, with the text "Changing param values is not allowed." in it.
struct LogBatch {
  std::vector<LoggedMetric> metrics;
  KeyedPoints points;  // more metrics, that were measured on nothing
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<std::pair<std::string, std::string>> tags;  // overwrite; the last of a key counts
  Durability durability = Durability::durable;
  bool to_deleted = false;  // a deleted run takes it too, as an import's
};

// A dataset that a run read, as clients describe it.
struct DatasetInput {
  std::string name, digest, source_type, source, schema, profile;
  Texts tags;  // mlflow.data.context: training, validation...
  bool operator==(const DatasetInput&) const = default;
};
struct ModelUse {
  std::string model_id;
  int64_t step = 0;
};
// A run with all that is recorded of it besides histories and files.
struct TrackedRun {
  Run run;  // params, tags and the latest of each metric included
  std::string artifact_uri;
  std::vector<DatasetInput> inputs;
  std::vector<ModelUse> model_inputs, model_outputs;
};

// What an import brings of a run; run.id is the id it had and keeps.
struct RunImport {
  NewRun run;
  RunStatus status = RunStatus::running;
  Time finished_at;
  std::vector<DatasetInput> datasets;
  std::vector<ModelUse> model_inputs, model_outputs;
  bool deleted = false;
};

struct HistoryPoint {
  int64_t step = 0;
  Time time;
  double value = 0;
  int64_t attempt = 0;  // of the job; 0: a client's
  int64_t rank = 0;
  std::string model_id, dataset_name, dataset_digest;
};
// Points of one key in order of step, time, value, each once. Where a job was tried again from a
// step s, the points of the earlier attempt from s on are left out: the later attempt wins.
struct HistoryQuery {
  std::string run_id, key;
  int64_t limit = 25'000;  // kMostHistoryPoints at most
  std::string cursor;
  std::optional<int64_t> first_step, last_step;
  bool all_attempts = false;  // also what a later attempt has overtaken
};
struct HistoryPage {
  std::vector<HistoryPoint> points;
  std::string next_cursor;           // "" at the end
  std::vector<std::string> damaged;  // rows that cannot be read, named; the rest is given
};
// What a client is told that can be given the whole alone. internal: names what is damaged.
Result<void> check_whole(const std::vector<std::string>& damaged);
struct RunHistory {
  std::string run_id, key;
  std::vector<HistoryPoint> points;
};
// Of many runs and keys; runs that do not exist or may not be seen are not_found.
struct HistoriesQuery {
  std::vector<std::string> run_ids, keys;
  int64_t most_points = 25'000;  // in all, in the order of run_ids, keys and steps
};
// Of one key, sampled: points of at most `most_per_run` steps, spread evenly over the steps of all
// these runs together, and the first and the last of each run besides.
struct IntervalQuery {
  std::vector<std::string> run_ids;
  std::string key;
  std::optional<int64_t> first_step, last_step;  // both or neither
  int64_t most_per_run = 2500;
};

// Charts of many runs and keys in one call. Series are cut into columns: the column's width is a
// power of two (of steps, of microseconds) and its edges are multiples of it, the same for all
// series of the answer, so that appending points changes the last column alone.
struct MetricsQuery {
  enum class X { step, time, relative };  // relative: microseconds since the run's start
  std::vector<std::string> run_ids;       // kMostQueriedRuns
  std::vector<std::string> keys;          // "" or none: every key that was logged
  X x = X::step;
  std::optional<int64_t> first, last;  // range of x, both ends included
  int64_t columns = 1000;              // at most; 1 to 10,000
};
// One value a column; those that hold no point are left out. min, max and last are of finite values
// and NaN in a column that has none.
struct MetricSeries {
  std::string run_id, key;
  std::vector<int64_t> x;  // where the column begins
  std::vector<int64_t> last_x, count, not_finite;
  std::vector<double> min, max, last;
};
struct MetricsAnswer {
  int64_t column_width = 1;
  std::vector<MetricSeries> series;  // in the order of run_ids and keys; none for absent keys
  std::vector<std::string> damaged;
};

struct TrackingOptions {
  Duration relaxed_window = Duration::millis(10);
  Duration tidy_period = Duration::seconds(2);
  // While so many rows of points come in a second, merging them leaves disk and cores to who logs;
  // not for longer than this, and not those of a run that has more of them.
  int64_t busy_rows = 1000;
  Duration most_put_off = Duration::seconds(30);
  int64_t most_waiting_rows = 16'384;
  // A deleted run's rows and pins go this long after its deletion; 0: never.
  Duration keep_deleted = Duration::seconds(30 * 86400.0);
  size_t most_index_bytes = 400u << 20;  // rows and columns above it are dropped, oldest use first
  int64_t few_runs = 256;  // keys of so few are counted by rows, not by the columns of all runs
  size_t most_counted_points = 10'000'000;  // of one run, by count_imported
};

class Tracking {
 public:
  Tracking(Context context, Access& access, TrackingOptions options = {});
  ~Tracking();
  // The threads that sync relaxed metrics, load the index, compact and collect. stop() first writes
  // what is relaxed.
  Result<void> start();
  void stop();

  // --- experiments ------------------------------------------------------------------------------
  // exists: the name is taken in the project, also by a deleted one (the text says which).
  Result<Experiment> create_experiment(const Identity& who, const NewExperiment& wanted);
  // Deleted ones too: see deleted_at.
  Result<Experiment> get_experiment(const Identity& who, const std::string& id,
                                    const std::string& project = "");
  Result<Experiment> get_experiment_by_name(const Identity& who, const std::string& name,
                                            const std::string& project = "");
  Result<ExperimentPage> search_experiments(const Identity& who, const ExperimentSearch& query);
  // conflict: it is deleted. invalid: the name is empty. exists: taken.
  Result<Experiment> rename_experiment(const Identity& who, const std::string& id,
                                       const std::string& name, const std::string& project = "");
  // Its active runs are deleted with it and come back with it. invalid: the default experiment.
  Result<Experiment> delete_experiment(const Identity& who, const std::string& id,
                                       const std::string& project = "");
  Result<Experiment> restore_experiment(const Identity& who, const std::string& id,
                                        const std::string& project = "");
  Result<Experiment> set_experiment_tag(const Identity& who, const std::string& id,
                                        const std::string& key, const std::string& value,
                                        const std::string& project = "");
  // not_found: it has no such tag.
  Result<Experiment> delete_experiment_tag(const Identity& who, const std::string& id,
                                           const std::string& key, const std::string& project = "");
  // Each dataset (name, digest, context) that runs of these experiments read, once.
  Result<std::vector<RunDataset>> search_datasets(const Identity& who,
                                                  const std::vector<std::string>& experiment_ids,
                                                  const std::string& project = "");

  // --- runs -------------------------------------------------------------------------------------
  // conflict: the experiment is deleted. not_found: it, or the parent, does not exist.
  Result<TrackedRun> create_run(const Identity& who, const NewRun& wanted);
  // Deleted ones too: see run.deleted_at.
  Result<TrackedRun> get_run(const Identity& who, const std::string& id);
  // conflict: the run is deleted (so of all that change a run below).
  Result<TrackedRun> update_run(const Identity& who, const std::string& id,
                                const RunChange& change);
  // False: it was deleted, or there, before. Errors: conflict (its job is not over).
  Result<bool> delete_run(const Identity& who, const std::string& id);
  Result<bool> restore_run(const Identity& who, const std::string& id);
  Result<void> set_tag(const Identity& who, const std::string& run_id, const std::string& key,
                       const std::string& value);
  // not_found: it has no such tag.
  Result<void> delete_tag(const Identity& who, const std::string& run_id, const std::string& key);
  // log-metric, log-parameter and log-batch.
  Result<void> log_batch(const Identity& who, const std::string& run_id, LogBatch batch);
  // Inputs are known by (name, digest): given again, one keeps what it has.
  Result<void> log_inputs(const Identity& who, const std::string& run_id,
                          const std::vector<DatasetInput>& datasets,
                          const std::vector<ModelUse>& models);
  Result<void> log_outputs(const Identity& who, const std::string& run_id,
                           const std::vector<ModelUse>& models);

  // --- imports ----------------------------------------------------------------------------------
  // Records as another store has them. The same given again changes nothing, so that an import
  // which was cut off begins anew. A job's token imports nothing.
  //
  // By name: one that is here is taken, with the tags added. exists: it is deleted here, and not
  // there. One that is not here keeps its id where that is free.
  Result<Experiment> import_experiment(const Identity& who, const Experiment& wanted, bool deleted);
  // By id, also in a deleted experiment: one that is here gets what is new, with state and end, and
  // stays deleted or not. exists: the id is that of a run of another project, or of a job's.
  // Retention of a deleted one counts from its import.
  Result<Run> import_run(const Identity& who, const RunImport& wanted);
  // Of runs that are here; the others are left out.
  Result<std::vector<ImportCounts>> count_imported(const Identity& who,
                                                   const std::vector<std::string>& run_ids);

  // --- search -----------------------------------------------------------------------------------
  Result<RunPage> search_runs(const Identity& who, const RunSearch& query);
  Result<KeyPage> keys(const Identity& who, const KeyQuery& query);
  Result<GroupPage> groups(const Identity& who, const GroupQuery& query);

  // --- metrics ----------------------------------------------------------------------------------
  Result<HistoryPage> history(const Identity& who, const HistoryQuery& query);
  // internal: a row of these is damaged, which histories() and interval() have no place to say.
  Result<std::vector<RunHistory>> histories(const Identity& who, const HistoriesQuery& query);
  Result<std::vector<RunHistory>> interval(const Identity& who, const IntervalQuery& query);
  Result<MetricsAnswer> metrics(const Identity& who, const MetricsQuery& query);
  // The latest point of each key that was logged for this model, of one run or (run_id "") of all
  // runs in `project` that may be seen.
  Result<std::vector<LoggedMetric>> model_metrics(const Identity& who, const std::string& model_id,
                                                  const std::string& run_id);

  // --- upkeep -----------------------------------------------------------------------------------
  // What the loop does again and again, once, now: compacts, drops what retention lets go.
  Result<void> tidy();
  // Writes relaxed metrics that still wait; returns when they are synced.
  Result<void> flush();
  // Loads the index now instead of at its first use.
  Result<void> load();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The experiment that "0" stands for in a project.
std::string default_experiment_id(const std::string& project);
// Where clients put a run's files: the experiment's location, or "mlflow-artifacts:/EXPERIMENT",
// then "/RUN/artifacts".
std::string artifact_uri(const Experiment& experiment, const std::string& run_id);

}  // namespace hearth::control
