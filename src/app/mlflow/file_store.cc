// A directory as MLflow's file store writes it: EXPERIMENT/meta.yaml, EXPERIMENT/RUN/{meta.yaml,
// params, tags, metrics, inputs, outputs, artifacts}, EXPERIMENT/{datasets, models}, models/NAME
// (the registry), .trash/EXPERIMENT (deleted ones).
#include <algorithm>
#include <charconv>

#include "app/mlflow/places.h"
#include "app/mlflow/store.h"
#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "domain/codec.h"
#include "domain/scalar.h"
#include "os/files.h"
#include "os/paths.h"

namespace hearth::app::mlflow {
namespace {

constexpr int64_t kMostMetricBytes = int64_t{1} << 30;  // of one metric's file
constexpr std::string_view kDeletedStage = "Deleted_Internal";

using Texts = std::map<std::string, std::string>;

// meta.yaml: a map of scalars.
class Meta {
 public:
  static Result<Meta> read(const std::string& file) {
    Meta meta;
    meta.file_ = file;
    auto parsed = parse_yaml(TRY(os::read_file(file, kMostTextBytes)), kMostTextBytes);
    if (!parsed.ok()) return meta.with_file(std::move(parsed).error());
    meta.root_ = std::move(*parsed);
    if (meta.root_.kind != Node::Kind::map)
      return Error::invalid(format("{}:1: this is no map of names and values", file));
    return meta;
  }
  // "" where it is absent or null.
  std::string text(std::string_view name) const {
    const Node* found = root_.find(name);
    return found == nullptr || found->kind == Node::Kind::null ? "" : found->text;
  }
  Result<int64_t> integer(std::string_view name) const {
    const Node* found = root_.find(name);
    if (found == nullptr || found->kind == Node::Kind::null) return int64_t{0};
    const auto number = integer_of(found->text);
    if (number) return *number;
    return Error::invalid(
        format("{}:{}: {} is '{}'", file_, found->line, name, found->text.substr(0, 40)),
        "a whole number stands there");
  }
  Result<Time> time(std::string_view name) const { return time_of_millis(TRY(integer(name))); }
  Texts texts(std::string_view name) const {
    Texts all;
    if (const Node* found = root_.find(name))
      for (const Node::Member& member : found->members) all[member.key] = member.value.text;
    return all;
  }
  Result<std::string> need(std::string_view name) const {
    std::string value = text(name);
    if (!value.empty()) return value;
    return Error::invalid(format("{}: '{}' is missing", file_, name),
                          "every such file of MLflow has it");
  }

 private:
  Error with_file(Error error) const {
    if (error.errors.empty()) return std::move(error).with(file_);
    const FieldError& first = error.errors.front();
    return Error::invalid(format("{}:{}: this is no YAML: {}", file_, first.line, first.found),
                          "mend the file, or take the directory away");
  }
  std::string file_;
  Node root_;
};

class FileStore : public Store {
 public:
  FileStore(std::string root, const StoreOptions& options)
      : root_(std::move(root)), places_(roots_of(root_, options), os::parent_of(root_)) {}

  std::string words() const override { return "the file store " + root_; }
  bool reaches(const std::string& uri) const override { return Places::reaches(uri); }

  Result<std::vector<ImportedExperiment>> experiments() override {
    std::vector<ImportedExperiment> all;
    for (const std::string& parent : {root_, root_ + "/.trash"}) {
      if (!os::exists(parent)) continue;
      for (const std::string& name : TRY(folders(parent))) {
        if (parent == root_ && name == "models") continue;
        if (is_of_another(parent + "/" + name)) continue;
        auto one = experiment(parent + "/" + name);
        if (one.ok())
          all.push_back(std::move(*one));
        else
          problem(std::move(one).error());
      }
    }
    if (all.empty() && problem_count() == 0)
      return Error::invalid(format("{} holds no experiment of MLflow", root_),
                            "give the directory in which 0/meta.yaml or the like lies");
    return all;
  }

  Result<int64_t> count_runs(const ImportedExperiment& experiment) override {
    return static_cast<int64_t>(TRY(run_folders(experiment)).size());
  }

  Result<void> each_run(const ImportedExperiment& experiment,
                        const std::function<Result<void>(StoreRun&&)>& each) override {
    for (const std::string& name : TRY(run_folders(experiment))) {
      auto run = read_run(experiment, name);
      if (run.ok())
        TRY(each(std::move(*run)));
      else
        problem(std::move(run).error());
    }
    return {};
  }

