// The place of the database: which file systems are fit, who owns the files, what is synced.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace hearth::db {

// `magic` as in statfs(2). Network and user-space file systems are refused: their locks, shared
// memory and syncs do not hold what SQLite builds on.
Result<void> check_filesystem(int64_t magic, const std::string& folder);
// check_place(folder) stands in sqlite.h.

// Held while a server owns the database: an exclusive lock on `<path>.owner`, which names the
// process. The kernel lets it go at a process's death, however that dies.
class OwnerLock {
 public:
  // conflict: another process (it is named) has it.
  static Result<OwnerLock> take(const std::string& path);
  OwnerLock(OwnerLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  OwnerLock& operator=(OwnerLock&&) = delete;
  ~OwnerLock();

 private:
  explicit OwnerLock(int fd) : fd_(fd) {}
  int fd_;
};

std::string folder_of(const std::string& path);
// Makes an empty file of mode 0600 unless it is there; file and folder entry are synced.
Result<void> make_file(const std::string& path);
Result<void> sync_file(const std::string& path);
Result<void> sync_folder(const std::string& folder);

}  // namespace hearth::db
