// An MLflow store that is read: a directory of files, an SQLite database, a live server. Records
// come in the words of the import API (domain/wire/imports.h), with the ids they have there.
//
// What cannot be read of one record (a broken line, a missing file) is told by problems() and the
// rest goes on; an error is returned when nothing can be read at all.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "domain/wire/imports.h"

namespace hearth::app::mlflow {

constexpr int64_t kMostTextBytes = 16 << 20;  // of a small file, a value, a dataset's description
constexpr size_t kMostProblems = 1000;        // kept; further ones are counted
constexpr int64_t kLatestMillis = 253'402'300'799'999;  // 9999-12-31

struct StoreRun {
  ImportedRun record;  // experiment_id as in the store
  std::string artifact_uri;
};
struct StoreLoggedModel {
  ImportedLoggedModel record;
  std::string artifact_uri;
};

struct StoreFile {
  std::string path;  // relative, with '/'
  int64_t size_bytes = 0;
};
// Whose files. `uri` as the store has it.
struct Holder {
  enum class Kind { run, logged_model, version };
  Kind kind = Kind::run;
  std::string id, experiment_id, uri;
};
struct FileList {
  std::vector<StoreFile> files;
  std::string elsewhere;  // why they cannot be read from here; "": they can
};
// A file on this disk.
struct Fetched {
  std::string path;
  bool temporary = false;  // it was brought here for this one use
};

// Points that were measured on a logged model, by run and metric.
struct Marked {
  std::map<std::string, std::map<std::string, std::vector<ImportedSeries>>> by_run;
  void add(const std::string& run_id, const ImportedSeries& one_point);
};

class Store {
 public:
  virtual ~Store() = default;
  virtual std::string words() const = 0;  // "the file store mlruns"
  virtual Result<std::vector<ImportedExperiment>> experiments() = 0;
  // Deleted ones too.
  virtual Result<void> each_run(const ImportedExperiment& experiment,
                                const std::function<Result<void>(StoreRun&&)>& each) = 0;
  virtual Result<int64_t> count_runs(const ImportedExperiment& experiment);
  // Whole series, each key once; after logged_models() of the run's experiment.
  Result<std::vector<ImportedSeries>> series(const StoreRun& run);
  virtual Result<std::vector<StoreLoggedModel>> logged_models(
      const ImportedExperiment& experiment) = 0;
  virtual Result<std::vector<ImportedModel>> models() = 0;
  // `location` is the storage location, if the store has one.
  virtual Result<std::vector<ImportedVersion>> versions(const std::string& model) = 0;
  virtual Result<FileList> files(const Holder& holder) = 0;
  // The one function that other threads may call meanwhile.
  virtual Result<Fetched> fetch(const Holder& holder, const StoreFile& file) = 0;
  // Whether files at such a place can be read from here.
  virtual bool reaches(const std::string& uri) const = 0;

  const std::vector<Error>& problems() const { return problems_; }
  int64_t problem_count() const { return problem_count_; }
  void problem(Error error);

 protected:
  // Points as the store has them; repeated ones are taken out by series().
  virtual Result<void> read_series(const StoreRun& run,
                                   const std::function<void(ImportedSeries&&)>& each) = 0;
  Marked marked_;  // of the experiment whose logged models were read last

 private:
  std::vector<Error> problems_;
  int64_t problem_count_ = 0;
};

struct StoreOptions {
  std::string artifacts;  // --artifacts DIR: where EXPERIMENT/RUN/artifacts lie
  std::function<bool()> keep_on;
};
// PATH of a directory or a database file, file:, sqlite:, http: or https: URI.
Result<std::unique_ptr<Store>> open_store(const std::string& source, const StoreOptions& options);

// Each kind; open_store() picks one.
Result<std::unique_ptr<Store>> open_file_store(const std::string& root,
                                               const StoreOptions& options);
Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& file,
                                                 const StoreOptions& options);
Result<std::unique_ptr<Store>> open_rest_store(const std::string& url, const StoreOptions& options);

// Milliseconds as a time; out of range: none.
Time time_of_millis(int64_t millis);
// SQL stores keep infinities as the largest numbers.
double with_infinity(double value);
// By MLflow's word (RUNNING) or number (1).
Result<RunStatus> run_status(const std::string& text);
LoggedModelStatus model_status(int64_t number);
std::string scheme_of(const std::string& uri);  // "s3"; "" for a path
// "file:///a%20b", "file:/a" or "/a" -> "/a b"
std::string path_of_uri(const std::string& uri);

}  // namespace hearth::app::mlflow
