// Runs, experiments, metrics, artifacts, models, datasets, uploads: what is recorded and kept.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/context.h"
#include "db/table.h"
#include "domain/dataset.h"
#include "domain/identity.h"
#include "domain/lineage.h"
#include "domain/logged_model.h"
#include "domain/model.h"
#include "domain/part_done.h"
#include "domain/run.h"

namespace hearth::control {

struct MetricPoint {
  int64_t step = 0;
  Time time;
  double value = 0;
};
struct MetricQuery {
  std::string run_id, key;
  int64_t most_points = 2000;  // down-sampled to at most this, keeping extremes; 0: all
};

// What files belong to: a run, a logged model, a model's version, or (loose ones) a project.
struct FileHolder {
  enum class Kind { run, logged_model, model_version, project };
  Kind kind = Kind::run;
  std::string id, project;
};
struct FileEntry {
  std::string name;  // in its directory
  bool directory = false;
  int64_t size_bytes = 0;
};

struct NewModelVersion {
  std::string source, location, run_id, run_link, description, logged_model_id;
  std::map<std::string, std::string> tags;
  // Where its files lie, if they lie here: from these come digest and pins.
  std::optional<FileHolder> files;
  std::string path;  // a file or directory of the holder; "": all
};
// What is absent stays as it is. A tag without value is taken away.
struct ModelChange {
  std::optional<std::string> description;
  std::map<std::string, std::optional<std::string>> tags;
};
struct VersionChange {
  std::optional<std::string> description;
  std::map<std::string, std::optional<std::string>> tags;
  // "None", "Staging", "Production", "Archived"; a promotion, so an event of its own.
  std::optional<std::string> stage;
  bool archive_others = false;  // those that are in that stage
};
struct LoggedModelChange {
  std::optional<LoggedModelStatus> status;
  std::map<std::string, std::string> params;  // added; another value for one is `invalid`
  std::map<std::string, std::optional<std::string>> tags;
};

struct RecordsOptions {
  std::vector<std::string> path_roots;  // for datasets in place; empty: any directory
};

class Access;

class Records {
 public:
  Records(Context context, Access& access, RecordsOptions options = {});
  ~Records();

  Result<Run> get_run(const Identity& who, const std::string& id_or_name,
                      const std::string& project);
  // How far it is, for the scheduler; nothing when it does not say, or is not there.
  std::optional<PartDone> part_done(const std::string& run_id);
  // Tags of a run; an empty value takes the tag away.
  Result<Run> set_tags(const Identity& who, const std::string& run_id,
                       const std::map<std::string, std::string>& tags);
  // Every key, sampled ones (`system/...`) included.
  Result<std::vector<std::string>> metric_keys(const Identity& who, const std::string& run_id);
  Result<std::vector<MetricPoint>> metric_history(const Identity& who, const MetricQuery& query);
  // Changes of live parameters, the oldest first.
  Result<std::vector<LiveHistoryItem>> live_history(const Identity& who, const std::string& run_id,
                                                    const std::string& project = "");
  Result<std::vector<Artifact>> list_artifacts(const Identity& who, const std::string& run_id);
  Result<Artifact> get_artifact(const Identity& who, const std::string& run_id,
                                const std::string& path);
  Result<db::ListPage<Experiment>> list_experiments(const Identity& who, const std::string& project,
                                                    db::ListQuery query);

  Result<db::ListPage<Model>> list_models(const Identity& who, const std::string& project,
                                          db::ListQuery query);
  Result<Model> get_model(const Identity& who, const std::string& project, const std::string& name);
  Result<std::vector<ModelVersion>> model_versions(const Identity& who, const std::string& project,
                                                   const std::string& name);
  // NAME, NAME@3 or NAME@alias.
  Result<ModelVersion> get_model_version(const Identity& who, const std::string& project,
                                         const std::string& reference);
  Result<Model> set_alias(const Identity& who, const std::string& project, const std::string& name,
                          const std::string& alias, int64_t number);  // 0: removed

  // The registry's other half: what clients make of it.
  Result<std::vector<Model>> all_models(const Identity& who, const std::string& project);
  // Of one model, or (name "") of all; of one run where run_id is given. The newest first.
  Result<std::vector<ModelVersion>> all_versions(const Identity& who, const std::string& project,
                                                 const std::string& name,
                                                 const std::string& run_id);
  Result<Model> create_model(const Identity& who, const std::string& project,
                             const std::string& name, const ModelChange& with);
  Result<Model> rename_model(const Identity& who, const std::string& project,
                             const std::string& name, const std::string& new_name);
  Result<Model> change_model(const Identity& who, const std::string& project,
                             const std::string& name, const ModelChange& change);
  Result<void> delete_model(const Identity& who, const std::string& project,
                            const std::string& name);
  Result<ModelVersion> create_model_version(const Identity& who, const std::string& project,
                                            const std::string& name, NewModelVersion wanted);
  Result<ModelVersion> change_model_version(const Identity& who, const std::string& project,
                                            const std::string& name, int64_t number,
                                            const VersionChange& change);
  Result<void> delete_model_version(const Identity& who, const std::string& project,
                                    const std::string& name, int64_t number);

