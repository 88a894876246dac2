// SQLite as the Database of one server. Files beside `path`: `-wal` and `-shm` (SQLite's own),
// `.owner` (the lock of the server that runs), `.v<N>` (a copy kept before the tables left version
// N), `.damaged` (damage was found: the next open reads every page before it takes a write).
#pragma once

#include <functional>
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
  int checkpoint_pages = 4000;  // of the WAL, from which on it is copied into the file
  Clock* clock = &system_clock();
  std::span<const Migration> migrations = db::migrations();
  std::string base_vfs;  // below the checksums; empty: the operating system's
  // What to do about damage, told with every error that damage makes (where the last backup is...).
  // Called from any thread, under no lock.
  std::function<std::string()> damage_advice;
};

// Opens, or makes, the database and takes its lock.
// Errors: conflict (another server has it), unsupported (network or FUSE file system), denied
// (directory or file may not be written), internal (damage; a file that is no database of ours).
Result<std::unique_ptr<Database>> open_sqlite(const SqliteOptions& options);

// Whether a database may lie in `folder`, or where it would be made: unsupported on a network or
// FUSE file system, with the mend.
Result<void> check_place(const std::string& folder);

// All that is whole of the damaged, closed database `from` as a new one, `to`, of this program's
// tables. `from` is only read; a copy of it stands beside `to` meanwhile. A page in which a single
// bit was flipped is put right by its checksum.
// Errors: conflict (tables of another version), internal (no table can be read at all).
Result<Salvaged> salvage_sqlite(const std::string& from, const std::string& to);

}  // namespace hearth::db
