// The power goes while points of metrics come in from clients and from shims, are merged, put into
// columns and, with their runs, collected. The data directory is rebuilt as a disk might then hold
// it, at hundreds of points; whoever opens it must have each acknowledged point once, summaries
// that say the same as the points, and deleted runs whole or not at all. And the suite must see a
// sync that is left out.
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <thread>

#include "base/log.h"
#include "control/ingest/ingest.h"
#include "control/ingest/metric_store.h"
#include "control/power_loss_files_test.h"
#include "control/retention/retention.h"
#include "control/small_world_test.h"
#include "control/tracking/blocks.h"
#include "control/tracking/tracking.h"

namespace hearth::control {
namespace {

constexpr int kClients = 9;         // runs of clients; each third is deleted and collected
constexpr int kClientBatches = 70;  // of each: more than are merged at once
constexpr int kTaskBatches = 40;    // of each attempt of the job
constexpr int64_t kResumedAt = 60;  // the step from which the second attempt goes on
constexpr int64_t kBlock = 2;       // runs put into columns together
constexpr Duration kKeepDeleted = Duration::seconds(1), kGrace = Duration::seconds(1);
constexpr Duration kLong = Duration::seconds(86400);

// The services that points pass through, on a data directory.
struct Machine {
  explicit Machine(const std::string& root, const std::string& vfs = "")
      : database(need(db::open_sqlite({.path = root + "/hearth.db",
                                       .checkpoint_pages = 100,  // often: they are looked at too
                                       .clock = &clock,
                                       .base_vfs = vfs}))),
        objects(need(objects::DirectoryObjects::open(root + "/objects"))) {
    need(database->migrate());
    need(os::make_directories(root + "/logs", 0700, os::Sync::yes));
    access = std::make_unique<Access>(context(), Bytes(32, std::byte{7}));
    ingest = std::make_unique<Ingest>(context(), IngestOptions{.directory = root + "/logs"});
    need(ingest->start());
    tracking = std::make_unique<Tracking>(context(), *access,
                                          TrackingOptions{.keep_deleted = kKeepDeleted});
    retention = std::make_unique<Retention>(context(), RetentionOptions{.object_grace = kGrace});
  }
  ~Machine() { ingest->stop(); }
  Context context() { return {*database, *objects, signals, clock, system_random()}; }
  // What the background does again and again, with columns for few runs.
  void upkeep() {
    need(tracking->tidy());
    need(seal_blocks(*database, kBlock));
    need(drop_blocks(*database));
  }

  TestClock clock;
  Signals signals;
  std::unique_ptr<db::Database> database;
  std::unique_ptr<objects::Objects> objects;
  std::unique_ptr<Access> access;
  std::unique_ptr<Ingest> ingest;
  std::unique_ptr<Tracking> tracking;
  std::unique_ptr<Retention> retention;
};

struct Logged {
  std::string key;
  track::Point point;
  int64_t attempt = 0;
};
using Points = std::map<std::string, std::vector<Logged>>;

// What was sent of one run, batch by batch. Each batch has one point of the key "n", whose value is
// the batch's number.
struct Sent {
  std::string id;
  std::vector<std::vector<Logged>> batches;
  std::vector<std::string> objects;  // of its files, as digests
  std::vector<std::string> files;    // as ids
  bool params = false;               // a param with each batch
};

// What had been acknowledged at some point.
struct Acknowledged {
  std::map<std::string, size_t> batches;  // by run
  std::set<std::string> deleting, deleted, gone;
};

// The points that count: what a later attempt has overtaken does not.
Points settled(const Sent& sent, size_t batches) {
  Points points;
  for (size_t i = 0; i < batches; ++i)
    for (const Logged& one : sent.batches[i]) points[one.key].push_back(one);
  for (auto& [key, all] : points) {
    int64_t resumed = INT64_MAX;
    for (const Logged& one : all)
      if (one.attempt == 2) resumed = std::min(resumed, one.point.step);
    std::erase_if(all,
                  [&](const Logged& one) { return one.attempt == 1 && one.point.step >= resumed; });
    std::ranges::sort(
        all, [](const Logged& a, const Logged& b) { return track::before(a.point, b.point); });
  }
  return points;
}

class TrackingPowerLossTest : public ::testing::Test {
 protected:
  TrackingPowerLossTest() {
    set_log_sink([](Level, std::string_view) {});
  }
  ~TrackingPowerLossTest() override { set_log_sink({}); }

