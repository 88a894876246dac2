// The shim protocol: POST /api/v1/tasks/ID/sync, the only call of a shim besides objects.
//
// Request body (application/x-hearth-sync): one line of JSON (SyncHead) ended by LF, then
// `log_bytes` bytes of log frames (track/log_frame.h), exactly as they lie in the shim's spool.
// Answer: SyncAnswer as JSON; 2xx is sent after the fsync that holds what it acknowledges.
// State, records and log lines each have a seq of their own from 1 on; the server ignores what it
// already has and acknowledges its high-water marks. An older epoch is answered `gone`: the shim
// ends its task. With nothing to send, the request waits for up to wait_seconds.
//
// Each request says in which version of the protocol it is written and which ones the shim speaks;
// the answer says in which the next one is to be written (wire/protocol.h). A request in a version
// that the server does not speak is answered `unsupported`: the shim tries the version below.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/job.h"
#include "domain/wire/protocol.h"

namespace hearth {

constexpr size_t kMostSyncBytes = 8 << 20;
constexpr int kMostSyncRecords = 10'000;

// A change of the task's state, as the shim saw it.
struct StateRecord {
  int64_t seq = 0;
  Time time;
  TaskState state = TaskState::preparing;
  std::optional<int64_t> exit_code;
  std::optional<Failure> failure;
  std::string limits;  // how memory is limited: "cgroup v1", "cgroup v2", "watched"
  std::map<std::string, std::string> environment;  // interpreter, packages, machine
  std::vector<std::string> dataset_fingerprints;   // of `path` datasets, in the spec's order
  bool operator==(const StateRecord&) const = default;
};
template <>
struct Describe<StateRecord> {
  static constexpr std::string_view name = "StateRecord", doc = "A change of a task's state.";
  static void fields(Fields<StateRecord>& f) {
    f("seq", &StateRecord::seq, "from 1").required().min(1);
    f("time", &StateRecord::time, "when");
    f("state", &StateRecord::state, "the new state").required();
    f("exit_code", &StateRecord::exit_code, "of the process");
    f("failure", &StateRecord::failure, "how it failed");
    f("limits", &StateRecord::limits, "how memory is limited").max(256);
    f("environment", &StateRecord::environment, "what it runs on").max(256);
    f("dataset_fingerprints", &StateRecord::dataset_fingerprints, "of path datasets").max(1024);
  }
};

// What a metric record says in `text` when it was read out of a log line: the server leaves it out
// where a client (MLflow's) logs metrics to the run.
constexpr std::string_view kFromLog = "log";

// What the job's process or the shim reported; one kind's fields are set.
//   metric: step, values, text ("log": read out of a log line)     sample: values (cpu_seconds,
//   memory_bytes, io_read_bytes, gpu.<n>.*) params: texts            live: name, text (the value),
//   version, step checkpoint: step, digest (of the stored manifest), size_bytes artifact: path,
//   digest, size_bytes, kind_of_artifact, step model: path, name, digest, size_bytes, directory
struct TaskRecord {
  int64_t seq = 0;
  std::string kind;
  Time time;
  std::optional<int64_t> step;
  std::map<std::string, double> values;
  std::map<std::string, std::string> texts;
  std::string name, text, path, digest, kind_of_artifact;
  int64_t version = 0;
  int64_t size_bytes = 0;
  bool directory = false;
  bool operator==(const TaskRecord&) const = default;
};
template <>
struct Describe<TaskRecord> {
  static constexpr std::string_view name = "TaskRecord", doc = "One report of a task.";
  static void fields(Fields<TaskRecord>& f) {
    f("seq", &TaskRecord::seq, "from 1").required().min(1);
    f("kind", &TaskRecord::kind, "metric, sample, params, live, checkpoint, artifact or model")
        .required();
    f("time", &TaskRecord::time, "when");
    f("step", &TaskRecord::step, "training step");
    f("values", &TaskRecord::values, "numbers by name").max(10'000);
    f("texts", &TaskRecord::texts, "texts by name").max(10'000);
    f("name", &TaskRecord::name, "of the thing").max(1024);
    f("text", &TaskRecord::text, "value").max(65'536);
    f("path", &TaskRecord::path, "relative path").max(4096);
    f("digest", &TaskRecord::digest, "object").max(128);
    f("kind_of_artifact", &TaskRecord::kind_of_artifact,
      "file, image, table, curve, text, histogram")
        .max(32);
    f("version", &TaskRecord::version, "of a live parameter");
    f("size_bytes", &TaskRecord::size_bytes, "length").min(0);
    f("directory", &TaskRecord::directory, "the digest is that of a manifest");
  }
};

struct SyncHead {
  int64_t protocol = 1;  // this and the next two: SyncHello
  int64_t oldest_protocol = 0, newest_protocol = 0;
  int64_t epoch = 1;
  double wait_seconds = 0;   // 0..30; only honoured when there is nothing else in the request
  int64_t live_version = 0;  // newest live parameters the shim has
  std::vector<StateRecord> states;
  std::vector<TaskRecord> records;
  int64_t log_bytes = 0;
  SyncHello hello() const { return {protocol, oldest_protocol, newest_protocol}; }
  bool operator==(const SyncHead&) const = default;
};
template <>
struct Describe<SyncHead> {
  static constexpr std::string_view name = "SyncHead", doc = "First line of a sync request.";
  static void fields(Fields<SyncHead>& f) {
    f("protocol", &SyncHead::protocol, "version it is written in").required();
    f("oldest_protocol", &SyncHead::oldest_protocol, "oldest version that the shim speaks");
    f("newest_protocol", &SyncHead::newest_protocol, "newest version that the shim speaks");
    f("epoch", &SyncHead::epoch, "fence").required();
    f("wait_seconds", &SyncHead::wait_seconds, "how long an empty sync may wait").min(0).max(30);
    f("live_version", &SyncHead::live_version, "newest live parameters the shim has");
    f("states", &SyncHead::states, "state changes").max(1000);
    f("records", &SyncHead::records, "reports").max(kMostSyncRecords);
    f("log_bytes", &SyncHead::log_bytes, "bytes of frames behind this line")
        .min(0)
        .max(kMostSyncBytes);
  }
};

struct LiveValue {
  AnyJson value;
  int64_t version = 0;
  std::optional<int64_t> at_step;
  bool operator==(const LiveValue&) const = default;
};
template <>
struct Describe<LiveValue> {
  static constexpr std::string_view name = "LiveValue", doc = "A live parameter's wanted value.";
  static void fields(Fields<LiveValue>& f) {
    f("value", &LiveValue::value, "wanted");
    f("version", &LiveValue::version, "counts changes");
    f("at_step", &LiveValue::at_step, "counts from this step on, on every rank");
  }
};

// A record that is acknowledged but was not kept: its object is not there, its path leaves the
// run...
struct RefusedRecord {
  int64_t seq = 0;
  std::string text;  // why, in words
  bool operator==(const RefusedRecord&) const = default;
};
template <>
struct Describe<RefusedRecord> {
  static constexpr std::string_view name = "RefusedRecord", doc = "A record that was not kept.";
  static void fields(Fields<RefusedRecord>& f) {
    f("seq", &RefusedRecord::seq, "of the record");
    f("text", &RefusedRecord::text, "why");
  }
};

struct SyncAnswer {
  int64_t protocol = 0;  // to write the next request in; 0: not said, as servers of version 1 may
  Marks acknowledged;
  std::vector<RefusedRecord> refused;  // of this request
  bool stop = false;                   // end the task
  std::string stop_class;              // cancelled, time_limit, preemption, lost
  double grace_seconds = 10;
  int64_t live_version = 0;
  std::map<std::string, LiveValue> live;  // all of them when live_version is newer than the shim's
  bool operator==(const SyncAnswer&) const = default;
};
template <>
struct Describe<SyncAnswer> {
  static constexpr std::string_view name = "SyncAnswer", doc = "Answer to a sync request.";
  static void fields(Fields<SyncAnswer>& f) {
    f("protocol", &SyncAnswer::protocol, "version to write the next request in");
    f("acknowledged", &SyncAnswer::acknowledged, "what is durable");
    f("refused", &SyncAnswer::refused, "records of this request that were not kept");
    f("stop", &SyncAnswer::stop, "end the task");
    f("stop_class", &SyncAnswer::stop_class, "why");
    f("grace_seconds", &SyncAnswer::grace_seconds, "between SIGTERM and SIGKILL");
    f("live_version", &SyncAnswer::live_version, "of the live parameters");
    f("live", &SyncAnswer::live, "live parameters by name");
  }
};

}  // namespace hearth
