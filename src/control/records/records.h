// Runs, experiments, metrics, artifacts, models, datasets, uploads: what is recorded and kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/context.h"
#include "db/table.h"
#include "domain/dataset.h"
#include "domain/identity.h"
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

class Access;

class Records {
 public:
  Records(Context context, Access& access);
  ~Records();

  Result<Run> get_run(const Identity& who, const std::string& id_or_name,
                      const std::string& project);
  Result<db::ListPage<Run>> list_runs(const Identity& who, const std::string& project,
                                      db::ListQuery query);
  Result<std::vector<std::string>> metric_keys(const Identity& who, const std::string& run_id);
  Result<std::vector<MetricPoint>> metric_history(const Identity& who, const MetricQuery& query);
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

  // The manifest and every object in it must be here (put by upload); then the version exists.
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

  // Objects by digest. "Have it" pins the object for an hour under "upload:<token id>" before it
  // answers, so that it is not collected between the question and its use.
  Result<std::optional<int64_t>> have_object(const Identity& who, const std::string& digest);
  Result<objects::Upload> begin_upload(const Identity& who, const std::string& digest,
                                       int64_t size);
  Result<objects::Upload> upload_state(const Identity& who, const std::string& id);
  Result<objects::Upload> append_upload(const Identity& who, const std::string& id, int64_t offset,
                                        const std::string& file);
  Result<objects::Stored> finish_upload(const Identity& who, const std::string& id);
  // A readable path of a stored object for the answer; checks that this identity may read it: some
  // noun of a project it can see (code, artifact, model, dataset, checkpoint) names the digest.
  Result<std::string> open_object(const Identity& who, const std::string& digest);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::control
