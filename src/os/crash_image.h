// Power loss, simulated: a recorder of what the file layer did below a root, and a builder that
// makes of it a directory as the disk might hold it after the power went at some point.
//
//   PowerRecorder recorder(root);            // keeps what lies there now as durable
//   set_file_observer(&recorder);
//   ... work; recorder.mark("job 1 acknowledged") ...
//   set_file_observer(nullptr);
//   SeededRandom random(seed);
//   TRY(build_crash_image(recorder.recording(), cut, random, into));
//
// The model is harsher than any one file system, but keeps what they all promise:
// - bytes written before a sync of the file that has returned are there;
// - each later write is kept, dropped, or torn: any of its 512-byte sectors are there, the others
// are
//   old, or zero where the file grew; each later truncate is kept or dropped;
// - a name made, moved or removed before a sync of its directory that has returned is so;
// - each later one is kept or dropped by itself, whatever came after it; a rename within a folder
// is
//   whole or not at all; of one across folders the new name is there whenever the old one is gone;
// - a sync of a file says nothing about its name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "os/file_events.h"

namespace hearth::os {

struct RecordedOp {
  FileEvent event;  // its data is in `data`
  std::string data;
  std::string mark;  // not empty: no operation, the test's own note
};

// A file, link or folder that was there when recording began.
struct BaseEntry {
  std::string path;  // absolute
  char kind = 'f';   // f, d, l
  uint64_t inode = 0;
  mode_t mode = 0;
  std::string content;  // bytes of a file, text of a link
};

struct Recording {
  std::string root;  // absolute
  std::vector<BaseEntry> base;
  std::vector<RecordedOp> ops;
};

constexpr int64_t kMostRecordedBytes = int64_t{1} << 30;

class PowerRecorder : public FileObserver {
 public:
  // Events outside root are not recorded.
  static Result<std::unique_ptr<PowerRecorder>> start(const std::string& root);
  void happened(const FileEvent& event) override;
  void mark(const std::string& text);
  size_t size() const;
  // A copy; conflict once more than kMostRecordedBytes came in.
  Result<Recording> recording() const;

 private:
  PowerRecorder() = default;
  mutable std::mutex mutex_;
  Recording recording_;
  int64_t bytes_ = 0;
};

struct CrashOptions {
  // Syncs for which this answers true are taken as never made: a suite that still passes then
  // does not test them.
  std::function<bool(const FileEvent&)> ignore_sync;
};

// The tree below recording.root as it might be when the power went after the first `cut`
// operations, into the new directory `into`. The same random numbers give the same tree.
Result<void> build_crash_image(const Recording& recording, size_t cut, Random& random,
                               const std::string& into, const CrashOptions& options = {});
// The marks among the first `cut` operations: what had been acknowledged by then.
std::vector<std::string> marks_before(const Recording& recording, size_t cut);

}  // namespace hearth::os