  Result<LoggedModel> create_logged_model(const Identity& who, LoggedModel wanted);
  Result<LoggedModel> get_logged_model(const Identity& who, const std::string& id);
  Result<LoggedModel> change_logged_model(const Identity& who, const std::string& id,
                                          const LoggedModelChange& change);
  // With its files.
  Result<void> delete_logged_model(const Identity& who, const std::string& id);
  // Of these experiments, as far as they may be seen; the newest first.
  Result<std::vector<LoggedModel>> logged_models(const Identity& who,
                                                 const std::vector<std::string>& experiment_ids);

  // Records as another store has them (see control::Tracking): what is here stays as it is, and
  // gets what is new. A job's token imports nothing.
  //
  // By id. exists: the id is that of a model in another project.
  Result<LoggedModel> import_logged_model(const Identity& who, const LoggedModel& wanted);
  // By name: one that is here is taken, with tags and aliases added.
  Result<Model> import_model(const Identity& who, const std::string& project, const Model& wanted);
  // By number; with `files` in `version.location`'s place it gets digest and pins. exists: the
  // number is that of a version made of something else.
  Result<ModelVersion> import_model_version(const Identity& who, const std::string& project,
                                            const ModelVersion& wanted,
                                            const std::optional<FileHolder>& files,
                                            const std::string& path);

  // Files of a holder, by path. `id`: of a run, a logged model or a model's version.
  Result<FileHolder> file_holder(const Identity& who, const std::string& id);
  Result<FileHolder> loose_files(const Identity& who, const std::string& project);
  // Takes the file; one of this path is replaced.
  Result<Artifact> put_file(const Identity& who, const FileHolder& holder, const std::string& path,
                            const std::string& file);
  Result<Artifact> get_file(const Identity& who, const FileHolder& holder, const std::string& path);
  // All of them.
  Result<std::vector<Artifact>> all_files(const Identity& who, const FileHolder& holder);
  // What lies in a directory, by name; nothing of a path that is a file or is not there.
  Result<std::vector<FileEntry>> list_files(const Identity& who, const FileHolder& holder,
                                            const std::string& directory);
  // A file, or a directory with all below it. How many there were.
  Result<int64_t> delete_files(const Identity& who, const FileHolder& holder,
                               const std::string& path);

  // Every object that the manifest names must be here (put by upload); then the version exists.
  // With `in_place` the bytes stay in that directory. A manifest that a version has already gives
  // that version, with the tags moved to it.
  Result<DatasetVersion> add_dataset_version(const Identity& who, const std::string& project,
                                             const std::string& name, const Manifest& manifest,
                                             const std::string& in_place,
                                             const std::vector<std::string>& tags);
  Result<db::ListPage<Dataset>> list_datasets(const Identity& who, const std::string& project,
                                              db::ListQuery query);
  Result<Dataset> get_dataset(const Identity& who, const std::string& project,
                              const std::string& name);
  Result<std::vector<DatasetVersion>> dataset_versions(const Identity& who,
                                                       const std::string& project,
                                                       const std::string& name);
  Result<DatasetVersion> get_dataset_version(const Identity& who, const std::string& project,
                                             const std::string& reference);  // NAME[@N|@tag]
  Result<void> delete_dataset(const Identity& who, const std::string& project,
                              const std::string& name);

  // A dataset's version ("dataset:NAME@2"), a run ("run:NAME" or its id), a job's run ("job:NAME"),
  // a model's version ("model:NAME@3"), an object ("sha256:..."), or a bare name where only one of
  // them bears it: what it came from and what became of it.
  Result<Lineage> lineage(const Identity& who, const std::string& project,
                          const std::string& thing);

  // Objects by digest. "Have it" pins the object for an hour under "upload:<token id>" before it
  // answers, so that it is not collected between the question and its use.
  Result<std::optional<int64_t>> have_object(const Identity& who, const std::string& digest);
  // The same for many at once: the sizes of those that are here.
  Result<std::map<std::string, int64_t>> have_objects(const Identity& who,
                                                      const std::vector<std::string>& digests);
  Result<objects::Upload> begin_upload(const Identity& who, const std::string& digest,
                                       int64_t size);
  Result<objects::Upload> upload_state(const Identity& who, const std::string& id);
  Result<objects::Upload> append_upload(const Identity& who, const std::string& id, int64_t offset,
                                        const std::string& file);
  Result<objects::Stored> finish_upload(const Identity& who, const std::string& id);
  // A readable path of a stored object for the answer; checks that this identity may read it: some
  // noun of a project it can see (code, artifact, model, dataset, checkpoint) names the digest.
  // That somebody asked for an object or sent it gives no right to read it.
  Result<std::string> open_object(const Identity& who, const std::string& digest);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::control
