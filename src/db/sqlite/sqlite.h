// SQLite as the Database of one server. Files beside `path`: `-wal` and `-shm` (SQLite's own),
// `.owner` (the lock of the server that runs), `.v<N>` (a copy kept before the tables left version
// N).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "db/database.h"
#include "db/migrate.h"

namespace hearth::db {

struct SqliteOptions {
  std::string path;
  size_t readers = 8;           // read connections at most
  int checkpoint_pages = 1000;  // of the WAL, from which on it is copied into the file
  Clock* clock = &system_clock();
  std::span<const Migration> migrations = db::migrations();
  std::string base_vfs;  // below the checksums; empty: the operating system's
};

// Opens, or makes, the database and takes its lock.
// Errors: conflict (another server has it), unsupported (network or FUSE file system), denied
// (directory or file may not be written), internal (damage; a file that is no database of ours).
Result<std::unique_ptr<Database>> open_sqlite(const SqliteOptions& options);

}  // namespace hearth::db
