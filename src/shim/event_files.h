// TensorBoard's event files, read as a task writes them: scalars become metrics of the run, images,
// texts and histograms its files. A thread of its own.
//
// Files are looked for in the working directory (or in the directories the job file names), again
// and again; links, hidden folders and the places of datasets are passed over. A key is the tag;
// where several directories have the same tag, as Keras' train/ and validation/, those below
// another directory with event files, or not the first to have it, set their path before it. How
// far a file was read lies in DIR/events.json, so that whoever drains a dead shim goes on from
// there; what is read twice nevertheless counts once (a point is known by step, time and value).
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "base/clock.h"
#include "domain/wire/task_spec.h"
#include "os/files.h"
#include "shim/layout.h"
#include "shim/metric_gate.h"
#include "shim/spool.h"
#include "track/event_file.h"

namespace hearth::shim {

class EventFiles {
 public:
  static constexpr Duration kLook = Duration::seconds(2);
  static constexpr int kLookShare = 20;         // looks take at most 1/20 of the time
  static constexpr size_t kMostNames = 50'000;  // that one look passes
  static constexpr size_t kMostFiles = 1000;
  static constexpr size_t kReadBytes = 1 << 20;
  static constexpr int64_t kMostBytesALook = 256 << 20;
  static constexpr size_t kMostMade = 1000;  // images, texts, histograms of one task
  static constexpr int64_t kMostMadeBytes = 256 << 20;
  static constexpr size_t kMostKeyBytes = 250;
  static constexpr size_t kMostKeys = 10'000;

  struct Hooks {
    std::function<void(std::string path, std::string name, std::string kind, int64_t step)> save;
    std::function<void(std::string words)> complain;
  };
  EventFiles(const TaskSpec& spec, const Layout& layout, Spool& spool, MetricGate& gate,
             Hooks hooks);
  ~EventFiles();
  void start();
  // The process has ended: reads all that is there, then ends. Also without start().
  void finish();

 private:
  struct Known {
    ino_t inode = 0;
    std::string directory;  // relative to the working directory
    std::unique_ptr<track::EventReader> reader;
    bool done = false;  // damaged, or not ours to read
  };
  void run();
  // False: there is more to read at once.
  bool look();
  void find_files();
  void find_below(const std::string& directory);
  bool read(const std::string& path, Known& file, int64_t& budget);
  void take(const Known& file, track::EventValue&& value);
  void take_scalar(const Known& file, const track::EventValue& value);
  void make_file(const Known& file, const track::EventValue& value);
  std::string key_of(const Known& file, const std::string& tag);
  bool passed_over(const std::string& path) const;
  void load();
  void save() const;
  void tell_once(std::string_view about, std::string words);

  const TaskSpec& spec_;
  const Layout& layout_;
  Spool& spool_;
  MetricGate& gate_;
  const Hooks hooks_;
  os::Fd work_;
  std::map<std::string, Known> files_;
  std::set<std::string> directories_;          // that hold event files
  std::map<std::string, std::string> owners_;  // key -> directory that has it bare
  std::set<std::string, std::less<>> told_;
  size_t made_ = 0;
  int64_t made_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool finishing_ = false;
  std::thread thread_;
};

}  // namespace hearth::shim
