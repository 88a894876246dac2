// Finds checkpoints that other code than the SDK writes: files and folders of the checkpoint
// directory that nobody of the task holds open for writing and that have not changed for kQuiet.
// Frameworks write neither atomically nor with a sign that they are done.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "os/tree.h"
#include "shim/sdk_server.h"

namespace hearth::shim {

class CheckpointWatch {
 public:
  static constexpr Duration kQuiet = Duration::seconds(5);
  static constexpr size_t kMostFiles = 100'000;

  explicit CheckpointWatch(std::string directory) : directory_(std::move(directory)) {}
  // Before the process starts: what there was (a checkpoint to go on from) is none of its own.
  void begin();
  // What became a checkpoint since the last look. `ended`: the process is gone, nothing changes.
  std::vector<SaveWish> look(Time now, const os::TreeQuery& tree, bool ended);

 private:
  struct State {
    int64_t newest = 0, bytes = 0, files = 0;  // ns, sum, count
    bool operator==(const State&) const = default;
  };
  struct Seen {
    State state;
    Time since;
    State saved;
    int64_t step = 0;
  };
  std::map<std::string, Seen> scan() const;
  static bool open_for_writing(const std::string& path, const os::TreeQuery& tree);
  const std::string directory_;
  std::map<std::string, Seen> seen_;
  int64_t count_ = 0;
};

}  // namespace hearth::shim
