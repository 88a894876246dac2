// The power goes while a whole server works: database, log files and objects are recorded as one
// sequence of changes, and at hundreds of points of it the data directory is rebuilt as a disk
// might then hold it. A server opened on that directory must have each thing it ever acknowledged,
// once and in order, and bring every job to its true end. And the suite must see a sync that is
// left out.
#include <map>
#include <thread>

#include "base/log.h"
#include "control/ingest/ingest.h"
#include "control/ingest/metric_store.h"
#include "control/jobs/jobs.h"
#include "control/power_loss_files_test.h"
#include "control/small_world_test.h"
#include "control/tracking/tracking.h"
#include "executors/mock/mock_executor.h"
#include "os/files.h"
#include "track/log_frame.h"

namespace hearth::control {
namespace {

constexpr int kJobs = 14;
constexpr int kBatches = 4;  // of lines and metrics, for each job
constexpr int kLinesOfBatch = 25;
constexpr int kPointsOfBatch = 5;
constexpr int kClientBatches = 5;  // of metrics, of each client's run
constexpr Duration kKeepDeleted = Duration::seconds(1);

// A server's services on a data directory, with an executor that starts nothing.
struct Machine {
  explicit Machine(const std::string& root, const std::string& vfs = "")
      : database(need(db::open_sqlite({.path = root + "/hearth.db",
                                       .checkpoint_pages = 60,  // often: they are looked at too
                                       .clock = &clock,
                                       .base_vfs = vfs}))),
        objects(need(objects::DirectoryObjects::open(root + "/objects"))),
        executor({.nodes = 1, .cpus = 64, .memory = int64_t{256} << 30}, system_clock()) {
    need(database->migrate());
    access = std::make_unique<Access>(context(), Bytes(32, std::byte{7}));
    JobsOptions options;
    options.server_url = "http://127.0.0.1:1";
    jobs = std::make_unique<Jobs>(context(), *access, executor, options);
    need(os::make_directories(root + "/logs", 0700, os::Sync::yes));
    ingest = std::make_unique<Ingest>(
        context(), IngestOptions{.directory = root + "/logs", .seal_bytes = int64_t{1} << 40});
    need(ingest->start());
    tracking = std::make_unique<Tracking>(context(), *access,
                                          TrackingOptions{.keep_deleted = kKeepDeleted});
  }
  ~Machine() {
    jobs->stop();
    ingest->stop();
  }
  Context context() { return {*database, *objects, signals, clock, system_random()}; }

  TestClock clock;
  Signals signals;
  std::unique_ptr<db::Database> database;
  std::unique_ptr<objects::Objects> objects;
  executors::MockExecutor executor;
  std::unique_ptr<Access> access;
  std::unique_ptr<Jobs> jobs;
  std::unique_ptr<Ingest> ingest;
  std::unique_ptr<Tracking> tracking;
};

// What the test sent of one job, and how it is to end.
struct Sent {
  std::string id, name, run_id, task_id;
  int64_t epoch = 0;
  JobState end = JobState::succeeded;
  std::vector<std::string> lines;
  std::vector<std::string> manifests;  // of checkpoints, by step
  int64_t steps = 0;
  int64_t records = 0;  // seq of the last one
};

// What had been acknowledged at some point.
struct Acknowledged {
  std::map<std::string, int64_t> lines, steps, checkpoints;  // by job
  std::map<std::string, JobState> ends;
  std::vector<std::string> jobs;
  std::map<std::string, int64_t> points;   // by client's run
  std::set<std::string> collecting, gone;  // client's runs that were deleted
};

class WholePowerLossTest : public ::testing::Test {
 protected:
  WholePowerLossTest() {
    set_log_sink([](Level, std::string_view) {});
  }
  ~WholePowerLossTest() override { set_log_sink({}); }

  Identity member() const {
    Identity who;
    who.user = "ann";
    who.token_id = "token-ann";
    return who;
  }
  static Identity shim_of(const Sent& job) {
    Identity who;
    who.kind = TokenKind::task;
    who.task_id = job.task_id;
    return who;
  }

  // The server's work, recorded; `sent_` and the marks say what happened.
  os::Recording record() {
    return record_machine<Machine>(folder_.file("data"),
                                   [&](Machine& machine, os::PowerRecorder& recorder) {
                                     need(machine.jobs->start());
                                     for (int i = 0; i < kJobs; ++i) {
                                       one_job(machine, recorder, i);
                                       one_client(machine, recorder, i);
                                     }
                                   });
  }

