#include "app/mlflow/mover.h"

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "os/files.h"

namespace hearth::app::mlflow {
namespace {

constexpr size_t kMostElsewhere = 1000;  // places named; further ones are left out

template <typename T>
int64_t size_of(const T& all) {
  return static_cast<int64_t>(all.size());
}

// Inputs are known by name and digest, models by their ids.
template <typename Items, typename Name>
int64_t distinct(const Items& items, const Name& name) {
  std::set<std::string> all;
  for (const auto& one : items) all.insert(name(one));
  return size_of(all);
}

ImportCounts counts_of(const ImportedRun& run, const std::vector<ImportedSeries>& series) {
  const auto id = [](const ImportedModelUse& use) { return use.model_id; };
  ImportCounts counts{.id = run.id, .deleted = run.deleted};
  counts.params = size_of(run.params);
  counts.tags = size_of(run.tags);
  for (const ImportedSeries& one : series) counts.points += size_of(one.steps);
  counts.datasets = distinct(
      run.datasets, [](const ImportedDataset& one) { return one.name + '\0' + one.digest; });
  counts.models = distinct(run.model_inputs, id) + distinct(run.model_outputs, id);
  return counts;
}

bool is_remote(const std::string& uri) {
  const std::string scheme = scheme_of(uri);
  return !scheme.empty() && scheme != "file" && scheme != "mlflow-artifacts";
}

// The digest of a file on this disk.
Result<std::string> digest_of(const std::string& path) {
  os::File file = TRY(os::File::open_read(path));
  Sha256 hash;
  std::vector<std::byte> buffer(1 << 20);
  for (;;) {
    const size_t got = TRY(file.read(buffer));
    if (got == 0) return hash.finish_text();
    hash.update(std::span(buffer.data(), got));
  }
}

}  // namespace

std::vector<std::pair<std::string, const Tally*>> Tallies::rows() const {
  return {{"experiments", &experiments},
          {"runs", &runs},
          {"params", &params},
          {"tags", &tags},
          {"points", &points},
          {"datasets", &datasets},
          {"files", &files},
          {"bytes", &bytes},
          {"logged_models", &logged_models},
          {"models", &models},
          {"versions", &versions}};
}

bool Mover::ends(const Error& error) {
  return error.code == Code::gone || error.code == Code::unreachable ||
         error.code == Code::unauthenticated || error.code == Code::busy ||
         error.code == Code::unavailable || error.code == Code::timeout;
}

void Mover::problem(Error error) {
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(error));
}

void Mover::note_elsewhere(const std::string& what) {
  if (elsewhere_.size() < kMostElsewhere) elsewhere_.push_back(what);
}

Result<int64_t> Mover::prepare() {
  experiments_ = TRY(store_.experiments());
  if (!options_.experiments.empty()) {
    std::vector<std::string> names;
    for (const ImportedExperiment& one : experiments_) names.push_back(one.name);
    for (const std::string& wanted : options_.experiments)
      if (std::find(names.begin(), names.end(), wanted) == names.end()) {
        const std::string near = nearest(wanted, names);
        return Error::not_found(format("{} has no experiment '{}'", store_.words(), wanted),
                                near.empty() ? "" : format("did you mean '{}'?", near));
      }
    std::erase_if(experiments_, [&](const ImportedExperiment& one) {
      return std::find(options_.experiments.begin(), options_.experiments.end(), one.name) ==
             options_.experiments.end();
    });
  }
  int64_t runs = 0;
  for (const ImportedExperiment& one : experiments_) runs += TRY(store_.count_runs(one));
  return runs;
}

Result<void> Mover::move() {
  for (const ImportedExperiment& one : experiments_) {
    auto done = move_experiment(one);
    if (done.ok()) continue;
    if (ends(done.error())) return done;
    problem(std::move(done).error().with(format("experiment '{}'", one.name)));
  }
  TRY(move_models());
  if (target_ != nullptr) {
    say("counting what came");
    TRY(verify_experiments());
    TRY(verify_runs());
  }
  for (const Error& error : store_.problems()) problem(error);
  return {};
}

