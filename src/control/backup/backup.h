// Backup while running, and restore into an empty directory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "control/context.h"
#include "control/retention/retention.h"

namespace hearth::control {

using Progress = std::function<void(int64_t done_bytes, int64_t total_bytes)>;

struct BackupReport {
  int64_t objects = 0, bytes = 0;
  std::vector<std::string> closed_secrets;  // project/name that the key does not open
};

// One tar file: the database in one snapshot, open log segments, and the objects the snapshot
// references. Not in it: the key of the secrets.
Result<BackupReport> backup(Context context, Retention& retention, const std::string& log_directory,
                            const std::string& file, const Progress& progress);
// Into an empty directory; every digest is checked. `key`: to see which secrets it opens.
Result<BackupReport> restore(const std::string& file, const std::string& directory,
                             const Bytes& key, const Progress& progress);

}  // namespace hearth::control