  void one_job(Machine& machine, os::PowerRecorder& recorder, int number) {
    SubmitRequest request;
    request.yaml = format(
        "hearth: 1\nname: work\ncommand: \"true\"\nparams: {{number: {}}}\n"
        "outputs: {{checkpoints: {{path: ckpt, keep: 100}}}}\n",
        number);
    const Job job = need(machine.jobs->submit(member(), request));
    sent_.push_back({.id = job.id, .name = job.name, .run_id = job.run_id});
    Sent& sent = sent_.back();
    recorder.mark("job " + sent.id);
    wait_for(machine, sent.id, JobState::preparing);
    const Task task = need(machine.jobs->tasks(member(), sent.id)).at(0);
    sent.task_id = task.id;
    sent.epoch = need(machine.jobs->attempts(member(), sent.id)).at(0).epoch;
    track::FrameWriter writer;
    push_state(machine, sent, {.seq = 1, .state = TaskState::running});
    for (int batch = 0; batch < kBatches; ++batch) {
      push_lines(machine, recorder, sent, writer);
      push_records(machine, recorder, sent);
      if (batch % 2 == 1) need(machine.ingest->seal(sent.task_id));
    }
    if (number % 5 == 4) return;  // it is still running when the recording ends
    StateRecord last{.seq = 2, .state = TaskState::succeeded};
    if (number % 3 == 2) {
      sent.end = JobState::failed;
      last.state = TaskState::failed;
      last.exit_code = 3;
      last.failure = Failure{.failure_class = FailureClass::exit, .text = "exit 3"};
    }
    push_state(machine, sent, last);
    recorder.mark("end " + sent.id);
  }

  // A client's run: batches of two metrics, merged at its end; every third is deleted and
  // collected.
  void one_client(Machine& machine, os::PowerRecorder& recorder, int number) {
    Tracking& tracking = *machine.tracking;
    const std::string run = need(tracking.create_run(member(), {.name = "client"})).run.id;
    recorder.mark(format("points {} 0", run));
    int64_t step = 0;
    for (int batch = 0; batch < kClientBatches; ++batch) {
      LogBatch points;
      for (int i = 0; i < kPointsOfBatch; ++i, ++step)
        for (const char* key : {"loss", "acc"})
          points.metrics.push_back({.key = key,
                                    .value = static_cast<double>(step) / 8,
                                    .time = machine.clock.now(),
                                    .step = step});
      points.params.emplace_back(format("p{}", batch), "1");
      need(tracking.log_batch(member(), run, points));
      recorder.mark(format("points {} {}", run, step));
    }
    if (number % 2 == 0) {
      need(tracking.update_run(member(), run, {.status = RunStatus::finished}));
      need(tracking.tidy());
    }
    if (number % 3 != 0) return;
    recorder.mark("collecting " + run);
    need(tracking.delete_run(member(), run));
    machine.clock.advance(Duration{2 * kKeepDeleted.micros});
    need(tracking.tidy());
    recorder.mark("gone " + run);
  }

  static void push_state(Machine& machine, const Sent& sent, StateRecord state) {
    machine.clock.advance(Duration::millis(500));
    SyncHead head{.epoch = sent.epoch};
    state.time = machine.clock.now();
    head.states.push_back(std::move(state));
    need(machine.ingest->sync(shim_of(sent), sent.task_id, head, ""));
    machine.signals.notify(kQueueTopic);
  }

