#include <algorithm>
#include <thread>

#include "control/ingest/ingest_world_test.h"
#include "control/ingest/log_store.h"
#include "os/crash_image.h"
#include "os/file_events.h"
#include "os/files.h"

namespace hearth::control {
namespace {

using namespace std::string_literals;

class LogTest : public IngestTest {
 protected:
  LogTest() {
    set_log_sink([](Level, std::string_view) {});
  }
  // Sends lines and remembers them.
  Result<SyncAnswer> send(const std::vector<std::string>& lines, uint8_t flags = 0) {
    const Bytes bytes = frame(lines, flags);
    sent.insert(sent.end(), lines.begin(), lines.end());
    return sync(head(), bytes);
  }
  std::vector<std::string> some_lines(int count) {
    std::vector<std::string> lines;
    for (int i = 0; i < count; ++i)
      lines.push_back(format("line {} loss {:.5f}", sent.size() + lines.size(), random.unit()));
    return lines;
  }
  std::vector<std::string> sent;
  SeededRandom random{5};
};

TEST_F(LogTest, LinesAreAcknowledgedWhenTheyAreSynced) {
  const uint64_t topic = world.signals.version(log_topic(job_id));
  EXPECT_EQ(need(send({"one", "two", ""})).acknowledged.log, 3);
  EXPECT_GT(world.signals.version(log_topic(job_id)), topic);
  EXPECT_EQ(need(send({"\0\xff binary"s})).acknowledged.log, 4);
  EXPECT_EQ(need(ingest->newest(shim(), task_id, head())).acknowledged.log, 4);
  EXPECT_EQ(all_lines(), sent);
  open();
  EXPECT_EQ(need(sync(head())).acknowledged.log, 4);
  EXPECT_EQ(all_lines(), sent);
}

TEST_F(LogTest, FramesSentAgainCountOnce) {
  const Bytes first = frame({"a", "b"}), second = frame({"c"});
  EXPECT_EQ(need(sync(head(), first)).acknowledged.log, 2);
  EXPECT_EQ(need(sync(head(), first)).acknowledged.log, 2);
  Bytes both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(need(sync(head(), both)).acknowledged.log, 3);
  EXPECT_EQ(all_lines(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(LogTest, DamagedOrDisorderedFramesAreRefusedWhole) {
  const Bytes first = frame({"a", "b"});
  Bytes second = frame({"c"});
  Bytes hurt = first;
  hurt[50] ^= std::byte{1};
  EXPECT_EQ(code(sync(head(), hurt)), Code::invalid);
  EXPECT_EQ(code(sync(head(), Bytes(first.begin(), first.end() - 1))), Code::invalid);
  EXPECT_EQ(code(sync(head(), Bytes(100, std::byte{7}))), Code::invalid);
  Bytes disordered = second;
  disordered.insert(disordered.end(), first.begin(), first.end());
  EXPECT_EQ(code(sync(head(), disordered)), Code::invalid);
  EXPECT_EQ(need(sync(head())).acknowledged.log, 0);
  EXPECT_EQ(need(sync(head(), first)).acknowledged.log, 2);
  // A frame that begins within what is here.
  writer = track::FrameWriter(2);
  EXPECT_EQ(code(sync(head(), frame({"x", "y"}))), Code::invalid);
  EXPECT_EQ(need(sync(head(), second)).acknowledged.log, 3);
}

TEST_F(LogTest, PagesAreBoundedAndGoOn) {
  need(send(some_lines(5000)));
  need(ingest->seal(task_id));
  need(send(some_lines(3000)));
  EXPECT_EQ(all_lines({.most_lines = 700}), sent);
  EXPECT_EQ(all_lines({.most_bytes = 10'000}), sent);
  LogQuery query{.task_id = task_id, .after_seq = 7990};
  LogPage page = need(ingest->read_log(query));
  EXPECT_EQ(page.lines.size(), 10u);
  EXPECT_EQ(page.next_seq, 8000);
  EXPECT_FALSE(page.end);
  need(sync_state(1, TaskState::succeeded));
  page = need(ingest->read_log(query));
  EXPECT_TRUE(page.end);
  query.task_id = new_id();
  EXPECT_EQ(code(ingest->read_log(query)), Code::not_found);
}

TEST_F(LogTest, BigAndBinaryLinesSurviveSealing) {
  std::string big(1 << 20, '\0');
  random.fill(std::as_writable_bytes(std::span(big)));
  need(send({"before", big}, track::kBinary));
  need(send({"after"}));
  EXPECT_EQ(all_lines(), sent);
  need(ingest->seal(task_id));
  EXPECT_EQ(all_lines(), sent);
  EXPECT_EQ(all_lines({.most_lines = 1}), sent);
}

// A backup reads it without a lock.
TEST_F(LogTest, WhoCopiesAnOpenLogGoesOnWithItsBytesWhileItIsSealed) {
  need(send(some_lines(100)));
  const os::File copied = need(os::File::open_read(frames_path()));
  const int64_t before = need(copied.size());
  need(ingest->seal(task_id));
  EXPECT_EQ(need(os::status(frames_path())).st_size, 0);
  need(send(some_lines(100)));
  EXPECT_EQ(need(copied.size()), before);
  EXPECT_EQ(all_lines(), sent);
}

TEST_F(LogTest, SealedAndOpenLinesAreOneLog) {
  for (int round = 0; round < 6; ++round) {
    need(send(some_lines(800)));
    need(ingest->seal(task_id));
    need(send(some_lines(50)));
    EXPECT_EQ(all_lines({.most_lines = 333}), sent);
  }
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM log_segments"), 6);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins WHERE holder LIKE 'log:%'"), 6);
  open();
  EXPECT_EQ(need(sync(head())).acknowledged.log, static_cast<int64_t>(sent.size()));
  EXPECT_EQ(all_lines(), sent);
  need(ingest->seal(task_id));
  need(ingest->seal(task_id));  // nothing is open
  EXPECT_EQ(all_lines(), sent);
}

TEST_F(LogTest, GrepFindsWhatIsThere) {
  need(send(some_lines(3000)));
  need(send({"Traceback (most recent call last):", "RuntimeError: CUDA out of memory"}));
  need(ingest->seal(task_id));
  need(send(some_lines(3000)));
  need(ingest->seal(task_id));
  need(send(some_lines(100)));
  need(send({"CUDA again"}));
  const auto wanted = [&](auto&& fits) {
    std::vector<std::string> all;
    std::ranges::copy_if(sent, std::back_inserter(all), fits);
    return all;
  };
  EXPECT_EQ(all_lines({.grep = "CUDA"}),
            (std::vector<std::string>{"RuntimeError: CUDA out of memory", "CUDA again"}));
  EXPECT_EQ(all_lines({.grep = "loss 0\\.00"}),
            wanted([](const std::string& l) { return l.find("loss 0.00") != std::string::npos; }));
  EXPECT_EQ(all_lines({.grep = "7 loss", .most_lines = 13}),
            wanted([](const std::string& l) { return l.find("7 loss") != std::string::npos; }));
  EXPECT_EQ(code(ingest->read_log({.task_id = task_id, .grep = "("})), Code::invalid);
}

TEST_F(LogTest, SinceSkipsOlderLines) {
  need(send({"old"}));
  world.clock.advance(Duration::seconds(10));
  const Time since = world.clock.now();
  need(send({"new"}));
  EXPECT_EQ(all_lines({.since = since}), std::vector<std::string>{"new"});
  need(ingest->seal(task_id));
  EXPECT_EQ(all_lines({.since = since}), std::vector<std::string>{"new"});
  EXPECT_EQ(all_lines({.since = since, .grep = "o|e"}), std::vector<std::string>{"new"});
}

TEST_F(LogTest, LineWithoutEndWaitsForItsRest) {
  need(sync(head(), frame({"whole"})));
  need(sync(head(), frame({"half "}, track::kPartial)));
  LogQuery query{.task_id = task_id};
  LogPage page = need(ingest->read_log(query));
  EXPECT_EQ(texts(page), std::vector<std::string>{"whole"});
  EXPECT_EQ(page.next_seq, 1);
  world.clock.advance(Duration::seconds(3));  // a prompt: it is shown
  page = need(ingest->read_log(query));
  ASSERT_EQ(page.lines.size(), 2u);
  EXPECT_TRUE(page.lines[1].partial);
  EXPECT_EQ(page.next_seq, 2);
  need(sync(head(), frame({"a line"})));
  EXPECT_EQ(all_lines(), (std::vector<std::string>{"whole", "half a line"}));
  query.after_seq = 2;
  EXPECT_EQ(texts(need(ingest->read_log(query))), std::vector<std::string>{"a line"});
}

TEST_F(LogTest, DamagedSegmentIsNamedTheRestIsShown) {
  need(send({"one"}));
  need(ingest->seal(task_id));
  need(send({"two"}));
  need(ingest->seal(task_id));
  need(send({"three"}));
  std::string digest;
  need(world.database->read([&](db::Session& session) {
    return session.query("SELECT digest FROM log_segments WHERE first_seq = 1", {},
                         [&](const db::Row& row) -> Result<void> {
                           digest = row.text(0);
                           return {};
                         });
  }));
  const std::string path = need(world.objects->local_path(digest));
  need(os::set_mode(path, 0600));
  os::File file = need(os::File::open(path, {.write = true}));
  need(file.pwrite("x", 30));
  for (const char* grep : {"", "t"}) {
    const LogPage page = need(ingest->read_log({.task_id = task_id, .grep = grep}));
    ASSERT_EQ(page.lines.size(), 3u);
    EXPECT_EQ(page.lines[0].stream, "hearth");
    EXPECT_NE(page.lines[0].text.find("lines 1 to 1 cannot be shown"), std::string::npos);
    EXPECT_EQ(page.lines[1].text, "two");
    EXPECT_EQ(page.lines[2].text, "three");
  }
}

TEST_F(LogTest, EndedTasksAreSealedAndTheirFilesGo) {
  need(send(some_lines(100)));
  need(sync_state(1, TaskState::succeeded));
  need(ingest->tidy());
  EXPECT_TRUE(os::exists(frames_path()));
  world.clock.advance(Duration::seconds(6));
  need(ingest->tidy());
  need(ingest->tidy());
  EXPECT_FALSE(os::exists(frames_path()));
  EXPECT_EQ(all_lines(), sent);
  // A drained spool comes later still.
  EXPECT_EQ(need(send({"late"})).acknowledged.log, 101);
  EXPECT_EQ(all_lines(), sent);
  need(ingest->tidy());
  need(ingest->tidy());
  EXPECT_FALSE(os::exists(frames_path()));
  EXPECT_EQ(all_lines(), sent);
}

TEST_F(LogTest, LogsOfDeletedTasksGo) {
  need(send({"x"}));
  world.write([&](db::Session& session) -> Result<void> {
    TRY(db::Table<Task>::remove(session, task_id));
    return {};
  });
  need(ingest->seal(task_id));
  EXPECT_FALSE(os::exists(frames_path()));
}

TEST_F(LogTest, LargeOpenLogsAreSealed) {
  seal_bytes = 100'000;
  open();
  need(send(some_lines(4000)));
  need(ingest->tidy());
  EXPECT_GE(world.count("SELECT COUNT(*) FROM log_segments"), 1);
  EXPECT_EQ(need(os::status(frames_path())).st_size, 0);
  EXPECT_EQ(all_lines(), sent);
}

TEST_F(LogTest, DamageOfAnOpenLogIsKeptAsideAndReported) {
  need(send({"one"}));
  need(send({"two"}));
  ingest.reset();
  os::File file = need(os::File::open(frames_path(), {.write = true}));
  need(file.pwrite("#", need(file.size()) - 1));
  open();
  EXPECT_EQ(need(sync(head())).acknowledged.log, 1);
  EXPECT_EQ(all_lines(), std::vector<std::string>{"one"});
  const auto entries = need(os::list_directory(logs()));
  EXPECT_TRUE(std::ranges::any_of(entries, [](const os::Entry& entry) {
    return entry.name.find(".frames.damaged-") != std::string::npos;
  }));
}

// Fails every change from the nth on below the log's directory: a server killed there.
class Killer : public os::FileObserver {
 public:
  int fault(const os::FileEvent& event) override {
    if (event.path.find("/logs/") == std::string::npos) return dead ? EIO : 0;
    if (left-- <= 0) dead = true;
    return dead ? EIO : 0;
  }
  void happened(const os::FileEvent&) override {}
  int left = 0;
  bool dead = false;
};

TEST_F(LogTest, KilledAtAnyStepWhatWasAcknowledgedIsThereOnceAndInOrder) {
  int64_t acknowledged = 0;
  std::vector<Bytes> spool;  // what the shim still has, by frame
  int steps = 0;
  for (bool through = false; !through; ++steps) {
    ASSERT_LT(steps, 60);
    Killer killer;
    killer.left = steps;
    os::set_file_observer(&killer);
    for (int round = 0; round < 3 && !killer.dead; ++round) {
      const std::vector<std::string> lines = some_lines(20);
      sent.insert(sent.end(), lines.begin(), lines.end());
      spool.push_back(frame(lines));
      const auto answer = sync(head(), spool.back());
      if (answer.ok()) {
        acknowledged = answer->acknowledged.log;
        spool.clear();
      }
      if (round == 1) ignore(ingest->seal(task_id));
    }
    through = !killer.dead;
    os::set_file_observer(nullptr);
    open();
    const int64_t mark = need(sync(head())).acknowledged.log;
    ASSERT_GE(mark, acknowledged) << steps;
    std::vector<std::string> there = all_lines();
    ASSERT_EQ(there, std::vector<std::string>(sent.begin(), sent.begin() + mark)) << steps;
    for (const Bytes& bytes : spool) acknowledged = need(sync(head(), bytes)).acknowledged.log;
    spool.clear();
    ASSERT_EQ(all_lines(), sent) << steps;
  }
  EXPECT_GT(steps, 8);
}

// The log's directory as the disk may hold it when the power goes at some point.
class PowerLossTest : public LogTest {
 protected:
  static std::unique_ptr<LogStore> store_in(const std::string& directory) {
    auto store = std::make_unique<LogStore>(
        directory, [](const std::string&) -> Result<uint64_t> { return uint64_t{0}; });
    need(store->start());
    return store;
  }
  // Thirty batches, each acknowledged; the marks are the sequence numbers.
  os::Recording record() {
    ingest.reset();
    auto recorder = need(os::PowerRecorder::start(logs()));
    os::set_file_observer(recorder.get());
    const auto store = store_in(logs());
    for (int i = 0; i < 30; ++i) {
      const std::vector<std::string> lines = some_lines(30);
      sent.insert(sent.end(), lines.begin(), lines.end());
      recorder->mark(std::to_string(need(store->append(task_id, frame(lines)))));
    }
    os::set_file_observer(nullptr);
    return need(recorder->recording());
  }
  // At how many of 300 points an acknowledged line is missing. What is there must be in order.
  int lossy_points(const os::Recording& recording, const os::CrashOptions& options) {
    int lossy = 0;
    for (uint64_t point = 0; point < 300; ++point) {
      SeededRandom dice(point);
      const size_t cut = dice.below(recording.ops.size() + 1);
      uint64_t acknowledged = 0;
      for (const std::string& mark : os::marks_before(recording, cut))
        acknowledged = std::max<uint64_t>(acknowledged, std::stoull(mark));
      const std::string into = world.folder.file(format("image{}", point));
      need(os::build_crash_image(recording, cut, dice, into, options));
      const auto store = store_in(into);
      const uint64_t mark = need(store->mark(task_id));
      lossy += mark < acknowledged;
      size_t at = 0;
      need(track::each_frame(need(store->read(task_id, 0)),
                             [&](const track::Frame& f) -> Result<void> {
                               for (const track::Record& record : f)
                                 EXPECT_EQ(record.bytes, sent[at++]) << point;
                               return {};
                             }));
      EXPECT_EQ(at, mark) << point;
      store->stop();
      need(os::remove_tree(into));
    }
    return lossy;
  }
};

TEST_F(PowerLossTest, LosesNothingThatWasAcknowledged) {
  EXPECT_EQ(lossy_points(record(), {}), 0);
}

TEST_F(PowerLossTest, TheTestSeesASyncThatIsMissing) {
  const os::Recording recording = record();
  for (const auto op : {os::FileOp::sync, os::FileOp::sync_directory}) {
    os::CrashOptions without;
    without.ignore_sync = [op](const os::FileEvent& event) { return event.op == op; };
    EXPECT_GT(lossy_points(recording, without), 0) << os::name_of(op);
  }
}

TEST_F(LogTest, ManyTasksAndReadersAtOnce) {
  seal_bytes = 60'000;
  open();
  std::vector<std::string> ids = {task_id};
  for (int rank = 1; rank < 4; ++rank) ids.push_back(add_task(rank));
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (const std::string& id : ids)
      threads.emplace_back([&, id] {
        Identity who = shim();
        who.task_id = id;
        track::FrameWriter own;
        for (int i = 0; i < 60; ++i) {
          for (int line = 0; line < 50; ++line)
            own.append({i}, track::Stream::out, 0, format("task {} round {} line {}", id, i, line));
          const Bytes bytes = own.seal();
          SyncHead h = head();
          h.log_bytes = static_cast<int64_t>(bytes.size());
          h.records.push_back({.seq = i + 1, .kind = "metric", .step = i, .values = {{"a", 1}}});
          const auto answer = ingest->sync(who, id, h, as_text(bytes));
          good += answer.ok() && answer->acknowledged.log == (i + 1) * 50;
        }
      });
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) need(ingest->tidy());
    });
  }
  EXPECT_EQ(good, 4 * 60);
  for (const std::string& id : ids) {
    const LogPage page = need(ingest->read_log({.task_id = id, .most_lines = 100'000}));
    EXPECT_EQ(page.lines.size(), 3000u);
    for (size_t i = 0; i < page.lines.size(); ++i)
      ASSERT_EQ(page.lines[i].seq, static_cast<int64_t>(i + 1));
  }
}

}  // namespace
}  // namespace hearth::control
