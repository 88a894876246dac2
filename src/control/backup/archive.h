// A backup's archive as it is made: files are named one by one, then all are written in a stream.
#pragma once

#include <string>
#include <vector>

#include "control/backup/backup.h"
#include "control/backup/index.h"

namespace hearth::control {

class Archive {
 public:
  BackupIndex& index() { return index_; }
  BackupReport& report() { return report_; }

  // The file at `path` under this name; it is read to know its digest.
  Result<void> add_file(const std::string& path, const std::string& name);
  // An object whose bytes have been held against its digest.
  void add_object(const std::string& path, const std::string& digest, int64_t size_bytes);
  // The log files of `directory`, copied into `folder` first, as they go on.
  Result<void> add_logs(const std::string& directory, const std::string& folder);
  // Into the new file `to`, synced. Digests are checked once more on the way.
  Result<void> write(const std::string& to, const Progress& progress);

 private:
  struct Part {
    BackupFile entry;
    std::string path;
  };
  BackupIndex index_;
  BackupReport report_;
  std::vector<Part> parts_;
};

}  // namespace hearth::control
