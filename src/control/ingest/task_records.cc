#include "control/ingest/task_records.h"

#include <algorithm>

#include "base/format.h"
#include "base/id.h"
#include "base/units.h"
#include "control/emit.h"
#include "control/ingest/metric_store.h"
#include "domain/dataset.h"
#include "domain/model.h"

namespace hearth::control {
namespace {

constexpr size_t kMostPathBytes = 4096;
constexpr size_t kMostNameBytes = 128;
constexpr int64_t kCheckpointsKept = 3;  // when the job file does not say

// A relative path of plain parts, as the run shows it.
bool safe_path(std::string_view path) {
  if (path.empty() || path.size() > kMostPathBytes || path.front() == '/' || !is_utf8(path))
    return false;
  if (path.find('\0') != std::string_view::npos) return false;
  return std::ranges::none_of(
      split(path, '/'), [](std::string_view p) { return p.empty() || p == "." || p == ".."; });
}

bool names_object(const TaskRecord& record) {
  return record.kind == "checkpoint" || record.kind == "artifact" || record.kind == "model";
}

// Adds an object that must be here; false (and why) if it is not.
Result<bool> add_object(objects::Objects& objects, const std::string& digest, RecordObjects& to) {
  if (!is_digest(digest)) {
    to.refused = format("'{}' is no digest", digest.substr(0, kMostNameBytes));
    return false;
  }
  if (std::ranges::find(to.digests, digest) != to.digests.end()) return true;
  const auto size = TRY(objects.have(digest));
  if (!size) {
    to.refused = format("object {} is not here; upload it first", digest);
    return false;
  }
  to.digests.push_back(digest);
  to.size_bytes += *size;
  return true;
}

Result<void> add_manifest(objects::Objects& objects, const std::string& digest, RecordObjects& to) {
  if (!TRY(add_object(objects, digest, to))) return {};
  const auto text = objects.get(digest, 0, -1);
  const auto manifest = text.ok() ? from_json<Manifest>(*text, Origin::client, kMostManifestBytes)
                                  : Result<Manifest>(text.error());
  if (!manifest.ok()) {
    to.refused = format("manifest {} cannot be read: {}", digest, manifest.error().detail);
    return {};
  }
  to.size_bytes = 0;
  for (const ManifestFile& file : manifest->files) {
    if (!safe_path(file.path)) {
      to.refused = format("manifest {} has a path that leaves its directory", digest);
      return {};
    }
    if (!TRY(add_object(objects, file.digest, to))) return {};
  }
  return {};
}

// Writes what one task reports.
class RecordWriter {
 public:
  RecordWriter(db::Session& session, Context& context, const Task& task, const Job& job, Run& run,
               SyncChanges& changes)
      : session_(session),
        context_(context),
        task_(task),
        job_(job),
        run_(run),
        changes_(changes),
        now_(context.clock.now()) {}

  Result<void> add(const TaskRecord& record, const RecordObjects* objects) {
    if (objects != nullptr && objects->refused.empty())
      for (const std::string& digest : objects->digests)
        if (TRY(dying(digest)))
          return refuse(record, format("object {} is being collected; upload it again", digest));
    if (objects != nullptr && !objects->refused.empty()) return refuse(record, objects->refused);
    if (record.kind == "metric") {
      // Out of a log line, of a script that logs by a client: it would be charted twice.
      if (record.text == kFromLog && TRY(client_logs())) return {};
      return add_values(record, "", metrics_);
    }
    if (record.kind == "sample")
      return add_values(record, format("system/{}-{}/", task_.role, task_.rank), samples_);
    if (record.kind == "params") return add_params(record);
    if (record.kind == "live") return add_live(record);
    if (record.kind == "checkpoint") return add_checkpoint(record, *objects);
    if (record.kind == "artifact") return add_artifact(record, *objects);
    if (record.kind == "model") return add_model(record, *objects);
    return refuse(record, format("its kind '{}' is unknown", record.kind.substr(0, 64)));
  }

