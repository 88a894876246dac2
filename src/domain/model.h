// What is released: models and their versions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/describe.h"

namespace hearth {

struct Model {
  std::string id, name, project, description;
  int64_t versions = 0;
  std::map<std::string, std::string> aliases;  // alias -> version number
  std::map<std::string, std::string> tags;
  Time created_at;
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
    f("versions", &Model::versions, "how many");
    f("aliases", &Model::aliases, "alias to version number");
    f("tags", &Model::tags, "labels");
    f("created_at", &Model::created_at, "when");
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
  std::map<std::string, std::string> tags;
  Time created_at;
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
    f("tags", &ModelVersion::tags, "labels");
    f("created_at", &ModelVersion::created_at, "when");
    f("version", &ModelVersion::version, "counts changes");
  }
};

}  // namespace hearth