  static Identity member() {
    Identity who;
    who.user = "ann";
    who.token_id = "token-ann";
    return who;
  }

  os::Recording record() {
    return record_machine<Machine>(
        folder_.file("data"), [&](Machine& machine, os::PowerRecorder& recorder) {
          const std::jthread background([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
              recorder.mark("upkeep begins");
              machine.upkeep();
              recorder.mark("upkeep ends");
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
          });
          one_job(machine, recorder);
          for (int i = 0; i < kClients; ++i) one_client(machine, recorder, i);
        });
  }

  double value() {
    const uint64_t chance = random_.below(64);
    if (chance == 0) return std::numeric_limits<double>::quiet_NaN();
    if (chance == 1) return -std::numeric_limits<double>::infinity();
    if (chance == 2) return -0.0;
    return static_cast<double>(random_.below(2'000'000)) / 1000 - 1000;
  }
  // Three points of a curve, the batch's number, now and then a point of another key and one that
  // comes late.
  std::vector<Logged> next_batch(Machine& machine, const Sent& sent, int64_t step,
                                 int64_t attempt) {
    std::vector<Logged> batch;
    const auto add = [&](const std::string& key, int64_t at, double v) {
      machine.clock.advance(Duration{1});
      batch.push_back({key, {at, machine.clock.now(), v}, attempt});
    };
    add("n", step, static_cast<double>(sent.batches.size()));
    for (int64_t i = 0; i < 3; ++i) add("loss", step + i, value());
    if (random_.below(4) == 0) add("eval/acc", step, value());
    if (random_.below(8) == 0) add("loss", step - static_cast<int64_t>(random_.below(9)), value());
    return batch;
  }

  // A job whose second attempt goes on from an earlier step.
  void one_job(Machine& machine, os::PowerRecorder& recorder) {
    hearth::Run run{.id = make_id(machine), .name = "job-1", .job_id = make_id(machine)};
    run.project = "default";
    run.created_at = machine.clock.now();
    Job job{.id = run.job_id, .name = "job-1", .project = "default"};
    job.state = JobState::running;
    job.run_id = run.id;
    need(machine.database->write([&](db::Session& session) -> Result<void> {
      TRY(db::Table<hearth::Run>::insert(session, run));
      return db::Table<Job>::insert(session, job);
    }));
    sent_.push_back({.id = run.id});
    for (const int64_t attempt : {1, 2}) {
      const Task task = begin_attempt(machine, run, attempt);
      Identity shim;
      shim.kind = TokenKind::task;
      shim.task_id = task.id;
      int64_t seq = 0;
      for (int64_t i = 0; i < kTaskBatches; ++i) {
        Sent& sent = sent_.front();
        const int64_t step = (attempt == 1 ? 0 : kResumedAt) + 3 * i;
        sent.batches.push_back(next_batch(machine, sent, step, attempt));
        SyncHead head{.epoch = attempt};
        for (const Logged& one : sent.batches.back())
          head.records.push_back({.seq = ++seq,
                                  .kind = "metric",
                                  .time = one.point.time,
                                  .step = one.point.step,
                                  .values = {{one.key, one.point.value}}});
        const SyncAnswer answer = need(machine.ingest->sync(shim, task.id, head, ""));
        EXPECT_EQ(answer.acknowledged.metrics, seq);
        recorder.mark(format("batches {} {}", run.id, sent.batches.size()));
      }
    }
  }
  static Task begin_attempt(Machine& machine, const hearth::Run& run, int64_t number) {
    Attempt attempt{.id = make_id(machine), .job_id = run.job_id, .number = number};
    attempt.project = "default";
    attempt.epoch = number;
    Task task{.id = make_id(machine), .attempt_id = attempt.id, .job_id = run.job_id};
    task.run_id = run.id;
    task.project = "default";
    need(machine.database->write([&](db::Session& session) -> Result<void> {
      TRY(db::Table<Attempt>::insert(session, attempt));
      return db::Table<Task>::insert(session, task);
    }));
    return task;
  }
  static std::string make_id(Machine& machine) { return new_id(machine.clock, system_random()); }