  Result<std::vector<StoreLoggedModel>> logged_models(
      const ImportedExperiment& experiment) override {
    marked_ = {};
    std::vector<StoreLoggedModel> all;
    const std::string parent = folder_of(experiment.id) + "/models";
    if (!os::exists(parent)) return all;
    for (const std::string& name : TRY(folders(parent))) {
      auto model = logged_model(parent + "/" + name);
      if (model.ok())
        all.push_back(std::move(*model));
      else
        problem(std::move(model).error());
    }
    return all;
  }

  Result<std::vector<ImportedModel>> models() override {
    std::vector<ImportedModel> all;
    const std::string parent = root_ + "/models";
    if (!os::exists(parent)) return all;
    for (const std::string& name : TRY(folders(parent))) {
      auto model = registered(parent + "/" + name);
      if (!model.ok()) {
        problem(std::move(model).error());
        continue;
      }
      model_folders_[model->name] = parent + "/" + name;
      all.push_back(std::move(*model));
    }
    return all;
  }

  Result<std::vector<ImportedVersion>> versions(const std::string& model) override {
    std::vector<ImportedVersion> all;
    const std::string parent = model_folders_.at(model);
    for (const std::string& name : TRY(folders(parent))) {
      if (!name.starts_with("version-")) continue;
      auto version = read_version(model, parent + "/" + name);
      if (!version.ok())
        problem(std::move(version).error());
      else if (version->stage != kDeletedStage)
        all.push_back(std::move(*version));
    }
    return all;
  }

  Result<FileList> files(const Holder& holder) override {
    return places_.files(holder, [this](Error error) { problem(std::move(error)); });
  }
  Result<Fetched> fetch(const Holder& holder, const StoreFile& file) override {
    return places_.fetch(holder, file);
  }

 protected:
  Result<void> read_series(const StoreRun& run,
                           const std::function<void(ImportedSeries&&)>& each) override {
    const std::string parent =
        folder_of(run.record.experiment_id) + "/" + run.record.id + "/metrics";
    for (const std::string& key : TRY(keys_below(parent)))
      TRY(read_metric(parent + "/" + key, key, each));
    return {};
  }

 private:
  static std::vector<std::string> roots_of(const std::string& root, const StoreOptions& options) {
    std::vector<std::string> roots;
    if (!options.artifacts.empty()) roots.push_back(options.artifacts);
    roots.insert(roots.end(), {root, root + "/.trash", os::parent_of(root) + "/mlartifacts"});
    return roots;
  }

  static Result<std::vector<std::string>> folders(const std::string& parent) {
    std::vector<std::string> names;
    for (const os::Entry& entry : TRY(os::list_directory(parent)))
      if (entry.kind == os::EntryKind::directory && !entry.name.starts_with('.'))
        names.push_back(entry.name);
    return names;
  }
  // Names of files below, with '/': a key may hold slashes.
  static Result<std::vector<std::string>> keys_below(const std::string& parent) {
    std::vector<std::string> keys;
    if (!os::exists(parent)) return keys;
    TRY(os::walk(parent, [&](const os::Found& found) -> Result<bool> {
      if (found.kind == os::EntryKind::file) keys.push_back(found.path);
      return true;
    }));
    return keys;
  }
  // Each file is a value under its name.
  Result<Texts> texts_below(const std::string& parent) {
    Texts all;
    for (const std::string& key : TRY(keys_below(parent))) {
      std::string value = TRY(os::read_file(parent + "/" + key, kMostTextBytes));
      if (!is_utf8(value))
        problem(Error::invalid(format("{}/{}:1: this is no UTF-8 text", parent, key)));
      else
        all[key] = std::move(value);
    }
    return all;
  }

  // A server with a database may keep its files in mlruns too: folders that describe nothing.
  static bool is_of_another(const std::string& folder) {
    if (os::exists(folder + "/meta.yaml")) return false;
    const auto below = folders(folder);
    return below.ok() && std::none_of(below->begin(), below->end(), [&](const std::string& name) {
             return os::exists(format("{}/{}/meta.yaml", folder, name));
           });
  }

  const std::string& folder_of(const std::string& experiment_id) const {
    return folders_.at(experiment_id);
  }

