// A pool of read-only connections, opened as they are needed and kept. They never checkpoint.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/stats.h"

namespace hearth::db {

class Readers {
 public:
  static constexpr Duration kWaitBound = Duration::seconds(30);  // for a free connection

  Readers(std::string path, std::string vfs, size_t bound, Health& health, Stats& stats);

  // Runs `work` in a read transaction on this thread.
  Result<void> read(const Work& work);

 private:
  class Lease;  // a connection out of the pool, given back at the end
  Result<std::unique_ptr<Connection>> take();
  void give_back(std::unique_ptr<Connection> connection);

  const std::string path_, vfs_;
  const size_t bound_;
  Health& health_;
  Stats& stats_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> free_;
  size_t taken_ = 0;
};

}  // namespace hearth::db