  // The points that add() collected, a row for each kind.
  Result<void> write_points() {
    if (metrics_.points() + samples_.points() == 0) return {};
    PointSource source{.task_id = task_.id, .rank = task_.rank};
    TRY(session_.query("SELECT number FROM attempts WHERE id = $1", {task_.attempt_id},
                       [&](const db::Row& row) -> Result<void> {
                         source.attempt = row.integer(0);
                         return {};
                       }));
    for (const auto& [kind, points] :
         {std::pair(MetricKind::metric, &metrics_), std::pair(MetricKind::system, &samples_)}) {
      if (points->points() == 0) continue;
      const std::string id = new_id(context_.clock, context_.random);
      const auto refused =
          TRY(add_points(session_, task_.run_id, source, kind, points->take(), id));
      ++changes_.metric_rows;
      if (kind == MetricKind::metric) TRY(db::note_run_change(session_, task_.run_id, id));
      for (const std::string& key : refused)
        TRY(refuse(last_, format("metric '{}': its name is empty or longer than a key may be, or "
                                 "the run has {} keys already",
                                 key.substr(0, kMostNameBytes), kMostMetricKeys)));
    }
    return {};
  }

 private:
  Actor actor() const { return {.kind = "task", .name = task_.id}; }
  Result<void> tell(const std::string& kind, const std::string& id, int64_t version,
                    std::string changed) {
    changes_.events = true;
    TRY(emit(session_, context_.clock, actor(), task_.project, kind, id, version,
             std::move(changed)));
    return {};
  }
  Result<void> refuse(const TaskRecord& record, const std::string& why) {
    changes_.refused.push_back({record.seq, why});
    return tell("run.record_refused", task_.run_id, run_.version,
                format(R"({{"kind":{},"reason":{}}})", json_quote(record.kind), json_quote(why)));
  }
  // Whether a client of its own (MLflow's) has logged metrics to the run.
  Result<bool> client_logs() {
    if (client_logs_) return *client_logs_;
    client_logs_ = false;
    TRY(
        session_.query("SELECT 1 FROM metric_batches WHERE run_id = $1 AND attempt = 0 AND "
                       "kind IN ('metric', 'metric_pack') LIMIT 1",
                       {task_.run_id}, [&](const db::Row&) -> Result<void> {
                         client_logs_ = true;
                         return {};
                       }));
    return *client_logs_;
  }
  Result<bool> dying(const std::string& digest) {
    bool found = false;
    TRY(session_.query("SELECT 1 FROM dying_objects WHERE digest = $1", {digest},
                       [&](const db::Row&) -> Result<void> {
                         found = true;
                         return {};
                       }));
    return found;
  }
  Result<void> pin_all(const RecordObjects& objects, const std::string& holder) {
    for (const std::string& digest : objects.digests) TRY(db::pin(session_, digest, holder, now_));
    return {};
  }

  Result<void> add_values(const TaskRecord& record, const std::string& prefix, PointCollector& to) {
    last_ = TaskRecord{.seq = record.seq, .kind = record.kind};
    const Time time = record.time.micros != 0 ? record.time : now_;
    for (const auto& [key, value] : record.values)
      if (key.find(kKeyMark) != std::string::npos)
        TRY(refuse(record, "the name of a metric has a control character"));
      else
        to.add(prefix + key, {record.step.value_or(0), time, value});
    return {};
  }
  Result<void> add_params(const TaskRecord& record);
  Result<void> add_live(const TaskRecord& record);
  Result<void> add_checkpoint(const TaskRecord& record, const RecordObjects& objects);
  Result<void> prune_checkpoints();
  Result<void> add_artifact(const TaskRecord& record, const RecordObjects& objects);
  Result<void> add_model(const TaskRecord& record, const RecordObjects& objects);