  Result<ImportedExperiment> experiment(const std::string& folder) {
    const Meta meta = TRY(Meta::read(folder + "/meta.yaml"));
    ImportedExperiment one;
    one.id = TRY(meta.need("experiment_id"));
    one.name = TRY(meta.need("name"));
    one.artifact_location = meta.text("artifact_location");
    one.created_at = TRY(meta.time("creation_time"));
    one.updated_at = TRY(meta.time("last_update_time"));
    one.deleted = meta.text("lifecycle_stage") == "deleted";
    one.tags = TRY(texts_below(folder + "/tags"));
    folders_[one.id] = folder;
    return one;
  }

  Result<std::vector<std::string>> run_folders(const ImportedExperiment& experiment) {
    std::vector<std::string> names;
    const std::string& parent = folder_of(experiment.id);
    for (std::string& name : TRY(folders(parent)))
      if (name != "models" && name != "datasets" && name != "tags" && name != "traces")
        names.push_back(std::move(name));
    return names;
  }

  Result<StoreRun> read_run(const ImportedExperiment& experiment, const std::string& name) {
    const std::string folder = folder_of(experiment.id) + "/" + name;
    const Meta meta = TRY(Meta::read(folder + "/meta.yaml"));
    StoreRun run;
    ImportedRun& record = run.record;
    record.id = meta.text("run_id");
    if (record.id.empty()) record.id = TRY(meta.need("run_uuid"));
    if (record.id != name)
      return Error::invalid(format("{}/meta.yaml: it names the run {}", folder, record.id),
                            "the directory and the file have to name the same run");
    record.experiment_id = experiment.id;
    record.name = meta.text("run_name");
    record.user = meta.text("user_id");
    record.status = TRY(run_status(TRY(meta.need("status"))));
    record.started_at = TRY(meta.time("start_time"));
    record.finished_at = TRY(meta.time("end_time"));
    record.deleted = meta.text("lifecycle_stage") == "deleted";
    record.params = TRY(texts_below(folder + "/params"));
    record.tags = TRY(texts_below(folder + "/tags"));
    run.artifact_uri = meta.text("artifact_uri");
    TRY(read_inputs(experiment, folder, record));
    return run;
  }

  Result<void> read_inputs(const ImportedExperiment& experiment, const std::string& folder,
                           ImportedRun& record) {
    for (const char* kind : {"/inputs", "/outputs"}) {
      if (!os::exists(folder + kind)) continue;
      for (const std::string& name : TRY(folders(folder + kind))) {
        const Meta link = TRY(Meta::read(format("{}{}/{}/meta.yaml", folder, kind, name)));
        if (link.text("source_type") == "DATASET") {
          record.datasets.push_back(TRY(dataset(experiment, link.text("source_id"))));
          record.datasets.back().tags = link.texts("tags");
          continue;
        }
        const ImportedModelUse use{TRY(link.need("destination_id")), TRY(link.integer("step"))};
        auto& uses =
            std::string_view(kind) == "/inputs" ? record.model_inputs : record.model_outputs;
        uses.push_back(use);
      }
    }
    return {};
  }

  Result<ImportedDataset> dataset(const ImportedExperiment& experiment, const std::string& id) {
    const Meta meta =
        TRY(Meta::read(format("{}/datasets/{}/meta.yaml", folder_of(experiment.id), id)));
    return ImportedDataset{TRY(meta.need("name")),
                           TRY(meta.need("digest")),
                           meta.text("source_type"),
                           meta.text("source"),
                           meta.text("schema"),
                           meta.text("profile"),
                           {}};
  }

  Result<StoreLoggedModel> logged_model(const std::string& folder) {
    const Meta meta = TRY(Meta::read(folder + "/meta.yaml"));
    StoreLoggedModel model;
    ImportedLoggedModel& record = model.record;
    record.id = TRY(meta.need("model_id"));
    record.experiment_id = TRY(meta.need("experiment_id"));
    record.name = meta.text("name");
    record.model_type = meta.text("model_type");
    record.run_id = meta.text("source_run_id");
    record.status = model_status(TRY(meta.integer("status")));
    record.status_message = meta.text("status_message");
    record.created_at = TRY(meta.time("creation_timestamp"));
    record.updated_at = TRY(meta.time("last_updated_timestamp"));
    record.params = TRY(texts_below(folder + "/params"));
    record.tags = TRY(texts_below(folder + "/tags"));
    model.artifact_uri = meta.text("artifact_location");
    for (const std::string& key : TRY(keys_below(folder + "/metrics")))
      TRY(each_line(folder + "/metrics/" + key, [&](const std::vector<std::string_view>& words) {
        if (words.size() != 4 && words.size() != 6) return false;
        ImportedSeries point;
        point.key = key;
        point.model_id = record.id;
        if (words.size() == 6) {
          point.dataset_name = words[4];
          point.dataset_digest = words[5];
        }
        if (!add_point(words, point)) return false;
        marked_.add(std::string(words[3]), point);
        return true;
      }));
    return model;
  }

