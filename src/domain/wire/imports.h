// Bodies of what an import from another tracking store brings: records with the ids, times and
// states they had there. Times are the store's; "" and absent are "not known".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/describe.h"
#include "domain/logged_model.h"
#include "domain/run.h"

namespace hearth {

constexpr size_t kMostImportedPoints = 100'000;  // of one call
constexpr size_t kMostCountedIds = 1000;         // of one call

struct ImportedExperiment {
  std::string id, name, artifact_location;
  std::map<std::string, std::string> tags;
  Time created_at, updated_at;
  bool deleted = false;
  bool operator==(const ImportedExperiment&) const = default;
};
template <>
struct Describe<ImportedExperiment> {
  using T = ImportedExperiment;
  static constexpr std::string_view name = "ImportedExperiment",
                                    doc = "An experiment as another store has it.";
  static void fields(Fields<T>& f) {
    f("id", &T::id, "the id it had; another is made where this one is taken")
        .matches("[0-9A-Za-z_-]{0,64}", "letters, digits, '_' and '-', at most 64");
    f("name", &T::name, "one of this name is taken for the same").required().min(1).max(1000);
    f("artifact_location", &T::artifact_location, "where clients put its runs' files; default here")
        .max(4096);
    f("tags", &T::tags, "for people");
    f("created_at", &T::created_at, "when it was made there");
    f("updated_at", &T::updated_at, "when it was last changed there");
    f("deleted", &T::deleted, "it is deleted there; counts for one that is not here yet");
  }
};

struct ImportedDataset {
  std::string name, digest, source_type, source, schema, profile;
  std::map<std::string, std::string> tags;
  bool operator==(const ImportedDataset&) const = default;
};
template <>
struct Describe<ImportedDataset> {
  using T = ImportedDataset;
  static constexpr std::string_view name = "ImportedDataset", doc = "A dataset that a run read.";
  static void fields(Fields<T>& f) {
    f("name", &T::name, "name").required().min(1);
    f("digest", &T::digest, "digest").required().min(1);
    f("source_type", &T::source_type, "kind of source");
    f("source", &T::source, "where it came from");
    f("schema", &T::schema, "columns");
    f("profile", &T::profile, "statistics");
    f("tags", &T::tags, "what it was read for");
  }
};

struct ImportedModelUse {
  std::string model_id;
  int64_t step = 0;
  bool operator==(const ImportedModelUse&) const = default;
};
template <>
struct Describe<ImportedModelUse> {
  using T = ImportedModelUse;
  static constexpr std::string_view name = "ImportedModelUse",
                                    doc = "A logged model that a run read or made.";
  static void fields(Fields<T>& f) {
    f("model_id", &T::model_id, "its id").required().min(1);
    f("step", &T::step, "at which step");
  }
};

struct ImportedRun {
  std::string id, experiment_id, name, user;
  RunStatus status = RunStatus::running;
  Time started_at, finished_at;
  std::map<std::string, std::string> params, tags;
  std::vector<ImportedDataset> datasets;
  std::vector<ImportedModelUse> model_inputs, model_outputs;
  bool deleted = false;
  bool operator==(const ImportedRun&) const = default;
};
template <>
struct Describe<ImportedRun> {
  using T = ImportedRun;
  static constexpr std::string_view name = "ImportedRun", doc = "A run as another store has it.";
  static void fields(Fields<T>& f) {
    f("id", &T::id, "the id it had, which it keeps")
        .required()
        .matches("[0-9A-Za-z_-]{1,64}", "letters, digits, '_' and '-', at most 64");
    f("experiment_id", &T::experiment_id, "of an experiment here").required().min(1);
    f("name", &T::name, "for people");
    f("user", &T::user, "who ran it");
    f("status", &T::status, "where it was");
    f("started_at", &T::started_at, "when it began");
    f("finished_at", &T::finished_at, "when it ended");
    f("params", &T::params, "parameters as text");
    f("tags", &T::tags, "labels");
    f("datasets", &T::datasets, "what it read");
    f("model_inputs", &T::model_inputs, "logged models it read");
    f("model_outputs", &T::model_outputs, "logged models it made");
    f("deleted", &T::deleted, "it is deleted there; counts for one that is not here yet");
  }
};

// Columns of equal length.
struct ImportedSeries {
  std::string key, model_id, dataset_name, dataset_digest;
  std::vector<int64_t> steps, times_ms;
  std::vector<double> values;
  bool operator==(const ImportedSeries&) const = default;
};
template <>
struct Describe<ImportedSeries> {
  using T = ImportedSeries;
  static constexpr std::string_view name = "ImportedSeries", doc = "Points of one metric.";
  static void fields(Fields<T>& f) {
    f("key", &T::key, "name of the metric").required().min(1);
    f("model_id", &T::model_id, "the logged model it was measured on");
    f("dataset_name", &T::dataset_name, "the dataset it was measured on");
    f("dataset_digest", &T::dataset_digest, "its digest");
    f("steps", &T::steps, "step of each point").required();
    f("times_ms", &T::times_ms, "milliseconds since 1970 of each point").required();
    f("values", &T::values, "value of each point; NaN, Infinity and -Infinity as texts").required();
  }
};
struct ImportedPoints {
  std::string run_id;
  std::vector<ImportedSeries> series;
  bool operator==(const ImportedPoints&) const = default;
};
template <>
struct Describe<ImportedPoints> {
  using T = ImportedPoints;
  static constexpr std::string_view name = "ImportedPoints",
                                    doc = "Points of a run; a point that is here is kept once.";
  static void fields(Fields<T>& f) {
    f("run_id", &T::run_id, "of a run; one that is deleted takes them too").required().min(1);
    f("series", &T::series, "100,000 points in all at most").required();
  }
};

struct ImportedLoggedModel {
  std::string id, experiment_id, name, model_type, run_id, status_message;
  LoggedModelStatus status = LoggedModelStatus::unspecified;
  std::map<std::string, std::string> params, tags;
  Time created_at, updated_at;
  bool operator==(const ImportedLoggedModel&) const = default;
};
template <>
struct Describe<ImportedLoggedModel> {
  using T = ImportedLoggedModel;
  static constexpr std::string_view name = "ImportedLoggedModel",
                                    doc = "A logged model as another store has it.";
  static void fields(Fields<T>& f) {
    f("id", &T::id, "the id it had, which it keeps")
        .required()
        .matches("m-[0-9A-Za-z_-]{1,62}", "m- and letters, digits, '_', '-', at most 64");
    f("experiment_id", &T::experiment_id, "of an experiment here").required().min(1);
    f("name", &T::name, "for people").max(500);
    f("model_type", &T::model_type, "as the client said");
    f("run_id", &T::run_id, "the run that made it");
    f("status_message", &T::status_message, "why");
    f("status", &T::status, "where it was");
    f("params", &T::params, "parameters as text").max(2000);
    f("tags", &T::tags, "labels").max(2000);
    f("created_at", &T::created_at, "when it was made there");
    f("updated_at", &T::updated_at, "when it was last changed there");
  }
};

struct ImportedModel {
  std::string name, description;
  std::map<std::string, std::string> tags, aliases;
  Time created_at, updated_at;
  bool operator==(const ImportedModel&) const = default;
};
template <>
struct Describe<ImportedModel> {
  using T = ImportedModel;
  static constexpr std::string_view name = "ImportedModel",
                                    doc = "A registered model as another store has it.";
  static void fields(Fields<T>& f) {
    f("name", &T::name, "one of this name is taken for the same").required().min(1).max(256);
    f("description", &T::description, "for people");
    f("tags", &T::tags, "labels").max(2000);
    f("aliases", &T::aliases, "alias to the number of a version that is here");
    f("created_at", &T::created_at, "when it was made there");
    f("updated_at", &T::updated_at, "when it was last changed there");
  }
};

struct ImportedVersion {
  std::string model;
  int64_t number = 0;
  std::string description, stage, source, location, run_id, run_link, logged_model_id, user;
  std::map<std::string, std::string> tags;
  Time created_at, updated_at;
  bool operator==(const ImportedVersion&) const = default;
};
template <>
struct Describe<ImportedVersion> {
  using T = ImportedVersion;
  static constexpr std::string_view name = "ImportedVersion",
                                    doc = "A model's version as another store has it.";
  static void fields(Fields<T>& f) {
    f("model", &T::model, "name of its model").required().min(1).max(256);
    f("number", &T::number, "the number it had, which it keeps").required().min(1).max(1e9);
    f("description", &T::description, "for people");
    f("stage", &T::stage, "None, Staging, Production or Archived");
    f("source", &T::source, "URI it was made from, as it was there");
    f("location", &T::location, "URI of its files here: runs:/RUN/PATH, models:/m-ID; \"\": none")
        .max(4096);
    f("run_id", &T::run_id, "the run that made it");
    f("run_link", &T::run_link, "page of the run that made it");
    f("logged_model_id", &T::logged_model_id, "the logged model it was made from");
    f("user", &T::user, "who made it");
    f("tags", &T::tags, "labels").max(2000);
    f("created_at", &T::created_at, "when it was made there");
    f("updated_at", &T::updated_at, "when it was last changed there");
  }
};

struct ImportedIds {
  std::vector<std::string> ids;
  bool operator==(const ImportedIds&) const = default;
};
template <>
struct Describe<ImportedIds> {
  using T = ImportedIds;
  static constexpr std::string_view name = "ImportedIds", doc = "Runs to count.";
  static void fields(Fields<T>& f) { f("ids", &T::ids, "of runs").required().max(kMostCountedIds); }
};

// What is kept of a run; one that is not here is left out.
struct ImportCounts {
  std::string id, experiment_id;
  bool deleted = false;
  bool too_many_points = false;
  int64_t params = 0, tags = 0, points = 0, datasets = 0, models = 0;
  bool operator==(const ImportCounts&) const = default;
};
template <>
struct Describe<ImportCounts> {
  using T = ImportCounts;
  static constexpr std::string_view name = "ImportCounts", doc = "How much is kept of a run.";
  static void fields(Fields<T>& f) {
    f("id", &T::id, "whose").required();
    f("experiment_id", &T::experiment_id, "where it is").required();
    f("deleted", &T::deleted, "it is deleted").required();
    f("params", &T::params, "parameters").required();
    f("tags", &T::tags, "tags").required();
    f("points", &T::points, "points of all its metrics").required();
    f("too_many_points", &T::too_many_points, "more than are counted; `points` is 0 then");
    f("datasets", &T::datasets, "datasets it read").required();
    f("models", &T::models, "logged models it read or made").required();
  }
};

}  // namespace hearth
