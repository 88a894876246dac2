// A VFS for tests: tells a watcher of every change to a file before it is made, who may let it
// fail. Give its name as SqliteOptions::base_vfs, so that it stands where the disk is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "db/sqlite/shim_vfs.h"

namespace hearth::db {

enum class Change {
  open,         // a file that was there
  create,       // a file that was not
  write,        // bytes at offset
  truncate,     // to offset bytes
  sync,         // the file's bytes
  sync_folder,  // the names in the file's folder
  remove,
};

struct FileChange {
  Change what = Change::write;
  std::string_view path;
  int64_t offset = 0;
  std::span<const std::byte> bytes;
};

class FileWatcher {
 public:
  virtual ~FileWatcher() = default;
  // SQLITE_OK lets it happen; any other code is what SQLite gets, and nothing happens. Of open,
  // create and sync_folder it is told alone. Called from several threads.
  virtual int before(const FileChange& change) = 0;
};

class WatchedVfs : public ShimVfs {
 public:
  explicit WatchedVfs(FileWatcher& watcher) : ShimVfs("", "watched"), watcher_(watcher) {}

 protected:
  void opened(File& file) override;
  int write(File& file, const void* from, int size, int64_t offset) override;
  int truncate(File& file, int64_t size) override;
  int sync(File& file, int flags) override;
  int remove(const char* path, int sync_folder) override;

 private:
  FileWatcher& watcher_;
};

}  // namespace hearth::db
