// The metrics of the SQLite database.
#pragma once

#include "base/metrics.h"

namespace hearth::db {

struct Stats {
  Gauge& queue_length = metrics().gauge("hearth_db_queue_length", "Writes that wait for a commit");
  Gauge& queue_bound = metrics().gauge("hearth_db_queue_bound", "Most writes that may wait");
  Counter& commits = metrics().counter("hearth_db_commits_total", "Transactions made durable");
  Counter& writes = metrics().counter("hearth_db_writes_total", "Works of these transactions");
  Counter& failed_writes =
      metrics().counter("hearth_db_failed_writes_total", "Works that ended in an error");
  Histogram& batch = metrics().histogram("hearth_db_batch_works", "Works of one transaction",
                                         {1, 2, 4, 8, 16, 32, 64, 128, 256, 512});
  Histogram& sync = metrics().histogram("hearth_db_sync_seconds", "Time of one sync of a file",
                                        {.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3});
  Gauge& wal_bytes = metrics().gauge("hearth_db_wal_bytes", "Size of the write-ahead log in use");
  Gauge& wal_bound = metrics().gauge("hearth_db_wal_bound_bytes",
                                     "Size from which a checkpoint waits for readers");
  Gauge& readers = metrics().gauge("hearth_db_readers", "Read connections in use");
  Gauge& readers_bound = metrics().gauge("hearth_db_readers_bound", "Read connections at most");
};

}  // namespace hearth::db
