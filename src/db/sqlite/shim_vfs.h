// A VFS of SQLite's that stands before another and sees what goes through it. What a subclass does
// not override goes on as it came; memory-mapped reads are never offered.
#pragma once

#include <cstdint>
#include <string>

#include <sqlite3.h>

#include "base/result.h"

namespace hearth::db {

class ShimVfs {
 public:
  ShimVfs(const ShimVfs&) = delete;
  ShimVfs& operator=(const ShimVfs&) = delete;
  virtual ~ShimVfs();  // no file of it may be open any more
  // To open connections by.
  const std::string& name() const { return name_; }

 protected:
  // SQLite allocates it, with room for the base's file behind it.
  struct File {
    sqlite3_file base;
    ShimVfs* vfs;
    const char* path;  // lives as long as the file is open; null for a temporary file
    int flags;         // SQLITE_OPEN_*
    bool made;         // this open made the file
    bool folder_synced;
    bool held;  // a subclass keeps writes back, until settle()
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    const sqlite3_io_methods* methods() { return real()->pMethods; }
    bool is(int kind) const { return (flags & kind) != 0; }
  };

  // Registers itself before the VFS called `base` ("": the default one), which has to outlive it.
  // `kind` makes names that a person can read.
  ShimVfs(const std::string& base, const std::string& kind);

  virtual void opened(File&) {}
  // Before it is closed or its size is asked for.
  virtual int settle(File&) { return SQLITE_OK; }
  virtual int read(File& file, void* to, int size, int64_t offset);
  virtual int write(File& file, const void* from, int size, int64_t offset);
  virtual int truncate(File& file, int64_t size);
  virtual int sync(File& file, int flags);
  virtual int remove(const char* path, int sync_folder);

 private:
  friend struct ShimCalls;

  sqlite3_vfs* base_;
  std::string name_;
  sqlite3_vfs vfs_{};
};

}  // namespace hearth::db