  void push_lines(Machine& machine, os::PowerRecorder& recorder, Sent& sent,
                  track::FrameWriter& writer) {
    for (int i = 0; i < kLinesOfBatch; ++i) {
      sent.lines.push_back(
          format("{} line {} of chance {}", sent.name, i, random_.below(1'000'000'000)));
      writer.append(machine.clock.now(), track::Stream::out, 0, sent.lines.back());
    }
    const Bytes frames = writer.seal();
    SyncHead head{.epoch = sent.epoch, .log_bytes = static_cast<int64_t>(frames.size())};
    const SyncAnswer answer =
        need(machine.ingest->sync(shim_of(sent), sent.task_id, head, as_text(frames)));
    recorder.mark(format("lines {} {}", sent.id, answer.acknowledged.log));
  }

  // Points of a curve and a checkpoint of two files, one of them the same every time.
  void push_records(Machine& machine, os::PowerRecorder& recorder, Sent& sent) {
    SyncHead head{.epoch = sent.epoch};
    for (int i = 0; i < kPointsOfBatch; ++i) {
      ++sent.steps;
      head.records.push_back({.seq = ++sent.records,
                              .kind = "metric",
                              .time = machine.clock.now(),
                              .step = sent.steps,
                              .values = {{"loss", 1.0 / static_cast<double>(sent.steps)}}});
    }
    Manifest manifest;
    for (const std::string& text :
         {format("weights {} {}", sent.id, sent.steps), std::string("vocabulary")})
      manifest.files.push_back({.path = format("ckpt/{}", manifest.files.size()),
                                .digest = need(machine.objects->put(text)).digest,
                                .size_bytes = static_cast<int64_t>(text.size())});
    sent.manifests.push_back(need(machine.objects->put(to_json(manifest))).digest);
    head.records.push_back({.seq = ++sent.records,
                            .kind = "checkpoint",
                            .step = sent.steps,
                            .digest = sent.manifests.back()});
    const SyncAnswer answer = need(machine.ingest->sync(shim_of(sent), sent.task_id, head, ""));
    EXPECT_TRUE(answer.refused.empty());
    recorder.mark(format("steps {} {}", sent.id, sent.steps));
    recorder.mark(format("checkpoints {} {}", sent.id, sent.manifests.size()));
  }

  static bool ended(JobState state) {
    return state == JobState::succeeded || state == JobState::failed ||
           state == JobState::cancelled;
  }
  // Until the loop has brought it there, or to an end. A bound on a hang, not a measure.
  static Job wait_for(Machine& machine, const std::string& id, JobState state) {
    Identity who;
    who.user = "ann";
    for (int i = 0; i < 60'000; ++i) {
      Job job = need(machine.jobs->get(who, id, ""));
      if (job.state == state || ended(job.state)) return job;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "job " << id << " never became " << word(state);
    return {};
  }

  Acknowledged acknowledged_at(const os::Recording& recording, size_t cut) const {
    Acknowledged all;
    for (const std::string& mark : os::marks_before(recording, cut)) {
      const auto parts = split(mark, ' ');
      const std::string id(parts[1]);
      const int64_t count = parts.size() > 2 ? std::stoll(std::string(parts[2])) : 0;
      if (parts[0] == "job") all.jobs.push_back(id);
      if (parts[0] == "lines") all.lines[id] = count;
      if (parts[0] == "steps") all.steps[id] = count;
      if (parts[0] == "checkpoints") all.checkpoints[id] = count;
      if (parts[0] == "end") all.ends[id] = of(id).end;
      if (parts[0] == "points") all.points[id] = count;
      if (parts[0] == "collecting") all.collecting.insert(id);
      if (parts[0] == "gone") all.gone.insert(id);
    }
    return all;
  }
  const Sent& of(const std::string& id) const { return *std::ranges::find(sent_, id, &Sent::id); }

  // "" or what is not as it was acknowledged.
  std::string lost_at(const os::Recording& recording, size_t cut, Random& random,
                      const os::CrashOptions& options = {}) {
    const db::TestFolder image;
    const std::string root = image.file("data");
    need(os::build_crash_image(recording, cut, random, root, options));
    const Acknowledged wanted = acknowledged_at(recording, cut);
    if (auto fault = database_fault(root); !fault.empty()) return fault;
    Machine machine(root);
    for (const std::string& id : wanted.jobs)
      if (auto words = lost_of(machine, of(id), wanted); !words.empty())
        return format("job {}: {}", of(id).name, words);
    for (const auto& [run, steps] : wanted.points)
      if (auto words = lost_of_client(machine, wanted, run, steps); !words.empty())
        return format("run {}: {}", run, words);
    return lost_ends(machine, wanted);
  }

  // Every acknowledged point once, from history and summary alike; nothing of a run that is gone.
  std::string lost_of_client(Machine& machine, const Acknowledged& wanted, const std::string& run,
                             int64_t steps) const {
    const auto found = machine.tracking->get_run(member(), run);
    if (!found.ok()) return wanted.collecting.contains(run) ? "" : found.error().text();
    if (wanted.gone.contains(run)) return "it is there still";
    for (const char* key : {"loss", "acc"}) {
      const auto page = machine.tracking->history(member(), {.run_id = run, .key = key});
      if (!page.ok()) return page.error().text();
      if (!page->damaged.empty()) return page->damaged.front();
      const auto count = static_cast<int64_t>(page->points.size());
      if (count < steps || count % kPointsOfBatch != 0)
        return format("{} points of {} are there of {}", count, key, steps);
      for (int64_t i = 0; i < count; ++i)
        if (const HistoryPoint& point = page->points[static_cast<size_t>(i)];
            point.step != i || point.value != static_cast<double>(i) / 8)
          return format("point {} of {} is of step {}", i, key, point.step);
      const auto latest = found->run.metrics.find(key);
      if (count > 0 && (latest == found->run.metrics.end() || latest->second.step != count - 1))
        return format("the summary of {} does not end at step {}", key, count - 1);
      if (static_cast<int64_t>(found->run.params.size()) != count / kPointsOfBatch)
        return "params and points of a batch are not together";
    }
    return "";
  }

  std::string lost_of(Machine& machine, const Sent& sent, const Acknowledged& wanted) {
    if (const auto job = machine.jobs->get(member(), sent.id, ""); !job.ok())
      return job.error().text();
    const auto number = [&](const auto& map) {
      const auto found = map.find(sent.id);
      return found == map.end() ? size_t{0} : static_cast<size_t>(found->second);
    };
    if (sent.task_id.empty() || number(wanted.lines) == 0) return "";
    const auto page = machine.ingest->read_log({.task_id = sent.task_id, .most_lines = 100'000});
    if (!page.ok()) return page.error().text();
    std::vector<std::string> lines;
    for (const LogLine& line : page->lines) lines.push_back(line.text);
    if (lines.size() < number(wanted.lines))
      return format("{} lines are there of {}", lines.size(), number(wanted.lines));
    if (lines.size() > sent.lines.size() ||
        !std::equal(lines.begin(), lines.end(), sent.lines.begin()))
      return "the lines are not those that were sent";
    if (auto words = lost_points(machine, sent, number(wanted.steps)); !words.empty()) return words;
    return lost_checkpoints(machine, sent, number(wanted.checkpoints));
  }

  static std::string lost_points(Machine& machine, const Sent& sent, size_t wanted) {
    std::vector<track::Point> series;
    const auto read = machine.database->read([&](db::Session& session) -> Result<void> {
      series = TRY(read_series(session, sent.run_id, "loss"));
      return {};
    });
    if (!read.ok()) return read.error().text();
    if (series.size() < wanted) return format("{} points are there of {}", series.size(), wanted);
    for (size_t i = 0; i < series.size(); ++i)
      if (series[i].step != static_cast<int64_t>(i + 1))
        return format("point {} is of step {}", i + 1, series[i].step);
    return "";
  }

  std::string lost_checkpoints(Machine& machine, const Sent& sent, size_t wanted) {
    const auto there = machine.jobs->checkpoints(member(), sent.id);
    if (!there.ok()) return there.error().text();
    if (there->size() < wanted)
      return format("{} checkpoints are there of {}", there->size(), wanted);
    for (const Checkpoint& checkpoint : *there) {
      const auto text = machine.objects->get(checkpoint.manifest_digest, 0, -1);
      if (!text.ok()) return text.error().text();
      const auto manifest = from_json<Manifest>(*text);
      if (!manifest.ok()) return manifest.error().text();
      for (const auto& file : manifest->files)
        if (auto bytes = machine.objects->get(file.digest, 0, -1); !bytes.ok())
          return bytes.error().text();
    }
    return "";
  }

  // The loop finds its way: an end that was acknowledged is the job's end; one that was not may
  // have been sent, or the job goes on.
  std::string lost_ends(Machine& machine, const Acknowledged& wanted) {
    need(machine.jobs->start());
    for (const std::string& id : wanted.jobs) {
      const auto end = wanted.ends.find(id);
      if (end == wanted.ends.end()) {
        const Job job = need(machine.jobs->get(member(), id, ""));
        if (ended(job.state) && job.state != of(id).end)
          return format("{} was never told to be {}", job.name, word(job.state));
      } else if (const Job job = wait_for(machine, id, end->second); job.state != end->second) {
        return format("{} is {}, not {}", job.name, word(job.state), word(end->second));
      }
    }
    return "";
  }

  db::TestFolder folder_;
  SeededRandom random_{11};
  std::vector<Sent> sent_;
};

TEST_F(WholePowerLossTest, NothingAcknowledgedIsLost) {
  const os::Recording recording = record();
  SeededRandom random(42);
  for (int i = 0; i < crash_points(60); ++i) {
    const size_t cut = random.below(recording.ops.size() + 1);
    ASSERT_EQ(lost_at(recording, cut, random), "")
        << "at change " << cut << " of " << recording.ops.size();
  }
}

// A suite that still passes with a sync left out would test nothing.
TEST_F(WholePowerLossTest, ASyncThatIsLeftOutIsFound) {
  const os::Recording recording = record();
  const Syncs syncs = {
      {"the database's log", is_of_the_wal},
      {"the lines' files",
       [](const os::FileEvent& event) { return event.path.ends_with(".frames"); }},
      {"objects", is_sync_of_an_object},
      {"names", [](const os::FileEvent& event) { return event.op == os::FileOp::sync_directory; }},
  };
  EXPECT_EQ(never_missed(syncs, recording,
                         [&](size_t cut, Random& random, const os::CrashOptions& options) {
                           return lost_at(recording, cut, random, options);
                         }),
            "");
}

}  // namespace
}  // namespace hearth::control
