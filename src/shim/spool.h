// What a task has said and the server has not yet acknowledged, in DIR/spool:
//
//   states.jsonl      StateRecords, one a line, each synced before it is acted upon
//   records.N         TaskRecords, one a line, from record N on
//   log.N             log frames (track/log_frame.h), from line N on
//   reserve           room for the last states when the disk is full
//   saves.jsonl       what the task asked to be saved (checkpoints, artifacts, models)
//
// Files are dropped once all in them is acknowledged. Whoever comes after a dead shim opens the
// same folder and goes on: what was acknowledged may be sent again, the server knows its marks.
// Bounded by `most_bytes`: over it, log lines are dropped and counted, nothing else.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "domain/wire/sync.h"
#include "os/files.h"

namespace hearth::shim {

// One kind of numbered things in files of kSegmentBytes. Not thread-safe: Spool locks.
class Segments {
 public:
  // A run of whole records or frames within one file.
  struct Piece {
    std::string path;
    int64_t offset = 0, length = 0;
    int64_t first_seq = 0, last_seq = 0;
    int count = 0;
    bool taken = false;  // was handed out: grows no more
  };
  static constexpr int64_t kSegmentBytes = 4 << 20;
  static constexpr int64_t kPieceBytes = 256 << 10;
  static constexpr int kPieceCount = 500;

  Segments(std::string folder, std::string prefix)
      : folder_(std::move(folder)), prefix_(std::move(prefix)) {}
  // Finds what an earlier shim left; `scan` adds the pieces of one file.
  using Scan = Result<std::vector<Piece>> (*)(const std::string& path, const std::string& bytes);
  Result<void> open(Scan scan);

  Result<void> append(std::string_view bytes, int64_t first_seq, int64_t last_seq, int count);
  Result<void> sync();
  // The next pieces not acknowledged, at most so many bytes and records (at least one piece).
  std::vector<Piece> take(int64_t most_bytes, int most_count);
  // Everything up to seq is the server's.
  void acknowledge(int64_t seq);
  bool empty() const { return pieces_.empty(); }
  int64_t bytes() const { return bytes_; }
  int64_t last_seq() const { return last_seq_; }
  size_t pieces() const { return pieces_.size(); }

 private:
  struct Segment {
    std::string path;
    int64_t bytes = 0, last_seq = 0;
  };
  const std::string folder_, prefix_;
  std::deque<Piece> pieces_;
  std::deque<Segment> segments_;
  os::File file_;  // the last segment, while this shim writes to it
  bool unsynced_ = false;
  int64_t bytes_ = 0, last_seq_ = 0;
};

struct SpoolBatch {
  std::vector<StateRecord> states;
  std::string records;  // JSON, joined by ','
  std::string frames;
  bool empty() const { return states.empty() && records.empty() && frames.empty(); }
};

// Thread-safe.
class Spool {
 public:
  // `clock` tells the time of all that is said; it outlives the spool.
  static Result<std::unique_ptr<Spool>> open(const std::string& folder, int64_t most_bytes,
                                             Clock& clock = system_clock());
  Clock& clock() const { return clock_; }

  // Numbered, timed, written and synced.
  Result<void> add_state(StateRecord state);
  // Numbered and written; durable against the death of processes. sync_records for power loss.
  Result<void> add_record(TaskRecord record);
  Result<void> sync_records();
  // A sealed frame. False when the spool is full: the lines are the caller's to count.
  // `always` is for the one line that says how much was lost.
  Result<bool> add_frame(std::span<const std::byte> frame, int64_t first_seq, int64_t last_seq,
                         bool always = false);
  int64_t next_log_seq() const;

  // What the task asked to be saved: durable before it is answered, done once the record is in.
  Result<void> add_save(const std::string& line);
  Result<void> finish_save(const std::string& line);
  std::vector<std::string> open_saves() const;

  // Less than half of it is taken: what can wait (event files) may go on.
  bool roomy() const;
  std::optional<StateRecord> last_state() const;
  // What is to be sent next. The final state only goes with or after all the rest.
  Result<SpoolBatch> next_batch();
  void acknowledge(const Marks& marks);
  bool drained() const;
  // Blocks until there is something to send, or the time is over, or wake().
  void wait(Duration at_most);
  void wake();

 private:
  Spool(const std::string& folder, int64_t most_bytes, Clock& clock);
  Result<void> load();
  Result<void> write_state(const std::string& line);
  void make_reserve() const;
  const std::string folder_;
  const int64_t most_bytes_;
  Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::deque<StateRecord> states_;  // not acknowledged
  std::optional<StateRecord> last_state_;
  int64_t state_seq_ = 0;
  Segments records_, log_;
  std::vector<std::string> saves_;
  std::unique_ptr<os::File> state_file_;
};

}  // namespace hearth::shim
