// The one thread that writes and checkpoints: group commit.
//
// Callers queue their work and wait. The thread takes what has queued (bounded in number and time),
// runs each work in a savepoint of one transaction, commits once and wakes all whose work is then
// on the disk. A work that fails takes back its own changes alone.
#pragma once

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
  // The WAL in pages: a checkpoint is tried from the first on; from the second on the writer waits
  // for readers (Connection::kRestartMillis at most) so that the file can start anew.
  static constexpr int kCheckpointPages = 1000;
  static constexpr int kRestartPages = 16384;
  // Free pages that the file keeps for what comes next; one part in so many of a large file.
  static constexpr int64_t kKeptFreePages = 1024;
  static constexpr int64_t kKeptFreePart = 16;
  static constexpr int kShrinkPages = 512;  // given back in one commit

  // Runs on the writer's thread outside any transaction, between two batches.
  using Alone = std::function<Result<void>(Connection&)>;

  Writer(std::unique_ptr<Connection> connection, Health& health, Stats& stats, Clock& clock,
         int checkpoint_pages);
  ~Writer();  // finishes what is queued; then checkpoints and closes

  Result<void> write(const Work& work);
  Result<void> alone(const Alone& work);

 private:
  struct Item {
    const Work* work = nullptr;
    const Alone* alone = nullptr;
    Result<void> result;
    bool done = false;
  };
  using Batch = std::vector<Item*>;

  Result<void> wait_for(Item& item);
  void loop();
  Batch take();  // empty: stopped, or time for a probe
  void put_back(const Batch& items);
  void finish(const Batch& batch);
  void run(Batch batch);
  // Runs works in a transaction and commits it; what has to run again is returned.
  Batch run_transaction(const Batch& batch);
  void run_work(Item& item);
  Result<void> commit();
  void roll_back();
  void probe();
  void checkpoint_when_due();
  void checkpoint();
  bool idle();
  // Gives pages that deletes have left free back to the disk, while nobody waits.
  void shrink_while_idle();
  Result<bool> shrink();  // by one step; false: nothing to give back
  void close();

  std::unique_ptr<Connection> connection_;
  Health& health_;
  Stats& stats_;
  Clock& clock_;
  const int checkpoint_pages_;
  int wal_pages_ = 0;  // as of the last commit; the writer's thread alone
  int next_checkpoint_pages_;

  std::mutex mutex_;
  std::condition_variable filled_, room_, done_;
  std::deque<Item*> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hearth::db
