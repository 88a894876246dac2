#include "db/sqlite/writer.h"

#include <utility>

#include <linux/futex.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/format.h"
#include "db/sqlite/pages.h"

namespace hearth::db {
namespace {

int note_wal_pages(void* target, sqlite3*, const char*, int pages) {
  *static_cast<int*>(target) = pages;
  return SQLITE_OK;
}

// std::atomic::wait spins and yields first; a commit always takes longer than that.
void wait_while(std::atomic<uint32_t>& number, uint32_t seen) {
  ::syscall(SYS_futex, &number, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void raise(std::atomic<uint32_t>& number) {
  number.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &number, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace

Writer::Writer(std::unique_ptr<Connection> connection, Health& health, Stats& stats, Clock& clock,
               int checkpoint_pages)
    : connection_(std::move(connection)),
      health_(health),
      stats_(stats),
      clock_(clock),
      checkpoint_pages_(checkpoint_pages),
      next_checkpoint_pages_(checkpoint_pages) {
  sqlite3_wal_hook(connection_->handle(), note_wal_pages, &wal_pages_);
  stats_.queue_bound.set(kQueueBound);
  stats_.wal_bound.set(static_cast<double>(kRestartPages) * kPageBytes);
  thread_ = std::thread([this] { loop(); });
}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  filled_.notify_all();
  room_.notify_all();
  thread_.join();
}

Result<void> Writer::write(const Work& work) {
  if (health_.refuses()) return health_.error();
  Item item{.work = &work};
  if (!take_turn()) return wait_for(item);
  run_transaction({&item});
  end_turn();
  return std::move(item.result);
}

bool Writer::take_turn() {
  const std::lock_guard lock(mutex_);
  if (busy_ || chores_ || stopping_ || !queue_.empty()) return false;
  busy_ = true;
  busy_thread_ = std::this_thread::get_id();
  return true;
}

void Writer::end_turn() {
  const std::lock_guard lock(mutex_);
  busy_ = false;
  chores_ = chores_ || is_checkpoint_due();
  const bool first = !std::exchange(written_, true);
  if (first || chores_ || stopping_ || !queue_.empty() || health_.is_full()) filled_.notify_one();
}

Result<void> Writer::alone(const Alone& work) {
  Item item{.alone = &work};
  return wait_for(item);
}

Result<void> Writer::wait_for(Item& item) {
  {
    std::unique_lock lock(mutex_);
    CHECK(!busy_ || busy_thread_ != std::this_thread::get_id());  // a work that waits for itself
    room_.wait(lock, [&] { return stopping_ || queue_.size() < kQueueBound; });
    if (stopping_) return Error::unavailable("the database is closing");
    item.round = round_;
    queue_.push_back(&item);
    stats_.queue_length.set(static_cast<double>(queue_.size()));
    if (!busy_) filled_.notify_one();
  }
  std::atomic<uint32_t>& finished = finished_.at(item.round);
  for (;;) {
    const uint32_t seen = finished.load(std::memory_order_acquire);
    if (item.done.load(std::memory_order_acquire)) break;
    wait_while(finished, seen);
  }
  return std::move(item.result);
}

void Writer::loop() {
  std::unique_lock lock(mutex_);
  while (wait_for_work(lock)) {
    busy_ = true;
    busy_thread_ = std::this_thread::get_id();
    const bool idle = !std::exchange(chores_, false) && queue_.empty();
    const Batch batch = take();
    lock.unlock();
    if (!batch.empty()) room_.notify_all();
    if (!batch.empty()) run(batch);
    if (idle) look_while_idle();
    if (is_checkpoint_due()) checkpoint();
    lock.lock();
    busy_ = false;
    written_ = written_ || !batch.empty();
  }
  lock.unlock();
  close();
}

bool Writer::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto ready = [&] { return !busy_ && (stopping_ || !queue_.empty() || chores_); };
  while (!ready()) {
    const bool full = health_.is_full();
    if (!full && !written_) {
      filled_.wait(lock);
    } else {
      const Duration limit = full ? kProbeEvery : kIdleLook;
      const auto woken = filled_.wait_for(lock, limit.chrono());
      if (woken == std::cv_status::timeout && !busy_) return true;
    }
  }
  return !stopping_ || !queue_.empty();
}

// Under mutex_.
Writer::Batch Writer::take() {
  Batch batch;
  while (!queue_.empty() && batch.size() < kBatchBound) {
    // What runs alone is a batch of its own.
    if (queue_.front()->alone != nullptr && !batch.empty()) break;
    batch.push_back(queue_.front());
    queue_.pop_front();
    if (batch.back()->alone != nullptr) break;
  }
  if (!batch.empty()) round_ = (round_ + 1) % kRounds;
  stats_.queue_length.set(static_cast<double>(queue_.size()));
  return batch;
}

void Writer::put_back(const Batch& items) {
  const std::lock_guard lock(mutex_);
  queue_.insert(queue_.begin(), items.begin(), items.end());
}

void Writer::finish(const Batch& batch) {
  std::array<bool, kRounds> rounds{};
  for (Item* item : batch) {
    if (item->round < kRounds) rounds.at(item->round) = true;
    item->done.store(true, std::memory_order_release);
  }
  for (size_t i = 0; i < kRounds; ++i)
    if (rounds.at(i)) raise(finished_.at(i));
}

void Writer::run(const Batch& batch) {
  if (batch.front()->alone != nullptr) {
    batch.front()->result = (*batch.front()->alone)(*connection_);
    connection_->forget_failure();
    if (connection_->in_transaction()) roll_back();
    return finish(batch);
  }
  const Batch again = run_transaction(batch);
  // A transaction that its commit refused (a deferred constraint) or that one work broke: each work
  // by itself, so that only the guilty one fails.
  for (Item* item : again) run_transaction({item});
}

Writer::Batch Writer::run_transaction(const Batch& batch) {
  const auto fail_all = [&](const Error& error) {
    for (Item* item : batch) item->result = error;
    stats_.failed_writes.add(static_cast<double>(batch.size()));
    finish(batch);
    return Batch{};
  };
  if (health_.refuses()) return fail_all(health_.error());
  if (auto begun = connection_->control("BEGIN IMMEDIATE"); !begun.ok())
    return fail_all(begun.error());

  const Time until = clock_.steady() + kBatchTime;
  size_t ran = 0;
  for (; ran < batch.size() && (ran == 0 || clock_.steady() < until); ++ran) {
    if (batch.size() == 1)
      batch[ran]->result = run_work(*batch[ran]);
    else
      run_framed(*batch[ran]);
    if (!connection_->in_transaction()) {  // SQLite gave the whole transaction up
      if (batch.size() > 1 && !health_.refuses()) return batch;
      return fail_all(health_.refuses() ? health_.error() : batch[ran]->result.error());
    }
  }
  // With what a single work changed before it failed.
  if (batch.size() == 1 && !batch[0]->result.ok()) {
    roll_back();
    return fail_all(batch[0]->result.error());
  }
  const Batch done(batch.begin(), batch.begin() + static_cast<ptrdiff_t>(ran));
  if (ran < batch.size()) put_back({batch.begin() + static_cast<ptrdiff_t>(ran), batch.end()});

  if (auto committed = commit(); !committed.ok()) {
    if (connection_->last_code() == SQLITE_CONSTRAINT && done.size() > 1) return done;
    for (Item* item : done) item->result = committed.error();
  }
  stats_.commits.add();
  stats_.batch.observe(static_cast<double>(done.size()));
  for (const Item* item : done) (item->result.ok() ? stats_.writes : stats_.failed_writes).add();
  stats_.wal_bytes.set(static_cast<double>(wal_pages_) * kPageBytes);
  ++commits_;
  finish(done);
  return {};
}

Result<void> Writer::run_work(Item& item) {
  connection_->forget_failure();
  auto result = (*item.work)(*connection_);
  if (connection_->statement_failed() && result.ok())
    result = Error::internal("a work succeeded after one of its statements had failed");
  connection_->forget_failure();
  if (!connection_->in_transaction() && result.ok())
    return Error::internal("a work ended its transaction");
  return result;
}

// Beside others in one transaction.
void Writer::run_framed(Item& item) {
  item.result = connection_->control("SAVEPOINT work");
  if (!item.result.ok()) return;
  item.result = run_work(item);
  if (!connection_->in_transaction()) return;
  if (item.result.ok()) {
    item.result = connection_->control("RELEASE work");
    return;
  }
  for (const std::string_view sql : {"ROLLBACK TO work", "RELEASE work"})
    if (auto undone = connection_->control(sql); !undone.ok()) roll_back();
}

Result<void> Writer::commit() {
  auto committed = connection_->control("COMMIT");
  if (!committed.ok()) roll_back();
  return committed;
}

void Writer::roll_back() {
  if (connection_->in_transaction()) ignore(connection_->control("ROLLBACK"));
}

// Writes the first page as it is: when that gets through, there is room again.
void Writer::probe() {
  const auto version = connection_->pragma("PRAGMA user_version");
  if (!version.ok()) return;
  if (!connection_->control("BEGIN IMMEDIATE").ok()) return;
  if (!connection_->control(format("PRAGMA user_version = {}", *version)).ok()) return roll_back();
  if (commit().ok()) health_.disk_has_room();
}

void Writer::checkpoint() {
  // After a failed sync the kernel may hold a page for clean that never reached the disk; the WAL
  // is then the only whole copy, so it is left as it is.
  if (health_.is_failed() || health_.is_full()) return;
  const auto mode = wal_pages_ >= kRestartPages ? Checkpoint::restart : Checkpoint::passive;
  const auto progress = connection_->checkpoint(mode);
  if (!progress.ok()) return;  // health knows
  const auto [pages, done] = *progress;
  // Readers hold back the rest: try again when a quarter more has come.
  next_checkpoint_pages_ = done >= pages ? checkpoint_pages_ : pages + checkpoint_pages_ / 4;
  if (done >= pages) wal_pages_ = 0;
}

bool Writer::nobody_waits() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !stopping_;
}

// Nobody was in the way when it began; who comes meanwhile waits for one step of it.
void Writer::look_while_idle() {
  if (health_.is_full()) return probe();
  const bool quiet = std::exchange(looked_commits_, commits_) == commits_;
  shrink_while_idle();
  if (!quiet) return;
  // Whoever writes next then finds a short WAL.
  if (wal_pages_ >= kIdleCheckpointPages) checkpoint();
  const std::lock_guard lock(mutex_);
  written_ = false;
}

void Writer::shrink_while_idle() {
  bool shrunk = false;
  // Not while readers hold the WAL back: each step makes it longer.
  while (nobody_waits() && !health_.refuses() && !health_.is_full() &&
         wal_pages_ < checkpoint_pages_) {
    const auto more = shrink();
    if (!more.ok()) roll_back();
    if (!more.ok() || !*more) break;  // health knows
    shrunk = true;
    if (is_checkpoint_due()) checkpoint();
  }
  if (shrunk) checkpoint();  // the file is cut by it
}

Result<bool> Writer::shrink() {
  const int64_t free = TRY(connection_->pragma("PRAGMA freelist_count"));
  if (free <= kKeptFreePages) return false;
  const int64_t pages = TRY(connection_->pragma("PRAGMA page_count"));
  if (free <= pages / kKeptFreePart) return false;
  // Files of an earlier version keep their pages, for rows to come.
  if (TRY(connection_->pragma("PRAGMA auto_vacuum")) == 0) return false;
  TRY(connection_->control("BEGIN IMMEDIATE"));
  TRY(connection_->control(format("PRAGMA incremental_vacuum({})", kShrinkPages)));
  TRY(commit());
  return true;
}

void Writer::close() {
  if (!health_.is_failed()) ignore(connection_->checkpoint(Checkpoint::truncate));
  connection_.reset();
}

}  // namespace hearth::db
