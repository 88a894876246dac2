// What the file layer tells an observer: every change of a file or directory, in the order in which
// it happened. A power-loss test records these (crash_image.h); a fault test answers with an errno.
//
// Without an observer the cost is one atomic load per operation. With one, all operations of the
// layer are serialised, so that the recorded order is the real one.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace hearth::os {

enum class FileOp {
  create,          // a new empty file at `path`
  write,           // `data` at `offset` of the file
  truncate,        // the file now has `size` bytes
  sync,            // fsync or fdatasync of the file
  rename,          // `path` became `to`; what was at `to` is gone
  unlink,          // the file or link at `path` is gone
  make_directory,  // a new empty directory at `path`
  remove_directory,
  make_symlink,    // a new link at `path` with the text `to`
  sync_directory,  // fsync of the directory `path`
};
std::string_view name_of(FileOp op);

struct FileEvent {
  FileOp op{};
  std::string path;       // absolute and lexically normal; for write, truncate and sync the path
                          // under which the file was opened
  std::string to;         // rename, make_symlink
  uint64_t inode = 0;     // create, write, truncate, sync: which file, whatever its name is now
  int64_t offset = 0;     // write
  std::string_view data;  // write; valid during the call only
  int64_t size = 0;       // truncate
};

class FileObserver {
 public:
  virtual ~FileObserver() = default;
  // Asked before the operation: 0 lets it happen, an errno makes it fail with that error instead.
  virtual int fault(const FileEvent&) { return 0; }
  // Told after the operation has succeeded.
  virtual void happened(const FileEvent& event) = 0;
};

// nullptr takes the observer away. Set it while no file operation runs; it must outlive its use.
void set_file_observer(FileObserver* observer);
bool file_observed();

// For a file layer of another library (a SQLite VFS): does `operation` (returns 0 or an errno) as
// one step under the observer, with faults and report. Without an observer it only runs it.
template <typename Operation>
int observe_file_event(const FileEvent& event, Operation&& operation);

// Makes `path` absolute and lexically normal, as events carry it.
std::string absolute_path(std::string_view path);

// The parts that the template needs.
std::recursive_mutex& file_observer_mutex();
FileObserver* file_observer();

template <typename Operation>
int observe_file_event(const FileEvent& event, Operation&& operation) {
  if (!file_observed()) return operation();
  const std::lock_guard lock(file_observer_mutex());
  FileObserver* const observer = file_observer();
  if (observer == nullptr) return operation();
  if (const int error = observer->fault(event); error != 0) return error;
  const int error = operation();
  if (error == 0) observer->happened(event);
  return error;
}

}  // namespace hearth::os
