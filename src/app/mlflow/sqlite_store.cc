// An SQLite database as MLflow's servers keep it. Their tables grew over the years: columns and
// tables that an older one lacks are read as absent.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "app/mlflow/places.h"
#include "app/mlflow/store.h"
#include "base/format.h"
#include "db/sqlite/connection.h"
#include "os/files.h"

namespace hearth::app::mlflow {
namespace {

using db::Row;
using db::Value;
using Texts = std::map<std::string, std::string>;

constexpr std::string_view kHead = "SQLite format 3";

std::string text_at(const Row& row, int column) {
  return std::string(row.text(column));
}
Time time_at(const Row& row, int column) {
  return row.null(column) ? Time{} : time_of_millis(row.integer(column));
}

class SqliteStore : public Store {
 public:
  SqliteStore(std::string file, const StoreOptions& options)
      : file_(std::move(file)),
        health_(file_),
        places_(roots_of(file_, options), os::parent_of(file_)) {}

  Result<void> open() {
    if (TRY(head_of(file_)) != kHead)
      return Error::invalid(format("{} is no SQLite database", file_),
                            "give an mlruns directory, an SQLite file, or a server's address");
    connection_ = TRY(db::Connection::open(file_, db::Access::read, "", health_));
    TRY(
        query("SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
              "WHERE m.type = 'table'",
              {}, [&](const Row& row) { columns_[text_at(row, 0)].insert(text_at(row, 1)); }));
    for (const char* table : {"experiments", "runs", "metrics", "params", "tags"})
      if (!has(table))
        return Error::invalid(format("{} is no store of MLflow: it has no table {}", file_, table),
                              columns_.empty() ? "the database is empty" : "");
    for (const char* column : {"run_uuid", "experiment_id", "status", "start_time"})
      if (!has("runs", column))
        return Error::invalid(
            format("{}: the table runs has no column {}", file_, column),
            "this version of MLflow's tables is not known; `mlflow db upgrade` brings them up");
    return {};
  }

  std::string words() const override { return "the database " + file_; }
  bool reaches(const std::string& uri) const override { return Places::reaches(uri); }

  Result<std::vector<ImportedExperiment>> experiments() override {
    std::vector<ImportedExperiment> all;
    TRY(query(select("experiments", {"experiment_id", "name", "artifact_location",
                                     "lifecycle_stage", "creation_time", "last_update_time"}) +
                  " ORDER BY experiment_id",
              {}, [&](const Row& row) {
                ImportedExperiment one;
                one.id = text_at(row, 0);
                one.name = text_at(row, 1);
                one.artifact_location = text_at(row, 2);
                one.deleted = row.text(3) == "deleted";
                one.created_at = time_at(row, 4);
                one.updated_at = time_at(row, 5);
                all.push_back(std::move(one));
              }));
    for (ImportedExperiment& one : all)
      one.tags = TRY(pairs("experiment_tags", "key", "value", "experiment_id", one.id));
    return all;
  }

  Result<int64_t> count_runs(const ImportedExperiment& experiment) override {
    int64_t count = 0;
    TRY(query("SELECT COUNT(*) FROM runs WHERE experiment_id = $1", {number(experiment.id)},
              [&](const Row& row) { count = row.integer(0); }));
    return count;
  }

  Result<void> each_run(const ImportedExperiment& experiment,
                        const std::function<Result<void>(StoreRun&&)>& each) override {
    const Value id = number(experiment.id);
    std::vector<StoreRun> runs;
    std::vector<Error> wrong;
    TRY(query(select("runs", {"run_uuid", "name", "user_id", "status", "start_time", "end_time",
                              "lifecycle_stage", "artifact_uri"}) +
                  " WHERE experiment_id = $1 ORDER BY start_time, run_uuid",
              {id}, [&](const Row& row) {
                auto run = run_of(row, experiment.id);
                if (run.ok())
                  runs.push_back(std::move(*run));
                else
                  wrong.push_back(std::move(run).error());
              }));
    for (Error& error : wrong) problem(std::move(error));
    auto params = TRY(by_run("params", id));
    auto tags = TRY(by_run("tags", id));
    for (StoreRun& run : runs) {
      run.record.params = std::move(params[run.record.id]);
      run.record.tags = std::move(tags[run.record.id]);
      TRY(read_inputs(run.record));
      TRY(each(std::move(run)));
    }
    return {};
  }

