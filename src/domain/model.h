// What is released: models and their versions.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "domain/describe.h"

namespace hearth {

// The name that a job gives a model of its own; a registry's client (MLflow's) may give others.
constexpr size_t kMostModelNameBytes = 128;
constexpr std::string_view kModelNameWords =
    "letters, digits and . _ - alone, no '.' first, at most 128";
inline bool is_model_name(std::string_view name) {
  if (name.empty() || name.size() > kMostModelNameBytes || name.front() == '.') return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

struct Model {
  std::string id, name, project, description;
  int64_t versions = 0;
  std::map<std::string, std::string> aliases;  // alias -> version number
  std::map<std::string, std::string> tags;
  Time created_at, updated_at;
  int64_t version = 0;
  bool operator==(const Model&) const = default;
};
template <>
struct Describe<Model> {
  static constexpr std::string_view name = "Model", doc = "A named model with numbered versions.";
  static void fields(Fields<Model>& f) {
    f("id", &Model::id, "ULID");
    f("name", &Model::name, "unique in its project");
    f("project", &Model::project, "project name");
    f("description", &Model::description, "for people");
    f("versions", &Model::versions, "the number of the newest; none is given twice");
    f("aliases", &Model::aliases, "alias to version number");
    f("tags", &Model::tags, "labels");
    f("created_at", &Model::created_at, "when");
    f("updated_at", &Model::updated_at, "when it or its versions were last changed");
    f("version", &Model::version, "counts changes");
  }
};

struct ModelVersion {
  std::string id, model, project;
  int64_t number = 1;
  std::string digest;  // of the file, or of the manifest when it is a directory
  bool directory = false;
  std::string file_name;
  int64_t size_bytes = 0;
  std::string run_id, job_id, created_by;
  // What clients say of it: where its files came from, and what they stand for now ("" until they
  // are followed to their place).
  std::string description, stage, source, location, run_link, logged_model_id;
  std::map<std::string, std::string> tags;
  Time created_at, updated_at;
  int64_t version = 0;
  bool operator==(const ModelVersion&) const = default;
};
template <>
struct Describe<ModelVersion> {
  static constexpr std::string_view name = "ModelVersion", doc = "One version of a model.";
  static void fields(Fields<ModelVersion>& f) {
    f("id", &ModelVersion::id, "ULID");
    f("model", &ModelVersion::model, "name of its model");
    f("project", &ModelVersion::project, "project name");
    f("number", &ModelVersion::number, "from 1");
    f("digest", &ModelVersion::digest, "of the file, or of the manifest of a directory");
    f("directory", &ModelVersion::directory, "the digest is that of a manifest");
    f("file_name", &ModelVersion::file_name, "as the job called it");
    f("size_bytes", &ModelVersion::size_bytes, "of all its files");
    f("run_id", &ModelVersion::run_id, "the run that made it");
    f("job_id", &ModelVersion::job_id, "the job that made it");
    f("created_by", &ModelVersion::created_by, "user name");
    f("description", &ModelVersion::description, "for people");
    f("stage", &ModelVersion::stage, "Staging, Production or Archived; none: not promoted");
    f("source", &ModelVersion::source, "URI it was made from, as its client gave it");
    f("location", &ModelVersion::location, "URI of its files, where the source leads elsewhere");
    f("run_link", &ModelVersion::run_link, "page of the run that made it");
    f("logged_model_id", &ModelVersion::logged_model_id, "the logged model it was made from");
    f("tags", &ModelVersion::tags, "labels");
    f("created_at", &ModelVersion::created_at, "when");
    f("updated_at", &ModelVersion::updated_at, "when it was last changed");
    f("version", &ModelVersion::version, "counts changes");
  }
};

}  // namespace hearth
