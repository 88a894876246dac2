// A job with one task that syncs, for the tests of ingest.
#pragma once

#include <algorithm>

#include "base/log.h"
#include "control/ingest/ingest.h"
#include "control/small_world_test.h"
#include "domain/dataset.h"
#include "track/log_frame.h"

namespace hearth::control {

class IngestTest : public ::testing::Test {
 protected:
  IngestTest() {
    run = world.add_run("fashion-1");
    Job job;
    job.id = run.job_id;
    job.name = "fashion-1";
    job.project = "default";
    job.owner = "ann";
    job.state = JobState::running;
    job.run_id = run.id;
    job.spec.outputs.checkpoints = CheckpointOutput{.path = "ckpt", .keep = 2};
    job.spec.datasets = {{.name = "mnist"}, {.path = "/data/imagenet"}};
    Attempt attempt;
    attempt.id = new_id();
    attempt.job_id = job.id;
    attempt.epoch = 2;
    attempt.project = "default";
    job.attempt_id = attempt.id;
    run.datasets = {{.name = "mnist"}, {.path = "/data/imagenet"}};
    world.write([&](db::Session& session) -> Result<void> {
      TRY(db::Table<hearth::Run>::update(session, run));
      TRY(db::Table<Attempt>::insert(session, attempt));
      return db::Table<Job>::insert(session, job);
    });
    job_id = job.id;
    attempt_id = attempt.id;
    task_id = add_task(0);
    open();
  }
  ~IngestTest() override {
    ingest.reset();
    set_log_sink({});
  }
  std::string add_task(int64_t rank) {
    Task task;
    task.id = new_id();
    task.attempt_id = attempt_id;
    task.job_id = job_id;
    task.project = "default";
    task.run_id = run.id;
    task.rank = rank;
    world.write([&](db::Session& s) { return db::Table<Task>::insert(s, task); });
    return task.id;
  }
  void open() {
    ingest.reset();
    ingest = std::make_unique<Ingest>(world.context(),
                                      IngestOptions{.directory = logs(), .seal_bytes = seal_bytes});
    // Only the thread that syncs matters here; tidy() is called by hand.
    need(ingest->start());
  }
  std::string logs() const { return world.folder.path() + "/logs"; }
  std::string frames_path() const { return logs() + "/" + task_id + ".frames"; }
  Identity shim() const {
    Identity who;
    who.kind = TokenKind::task;
    who.task_id = task_id;
    return who;
  }
  SyncHead head() const { return {.epoch = 2}; }
  Result<SyncAnswer> sync(SyncHead head, const Bytes& frames = {}) {
    head.log_bytes = static_cast<int64_t>(frames.size());
    return ingest->sync(shim(), task_id, head, as_text(frames));
  }
  Result<SyncAnswer> sync_state(int64_t seq, TaskState state) {
    SyncHead h = head();
    h.states.push_back({.seq = seq, .time = world.clock.now(), .state = state});
    return sync(h);
  }
  Result<SyncAnswer> sync_record(TaskRecord record) {
    SyncHead h = head();
    h.records.push_back(std::move(record));
    return sync(h);
  }
  // Lines as the shim would frame them, numbered from the last one on.
  Bytes frame(const std::vector<std::string>& lines, uint8_t flags = 0) {
    for (const std::string& line : lines) {
      if (writer.full()) writer.seal_to(pending);
      writer.append(world.clock.now(), track::Stream::out, flags, line);
    }
    writer.seal_to(pending);
    return std::exchange(pending, {});
  }
  template <typename T>
  T row(const std::string& id) {
    std::optional<T> found;
    need(world.database->read([&](db::Session& session) -> Result<void> {
      found = TRY(db::Table<T>::need(session, id));
      return {};
    }));
    return *found;
  }
  Task task() { return row<Task>(task_id); }
  hearth::Run the_run() { return row<hearth::Run>(run.id); }
  std::string put(const std::string& bytes) { return need(world.objects->put(bytes)).digest; }
  std::vector<std::string> events() {
    std::vector<std::string> kinds;
    need(world.database->read([&](db::Session& session) -> Result<void> {
      for (const Event& event : TRY(db::events_since(session, 0, 100'000)))
        kinds.push_back(event.kind);
      return {};
    }));
    return kinds;
  }
  int64_t events_of(const std::string& kind) { return std::ranges::count(events(), kind); }
  template <typename T>
  static Code code(const Result<T>& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? Code::internal : result.error().code;
  }
  static std::vector<std::string> texts(const LogPage& page) {
    std::vector<std::string> all;
    for (const LogLine& line : page.lines) all.push_back(line.text);
    return all;
  }
  // Every line, page by page.
  std::vector<std::string> all_lines(LogQuery query = {}) {
    query.task_id = task_id;
    std::vector<std::string> all;
    for (int pages = 0; pages < 100'000; ++pages) {
      const LogPage page = need(ingest->read_log(query));
      for (const LogLine& line : page.lines) {
        EXPECT_GT(line.seq, query.after_seq);
        all.push_back(line.text);
      }
      if (page.end || page.next_seq == query.after_seq) return all;
      query.after_seq = page.next_seq;
    }
    ADD_FAILURE() << "the pages have no end";
    return all;
  }

  SmallWorld world;
  hearth::Run run;
  std::string job_id, attempt_id, task_id;
  int64_t seal_bytes = int64_t{1} << 40;  // by hand alone
  track::FrameWriter writer;
  Bytes pending;
  std::unique_ptr<Ingest> ingest;
};

}  // namespace hearth::control