  Result<std::vector<StoreLoggedModel>> logged_models(
      const ImportedExperiment& experiment) override {
    marked_ = {};
    std::vector<StoreLoggedModel> all;
    if (!has("logged_models")) return all;
    TRY(query(
        select("logged_models", {"model_id", "name", "artifact_location", "creation_timestamp_ms",
                                 "last_updated_timestamp_ms", "status", "lifecycle_stage",
                                 "model_type", "source_run_id", "status_message"}) +
            " WHERE experiment_id = $1 ORDER BY model_id",
        {number(experiment.id)}, [&](const Row& row) {
          if (row.text(6) == "deleted") return;
          StoreLoggedModel one;
          one.record.id = text_at(row, 0);
          one.record.experiment_id = experiment.id;
          one.record.name = text_at(row, 1);
          one.artifact_uri = text_at(row, 2);
          one.record.created_at = time_at(row, 3);
          one.record.updated_at = time_at(row, 4);
          one.record.status = model_status(row.integer(5));
          one.record.model_type = text_at(row, 7);
          one.record.run_id = text_at(row, 8);
          one.record.status_message = text_at(row, 9);
          all.push_back(std::move(one));
        }));
    for (StoreLoggedModel& one : all) {
      const std::string& id = one.record.id;
      one.record.params =
          TRY(pairs("logged_model_params", "param_key", "param_value", "model_id", id));
      one.record.tags = TRY(pairs("logged_model_tags", "tag_key", "tag_value", "model_id", id));
      TRY(read_marked(id));
    }
    return all;
  }

  Result<std::vector<ImportedModel>> models() override {
    std::vector<ImportedModel> all;
    if (!has("registered_models")) return all;
    TRY(query(
        select("registered_models", {"name", "description", "creation_time", "last_updated_time"}) +
            " ORDER BY name",
        {}, [&](const Row& row) {
          ImportedModel one;
          one.name = text_at(row, 0);
          one.description = text_at(row, 1);
          one.created_at = time_at(row, 2);
          one.updated_at = time_at(row, 3);
          all.push_back(std::move(one));
        }));
    for (ImportedModel& one : all) {
      one.tags = TRY(pairs("registered_model_tags", "key", "value", "name", one.name));
      one.aliases = TRY(pairs("registered_model_aliases", "alias", "version", "name", one.name));
    }
    return all;
  }

  Result<std::vector<ImportedVersion>> versions(const std::string& model) override {
    std::vector<ImportedVersion> all;
    if (!has("model_versions")) return all;
    TRY(query(select("model_versions",
                     {"version", "description", "current_stage", "source", "storage_location",
                      "run_id", "run_link", "user_id", "creation_time", "last_updated_time"}) +
                  " WHERE name = $1 ORDER BY version",
              {model}, [&](const Row& row) {
                if (row.text(2) == "Deleted_Internal") return;
                ImportedVersion one;
                one.model = model;
                one.number = row.integer(0);
                one.description = text_at(row, 1);
                one.stage = text_at(row, 2);
                one.source = text_at(row, 3);
                one.location = text_at(row, 4);
                one.run_id = text_at(row, 5);
                one.run_link = text_at(row, 6);
                one.user = text_at(row, 7);
                one.created_at = time_at(row, 8);
                one.updated_at = time_at(row, 9);
                all.push_back(std::move(one));
              }));
    if (!has("model_version_tags")) return all;
    for (ImportedVersion& one : all)
      TRY(query("SELECT \"key\", value FROM model_version_tags WHERE name = $1 AND version = $2",
                {model, one.number},
                [&](const Row& row) { one.tags[text_at(row, 0)] = text_at(row, 1); }));
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
    ImportedSeries series;
    const auto finish = [&] {
      if (!series.steps.empty()) each(std::move(series));
      series = {};
    };
    TRY(query(select("metrics", {"key", "value", "timestamp", "step", "is_nan"}) +
                  " WHERE run_uuid = $1 ORDER BY \"key\"",
              {run.record.id}, [&](const Row& row) {
                if (row.text(0) != series.key) {
                  finish();
                  series.key = text_at(row, 0);
                }
                const bool nan = row.integer(4) != 0 || row.null(1);
                series.values.push_back(nan ? std::numeric_limits<double>::quiet_NaN()
                                            : with_infinity(row.real(1)));
                series.times_ms.push_back(row.integer(2));
                series.steps.push_back(row.integer(3));
              }));
    finish();
    return {};
  }

 private:
  static std::vector<std::string> roots_of(const std::string& file, const StoreOptions& options) {
    if (!options.artifacts.empty()) return {options.artifacts};
    const std::string beside = os::parent_of(file);
    return {beside + "/mlruns", beside + "/mlartifacts"};
  }
  static Result<std::string> head_of(const std::string& file) {
    os::File opened = TRY(os::File::open_read(file));
    std::string head(kHead.size(), '\0');
    const size_t got =
        TRY(opened.read(std::as_writable_bytes(std::span(head.data(), head.size()))));
    head.resize(got);
    return head;
  }

  bool has(const std::string& table) const { return columns_.contains(table); }
  bool has(const std::string& table, const std::string& column) const {
    const auto found = columns_.find(table);
    return found != columns_.end() && found->second.contains(column);
  }
  // These columns, NULL for those that the table lacks.
  std::string select(const std::string& table, const std::vector<std::string>& wanted) const {
    std::string sql = "SELECT ";
    for (size_t i = 0; i < wanted.size(); ++i)
      sql += (i > 0 ? ", " : "") +
             (has(table, wanted[i]) ? "\"" + wanted[i] + "\"" : std::string("NULL"));
    return sql + " FROM " + table;
  }
  // Ids of experiments are numbers in MLflow's tables and texts elsewhere.
  static Value number(const std::string& id) {
    int64_t value = 0;
    for (const char c : id)
      if (c < '0' || c > '9') return id;
    if (id.empty() || id.size() > 18) return id;
    value = std::stoll(id);
    return value;
  }
  Result<void> query(const std::string& sql, std::initializer_list<Value> values,
                     const std::function<void(const Row&)>& each) {
    auto done = connection_->query(sql, values, [&](const Row& row) -> Result<void> {
      each(row);
      return {};
    });
    if (!done.ok()) return std::move(done).error().with(file_);
    return {};
  }

