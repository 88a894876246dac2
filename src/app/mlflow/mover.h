// Moves an MLflow store into a project of a Hearth server, and counts what came.
//
// There is no state beside the two stores: every record keeps its id, each call of the import API
// may be sent again, and what is there already (as many points, files by digest) is not sent. So an
// import that was cut off at any moment goes on when it is started again. What was added or changed
// on the server meanwhile stays.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "app/mlflow/store.h"
#include "app/mlflow/target.h"
#include "base/bounded_queue.h"

namespace hearth::app::mlflow {

// One line of the table at the end.
struct Tally {
  int64_t source = 0;    // in the store
  int64_t brought = 0;   // sent now or in an earlier run of the import
  int64_t verified = 0;  // counted on the server afterwards
};
struct Tallies {
  Tally experiments, runs, params, tags, points, datasets, files, bytes, logged_models, models,
      versions;
  void add(const Tallies& more);
  // "experiments" and so on, in the order of the table.
  std::vector<std::pair<std::string, const Tally*>> rows() const;
};

struct MoveOptions {
  std::vector<std::string> experiments;             // names; empty: all
  std::function<void(const std::string& what)> at;  // told what is done now
  std::function<void()> run_done;
};

class Mover {
 public:
  // A thread sends runs for each of `targets`, so that their waits for the server's disk are
  // shared; the store is read by the caller's alone. None: a dry run.
  Mover(Store& store, std::vector<Target*> targets, MoveOptions options)
      : store_(store),
        targets_(std::move(targets)),
        target_(targets_.empty() ? nullptr : targets_.front()),
        options_(std::move(options)) {}
  ~Mover();

  static constexpr size_t kThreads = 8;

  // How many runs there are, for a bar.
  Result<int64_t> prepare();
  // Errors: one that ends all (no server, no rights, stopped). What goes wrong with one record is
  // in problems(), the others go on.
  Result<void> move();

  const Tallies& tallies() const { return tallies_; }
  const std::vector<Error>& problems() const { return problems_; }
  // Files that cannot be read from here: what, and why.
  const std::vector<std::string>& elsewhere() const { return elsewhere_; }
  // Runs that have more on the server than in the store; no difference.
  const std::vector<std::string>& more_here() const { return more_here_; }

 private:
  struct Moved {  // a run or logged model that came over
    std::string artifact_uri;
    bool has_files = false;
  };
  Result<void> move_experiment(ImportedExperiment experiment);
  Result<void> move_logged_model(StoreLoggedModel model, const std::string& experiment);
  Result<void> move_run(StoreRun run, const std::string& experiment);
  // A run that was read and is to be sent.
  struct Work {
    ImportedRun record;
    std::vector<ImportedSeries> series;
    ImportCounts expected;
    Holder holder;
    std::string place;  // of its files, behind mlflow-artifacts:/
    std::vector<StoreFile> files;
  };
  void start_threads();
  // Waits until all that was read is sent; the first error that ends all.
  Result<void> join_threads();
  void send_runs(Target& target);
  Result<void> write_run(Target& target, Work& work, Tallies& tallies);
  // Those that can be read; counted.
  Result<std::vector<StoreFile>> list_files(const Holder& holder);
  Result<void> put_files(Target& target, const Holder& holder, const std::string& place,
                         const std::vector<StoreFile>& files, Tallies& tallies);
  Result<void> move_models();
  Result<void> move_model(ImportedModel model, std::vector<ImportedVersion> versions);
  // URI of its files here; "": none.
  Result<std::string> place_of(const ImportedVersion& version);
  Result<void> verify_experiments();
  Result<void> verify_runs();
  void verify_run(const ImportCounts& found);
  // `new_ones` were not on the server before.
  Result<void> verify_versions(const std::string& model,
                               const std::map<int64_t, ImportedVersion>& sent,
                               const std::set<int64_t>& new_ones);
  // True: it ends all. False: it was noted, and the rest goes on.
  bool ends(const Error& error);
  void problem(Error error);
  void note_elsewhere(const std::string& what);
  void say(const std::string& what) const {
    if (options_.at) options_.at(what);
  }

  Store& store_;
  const std::vector<Target*> targets_;
  Target* const target_;  // of the caller's thread, while no other runs
  const MoveOptions options_;
  std::vector<ImportedExperiment> experiments_;
  std::map<std::string, std::string> experiment_ids_;  // here -> name
  std::map<std::string, Moved> moved_;                 // runs and logged models by id
  struct Expected {
    ImportCounts source;       // in the store; `deleted` as the server has it
    bool points_sent = false;  // each call with points was answered, or all were there
  };
  std::map<std::string, Expected> expected_;  // of each run
  std::vector<std::string> elsewhere_, more_here_;

  BoundedQueue<Work> queue_{kThreads};
  std::vector<std::thread> threads_;
  std::mutex mutex_;  // guards what follows, and expected_
  Tallies tallies_;
  std::vector<Error> problems_;
  std::optional<Error> ended_;  // by a thread
};

}  // namespace hearth::app::mlflow