  void one_client(Machine& machine, os::PowerRecorder& recorder, int number) {
    Tracking& tracking = *machine.tracking;
    const std::string run = need(tracking.create_run(member(), {.name = "client"})).run.id;
    sent_.push_back({.id = run, .params = true});
    Sent& sent = sent_.back();
    add_file(machine, sent);
    recorder.mark(format("batches {} 0", run));
    for (int64_t i = 0; i < kClientBatches; ++i) {
      sent.batches.push_back(next_batch(machine, sent, 3 * i, 0));
      LogBatch batch;
      for (const Logged& one : sent.batches.back())
        batch.metrics.push_back({.key = one.key,
                                 .value = one.point.value,
                                 .time = one.point.time,
                                 .step = one.point.step});
      batch.params.emplace_back(format("p{}", i), "1");
      need(tracking.log_batch(member(), run, std::move(batch)));
      recorder.mark(format("batches {} {}", run, sent.batches.size()));
    }
    if (number % 3 != 1) need(tracking.update_run(member(), run, {.status = RunStatus::finished}));
    if (number % 3 == 2) collect(machine, recorder, run);
  }
  // As Records does it: a row that pins the object.
  static void add_file(Machine& machine, Sent& sent) {
    const std::string digest = need(machine.objects->put("a file of " + sent.id)).digest;
    Artifact file{.id = make_id(machine), .run_id = sent.id, .project = "default", .path = "a.txt"};
    file.digest = digest;
    need(machine.database->write([&](db::Session& session) -> Result<void> {
      TRY(db::Table<Artifact>::insert(session, file));
      return db::pin(session, digest, "artifact:" + file.id, machine.clock.now());
    }));
    sent.objects.push_back(digest);
    sent.files.push_back(file.id);
  }
  // Returns when the background has collected it, and its objects are gone.
  static void collect(Machine& machine, os::PowerRecorder& recorder, const std::string& run) {
    recorder.mark("deleting " + run);
    need(machine.tracking->delete_run(member(), run));
    recorder.mark("deleted " + run);
    machine.clock.advance(Duration{2 * kKeepDeleted.micros});
    // A bound on a hang, not a measure.
    for (int i = 0; i < 60'000 && machine.tracking->get_run(member(), run).ok(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    recorder.mark("gone " + run);
    sweep_objects(machine);
  }
  static void sweep_objects(Machine& machine) {
    need(machine.retention->sweep());  // marks
    machine.clock.advance(Duration{2 * kGrace.micros});
    need(machine.retention->sweep());  // removes
  }

  static Acknowledged acknowledged_at(const os::Recording& recording, size_t cut) {
    Acknowledged all;
    for (const std::string& mark : os::marks_before(recording, cut)) {
      const auto parts = split(mark, ' ');
      const std::string id(parts[1]);
      if (parts[0] == "batches") all.batches[id] = std::stoul(std::string(parts[2]));
      if (parts[0] == "deleting") all.deleting.insert(id);
      if (parts[0] == "deleted") all.deleted.insert(id);
      if (parts[0] == "gone") all.gone.insert(id);
    }
    return all;
  }
  const Sent& of(const std::string& id) const { return *std::ranges::find(sent_, id, &Sent::id); }

  // "" or what is not as it was acknowledged: at once, after the first upkeep, and when all that
  // was deleted is to be gone.
  std::string lost_at(const os::Recording& recording, size_t cut, Random& random,
                      const os::CrashOptions& options = {}) {
    const db::TestFolder image;
    const std::string root = image.file("data");
    need(os::build_crash_image(recording, cut, random, root, options));
    const Acknowledged wanted = acknowledged_at(recording, cut);
    if (auto fault = database_fault(root); !fault.empty()) return fault;
    Machine machine(root);
    for (const char* when : {"at once", "after upkeep", "after collection"}) {
      if (when == std::string_view("after upkeep")) machine.upkeep();
      if (when == std::string_view("after collection")) {
        machine.clock.advance(kLong);
        machine.upkeep();
        sweep_objects(machine);
      }
      for (const auto& [run, batches] : wanted.batches)
        if (auto words = lost_of(machine, wanted, of(run), batches); !words.empty())
          return format("run {}, {}: {}", run, when, words);
    }
    for (const std::string& run : wanted.deleted)
      if (machine.tracking->get_run(member(), run).ok()) return format("run {} stays", run);
    return "";
  }

  std::string lost_of(Machine& machine, const Acknowledged& wanted, const Sent& sent,
                      size_t batches) const {
    const auto found = machine.tracking->get_run(member(), sent.id);
    if (!found.ok())
      return wanted.deleting.contains(sent.id) ? left_of(machine, sent) : found.error().text();
    if (wanted.gone.contains(sent.id)) return "it was collected and is there";
    const auto numbers =
        machine.tracking->history(member(), {.run_id = sent.id, .key = "n", .all_attempts = true});
    if (!numbers.ok()) return numbers.error().text();
    const size_t count = numbers->points.size();
    if (count < batches || count > sent.batches.size())
      return format("{} batches are there of {}", count, batches);
    if (sent.params && found->run.params.size() != count)
      return "the params and the points of a batch are not together";
    const Points points = settled(sent, count);
    if (auto words = lost_points(machine, sent, points); !words.empty()) return words;
    if (auto words = wrong_summary(machine, *found, points); !words.empty()) return words;
    for (const std::string& digest : sent.objects)
      if (const auto bytes = machine.objects->get(digest, 0, -1); !bytes.ok())
        return bytes.error().text();
    return "";
  }

  static std::string lost_points(Machine& machine, const Sent& sent, const Points& points) {
    for (const auto& [key, all] : points) {
      const auto page = machine.tracking->history(member(), {.run_id = sent.id, .key = key});
      if (!page.ok()) return page.error().text();
      if (!page->damaged.empty()) return page->damaged.front();
      if (page->points.size() != all.size())
        return format("{} points of {} are there of {}", page->points.size(), key, all.size());
      for (size_t i = 0; i < all.size(); ++i) {
        const HistoryPoint& point = page->points[i];
        if (!track::same({point.step, point.time, point.value}, all[i].point) ||
            point.attempt != all[i].attempt)
          return format("point {} of {} is of step {}, attempt {}", i, key, point.step,
                        point.attempt);
      }
    }
    return "";
  }

  // Latest, least and greatest values, where lists and orders take them from.
  static std::string wrong_summary(Machine& machine, const TrackedRun& found,
                                   const Points& points) {
    RunSearch search;
    search.filter.push_back({.column = {.key = "run_id"}, .text = found.run.id});
    search.view = View::all;
    search.with_bounds = true;
    const auto page = machine.tracking->search_runs(member(), search);
    if (!page.ok()) return page.error().text();
    if (page->runs.size() != 1) return "no search finds it";
    for (const auto& [key, all] : points) {
      const track::Point& last = all.back().point;
      for (const hearth::Run& run : {found.run, page->runs[0].run}) {
        const auto latest = run.metrics.find(key);
        if (latest == run.metrics.end() ||
            !track::same({latest->second.step, latest->second.time, latest->second.value}, last))
          return format("the latest point of {} is another than that of step {}", key, last.step);
      }
      std::vector<double> finite;
      for (const Logged& one : all)
        if (std::isfinite(one.point.value)) finite.push_back(one.point.value);
      if (finite.empty()) continue;
      const auto [least, greatest] = std::ranges::minmax(finite);
      const auto bounds = page->runs[0].bounds.find(key);
      if (bounds == page->runs[0].bounds.end()) return format("{} has no bounds", key);
      if (bounds->second != std::pair(least, greatest))
        return format("least and greatest of {} are {} and {}, not {} and {}", key,
                      bounds->second.first, bounds->second.second, least, greatest);
    }
    return "";
  }

  // Rows of a run that is gone.
  static std::string left_of(Machine& machine, const Sent& sent) {
    std::string left;
    const auto look = [&](const std::string& sql, const std::string& value) {
      need(machine.database->read([&](db::Session& session) {
        return session.query(sql, {value}, [&](const db::Row&) -> Result<void> {
          left = sql;
          return {};
        });
      }));
    };
    for (const char* table : {"metric_batches", "run_metrics", "artifacts", "run_inputs"})
      look(format("SELECT 1 FROM {} WHERE run_id = $1 LIMIT 1", table), sent.id);
    for (const std::string& file : sent.files)
      look("SELECT 1 FROM pins WHERE holder = $1", "artifact:" + file);
    return left.empty() ? "" : "it is gone, but not what this finds: " + left;
  }

  db::TestFolder folder_;
  SeededRandom random_{5};
  std::deque<Sent> sent_;
};

TEST_F(TrackingPowerLossTest, EveryPointIsThereOnce) {
  const os::Recording recording = record();
  SeededRandom random(42);
  int in_upkeep = 0;
  const int points = crash_points(40);
  for (int i = 0; i < points; ++i) {
    const size_t cut = random.below(recording.ops.size() + 1);
    const auto marks = os::marks_before(recording, cut);
    const auto last = std::ranges::find_if(
        marks.rbegin(), marks.rend(), [](const auto& mark) { return mark.starts_with("upkeep"); });
    in_upkeep += last != marks.rend() && *last == "upkeep begins" ? 1 : 0;
    ASSERT_EQ(lost_at(recording, cut, random), "")
        << "at change " << cut << " of " << recording.ops.size();
  }
  // Merging and collecting are among what the power goes in.
  EXPECT_GT(in_upkeep, points / 10);
}

// What has been collected gives its room back.
TEST_F(TrackingPowerLossTest, WhatIsCollectedIsGone) {
  const os::Recording recording = record();
  SeededRandom random(3);
  const db::TestFolder image;
  const std::string root = image.file("data");
  need(os::build_crash_image(recording, recording.ops.size(), random, root));
  Machine machine(root);
  machine.clock.advance(kLong);
  machine.upkeep();
  sweep_objects(machine);
  for (size_t i = 1; i < sent_.size(); ++i)
    for (const std::string& digest : sent_[i].objects)
      EXPECT_EQ(need(machine.objects->have(digest)).has_value(), i % 3 != 0) << i;
}

// A suite that still passes with a sync left out would test nothing.
TEST_F(TrackingPowerLossTest, ASyncThatIsLeftOutIsFound) {
  const os::Recording recording = record();
  const Syncs syncs = {
      {"the database's log", is_of_the_wal},
      {"the database", [](const os::FileEvent& event) { return event.path.ends_with(".db"); }},
      {"objects", is_sync_of_an_object},
  };
  EXPECT_EQ(never_missed(syncs, recording,
                         [&](size_t cut, Random& random, const os::CrashOptions& options) {
                           return lost_at(recording, cut, random, options);
                         }),
            "");
}

}  // namespace
}  // namespace hearth::control
