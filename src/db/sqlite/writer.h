// The one connection that writes and checkpoints: group commit.
//
// Who finds nobody writing commits its work at once, on its own thread. All others queue and wait:
// the writer's thread takes what has queued (bounded in number and time), runs each work in a
// savepoint of one transaction, commits once and wakes all whose work is then on the disk. A work
// that fails takes back its own changes alone. Checkpoints and what is done while nobody writes are
// that thread's; whoever is `busy_` has the connection to itself.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/health.h"
#include "db/sqlite/stats.h"

namespace hearth::db {

class Writer {
 public:
  static constexpr size_t kQueueBound = 4096;  // works waiting; more callers wait for room
  static constexpr size_t kBatchBound = 512;   // works in one commit
  static constexpr Duration kBatchTime = Duration::millis(20);  // spent running works of one commit
  static constexpr Duration kProbeEvery = Duration::seconds(1);  // while the disk is full
  // The WAL in pages: from SqliteOptions::checkpoint_pages on it is copied; from so many on that
  // waits for readers (Connection::kRestartMillis at most), so that the file can start anew.
  static constexpr int kRestartPages = 16384;
  // Once in so long it is looked whether something is to be done while nobody writes.
  static constexpr Duration kIdleLook = Duration::seconds(1);
  static constexpr int kIdleCheckpointPages = 1000;  // a WAL of so many is then copied
  // Free pages that the file keeps for what comes next; one part in so many of a large file.
  static constexpr int64_t kKeptFreePages = 1024;
  static constexpr int64_t kKeptFreePart = 16;
  static constexpr int kShrinkPages = 512;  // given back in one commit

  // Runs on the writer's thread outside any transaction, between two commits.
  using Alone = std::function<Result<void>(Connection&)>;

  Writer(std::unique_ptr<Connection> connection, Health& health, Stats& stats, Clock& clock,
         int checkpoint_pages);
  ~Writer();  // finishes what is queued; then checkpoints and closes

  Result<void> write(const Work& work);
  Result<void> alone(const Alone& work);

 private:
  // Callers that queued between two commits wait for the same number to change: one wake for all
  // of them, and none for those of the next commit.
  static constexpr size_t kRounds = 4;
  struct Item {
    const Work* work = nullptr;
    const Alone* alone = nullptr;
    Result<void> result;
    size_t round = kRounds;          // that it waits for; set under mutex_
    std::atomic<bool> done = false;  // the last that is touched: then it is its caller's again
  };
  using Batch = std::vector<Item*>;

  Result<void> wait_for(Item& item);
  // To commit on one's own thread, as nobody writes and nobody waits: that spares two changes of
  // thread, which take longer than the sync of a quick disk.
  bool take_turn();
  void end_turn();
  void loop();
  bool wait_for_work(std::unique_lock<std::mutex>& lock);  // false: stopped
  Batch take();
  void put_back(const Batch& items);
  void finish(const Batch& batch);
  void run(const Batch& batch);
  // Runs works in a transaction and commits it; what has to run again is returned.
  Batch run_transaction(const Batch& batch);
  Result<void> run_work(Item& item);
  void run_framed(Item& item);
  Result<void> commit();
  void roll_back();
  void probe();
  bool is_checkpoint_due() const { return wal_pages_ >= next_checkpoint_pages_; }
  void checkpoint();
  bool nobody_waits();
  void look_while_idle();
  // Gives pages that deletes have left free back to the disk, while nobody waits.
  void shrink_while_idle();
  Result<bool> shrink();  // by one step; false: nothing to give back
  void close();

  std::unique_ptr<Connection> connection_;  // of whoever is busy_, with the numbers below
  Health& health_;
  Stats& stats_;
  Clock& clock_;
  const int checkpoint_pages_;
  int wal_pages_ = 0;  // as of the last commit
  int next_checkpoint_pages_;
  uint64_t commits_ = 0, looked_commits_ = 0;  // in all; and as of the last look while idle

  std::mutex mutex_;  // guards what follows
  std::condition_variable filled_, room_;
  std::deque<Item*> queue_;
  bool busy_ = false;
  std::thread::id busy_thread_;
  bool chores_ = false;   // the thread has something to do besides the queue: a checkpoint, a probe
  bool written_ = false;  // since the last look while idle
  bool stopping_ = false;
  size_t round_ = 0;
  std::array<std::atomic<uint32_t>, kRounds> finished_{};
  std::thread thread_;
};

}  // namespace hearth::db
