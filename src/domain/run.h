// The record of an execution: what MLflow calls a run. A job has one run over all its attempts.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/describe.h"
#include "domain/job.h"

namespace hearth {

enum class RunStatus { running, scheduled, finished, failed, killed };
template <>
struct Words<RunStatus> {
  static constexpr std::string_view name = "RunStatus";
  static constexpr std::array<std::string_view, 5> words{"running", "scheduled", "finished",
                                                         "failed", "killed"};
};

struct Experiment {
  std::string id, name, project;
  Time created_at, updated_at, deleted_at;
  std::string artifact_location;
  std::map<std::string, std::string> tags;
  int64_t version = 0;
  bool operator==(const Experiment&) const = default;
};
template <>
struct Describe<Experiment> {
  static constexpr std::string_view name = "Experiment", doc = "A set of runs that are compared.";
  static void fields(Fields<Experiment>& f) {
    f("id", &Experiment::id, "ULID; 0 or 0-PROJECT of a project's default one");
    f("name", &Experiment::name, "unique in its project");
    f("project", &Experiment::project, "project name");
    f("created_at", &Experiment::created_at, "when");
    f("updated_at", &Experiment::updated_at, "when it was last changed");
    f("deleted_at", &Experiment::deleted_at, "when it was deleted");
    f("artifact_location", &Experiment::artifact_location, "where clients put its runs' files");
    f("tags", &Experiment::tags, "for people");
    f("version", &Experiment::version, "counts changes");
  }
};

// The newest point of a metric: greatest (step, time, value).
struct LatestMetric {
  double value = 0;
  int64_t step = 0;
  Time time;
  bool operator==(const LatestMetric&) const = default;
};
template <>
struct Describe<LatestMetric> {
  static constexpr std::string_view name = "LatestMetric", doc = "The newest point of a metric.";
  static void fields(Fields<LatestMetric>& f) {
    f("value", &LatestMetric::value, "the value");
    f("step", &LatestMetric::step, "its step");
    f("time", &LatestMetric::time, "when it was logged");
  }
};

// A dataset a run read, fixed by its digest or fingerprint.
struct UsedDataset {
  std::string name, version, digest, path;
  bool operator==(const UsedDataset&) const = default;
};
template <>
struct Describe<UsedDataset> {
  static constexpr std::string_view name = "UsedDataset", doc = "Data that a run read.";
  static void fields(Fields<UsedDataset>& f) {
    f("name", &UsedDataset::name, "dataset");
    f("version", &UsedDataset::version, "version");
    f("digest", &UsedDataset::digest, "of the manifest, or of names, sizes and times of a path");
    f("path", &UsedDataset::path, "directory of the node");
  }
};

struct Run {
  std::string id, name, project, experiment_id, experiment, owner, user;
  std::string job_id, parent_id;
  RunStatus status = RunStatus::scheduled;
  Time created_at, started_at, finished_at, deleted_at;
  std::map<std::string, std::string> params;
  std::vector<std::string> given_params;
  std::map<std::string, std::string> tags;
  std::map<std::string, LatestMetric> metrics;
  std::string code_digest;
  GitState git;
  std::map<std::string, std::string> environment;  // interpreter, packages digest, host, kernel
  std::vector<UsedDataset> datasets;
  std::vector<std::string> models;  // NAME@VERSION
  int64_t version = 0;
  bool operator==(const Run&) const = default;
};
template <>
struct Describe<Run> {
  static constexpr std::string_view name = "Run", doc = "The record of an execution.";
  static void fields(Fields<Run>& f) {
    f("id", &Run::id, "ULID");
    f("name", &Run::name, "for people; a job's run bears its name");
    f("project", &Run::project, "project name");
    f("experiment_id", &Run::experiment_id, "ULID of its experiment");
    f("experiment", &Run::experiment, "name of its experiment");
    f("owner", &Run::owner, "user name");
    f("user", &Run::user, "who ran it, as its client says");
    f("job_id", &Run::job_id, "the job that made it");
    f("parent_id", &Run::parent_id, "the run above it");
    f("status", &Run::status, "where it is");
    f("created_at", &Run::created_at, "when it was made");
    f("started_at", &Run::started_at, "when it began");
    f("finished_at", &Run::finished_at, "when it ended");
    f("deleted_at", &Run::deleted_at, "when it was deleted");
    f("params", &Run::params, "parameters as text");
    f("given_params", &Run::given_params,
      "of a job's run: params of its job file, of hearth.params and of earlier attempts, which its "
      "script may still log with another value");
    f("tags", &Run::tags, "labels");
    f("metrics", &Run::metrics, "the newest point of each metric");
    f("code_digest", &Run::code_digest, "object with the code bundle");
    f("git", &Run::git, "where the code came from");
    f("environment", &Run::environment, "interpreter, packages, machine");
    f("datasets", &Run::datasets, "what it read");
    f("models", &Run::models, "what it made, as NAME@VERSION");
    f("version", &Run::version, "counts changes");
  }
};

// A change of a live parameter: asked for, then taken by the script.
struct LiveHistoryItem {
  std::string name;
  AnyJson value, before;
  int64_t version = 0;
  std::string asked_by;
  Time asked_at;
  std::optional<int64_t> step;
  Time applied_at;
  int64_t applied_by = 0;
  bool operator==(const LiveHistoryItem&) const = default;
};
template <>
struct Describe<LiveHistoryItem> {
  static constexpr std::string_view name = "LiveHistoryItem", doc = "A change of a live parameter.";
  static void fields(Fields<LiveHistoryItem>& f) {
    f("name", &LiveHistoryItem::name, "of the parameter");
    f("value", &LiveHistoryItem::value, "wanted from then on");
    f("before", &LiveHistoryItem::before, "wanted till then");
    f("version", &LiveHistoryItem::version, "counts the changes of the job");
    f("asked_by", &LiveHistoryItem::asked_by, "who changed it");
    f("asked_at", &LiveHistoryItem::asked_at, "when");
    f("step", &LiveHistoryItem::step,
      "at which the script first used it; none: it did not say one");
    f("applied_at", &LiveHistoryItem::applied_at, "when; none: it has not looked since");
    f("applied_by", &LiveHistoryItem::applied_by, "processes that said they use it");
  }
};

constexpr int64_t kMostHeldFiles = 200'000;  // of one run, looked at in one call

// A file of a run: committed only when its bytes are stored.
struct Artifact {
  std::string id, run_id, project, path, digest, kind;
  int64_t size_bytes = 0;
  Time created_at;
  int64_t version = 0;
  bool operator==(const Artifact&) const = default;
};
template <>
struct Describe<Artifact> {
  static constexpr std::string_view name = "Artifact", doc = "A file of a run.";
  static void fields(Fields<Artifact>& f) {
    f("id", &Artifact::id, "ULID");
    f("run_id", &Artifact::run_id, "whose");
    f("project", &Artifact::project, "project name");
    f("path", &Artifact::path, "relative, with '/'");
    f("digest", &Artifact::digest, "object with its bytes");
    f("kind", &Artifact::kind, "file, image, table, curve, text or histogram");
    f("size_bytes", &Artifact::size_bytes, "length");
    f("created_at", &Artifact::created_at, "when");
    f("version", &Artifact::version, "counts changes");
  }
};

// A whole saved state of training: a manifest of files (domain/manifest.h) stored as an object.
struct Checkpoint {
  std::string id, job_id, attempt_id, task_id, run_id, project, manifest_digest;
  int64_t step = 0;
  int64_t size_bytes = 0;
  Time created_at;
  int64_t version = 0;
  bool operator==(const Checkpoint&) const = default;
};
template <>
struct Describe<Checkpoint> {
  static constexpr std::string_view name = "Checkpoint", doc = "A whole saved state of training.";
  static void fields(Fields<Checkpoint>& f) {
    f("id", &Checkpoint::id, "ULID");
    f("job_id", &Checkpoint::job_id, "whose");
    f("attempt_id", &Checkpoint::attempt_id, "of which try");
    f("task_id", &Checkpoint::task_id, "of which task");
    f("run_id", &Checkpoint::run_id, "of which run");
    f("project", &Checkpoint::project, "project name");
    f("manifest_digest", &Checkpoint::manifest_digest, "object with its list of files");
    f("step", &Checkpoint::step, "training step");
    f("size_bytes", &Checkpoint::size_bytes, "of all its files");
    f("created_at", &Checkpoint::created_at, "when");
    f("version", &Checkpoint::version, "counts changes");
  }
};

}  // namespace hearth
