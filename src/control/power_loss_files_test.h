// What the tests of power loss share: one recording of all that a server does below its data
// directory, the first look at a rebuilt one, and the proof that a sync left out is seen.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "control/small_world_test.h"
#include "db/sqlite/sqlite.h"
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

// A machine on an empty `root`, with a user ann; what it does while `work` runs.
template <typename Machine>
os::Recording record_machine(
    const std::string& root,
    const std::function<void(Machine& machine, os::PowerRecorder& recorder)>& work) {
  need(os::make_directories(root));
  std::unique_ptr<os::PowerRecorder> recorder;
  DatabaseFiles files(recorder);
  const db::WatchedVfs vfs(files);
  std::optional<Machine> machine(std::in_place, root, vfs.name());
  const Identity admin = need(machine->access->authenticate(
      need(machine->access->bootstrap("root")).value().text, "127.0.0.1", "request"));
  need(machine->access->add_user(admin, {.name = "ann"}, "default", Grade::member));
  recorder = need(os::PowerRecorder::start(root));
  os::set_file_observer(recorder.get());
  work(*machine, *recorder);
  const os::Recording recording = need(recorder->recording());
  os::set_file_observer(nullptr);
  machine.reset();
  return recording;
}

// Of the database below `root`: "" or what is wrong with it.
inline std::string database_fault(const std::string& root) {
  const auto opened = db::open_sqlite({.path = root + "/hearth.db"});
  if (!opened.ok()) return opened.error().text();
  const auto checked = (*opened)->check();
  return checked.ok() ? "" : checked.error().text();
}

// Kinds of syncs, by what they are for.
using Syncs = std::map<std::string, std::function<bool(const os::FileEvent&)>>;

inline bool is_of_the_wal(const os::FileEvent& event) {
  return event.path.ends_with("-wal");
}
inline bool is_sync_of_an_object(const os::FileEvent& event) {
  return event.op == os::FileOp::sync && event.path.find("/objects/") != std::string::npos;
}

// Which of them can be left out and `lost_at` still finds all there, at each of 200 points; "" when
// each is missed. A suite that passes without them would test nothing.
inline std::string never_missed(
    const Syncs& syncs, const os::Recording& recording,
    const std::function<std::string(size_t cut, Random&, const os::CrashOptions&)>& lost_at) {
  std::string never;
  for (const auto& [what, is_left_out] : syncs) {
    SeededRandom random(7);
    bool found = false;
    for (int i = 0; i < 200 && !found; ++i)
      found = !lost_at(random.below(recording.ops.size() + 1), random, {.ignore_sync = is_left_out})
                   .empty();
    if (!found) never += what + "; ";
  }
  return never;
}

}  // namespace hearth::control
