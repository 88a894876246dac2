// What stands first in a backup: the list of its files.
#pragma once

#include <string>
#include <vector>

#include "domain/describe.h"

namespace hearth::control {

constexpr int64_t kBackupFormat = 1;
constexpr std::string_view kIndexName = "index.json";
constexpr std::string_view kDatabaseName = "hearth.db";
constexpr std::string_view kLogFolder = "logs/";
constexpr std::string_view kObjectFolder = "objects/";

struct BackupFile {
  std::string name, digest;
  int64_t size_bytes = 0;
  bool operator==(const BackupFile&) const = default;
};

struct BackupIndex {
  int64_t format = kBackupFormat;
  std::string server_id;
  Time created_at;
  int64_t tables = 0;
  std::vector<BackupFile> files;
  std::vector<std::string> damaged;
  std::vector<std::string> left_out;
  bool operator==(const BackupIndex&) const = default;
};

}  // namespace hearth::control

template <>
struct hearth::Describe<hearth::control::BackupFile> {
  using BackupFile = control::BackupFile;
  static constexpr std::string_view name = "BackupFile", doc = "One file of a backup.";
  static void fields(Fields<BackupFile>& f) {
    f("name", &BackupFile::name, "in the archive").required();
    f("digest", &BackupFile::digest, "of its bytes").required();
    f("size_bytes", &BackupFile::size_bytes, "length").required();
  }
};
template <>
struct hearth::Describe<hearth::control::BackupIndex> {
  using BackupIndex = control::BackupIndex;
  static constexpr std::string_view name = "BackupIndex", doc = "What a backup holds.";
  static void fields(Fields<BackupIndex>& f) {
    f("format", &BackupIndex::format, "version of the archive's form").required();
    f("server_id", &BackupIndex::server_id, "whose it is");
    f("created_at", &BackupIndex::created_at, "when it was begun");
    f("tables", &BackupIndex::tables, "version of the tables");
    f("files", &BackupIndex::files, "in the order they come").required();
    f("damaged", &BackupIndex::damaged, "objects that were damaged and are not in it");
    f("left_out", &BackupIndex::left_out, "what a salvage could not save, in words");
  }
};
