// What the parts of Ingest share.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "control/ingest/ingest.h"
#include "control/ingest/log_store.h"
#include "control/ingest/metric_store.h"

namespace hearth::control {

constexpr Duration kTidyPeriod = Duration::seconds(2);
constexpr size_t kMostCountedRuns = 100'000;  // runs whose new metric rows are counted

struct Ingest::State {
  State(Context the_context, IngestOptions the_options);

  Result<uint64_t> last_sealed(const std::string& task_id);
  Result<void> seal_open(const std::string& task_id);
  Result<void> compact_counted();
  Result<void> compact(const std::string& run_id, MetricKind kind);
  void count_rows(const std::string& run_id, int64_t rows);
  void run(Ingest& ingest);

  Context context;
  IngestOptions options;
  LogStore logs;

  std::mutex mutex;  // guards what follows
  std::condition_variable wake;
  bool running = false;
  std::set<std::string> sealing;            // tasks
  std::map<std::string, int64_t> new_rows;  // of metrics, by run
  std::thread thread;
};

}  // namespace hearth::control
