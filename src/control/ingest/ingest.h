// What shims send: states, records and log lines, durable before they are acknowledged; and the
// reading side of logs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/context.h"
#include "domain/identity.h"
#include "domain/wire/sync.h"

namespace hearth::control {

struct LogQuery {
  std::string task_id;
  int64_t after_seq = 0;  // lines with a greater seq
  std::optional<Time> since;
  std::string grep;           // RE2
  int64_t most_lines = 1000;  // bound 100,000
  size_t most_bytes = 4 << 20;
};
struct LogLine {
  int64_t seq = 0;
  Time time;
  std::string stream;  // stdout, stderr, hearth
  std::string text;    // bytes as written, without the LF
};
struct LogPage {
  std::vector<LogLine> lines;
  int64_t next_seq = 0;  // give as after_seq to go on
  bool end = false;      // the task has ended and this was all
};

struct IngestOptions {
  std::string directory;  // open segments: directory/TASK.frames
  int64_t seal_bytes = 8 << 20;
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

  Result<LogPage> read_log(const LogQuery& query);
  // Seals what is open of ended tasks, compresses segments into objects; called by a loop.
  Result<void> seal(const std::string& task_id);
  void start();  // background sealing
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::control
