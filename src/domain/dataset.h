// Datasets: named, with immutable versions; a version is a manifest of files with digests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/describe.h"

namespace hearth {

// One file of a manifest. In place: `digest` is known, the bytes stay under the version's path.
struct ManifestFile {
  std::string path, digest;
  int64_t size_bytes = 0;
  int64_t modified_us = 0;  // in-place versions only: to see that it was changed since
  bool executable = false;
  bool operator==(const ManifestFile&) const = default;
};
template <>
struct Describe<ManifestFile> {
  static constexpr std::string_view name = "ManifestFile", doc = "One file of a manifest.";
  static void fields(Fields<ManifestFile>& f) {
    f("path", &ManifestFile::path, "relative, with '/'").required().max(4096);
    f("digest", &ManifestFile::digest, "sha256:...")
        .required()
        .matches("sha256:[0-9a-f]{64}", "sha256: and 64 hex digits");
    f("size_bytes", &ManifestFile::size_bytes, "length").min(0);
    f("modified_us", &ManifestFile::modified_us, "modification time, for files that stay in place");
    f("executable", &ManifestFile::executable, "has the executable bit");
  }
};

// Sorted by path; its JSON text is stored as an object and its digest names it.
struct Manifest {
  std::vector<ManifestFile> files;
  bool operator==(const Manifest&) const = default;
};
template <>
struct Describe<Manifest> {
  static constexpr std::string_view name = "Manifest", doc = "A list of files with digests.";
  static void fields(Fields<Manifest>& f) {
    f("files", &Manifest::files, "sorted by path").required().max(10'000'000);
  }
};

struct Dataset {
  std::string id, name, project, description;
  int64_t versions = 0;
  std::map<std::string, std::string> tags;  // tag -> version number
  std::string created_by;
  Time created_at;
  int64_t version = 0;
  bool operator==(const Dataset&) const = default;
};
template <>
struct Describe<Dataset> {
  static constexpr std::string_view name = "Dataset", doc = "Named data with immutable versions.";
  static void fields(Fields<Dataset>& f) {
    f("id", &Dataset::id, "ULID");
    f("name", &Dataset::name, "unique in its project");
    f("project", &Dataset::project, "project name");
    f("description", &Dataset::description, "for people");
    f("versions", &Dataset::versions, "how many");
    f("tags", &Dataset::tags, "tag to version number");
    f("created_by", &Dataset::created_by, "user name");
    f("created_at", &Dataset::created_at, "when");
    f("version", &Dataset::version, "counts changes");
  }
};

struct DatasetVersion {
  std::string id, dataset, project;
  int64_t number = 1;
  std::string manifest_digest;
  std::string in_place;  // the directory whose files it describes; "": the bytes are stored here
  int64_t file_count = 0, size_bytes = 0;
  std::string created_by;
  Time created_at;
  int64_t version = 0;
  bool operator==(const DatasetVersion&) const = default;
};
template <>
struct Describe<DatasetVersion> {
  static constexpr std::string_view name = "DatasetVersion", doc = "One immutable version.";
  static void fields(Fields<DatasetVersion>& f) {
    f("id", &DatasetVersion::id, "ULID");
    f("dataset", &DatasetVersion::dataset, "name of its dataset");
    f("project", &DatasetVersion::project, "project name");
    f("number", &DatasetVersion::number, "from 1");
    f("manifest_digest", &DatasetVersion::manifest_digest, "object with its list of files");
    f("in_place", &DatasetVersion::in_place, "directory the files stay in; absent: stored here");
    f("file_count", &DatasetVersion::file_count, "files");
    f("size_bytes", &DatasetVersion::size_bytes, "of all files");
    f("created_by", &DatasetVersion::created_by, "user name");
    f("created_at", &DatasetVersion::created_at, "when");
    f("version", &DatasetVersion::version, "counts changes");
  }
};

}  // namespace hearth
