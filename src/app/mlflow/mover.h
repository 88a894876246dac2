// Moves an MLflow store into a project of a Hearth server, and counts what came.
//
// There is no state beside the two stores: every record keeps its id, each call of the import API
// may be sent again, and what is there already (points counted, files by digest) is not sent. So an
// import that was cut off at any moment goes on when it is started again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/mlflow/store.h"
#include "app/mlflow/target.h"

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
  // `target` may be null for a dry run.
  Mover(Store& store, Target* target, MoveOptions options)
      : store_(store), target_(target), options_(std::move(options)) {}

  // How many runs there are, for a bar.
  Result<int64_t> prepare();
  // Errors: one that ends all (no server, no rights, stopped). What goes wrong with one record is
  // in problems(), the others go on.
  Result<void> move();

  const Tallies& tallies() const { return tallies_; }
  const std::vector<Error>& problems() const { return problems_; }
  // Files that cannot be read from here: what, and why.
  const std::vector<std::string>& elsewhere() const { return elsewhere_; }

 private:
  struct Moved {  // a run or logged model that came over
    std::string artifact_uri;
    bool has_files = false;
  };
  Result<void> move_experiment(ImportedExperiment experiment);
  Result<void> move_logged_model(StoreLoggedModel model, const std::string& experiment);
  Result<void> move_run(StoreRun run, const std::string& experiment);
  Result<void> write_run(ImportedRun& record, const std::vector<ImportedSeries>& series,
                         const ImportCounts& expected, const Holder& holder,
                         const std::string& place);
  Result<void> move_files(const Holder& holder, const std::string& place);
  Result<void> put_files(const Holder& holder, const std::string& place,
                         const std::vector<StoreFile>& files);
  Result<void> move_models();
  Result<void> move_model(ImportedModel model, std::vector<ImportedVersion> versions);
  // URI of its files here; "": none.
  Result<std::string> place_of(const ImportedVersion& version);
  Result<void> verify_experiments();
  Result<void> verify_runs();
  Result<void> verify_versions(const std::string& model,
                               const std::map<int64_t, ImportedVersion>& sent);
  // True: it ends all. False: it was noted, and the rest goes on.
  bool ends(const Error& error);
  void problem(Error error);
  void note_elsewhere(const std::string& what);
  void say(const std::string& what) const {
    if (options_.at) options_.at(what);
  }

  Store& store_;
  Target* const target_;
  const MoveOptions options_;
  std::vector<ImportedExperiment> experiments_;
  std::map<std::string, std::string> experiment_ids_;  // here -> name
  std::map<std::string, Moved> moved_;                 // runs and logged models by id
  std::map<std::string, ImportCounts> expected_;       // of each run
  Tallies tallies_;
  std::vector<Error> problems_;
  std::vector<std::string> elsewhere_;
};

}  // namespace hearth::app::mlflow
