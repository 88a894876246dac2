// The open log files: directory/TASK.frames, frames as the shim sent them, appended and synced
// apart from the database. One thread syncs for all tasks that wait, file after file, so that logs
// never have more than one sync in flight beside the database's.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "os/files.h"
#include "track/log_frame.h"

namespace hearth::control {

constexpr size_t kMostOpenLogs = 1024;                   // files held open; others are reopened
constexpr int64_t kMostOpenLogBytes = int64_t{1} << 30;  // of one file: far above seal_bytes
constexpr Duration kLongestSyncWait = Duration::seconds(60);

class LogStore {
 public:
  // `sealed`: the last sequence number of a task that is in a sealed segment, 0 for none.
  LogStore(std::string directory, std::function<Result<uint64_t>(const std::string&)> sealed);
  ~LogStore();

  // Starts and stops the thread that syncs; append() waits for it.
  Result<void> start();
  void stop();

  // Frames, back to back, from the network: all are checked before the first is written. Those that
  // are already here are passed over. Returns the last sequence number once it is synced.
  // invalid: a frame is damaged, or begins within what is here. unavailable: disk full, sync
  // failed.
  Result<uint64_t> append(const std::string& task_id, std::span<const std::byte> frames);
  // The last sequence number that is durable, sealed ones included.
  Result<uint64_t> mark(const std::string& task_id);
  // Whole frames with records after `after_seq`, from the open file alone.
  Result<Bytes> read(const std::string& task_id, uint64_t after_seq);
  // The first number in the open file, 0 when it is empty, and the last that is durable.
  struct Extent {
    uint64_t first_open = 0, last = 0;
  };
  Result<Extent> extent(const std::string& task_id);
  int64_t open_bytes(const std::string& task_id);

  // Sealing: the open file's frames and the last seq in them; then, once those are kept elsewhere,
  // cut(): the file keeps what came after that seq.
  struct Taken {
    Bytes frames;
    uint64_t last_seq = 0;
  };
  Result<Taken> take(const std::string& task_id);
  Result<void> cut(const std::string& task_id, uint64_t last_seq);
  // Forgets the task and deletes its file.
  Result<void> drop(const std::string& task_id);

  // Tasks with an open file, and how large it is.
  Result<std::map<std::string, int64_t>> list();

 private:
  struct Log;
  class Claim;
  std::string path_of(const std::string& task_id) const;
  Result<std::shared_ptr<Log>> log_of(const std::string& task_id);
  Result<void> load(Log& log, const std::string& task_id);
  Result<void> mend_tail(Log& log, os::File& file, std::span<const std::byte> bytes,
                         const track::Tail& tail);
  Result<void> write(Log& log, std::span<const std::byte> bytes);
  Result<void> wait_synced(const std::shared_ptr<Log>& log, uint64_t seq);
  void sync_one(Log& log);
  void run();
  void close_idle();

  const std::string directory_;
  const std::function<Result<uint64_t>(const std::string&)> sealed_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::map<std::string, std::shared_ptr<Log>> logs_;
  std::vector<std::shared_ptr<Log>> dirty_;
  uint64_t uses_ = 0;
  bool running_ = false;
  std::thread thread_;
};

}  // namespace hearth::control
