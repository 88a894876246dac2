// Runs, experiments, metrics, artifacts, models, datasets, uploads: what is recorded and kept.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/context.h"
#include "db/table.h"
#include "domain/dataset.h"
#include "domain/identity.h"
#include "domain/lineage.h"
#include "domain/model.h"
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
  Result<db::ListPage<Run>> list_runs(const Identity& who, const std::string& project,
                                      db::ListQuery query);
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
