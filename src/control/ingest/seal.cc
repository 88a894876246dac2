// The background half of ingest: open logs become segments, small metric rows become packs.
#include "base/format.h"
#include "base/id.h"
#include "base/log.h"
#include "control/ingest/state.h"
#include "db/tables.h"
#include "track/segment.h"

namespace hearth::control {
namespace {

// Writes the frames as a segment into a new file.
Result<track::SegmentInfo> write_segment(std::span<const std::byte> frames,
                                         const std::string& path) {
  if (os::exists(path)) TRY(os::remove_file(path));  // of a sealing that was cut off
  os::File file = TRY(os::File::create_new(path));
  track::SegmentBuilder builder(
      [&](std::span<const std::byte> bytes) { return file.write(as_text(bytes)); });
  TRY(track::each_frame(frames, [&](const track::Frame& frame) { return builder.add(frame); }));
  return builder.finish();
}

Result<void> insert_segment(db::Session& session, const std::string& task_id,
                            const track::SegmentInfo& info, const objects::Stored& stored,
                            Time now) {
  bool there = false;
  TRY(session.query("SELECT 1 FROM tasks WHERE id = $1", {task_id},
                    [&](const db::Row&) -> Result<void> {
                      there = true;
                      return {};
                    }));
  if (!there) return Error::not_found(format("task '{}' does not exist", task_id));
  TRY(session.execute(
      "INSERT INTO log_segments (task_id, first_seq, last_seq, lines, first_time, last_time, "
      "digest, size_bytes, raw_bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
      {task_id, static_cast<int64_t>(info.first_seq), static_cast<int64_t>(info.last_seq),
       static_cast<int64_t>(info.records), info.first_time.micros, info.last_time.micros,
       stored.digest, stored.size_bytes, static_cast<int64_t>(info.text_bytes)}));
  return db::pin(session, stored.digest, "log:" + task_id, now);
}

}  // namespace

Result<uint64_t> Ingest::State::last_sealed(const std::string& task_id) {
  uint64_t last = 0;
  TRY(context.database.read([&](db::Session& session) {
    return session.query("SELECT MAX(last_seq) FROM log_segments WHERE task_id = $1", {task_id},
                         [&](const db::Row& row) -> Result<void> {
                           if (!row.null(0)) last = static_cast<uint64_t>(row.integer(0));
                           return {};
                         });
  }));
  return last;
}

// Each step may be the last one before a crash: until the row is there the open file has it all,
// then both have (readers and load() go by seq), then the file is cut.
Result<void> Ingest::State::seal_open(const std::string& task_id) {
  const LogStore::Taken taken = TRY(logs.take(task_id));
  if (taken.frames.empty()) return logs.cut(task_id, TRY(last_sealed(task_id)));
  const std::string path = format("{}/{}.sealing", options.directory, task_id);
  const track::SegmentInfo info = TRY(write_segment(taken.frames, path));
  const objects::Stored stored = TRY(context.objects.put_file(path, "", true));
  const auto written = context.database.write([&](db::Session& session) {
    return insert_segment(session, task_id, info, stored, context.clock.now());
  });
  if (!written.ok() && written.error().code == Code::not_found) return logs.drop(task_id);
  TRY(written);
  return logs.cut(task_id, taken.last_seq);
}

Result<void> Ingest::seal(const std::string& task_id) {
  {
    std::unique_lock lock(state_->mutex);
    state_->wake.wait(lock, [&] { return !state_->sealing.contains(task_id); });
    state_->sealing.insert(task_id);
  }
  auto sealed = state_->seal_open(task_id);
  {
    const std::lock_guard lock(state_->mutex);
    state_->sealing.erase(task_id);
  }
  state_->wake.notify_all();
  return sealed;
}

void Ingest::State::count_rows(const std::string& run_id, int64_t rows) {
  if (rows == 0) return;
  const std::lock_guard lock(mutex);
  if (new_rows.size() >= kMostCountedRuns) new_rows.clear();
  new_rows[run_id] += rows;
}

Result<void> Ingest::State::compact(const std::string& run_id, MetricKind kind) {
  return compact_run(context.database, run_id, kind,
                     [this] { return new_id(context.clock, context.random); });
}

Result<void> Ingest::State::compact_counted() {
  std::vector<std::string> due;
  {
    const std::lock_guard lock(mutex);
    std::erase_if(new_rows, [&](const auto& entry) {
      if (entry.second < kCompactRows) return false;
      due.push_back(entry.first);
      return true;
    });
  }
  for (const std::string& run_id : due)
    for (const MetricKind kind : {MetricKind::metric, MetricKind::system})
      TRY(compact(run_id, kind));
  return {};
}

// An open log that is large is sealed; that of an ended task too, then its file goes.
Result<void> Ingest::tidy() {
  State& state = *state_;
  if (const std::string why = state.context.database.refusing(); !why.empty())
    return Error::unavailable(why);
  const auto open = TRY(state.logs.list());
  std::map<std::string, Task> tasks;
  if (!open.empty())
    TRY(state.context.database.read([&](db::Session& session) -> Result<void> {
      tasks.clear();
      for (const auto& [task_id, bytes] : open)
        if (auto task = TRY(db::Table<Task>::get(session, task_id)))
          tasks.emplace(task_id, std::move(*task));
      return {};
    }));
  for (const auto& [task_id, bytes] : open) {
    const auto task = tasks.find(task_id);
    const bool there = task != tasks.end();
    bool settled = false;
    if (there && finished(task->second.state)) {
      // Below 0: the clock was set back since.
      const Duration since = state.context.clock.now() - task->second.finished_at;
      settled = since >= state.options.settle || since < Duration{0};
    }
    if (!there || (settled && bytes == 0))
      TRY(state.logs.drop(task_id));
    else if (bytes >= state.options.seal_bytes || settled)
      TRY(seal(task_id));
    // What was counted before a restart is merged at the latest now.
    if (settled && bytes == 0)
      for (const MetricKind kind : {MetricKind::metric, MetricKind::system})
        TRY(state.compact(task->second.run_id, kind));
  }
  return state.compact_counted();
}

void Ingest::State::run(Ingest& ingest) {
  std::string last;
  std::unique_lock lock(mutex);
  while (running) {
    lock.unlock();
    const auto done = ingest.tidy();
    // Once, not every two seconds, while it lasts.
    const std::string text = done.ok() ? "" : done.error().text();
    if (!text.empty() && text != last) log_error("sealing logs: {}", text);
    last = text;
    lock.lock();
    wake.wait_for(lock, kTidyPeriod.chrono(), [&] { return !running; });
  }
}

}  // namespace hearth::control
