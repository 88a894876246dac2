// One recording of all that a server does below its data directory, for the tests of power loss.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "db/sqlite/watched_vfs.h"
#include "os/crash_image.h"
#include "os/files.h"

namespace hearth::control {

// How many points a test looks at: the crash group wants more than the group `unit`.
inline int crash_points(int few) {
  const char* text = std::getenv("HEARTH_CRASH_POINTS");
  return text == nullptr ? few : std::max(1, static_cast<int>(std::strtol(text, nullptr, 10)));
}

// Hands what SQLite does to its files on to the recorder of the file layer, so that one recording
// has the order of both.
class DatabaseFiles : public db::FileWatcher {
 public:
  explicit DatabaseFiles(std::unique_ptr<os::PowerRecorder>& recorder) : recorder_(recorder) {}
  int before(const db::FileChange& change) override {
    if (recorder_ == nullptr || change.what == db::Change::open) return SQLITE_OK;
    const std::lock_guard order(os::file_observer_mutex());
    os::FileEvent event{.op = op_of(change.what), .path = std::string(change.path)};
    if (change.what == db::Change::sync_folder) event.path = os::parent_of(event.path);
    if (const auto status = os::link_status(event.path); status.ok()) event.inode = status->st_ino;
    if (change.what == db::Change::truncate) event.size = change.offset;
    if (change.what == db::Change::write) {
      event.offset = change.offset;
      event.data = as_text(change.bytes);
    }
    recorder_->happened(event);
    return SQLITE_OK;
  }

 private:
  static os::FileOp op_of(db::Change change) {
    switch (change) {
      case db::Change::create:
        return os::FileOp::create;
      case db::Change::truncate:
        return os::FileOp::truncate;
      case db::Change::sync:
        return os::FileOp::sync;
      case db::Change::sync_folder:
        return os::FileOp::sync_directory;
      case db::Change::remove:
        return os::FileOp::unlink;
      case db::Change::open:
      case db::Change::write:
        return os::FileOp::write;
    }
    return os::FileOp::write;
  }
  std::unique_ptr<os::PowerRecorder>& recorder_;
};

}  // namespace hearth::control