  Result<ImportedModel> registered(const std::string& folder) {
    const Meta meta = TRY(Meta::read(folder + "/meta.yaml"));
    ImportedModel model;
    model.name = TRY(meta.need("name"));
    model.description = meta.text("description");
    model.created_at = TRY(meta.time("creation_timestamp"));
    model.updated_at = TRY(meta.time("last_updated_timestamp"));
    model.tags = TRY(texts_below(folder + "/tags"));
    for (const auto& [alias, number] : TRY(texts_below(folder + "/aliases")))
      model.aliases[alias] = trim(number);
    return model;
  }

  Result<ImportedVersion> read_version(const std::string& model, const std::string& folder) {
    const Meta meta = TRY(Meta::read(folder + "/meta.yaml"));
    ImportedVersion version;
    version.model = model;
    version.number = TRY(meta.integer("version"));
    version.description = meta.text("description");
    version.stage = meta.text("current_stage");
    version.source = meta.text("source");
    version.location = meta.text("storage_location");
    version.run_id = meta.text("run_id");
    version.run_link = meta.text("run_link");
    version.logged_model_id = meta.text("model_id");
    version.user = meta.text("user_id");
    version.created_at = TRY(meta.time("creation_timestamp"));
    version.updated_at = TRY(meta.time("last_updated_timestamp"));
    version.tags = TRY(texts_below(folder + "/tags"));
    return version;
  }

  // Calls each() with the words of each line; a line it does not take is told.
  Result<void> each_line(const std::string& file,
                         const std::function<bool(const std::vector<std::string_view>&)>& each) {
    const std::string text = TRY(os::read_file(file, kMostMetricBytes));
    int line = 0;
    for (std::string_view one : split(text, '\n')) {
      ++line;
      one = trim(one);
      if (one.empty() || each(split(one, ' '))) continue;
      problem(Error::invalid(
          format("{}:{}: '{}' is no point of a metric", file, line,
                 to_utf8_lossy(one.substr(0, 60))),
          "a line is TIME VALUE, TIME VALUE STEP, or that with DATASET DIGEST behind it; TIME in "
          "milliseconds, until the year 9999"));
    }
    return {};
  }

  template <typename Number>
  static bool whole(std::string_view text, Number& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc() && end == text.data() + text.size();
  }
  // TIME VALUE [STEP] to the end of `series`.
  static bool add_point(const std::vector<std::string_view>& words, ImportedSeries& series) {
    int64_t time = 0, step = 0;
    double value = 0;
    if (words.size() < 2 || !whole(words[0], time) || !whole(words[1], value)) return false;
    if (words.size() > 2 && !whole(words[2], step)) return false;
    if (time < 0 || time > kLatestMillis) return false;
    series.times_ms.push_back(time);
    series.values.push_back(value);
    series.steps.push_back(step);
    return true;
  }

  // A series for each dataset that points were measured on.
  Result<void> read_metric(const std::string& file, const std::string& key,
                           const std::function<void(ImportedSeries&&)>& each) {
    std::map<std::pair<std::string, std::string>, ImportedSeries> series;
    TRY(each_line(file, [&](const std::vector<std::string_view>& words) {
      const bool measured = words.size() == 5;
      if (words.size() > 3 && !measured) return false;
      const auto on = measured ? std::pair(std::string(words[3]), std::string(words[4]))
                               : std::pair(std::string(), std::string());
      return add_point(words, series[on]);
    }));
    for (auto& [on, one] : series) {
      one.key = key;
      one.dataset_name = on.first;
      one.dataset_digest = on.second;
      each(std::move(one));
    }
    return {};
  }

  const std::string root_;
  const Places places_;
  std::map<std::string, std::string> folders_;        // by experiment id
  std::map<std::string, std::string> model_folders_;  // by name
};

}  // namespace

Result<std::unique_ptr<Store>> open_file_store(const std::string& root,
                                               const StoreOptions& options) {
  return std::unique_ptr<Store>(std::make_unique<FileStore>(root, options));
}

}  // namespace hearth::app::mlflow
