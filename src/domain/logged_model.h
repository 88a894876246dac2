// A model that a client logged: files and what is known of them, before (or without) a name in the
// registry.
#pragma once

#include <map>
#include <string>

#include "domain/describe.h"

namespace hearth {

enum class LoggedModelStatus { unspecified, pending, ready, failed };
template <>
struct Words<LoggedModelStatus> {
  static constexpr std::string_view name = "LoggedModelStatus";
  static constexpr std::array<std::string_view, 4> words{"unspecified", "pending", "ready",
                                                         "failed"};
};

struct LoggedModel {
  std::string id, project, experiment_id, name, model_type, run_id, artifact_location, created_by;
  LoggedModelStatus status = LoggedModelStatus::pending;
  std::string status_message;
  std::map<std::string, std::string> params, tags;
  Time created_at, updated_at;
  int64_t version = 0;
  bool operator==(const LoggedModel&) const = default;
};
template <>
struct Describe<LoggedModel> {
  static constexpr std::string_view name = "LoggedModel", doc = "A model that a client logged.";
  static void fields(Fields<LoggedModel>& f) {
    f("id", &LoggedModel::id, "m- and 32 hex digits");
    f("project", &LoggedModel::project, "project name");
    f("experiment_id", &LoggedModel::experiment_id, "its experiment");
    f("name", &LoggedModel::name, "for people; not unique");
    f("model_type", &LoggedModel::model_type, "as the client says: Agent, Classifier...");
    f("run_id", &LoggedModel::run_id, "the run that made it, as the client says");
    f("artifact_location", &LoggedModel::artifact_location, "URI of its files");
    f("created_by", &LoggedModel::created_by, "user name");
    f("status", &LoggedModel::status, "where it is");
    f("status_message", &LoggedModel::status_message, "why");
    f("params", &LoggedModel::params, "parameters as text");
    f("tags", &LoggedModel::tags, "labels");
    f("created_at", &LoggedModel::created_at, "when");
    f("updated_at", &LoggedModel::updated_at, "when it was last changed");
    f("version", &LoggedModel::version, "counts changes");
  }
};

}  // namespace hearth