Result<void> Mover::move_experiment(ImportedExperiment experiment) {
  say("experiment " + experiment.name);
  ++tallies_.experiments.source;
  const ImportedExperiment there = experiment;
  std::string id = there.id;
  if (target_ != nullptr) {
    // Files that stay where they are have to be found there.
    if (!is_remote(there.artifact_location) || store_.reaches(there.artifact_location))
      experiment.artifact_location.clear();
    id = TRY(target_->send<Experiment>("experiments", experiment)).id;
    experiment_ids_[id] = there.name;
    ++tallies_.experiments.brought;
  }
  for (StoreLoggedModel& model : TRY(store_.logged_models(there))) {
    const std::string name = model.record.id;
    auto done = move_logged_model(std::move(model), id);
    if (done.ok()) continue;
    if (ends(done.error())) return done;
    problem(std::move(done).error().with("logged model " + name));
  }
  return store_.each_run(there, [&](StoreRun&& run) -> Result<void> {
    if (target_ != nullptr && target_->stopped()) return Error::of(Code::gone, "stopped");
    const std::string name = run.record.id;
    auto done = move_run(std::move(run), id);
    if (options_.run_done) options_.run_done();
    if (done.ok()) return {};
    if (ends(done.error())) return done;
    problem(std::move(done).error().with("run " + name));
    return {};
  });
}

Result<void> Mover::move_logged_model(StoreLoggedModel model, const std::string& experiment) {
  ++tallies_.logged_models.source;
  ImportedLoggedModel record = model.record;
  const Holder holder{Holder::Kind::logged_model, record.id, record.experiment_id,
                      model.artifact_uri};
  record.experiment_id = experiment;
  if (target_ != nullptr) {
    const auto made = TRY(target_->send<LoggedModel>("logged-models", record));
    ++tallies_.logged_models.brought;
    if (made.params == record.params && made.tags == record.tags && made.status == record.status)
      ++tallies_.logged_models.verified;
    else
      problem(Error::internal(format("logged model {} is not as it was sent", record.id)));
  }
  moved_[record.id] = {model.artifact_uri};
  return move_files(holder, format("{}/models/{}/artifacts", experiment, record.id));
}

Result<void> Mover::move_run(StoreRun run, const std::string& experiment) {
  ++tallies_.runs.source;
  ImportedRun& record = run.record;
  const Holder holder{Holder::Kind::run, record.id, record.experiment_id, run.artifact_uri};
  const auto series = TRY(store_.series(run));
  ImportCounts expected = counts_of(record, series);
  expected.experiment_id = experiment;
  tallies_.params.source += expected.params;
  tallies_.tags.source += expected.tags;
  tallies_.points.source += expected.points;
  tallies_.datasets.source += expected.datasets;
  record.experiment_id = experiment;
  moved_[record.id] = {run.artifact_uri};
  return write_run(record, series, expected, holder,
                   format("{}/{}/artifacts", experiment, record.id));
}

Result<void> Mover::write_run(ImportedRun& record, const std::vector<ImportedSeries>& series,
                              const ImportCounts& expected, const Holder& holder,
                              const std::string& place) {
  if (target_ == nullptr) return move_files(holder, place);
  expected_[record.id] = expected;
  const auto there = TRY(target_->counts({record.id}));
  const bool points_there = !there.empty() && there.front().points == expected.points;
  // A run that is deleted takes no points: it is deleted when all of it is there.
  const bool deleted = record.deleted;
  record.deleted = deleted && points_there;
  const Run made = TRY(target_->send<Run>("runs", record));
  if (made.params != record.params || made.tags != record.tags || made.status != record.status)
    problem(Error::internal(format("run {} is not as it was sent", record.id)));
  ++tallies_.runs.brought;
  tallies_.params.brought += expected.params;
  tallies_.tags.brought += expected.tags;
  tallies_.datasets.brought += expected.datasets;
  if (!points_there) TRY(target_->send_points(record.id, series));
  tallies_.points.brought += expected.points;
  TRY(move_files(holder, place));
  if (deleted == record.deleted) return {};
  record.deleted = deleted;
  TRY(target_->send<Run>("runs", record));
  return {};
}

// --- files --------------------------------------------------------------------------------------