  Result<Texts> pairs(const std::string& table, const std::string& key, const std::string& value,
                      const std::string& of, const std::string& id) {
    Texts all;
    if (!has(table)) return all;
    const Value wanted = of == "experiment_id" ? number(id) : Value(id);
    TRY(query(format("SELECT \"{}\", \"{}\" FROM {} WHERE \"{}\" = $1", key, value, table, of),
              {wanted}, [&](const Row& row) { all[text_at(row, 0)] = text_at(row, 1); }));
    return all;
  }
  Result<std::map<std::string, Texts>> by_run(const std::string& table, const Value& experiment) {
    std::map<std::string, Texts> all;
    TRY(query(format("SELECT t.run_uuid, t.\"key\", t.value FROM {} t JOIN runs r ON r.run_uuid = "
                     "t.run_uuid WHERE r.experiment_id = $1",
                     table),
              {experiment},
              [&](const Row& row) { all[text_at(row, 0)][text_at(row, 1)] = text_at(row, 2); }));
    return all;
  }

  Result<StoreRun> run_of(const Row& row, const std::string& experiment) {
    StoreRun run;
    run.record.id = text_at(row, 0);
    run.record.experiment_id = experiment;
    run.record.name = text_at(row, 1);
    run.record.user = text_at(row, 2);
    auto status = run_status(text_at(row, 3));
    if (!status.ok())
      return std::move(status).error().with(format("{}: run {}", file_, run.record.id));
    run.record.status = *status;
    run.record.started_at = time_at(row, 4);
    run.record.finished_at = time_at(row, 5);
    run.record.deleted = row.text(6) == "deleted";
    run.artifact_uri = text_at(row, 7);
    return run;
  }

  Result<void> read_inputs(ImportedRun& run) {
    if (!has("inputs")) return {};
    std::vector<std::string> links;
    if (has("datasets"))
      TRY(
          query("SELECT i.input_uuid, d.name, d.digest, d.dataset_source_type, d.dataset_source, "
                "d.dataset_schema, d.dataset_profile FROM inputs i JOIN datasets d ON "
                "d.dataset_uuid = i.source_id WHERE i.destination_type = 'RUN' AND "
                "i.destination_id = $1 AND i.source_type = 'DATASET' ORDER BY i.input_uuid",
                {run.id}, [&](const Row& row) {
                  links.push_back(text_at(row, 0));
                  run.datasets.push_back({text_at(row, 1),
                                          text_at(row, 2),
                                          text_at(row, 3),
                                          text_at(row, 4),
                                          text_at(row, 5),
                                          text_at(row, 6),
                                          {}});
                }));
    for (size_t i = 0; i < links.size(); ++i)
      run.datasets[i].tags = TRY(pairs("input_tags", "name", "value", "input_uuid", links[i]));
    return query(
        select("inputs", {"destination_id", "step", "destination_type"}) +
            " WHERE source_id = $1 AND destination_type IN ('MODEL_INPUT', 'MODEL_OUTPUT') "
            "ORDER BY destination_id",
        {run.id}, [&](const Row& row) {
          auto& uses = row.text(2) == "MODEL_INPUT" ? run.model_inputs : run.model_outputs;
          uses.push_back({text_at(row, 0), row.integer(1)});
        });
  }

  Result<void> read_marked(const std::string& model_id) {
    if (!has("logged_model_metrics")) return {};
    return query(select("logged_model_metrics",
                        {"run_id", "metric_name", "metric_timestamp_ms", "metric_step",
                         "metric_value", "dataset_name", "dataset_digest"}) +
                     " WHERE model_id = $1",
                 {model_id}, [&](const Row& row) {
                   ImportedSeries point;
                   point.key = text_at(row, 1);
                   point.model_id = model_id;
                   point.dataset_name = text_at(row, 5);
                   point.dataset_digest = text_at(row, 6);
                   point.times_ms = {row.integer(2)};
                   point.steps = {row.integer(3)};
                   point.values = {row.null(4) ? std::numeric_limits<double>::quiet_NaN()
                                               : with_infinity(row.real(4))};
                   marked_.add(text_at(row, 0), point);
                 });
  }

  const std::string file_;
  db::Health health_;
  const Places places_;
  std::unique_ptr<db::Connection> connection_;
  std::map<std::string, std::set<std::string>> columns_;  // by table
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& file,
                                                 const StoreOptions& options) {
  auto store = std::make_unique<SqliteStore>(file, options);
  TRY(store->open());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace hearth::app::mlflow
