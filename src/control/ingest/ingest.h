// What shims send: states, records and log lines, durable before they are acknowledged; and the
// reading side of logs.
//
// Order within a sync: log lines first, then states and records in one transaction. So a task that
// is known to have ended has all its lines here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/context.h"
#include "domain/identity.h"
#include "domain/wire/logs.h"
#include "domain/wire/sync.h"

namespace hearth::control {

struct LogQuery {
  std::string task_id;
  int64_t after_seq = 0;  // lines with a greater seq
  // So many records before that are looked at too, for the beginning of a line that ends behind it.
  int64_t look_back = 0;
  std::optional<Time> since;
  std::string grep;           // RE2
  int64_t most_lines = 1000;  // bound 100,000
  size_t most_bytes = 4 << 20;
  // A search ends early once it took so long: next_seq then says how far it came.
  std::optional<Duration> most_time;
};
struct LogPage {
  std::vector<LogLine> lines;
  // Give it as after_seq to go on. With look_back a line that is partial comes again, as all from
  // there on, until it has its end.
  int64_t next_seq = 0;
  bool more = false;  // the page is full
  bool end = false;   // the task has ended and this was all
};

// A part of one task's log, by number.
struct LineQuery {
  std::string task_id;
  int64_t from_seq = 1;  // the first line at or behind it; or,
  int64_t tail = 0;      // above 0: the last so many
  int64_t most_lines = 1000;
};

struct IngestOptions {
  std::string directory;         // open segments: directory/TASK.frames
  int64_t seal_bytes = 8 << 20;  // an open file of this size is sealed
  // An ended task's log is sealed this long after its end, and its file goes.
  Duration settle = Duration::seconds(5);
};

class Ingest {
 public:
  Ingest(Context context, IngestOptions options);
  ~Ingest();

  // One sync of one task: `who` must be its task token. `frames` as in wire/sync.h. Returns once
  // all that the answer acknowledges is synced to disk. Never waits for news: see `newest`.
  Result<SyncAnswer> sync(const Identity& who, const std::string& task_id, const SyncHead& head,
                          std::string_view frames);
  // The answer to an empty sync without writing anything; the API waits on task_topic for it to
  // differ (stop, live values).
  Result<SyncAnswer> newest(const Identity& who, const std::string& task_id, const SyncHead& head);

  // Lines in the order of their seq. A segment that is damaged stands in the page as one line of
  // stream `hearth` that says so. The caller has checked who may read.
  Result<LogPage> read_log(const LogQuery& query);
  // What stands at a number, in a log of any length: the index of segments is asked, and the blocks
  // are read that hold it. Less than was asked for when it is over kMostShownBytes. Of the answer,
  // who the task is stays empty.
  Result<LogLines> read_lines(const LineQuery& query);
  // Compresses what is open of a task into an object and a row of log_segments; called by a loop.
  Result<void> seal(const std::string& task_id);
  // The thread that syncs logs (sync() needs it) and the one that seals and compacts.
  Result<void> start();
  void stop();
  // What the second thread does again and again, once, now.
  Result<void> tidy();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::control
