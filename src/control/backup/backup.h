// Backup while running, and restore into an empty directory.
//
// A backup is one tar file (POSIX ustar): `index.json` first, which names every file after it with
// its digest and size; the log segments that are still written to (`logs/TASK.frames`), `hearth.db`
// (one snapshot), and the objects (`objects/<64 hex digits>`). The key of the secrets is not in it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/context.h"
#include "control/gate.h"

namespace hearth::control {

using Progress = std::function<void(int64_t done_bytes, int64_t total_bytes)>;

struct BackupReport {
  int64_t objects = 0, bytes = 0;
  std::vector<std::string> damaged;         // digests of objects that are not whole; left out
  std::vector<std::string> mended;          // put right on the way, in words (salvage)
  std::vector<std::string> left_out;        // what the archive lacks, in words (salvage, restore)
  std::vector<std::string> closed_secrets;  // project/name that the key does not open (restore)
};

// Into the new file `file` (0600, synced; exists when it is there). Logs are as of the beginning,
// the database a moment later, the objects all that it names: while it runs, `gate` is held.
Result<BackupReport> backup(Context context, CollectionGate& gate, const std::string& log_directory,
                            const std::string& file, const Progress& progress);

// A data directory that no server runs on.
struct SalvageSource {
  std::string log_directory, objects_directory;
  // Copies what is whole of its database into the new file `to`.
  std::function<Result<db::Salvaged>(const std::string& to)> database;
  std::function<Result<std::unique_ptr<db::Database>>(const std::string& path)> open_database;
};
// All that is whole of it as a backup, into the new file `file`. The directory is only read. Rows
// and objects that are damaged are left out and named; jobs of which a part is lost are ended.
Result<BackupReport> salvage(const SalvageSource& source, Clock& clock, const std::string& file,
                             const Progress& progress);

// Where a restore puts what it finds; opened once the directory was seen to be empty.
struct RestoreTarget {
  std::string database_file, log_directory;
  std::unique_ptr<objects::Objects> objects;
  std::function<Result<std::unique_ptr<db::Database>>()> open_database;
};

// Into `directory`, which has to be empty or not there yet. Every digest is checked; objects that
// are damaged or missing in the file are named in the report, all else that is wrong is an error,
// which says whether the backup is cut off, or which file of it is damaged; then the directory is
// as empty as before. `key`: to see which secrets it opens.
Result<BackupReport> restore(const std::string& file, const std::string& directory,
                             const Bytes& key,
                             const std::function<Result<RestoreTarget>()>& open_target,
                             const Progress& progress);

// While it lies in a directory, that holds a part: its restore has not come to its end, or was
// killed over it.
constexpr std::string_view kRestoreMark = "restore.unfinished";
// Whoever opens a data directory asks first: conflict when it holds a part; the mend says what to
// remove.
Result<void> check_restored(const std::string& directory);

}  // namespace hearth::control
