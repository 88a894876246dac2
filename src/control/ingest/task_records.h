// What a task reports, written down: metrics, samples, parameters, live values, checkpoints,
// artifacts, models. Objects are looked at before the transaction, rows are written in it.
//
// A record that cannot be kept (its object is not here, its path leaves the run) is refused: it is
// acknowledged, so that it never blocks those behind it, named in SyncAnswer::refused, and an event
// `run.record_refused` tells everybody else.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "control/context.h"
#include "domain/job.h"
#include "domain/run.h"
#include "domain/wire/sync.h"

namespace hearth::control {

constexpr size_t kMostManifestBytes = 64 << 20;
constexpr size_t kMostRunParams = 10'000;
constexpr size_t kMostRunModels = 10'000;

// What a record's objects are.
struct RecordObjects {
  std::string refused;  // why the record cannot be kept; "" if it can
  std::vector<std::string> digests;
  int64_t size_bytes = 0;
};
using ObjectsOfRecords = std::map<int64_t, RecordObjects>;  // by seq of the record

// Looks up the objects that the records name, those of manifests included.
Result<ObjectsOfRecords> look_up_objects(objects::Objects& objects,
                                         std::span<const TaskRecord> records);

// What a sync changed, to notify whoever waits for it.
struct SyncChanges {
  bool task = false, run = false, events = false;
  int64_t metric_rows = 0;
  std::vector<RefusedRecord> refused;
};

// Inside a write: the records whose seq is above `mark`; returns the new mark. `run` is written by
// the caller when changes.run.
Result<int64_t> apply_records(db::Session& session, Context& context, const Task& task,
                              const Job& job, Run& run, std::span<const TaskRecord> records,
                              int64_t mark, const ObjectsOfRecords& objects, SyncChanges& changes);

// Inside a write: moves the task forward by the states whose seq is above `mark`; returns the new
// mark. Task and run are written by the caller when changes say so. An ended task stays as it is.
Result<int64_t> apply_states(db::Session& session, Context& context, Task& task, const Job& job,
                             Run& run, std::span<const StateRecord> states, int64_t mark,
                             SyncChanges& changes);

}  // namespace hearth::control
