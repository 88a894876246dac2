// Power loss, simulated for tests: a watcher that keeps every change to the files, and a builder
// that makes of them the files as a disk might hold them after the power went at some point.
//
// The model: what was written to a file before a sync of it that has returned is there. Of each
// later write any of its 512-byte sectors may be there or not, in whatever order they came; each
// later truncation, creation and removal is there or not.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "db/sqlite/watched_vfs.h"

namespace hearth::db {

class PowerLoss : public FileWatcher {
 public:
  static constexpr int64_t kSectorBytes = 512;

  int before(const FileChange& change) override;
  // Changes so far; what was acknowledged at this number has to be there after it.
  size_t size() const;

  // Syncs for which this is true count as never made: a suite that still passes tests nothing.
  using Ignore = std::function<bool(Change what, const std::string& path)>;
  // Writes the files as after the first `cut` changes into `folder` (their names stay).
  Result<void> build(size_t cut, Random& random, const std::string& folder,
                     const Ignore& ignore = {}) const;

 private:
  struct Kept {
    Change what;
    std::string path;
    int64_t offset;
    std::string bytes;
  };
  class Disk;

  mutable std::mutex mutex_;
  std::vector<Kept> changes_;
};

}  // namespace hearth::db