  db::Session& session_;
  Context& context_;
  const Task& task_;
  const Job& job_;
  Run& run_;
  SyncChanges& changes_;
  const Time now_;
  PointCollector metrics_, samples_;
  std::optional<bool> client_logs_;
  TaskRecord last_;
};

// Write-once: what the run has stays.
Result<void> RecordWriter::add_params(const TaskRecord& record) {
  for (const auto& [key, value] : record.texts) {
    if (run_.params.contains(key)) continue;
    if (run_.params.size() >= kMostRunParams)
      return refuse(record, format("the run has {} parameters already", kMostRunParams));
    run_.params.emplace(key, value);
    run_.given_params.push_back(key);  // in the SDK's words; a client of its own has others
    changes_.run = true;
  }
  return {};
}

Result<void> RecordWriter::add_live(const TaskRecord& record) {
  const auto value = parse_json(record.text);
  const Time at = record.time.micros != 0 ? record.time : now_;
  // The first process that uses it says since when; a later attempt begins with it.
  TRY(session_.execute(
      "UPDATE live_history SET step = CASE WHEN applied_at = 0 THEN $4 ELSE step END, "
      "applied_at = CASE WHEN applied_at = 0 THEN $5 ELSE applied_at END, "
      "applied_by = applied_by + 1 WHERE run_id = $1 AND version = $2 AND name = $3",
      {task_.run_id, record.version, record.name,
       record.step ? db::Value(*record.step) : db::Value(), at.micros}));
  return tell(
      "run.live_applied", task_.run_id, run_.version,
      format(R"({{"name":{},"value":{},"version":{},"step":{},"rank":{}}})",
             json_quote(record.name), value.ok() ? record.text : json_quote(record.text),
             record.version, record.step ? std::to_string(*record.step) : "null", task_.rank));
}

Result<void> RecordWriter::add_checkpoint(const TaskRecord& record, const RecordObjects& objects) {
  Checkpoint checkpoint;
  checkpoint.id = new_id(context_.clock, context_.random);
  checkpoint.job_id = task_.job_id;
  checkpoint.attempt_id = task_.attempt_id;
  checkpoint.task_id = task_.id;
  checkpoint.run_id = task_.run_id;
  checkpoint.project = task_.project;
  checkpoint.manifest_digest = record.digest;
  checkpoint.step = record.step.value_or(0);
  checkpoint.size_bytes = objects.size_bytes;
  checkpoint.created_at = now_;
  TRY(db::Table<Checkpoint>::insert(session_, checkpoint));
  TRY(pin_all(objects, "checkpoint:" + checkpoint.id));
  TRY(tell("checkpoint.added", checkpoint.id, checkpoint.version,
           format(R"({{"job_id":"{}","run_id":"{}","step":{},"size_bytes":{}}})", task_.job_id,
                  task_.run_id, checkpoint.step, checkpoint.size_bytes)));
  return prune_checkpoints();
}

// The newest stay: by attempt and time, as a job that went back to an older step goes on from
// there.
Result<void> RecordWriter::prune_checkpoints() {
  const auto& output = job_.spec.outputs.checkpoints;
  const auto keep =
      static_cast<size_t>(std::max(output ? output->keep : kCheckpointsKept, int64_t{1}));
  const auto all = TRY(db::Table<Checkpoint>::select(
      session_, "WHERE job_id = $1 ORDER BY created_at DESC, id DESC", {task_.job_id}));
  for (size_t i = keep; i < all.size(); ++i) {
    TRY(db::unpin(session_, "checkpoint:" + all[i].id));
    TRY(db::Table<Checkpoint>::remove(session_, all[i].id));
    TRY(tell("checkpoint.removed", all[i].id, all[i].version + 1,
             format(R"({{"job_id":"{}","step":{}}})", task_.job_id, all[i].step)));
  }
  return {};
}

Result<void> RecordWriter::add_artifact(const TaskRecord& record, const RecordObjects& objects) {
  if (!safe_path(record.path))
    return refuse(record, format("artifact path '{}' is not a plain relative path",
                                 record.path.substr(0, kMostNameBytes)));
  auto found = TRY(db::Table<Artifact>::find(session_, "WHERE run_id = $1 AND path = $2",
                                             {task_.run_id, record.path}));
  const bool is_new = !found;
  Artifact artifact = found.value_or(Artifact{});
  artifact.digest = record.digest;
  artifact.kind = record.kind_of_artifact.empty() ? "file" : record.kind_of_artifact;
  artifact.size_bytes = objects.size_bytes;
  artifact.created_at = now_;
  if (is_new) {
    artifact.id = new_id(context_.clock, context_.random);
    artifact.run_id = task_.run_id;
    artifact.project = task_.project;
    artifact.path = record.path;
    TRY(db::Table<Artifact>::insert(session_, artifact));
  } else {
    TRY(db::Table<Artifact>::update(session_, artifact));
    TRY(db::unpin(session_, "artifact:" + artifact.id));
  }
  TRY(pin_all(objects, "artifact:" + artifact.id));
  return tell(is_new ? "artifact.added" : "artifact.changed", artifact.id, artifact.version,
              format(R"({{"run_id":"{}","path":{},"size_bytes":{}}})", task_.run_id,
                     json_quote(artifact.path), artifact.size_bytes));
}

Result<void> RecordWriter::add_model(const TaskRecord& record, const RecordObjects& objects) {
  if (!is_model_name(record.name))
    return refuse(record, format("'{}' is no name of a model: {}",
                                 record.name.substr(0, kMostNameBytes), kModelNameWords));
  auto model = TRY(db::Table<Model>::find(session_, "WHERE project = $1 AND name = $2",
                                          {task_.project, record.name}));
  if (!model) {
    model.emplace();
    model->id = new_id(context_.clock, context_.random);
    model->name = record.name;
    model->project = task_.project;
    model->created_at = now_;
    model->versions = 1;
    TRY(db::Table<Model>::insert(session_, *model));
  } else {
    ++model->versions;
    TRY(db::Table<Model>::update(session_, *model));
  }
  ModelVersion version;
  version.id = new_id(context_.clock, context_.random);
  version.model = record.name;
  version.project = task_.project;
  version.number = model->versions;
  version.digest = record.digest;
  version.directory = record.directory;
  version.file_name = record.path.substr(record.path.rfind('/') + 1);
  version.size_bytes = objects.size_bytes;
  version.run_id = task_.run_id;
  version.job_id = task_.job_id;
  version.created_by = job_.owner;
  version.created_at = now_;
  TRY(db::Table<ModelVersion>::insert(session_, version));
  TRY(pin_all(objects, "model:" + version.id));
  if (run_.models.size() < kMostRunModels) {
    run_.models.push_back(format("{}@{}", version.model, version.number));
    changes_.run = true;
  }
  return tell("model.version_added", version.id, version.version,
              format(R"({{"model":{},"number":{},"run_id":"{}","digest":"{}"}})",
                     json_quote(version.model), version.number, task_.run_id, version.digest));
}

}  // namespace

Result<ObjectsOfRecords> look_up_objects(objects::Objects& objects,
                                         std::span<const TaskRecord> records) {
  ObjectsOfRecords all;
  for (const TaskRecord& record : records) {
    if (!names_object(record)) continue;
    RecordObjects& of = all[record.seq];
    const bool manifest =
        record.kind == "checkpoint" || (record.kind == "model" && record.directory);
    if (manifest)
      TRY(add_manifest(objects, record.digest, of));
    else
      TRY(add_object(objects, record.digest, of));
  }
  return all;
}

Result<int64_t> apply_records(db::Session& session, Context& context, const Task& task,
                              const Job& job, Run& run, std::span<const TaskRecord> records,
                              int64_t mark, const ObjectsOfRecords& objects, SyncChanges& changes) {
  RecordWriter writer(session, context, task, job, run, changes);
  for (const TaskRecord& record : records) {
    if (record.seq <= mark) continue;
    mark = record.seq;
    const auto at = objects.find(record.seq);
    TRY(writer.add(record, at == objects.end() ? nullptr : &at->second));
  }
  TRY(writer.write_points());
  return mark;
}

}  // namespace hearth::control
