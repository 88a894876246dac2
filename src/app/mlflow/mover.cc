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

using Texts = std::map<std::string, std::string>;
// Whether all of `some` is in `all`, with the same values.
bool contains(const Texts& all, const Texts& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// The same, whatever the values: they may have been changed there.
bool has_keys(const Texts& all, const Texts& some) {
  return std::ranges::all_of(some, [&](const auto& one) { return all.contains(one.first); });
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

namespace {

constexpr std::array<std::pair<const char*, Tally Tallies::*>, 11> kRows{
    {{"experiments", &Tallies::experiments},
     {"runs", &Tallies::runs},
     {"params", &Tallies::params},
     {"tags", &Tallies::tags},
     {"points", &Tallies::points},
     {"datasets", &Tallies::datasets},
     {"files", &Tallies::files},
     {"bytes", &Tallies::bytes},
     {"logged_models", &Tallies::logged_models},
     {"models", &Tallies::models},
     {"versions", &Tallies::versions}}};

}  // namespace

std::vector<std::pair<std::string, const Tally*>> Tallies::rows() const {
  std::vector<std::pair<std::string, const Tally*>> all;
  for (const auto& [name, member] : kRows) all.emplace_back(name, &(this->*member));
  return all;
}

void Tallies::add(const Tallies& more) {
  for (const auto& [name, member] : kRows) {
    (this->*member).source += (more.*member).source;
    (this->*member).brought += (more.*member).brought;
    (this->*member).verified += (more.*member).verified;
  }
}

Mover::~Mover() {
  queue_.close();
  for (std::thread& thread : threads_) thread.join();
}

bool Mover::ends(const Error& error) {
  return error.code == Code::gone || error.code == Code::unreachable ||
         error.code == Code::unauthenticated || error.code == Code::busy ||
         error.code == Code::unavailable || error.code == Code::timeout;
}

void Mover::problem(Error error) {
  const std::lock_guard lock(mutex_);
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
  start_threads();
  const auto read = store_.each_run(there, [&](StoreRun&& run) -> Result<void> {
    const std::string name = run.record.id;
    auto done = move_run(std::move(run), id);
    if (done.ok()) return {};
    if (ends(done.error())) return done;
    problem(std::move(done).error().with("run " + name));
    return {};
  });
  TRY(join_threads());
  return read;
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
    if (contains(made.params, record.params) && has_keys(made.tags, record.tags))
      ++tallies_.logged_models.verified;
    else
      problem(Error::internal(format("logged model {} is not as it was sent", record.id)));
  }
  moved_[record.id] = {model.artifact_uri};
  const auto files = TRY(list_files(holder));
  if (target_ == nullptr || files.empty()) return {};
  Tallies sent;
  const auto done = put_files(*target_, holder,
                              format("{}/models/{}/artifacts", experiment, record.id), files, sent);
  tallies_.add(sent);
  return done;
}

Result<void> Mover::move_run(StoreRun run, const std::string& experiment) {
  Work work;
  const ImportedRun& record = run.record;
  if (record.id.empty()) return Error::invalid("it has no id");
  work.holder = {Holder::Kind::run, record.id, record.experiment_id, run.artifact_uri};
  work.place = format("{}/{}/artifacts", experiment, record.id);
  work.series = TRY(store_.series(run));
  work.expected = counts_of(record, work.series);
  work.expected.experiment_id = experiment;
  moved_[record.id] = {run.artifact_uri};
  work.files = TRY(list_files(work.holder));
  Tallies found;
  found.runs.source = 1;
  found.params.source = work.expected.params;
  found.tags.source = work.expected.tags;
  found.points.source = work.expected.points;
  found.datasets.source = work.expected.datasets;
  {
    const std::lock_guard lock(mutex_);
    tallies_.add(found);
    if (ended_) return *ended_;
  }
  work.record = std::move(run.record);
  work.record.experiment_id = experiment;
  if (target_ != nullptr)
    queue_.push(std::move(work));
  else if (options_.run_done)
    options_.run_done();
  return {};
}

void Mover::start_threads() {
  for (Target* target : targets_) threads_.emplace_back([this, target] { send_runs(*target); });
}

Result<void> Mover::join_threads() {
  // An empty piece of work for each thread: it is done.
  for (size_t i = 0; i < threads_.size(); ++i) queue_.push({});
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (ended_) return *ended_;
  return {};
}

void Mover::send_runs(Target& target) {
  while (auto work = queue_.pop()) {
    if (work->record.id.empty()) return;
    {
      const std::lock_guard lock(mutex_);
      if (ended_) continue;  // what waits is let go
    }
    Tallies sent;
    auto done = write_run(target, *work, sent);
    if (options_.run_done) options_.run_done();
    const bool over = !done.ok() && ends(done.error());
    if (!done.ok() && !over) problem(std::move(done).error().with("run " + work->record.id));
    const std::lock_guard lock(mutex_);
    tallies_.add(sent);
    if (over && !ended_) ended_ = std::move(done).error();
  }
}

Result<void> Mover::write_run(Target& target, Work& work, Tallies& tallies) {
  ImportedRun& record = work.record;
  const ImportCounts& expected = work.expected;
  const auto found = TRY(target.counts({record.id}));
  const ImportCounts there = found.empty() ? ImportCounts{} : found.front();
  // More points than these may be others, logged there.
  const bool points_there = !there.too_many_points && there.points == expected.points;
  const Run made = TRY(target.send<Run>("runs", record));
  const bool deleted = made.deleted_at.micros != 0;
  if (!contains(made.params, record.params) || !has_keys(made.tags, record.tags) ||
      made.status != record.status || (found.empty() && deleted != record.deleted))
    problem(Error::internal(format("run {} is not as it was sent", record.id)));
  Expected after{expected, points_there};
  after.source.deleted = deleted;
  const auto expect = [&] {
    const std::lock_guard lock(mutex_);
    expected_[record.id] = after;
  };
  expect();
  tallies.runs.brought = 1;
  tallies.params.brought = expected.params;
  tallies.tags.brought = expected.tags;
  tallies.datasets.brought = expected.datasets;
  if (!points_there) {
    TRY(target.send_points(record.id, work.series));
    after.points_sent = true;
    expect();
  }
  tallies.points.brought = expected.points;
  if (!work.files.empty()) TRY(put_files(target, work.holder, work.place, work.files, tallies));
  return {};
}

// --- files --------------------------------------------------------------------------------------

Result<std::vector<StoreFile>> Mover::list_files(const Holder& holder) {
  FileList list = TRY(store_.files(holder));
  if (!list.elsewhere.empty()) {
    note_elsewhere(format("{} {}: {}", holder.kind == Holder::Kind::run ? "run" : "logged model",
                          holder.id, list.elsewhere));
    return std::vector<StoreFile>();
  }
  moved_[holder.id].has_files = !list.files.empty();
  Tallies found;
  for (const StoreFile& file : list.files) {
    ++found.files.source;
    found.bytes.source += file.size_bytes;
  }
  const std::lock_guard lock(mutex_);
  tallies_.add(found);
  return std::move(list.files);
}

Result<void> Mover::put_files(Target& target, const Holder& holder, const std::string& place,
                              const std::vector<StoreFile>& files, Tallies& tallies) {
  std::map<std::string, Artifact> there;
  for (Artifact& one : TRY(target.files(holder.id))) there[one.path] = std::move(one);
  std::map<std::string, std::string> digests;  // of what is sent
  for (const StoreFile& file : files) {
    const auto known = there.find(file.path);
    const bool same_size = known != there.end() && known->second.size_bytes == file.size_bytes;
    auto fetched = store_.fetch(holder, file);
    if (!fetched.ok() && ends(fetched.error())) return std::move(fetched).error();
    if (!fetched.ok()) {
      problem(std::move(fetched).error());
      continue;
    }
    auto digest = digest_of(fetched->path);
    Result<void> sent;
    if (digest.ok() && !(same_size && known->second.digest == *digest))
      sent = target.put_file(place + "/" + file.path, fetched->path);
    if (fetched->temporary) ignore(os::remove_file(fetched->path));
    if (!sent.ok() && ends(sent.error())) return sent;
    if (!digest.ok() || !sent.ok())
      problem((digest.ok() ? std::move(sent).error() : std::move(digest).error())
                  .with(format("file {} of {}", file.path, holder.id)));
    else
      digests[file.path] = std::move(*digest);
  }
  there.clear();
  for (Artifact& one : TRY(target.files(holder.id))) there[one.path] = std::move(one);
  for (const StoreFile& file : files) {
    const auto sent = digests.find(file.path);
    if (sent == digests.end()) continue;
    ++tallies.files.brought;
    tallies.bytes.brought += file.size_bytes;
    const auto known = there.find(file.path);
    if (known == there.end() || known->second.digest != sent->second ||
        known->second.size_bytes != file.size_bytes) {
      problem(Error::internal(
          format("file {} of {} is not on the server as it was sent", file.path, holder.id)));
      continue;
    }
    ++tallies.files.verified;
    tallies.bytes.verified += known->second.size_bytes;
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

void Mover::verify_run(const ImportCounts& found) {
  const auto& [source, points_sent] = expected_[found.id];
  ++tallies_.runs.verified;
  tallies_.params.verified += std::min(source.params, found.params);
  tallies_.tags.verified += std::min(source.tags, found.tags);
  tallies_.datasets.verified += std::min(source.datasets, found.datasets);
  const auto words = [](const ImportCounts& of) {
    return format("{} params, {} tags, {} points, {} datasets, {} logged models{}", of.params,
                  of.tags, of.points, of.datasets, of.models, of.deleted ? ", deleted" : "");
  };
  if (found.too_many_points) {
    problem(Error::of(Code::too_large,
                      format("run {}: the server has more points than it counts; the store has {}",
                             found.id, source.points)));
  } else if (points_sent) {
    tallies_.points.verified += std::min(source.points, found.points);
  }
  constexpr std::array kCounted{&ImportCounts::params, &ImportCounts::tags, &ImportCounts::points,
                                &ImportCounts::datasets, &ImportCounts::models};
  bool less = found.deleted != source.deleted, more = false;
  for (const auto member : kCounted) {
    if (member == &ImportCounts::points && found.too_many_points) continue;
    less = less || found.*member < source.*member;
    more = more || found.*member > source.*member;
  }
  if (less)
    problem(Error::internal(format("run {}: the server has {}; the store has {}", found.id,
                                   words(found), words(source))));
  else if (more && more_here_.size() < kMostElsewhere)
    more_here_.push_back(
        format("run {}: {} here; {} there", found.id, words(found), words(source)));
}

Result<void> Mover::verify_runs() {
  constexpr size_t kAtOnce = 200;
  std::vector<std::string> ids;
  const auto look = [&]() -> Result<void> {
    for (const ImportCounts& found : TRY(target_->counts(ids))) verify_run(found);
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