Result<void> Mover::move_files(const Holder& holder, const std::string& place) {
  FileList list = TRY(store_.files(holder));
  if (!list.elsewhere.empty()) {
    note_elsewhere(format("{} {}: {}", holder.kind == Holder::Kind::run ? "run" : "logged model",
                          holder.id, list.elsewhere));
    return {};
  }
  moved_[holder.id].has_files = !list.files.empty();
  for (const StoreFile& file : list.files) {
    ++tallies_.files.source;
    tallies_.bytes.source += file.size_bytes;
  }
  if (target_ == nullptr || list.files.empty()) return {};
  return put_files(holder, place, list.files);
}

Result<void> Mover::put_files(const Holder& holder, const std::string& place,
                              const std::vector<StoreFile>& files) {
  std::map<std::string, Artifact> there;
  for (Artifact& one : TRY(target_->files(holder.id))) there[one.path] = std::move(one);
  std::map<std::string, std::string> digests;  // of what is sent
  for (const StoreFile& file : files) {
    const auto known = there.find(file.path);
    const bool same_size = known != there.end() && known->second.size_bytes == file.size_bytes;
    // What another server holds would have to be fetched to be compared.
    if (same_size && !store_.reads_disk()) {
      digests[file.path] = known->second.digest;
      continue;
    }
    auto fetched = store_.fetch(holder, file);
    if (!fetched.ok() && ends(fetched.error())) return std::move(fetched).error();
    if (!fetched.ok()) {
      problem(std::move(fetched).error());
      continue;
    }
    auto digest = digest_of(fetched->path);
    Result<void> sent;
    if (digest.ok() && !(same_size && known->second.digest == *digest))
      sent = target_->put_file(place + "/" + file.path, fetched->path);
    if (fetched->temporary) ignore(os::remove_file(fetched->path));
    if (!sent.ok() && ends(sent.error())) return sent;
    if (!digest.ok() || !sent.ok())
      problem((digest.ok() ? std::move(sent).error() : std::move(digest).error())
                  .with(format("file {} of {}", file.path, holder.id)));
    else
      digests[file.path] = std::move(*digest);
  }
  there.clear();
  for (Artifact& one : TRY(target_->files(holder.id))) there[one.path] = std::move(one);
  for (const StoreFile& file : files) {
    const auto sent = digests.find(file.path);
    if (sent == digests.end()) continue;
    ++tallies_.files.brought;
    tallies_.bytes.brought += file.size_bytes;
    const auto known = there.find(file.path);
    if (known == there.end() || known->second.digest != sent->second ||
        known->second.size_bytes != file.size_bytes) {
      problem(Error::internal(
          format("file {} of {} is not on the server as it was sent", file.path, holder.id)));
      continue;
    }
    ++tallies_.files.verified;
    tallies_.bytes.verified += known->second.size_bytes;
  }
  return {};
}

// --- verifying ----------------------------------------------------------------------------------

Result<void> Mover::verify_experiments() {
  for (const Experiment& one : TRY(target_->list<Experiment>("/api/v1/experiments"))) {
    const auto sent = experiment_ids_.find(one.id);
    if (sent != experiment_ids_.end() && sent->second == one.name) ++tallies_.experiments.verified;
  }
  return {};
}

Result<void> Mover::verify_runs() {
  constexpr size_t kAtOnce = 200;
  std::vector<std::string> ids;
  const auto look = [&]() -> Result<void> {
    for (const ImportCounts& found : TRY(target_->counts(ids))) {
      const ImportCounts& wanted = expected_[found.id];
      ++tallies_.runs.verified;
      tallies_.params.verified += found.params;
      tallies_.tags.verified += found.tags;
      tallies_.points.verified += found.points;
      tallies_.datasets.verified += found.datasets;
      if (!(found == wanted))
        problem(Error::internal(
            format("run {}: the server has {} params, {} tags, {} points, {} datasets, {} logged "
                   "models{}; the store has {}, {}, {}, {}, {}{}",
                   found.id, found.params, found.tags, found.points, found.datasets, found.models,
                   found.deleted ? ", deleted" : "", wanted.params, wanted.tags, wanted.points,
                   wanted.datasets, wanted.models, wanted.deleted ? ", deleted" : "")));
    }
    ids.clear();
    return {};
  };
  for (const auto& [id, counts] : expected_) {
    ids.push_back(id);
    if (ids.size() == kAtOnce) TRY(look());
  }
  if (!ids.empty()) TRY(look());
  return {};
}

}  // namespace hearth::app::mlflow
