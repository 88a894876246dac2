// Metrics that a task does not report itself: out of its lines and its event files.
#include "shim/event_artifact.h"
#include "shim/fixture_test.h"
#include "shim/log_metrics.h"
#include "track/event_file.h"

namespace hearth::shim {
namespace {

using track::EventValue;

EventValue value(EventValue::Kind kind, const std::string& tag, int64_t step) {
  EventValue out;
  out.kind = kind;
  out.tag = tag;
  out.step = step;
  out.time = {1'700'000'000'000'000 + step};
  return out;
}
EventValue scalar(const std::string& tag, int64_t step, double number) {
  EventValue out = value(EventValue::Kind::scalar, tag, step);
  out.scalar = number;
  return out;
}
std::string file_of(const std::vector<EventValue>& values) {
  std::string bytes = track::event_file_header({1'700'000'000'000'000});
  for (const EventValue& each : values) bytes += track::event_record_of({each});
  return bytes;
}

// "key@step=value" of the records that came, sorted as they came.
std::string points(FakeServer& server) {
  std::string out;
  for (const TaskRecord& record : server.records("metric"))
    for (const auto& [key, number] : record.values)
      out += format("{}{}@{}={}", out.empty() ? "" : " ", key, record.step.value_or(-1), number);
  return out;
}

TEST_F(Shim, LinesBecomeMetrics) {
  EXPECT_EQ(run("printf 'step=1 loss=0.5\\nport=80\\nstep=2 loss=0.25 acc=1\\n'; "
                "printf 'Iteration 7, loss = 2\\n' >&2"),
            kShimDone);
  const auto records = fake_.records("metric");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_NE(points(fake_).find("loss@1=0.5"), std::string::npos);
  EXPECT_NE(points(fake_).find("acc@2=1 loss@2=0.25"), std::string::npos);
  EXPECT_NE(points(fake_).find("loss@7=2"), std::string::npos);
  for (const TaskRecord& record : records) EXPECT_EQ(record.text, kFromLog);
}

TEST_F(Shim, LinesAreLeftAloneWhereTheJobSaysSoOrByOtherRanks) {
  spec_.metrics.from_logs = LineReading::never;
  EXPECT_EQ(run("echo step=1 loss=0.5"), kShimDone);
  EXPECT_EQ(points(fake_), "");
}

TEST_F(Shim, OtherRanksPrintTheSame) {
  spec_.rank = 1;
  spec_.world_size = 2;
  EXPECT_EQ(run("echo step=1 loss=0.5"), kShimDone);
  EXPECT_EQ(points(fake_), "");
}

TEST_F(Shim, EventFilesBecomeMetricsAndFiles) {
  EventValue image = value(EventValue::Kind::image, "samples", 3);
  image.texts = {"\x89PNG image"};
  EventValue text = value(EventValue::Kind::text, "notes", 4);
  text.texts = {"one", "two"};
  EventValue histogram = value(EventValue::Kind::histogram, "w", 5);
  histogram.histogram.edges = {0, 1};
  histogram.histogram.counts = {2};
  const std::string whole = file_of({scalar("loss", 1, 0.5), image, text, histogram});
  const std::string torn = track::event_record_of({scalar("loss", 2, 0.25)});
  ASSERT_TRUE(os::write_file_atomic(dir_ / "a", whole + torn.substr(0, 30)).ok());
  ASSERT_TRUE(os::write_file_atomic(dir_ / "b", file_of({scalar("epoch_loss", 1, 1)})).ok());
  ASSERT_TRUE(os::write_file_atomic(dir_ / "c", file_of({scalar("epoch_loss", 1, 2)}) + "damage" +
                                                    std::string(20, 'x'))
                  .ok());
  EXPECT_EQ(
      run(format("mkdir -p runs logs/train logs/validation .hidden; cp {0}/b "
                 "logs/train/events.out.tfevents.1; cp {0}/c logs/validation/x.tfevents.2; "
                 "cp {0}/a .hidden/tfevents; cp {0}/a runs/events.out.tfevents.1; ln -s {0}/a "
                 "runs/tfevents.link; echo step=9 lr=0.1",
                 dir_.path())),
      kShimDone);
  // The lines are left out: the task has event files.
  EXPECT_EQ(points(fake_), "train/epoch_loss@1=1 validation/epoch_loss@1=2 loss@1=0.5");
  EXPECT_EQ(fake_.records("metric")[0].time.micros, 1'700'000'000'000'001);
  std::map<std::string, std::string> files;
  for (const TaskRecord& record : fake_.records("artifact"))
    files[record.path + " " + record.kind_of_artifact] = fake_.object(record.digest);
  EXPECT_EQ(files["tensorboard/samples-0000000003.png image"], "\x89PNG image");
  EXPECT_EQ(files["tensorboard/notes-0000000004.txt text"], "one\n\ntwo\n");
  EXPECT_TRUE(files["tensorboard/w-0000000005.histogram.json histogram"].find(
                  "\"edges\":[0,1],\"counts\":[2]") != std::string::npos);
  EXPECT_EQ(files.size(), 3u);
  EXPECT_NE(fake_.log(track::Stream::hearth).find("is damaged at byte"), std::string::npos);
  EXPECT_TRUE(nothing_left());
  EXPECT_FALSE(os::exists(task_dir() + "/made"));
  EXPECT_FALSE(os::exists(task_dir() + "/events.json"));
}

TEST_F(Shim, EventFilesOfADeadShimAreReadByWhoeverDrains) {
  ASSERT_TRUE(
      os::write_file_atomic(dir_ / "a", file_of({scalar("loss", 1, 0.5), scalar("loss", 2, 1)}))
          .ok());
  start(format("cp {}/a tfevents; echo there; sleep 600", dir_.path()));
  ASSERT_TRUE(until([&] { return fake_.log().find("there") != std::string::npos; }));
  ASSERT_TRUE(shim_.send_signal(SIGKILL).ok());
  wait();
  start_shim({"--drain"});
  EXPECT_EQ(wait(), kShimDone);
  // Read by the first shim too, perhaps: the same point twice is one.
  EXPECT_NE(points(fake_).find("loss@1=0.5 loss@2=1"), std::string::npos);
  EXPECT_EQ(last().failure->failure_class, FailureClass::lost);
}

class LogMetricsTest : public testing::Test {
 protected:
  std::string spooled() {
    const auto batch = spool_->next_batch();
    return batch.ok() ? batch->records : "";
  }
  LogMetrics make(LineReading reading) {
    return LogMetrics(std::move(track::LineMetrics::make().value()), reading, gate_, *spool_,
                      [this](const std::string& words) { complaint_ = words; });
  }
  os::TemporaryDirectory dir_ = std::move(os::TemporaryDirectory::make().value());
  std::unique_ptr<Spool> spool_ = std::move(Spool::open(dir_ / "spool", 1 << 20).value());
  MetricGate gate_;
  std::string complaint_;
};

TEST_F(LogMetricsTest, HoldsBackTillItIsClearWhoLogs) {
  LogMetrics metrics = make(LineReading::automatic);
  const Time begin{1'000'000'000};
  metrics.line("step=1 loss=1", begin);
  metrics.tick(begin + Duration::seconds(4));
  EXPECT_EQ(spooled(), "");
  metrics.tick(begin + LogMetrics::kHold);
  EXPECT_NE(spooled().find("\"loss\":1"), std::string::npos);
  metrics.line("step=2 loss=2", begin + Duration::seconds(6));
  EXPECT_NE(spooled().find("\"loss\":2"), std::string::npos);
  gate_.client_logged({{"x", 1}});
  metrics.line("step=3 loss=3", begin + Duration::seconds(7));
  EXPECT_EQ(spooled().find("\"loss\":3"), std::string::npos);
}

TEST_F(LogMetricsTest, GivesWayToAScriptThatLogs) {
  LogMetrics metrics = make(LineReading::automatic);
  metrics.line("step=1 loss=1", {1'000'000'000});
  gate_.events_logged();
  metrics.tick({2'000'000'000});
  metrics.finish();
  EXPECT_EQ(spooled(), "");
  LogMetrics always = make(LineReading::always);
  always.line("step=1 loss=1", {1'000'000'000});
  EXPECT_NE(spooled().find("\"loss\":1"), std::string::npos);
  EXPECT_EQ(spooled().find("\"text\":\"log\""), std::string::npos);
}

TEST_F(LogMetricsTest, BoundsTheRateAndSaysSoOnce) {
  LogMetrics metrics = make(LineReading::always);
  for (int i = 0; i < 3 * LogMetrics::kMostRecordsASecond; ++i)
    metrics.line(format("step={} loss=1", i), {1'000'000'000});
  EXPECT_NE(complaint_.find("more than 1000 times a second"), std::string::npos);
  complaint_.clear();
  metrics.line("step=9000 loss=2", {1'002'000'000});
  int64_t records = 0;
  for (;;) {
    const std::string batch = spooled();
    const int64_t found = std::count(batch.begin(), batch.end(), '}') / 2;
    if (found <= records) break;
    records = found;
  }
  EXPECT_EQ(records, LogMetrics::kMostRecordsASecond + 1);
  EXPECT_EQ(complaint_, "");
}

TEST(EventArtifact, NamesStayInsideAndApart) {
  std::map<std::string, int> paths;
  for (const std::string& tag :
       {std::string("a"), std::string("../a"), std::string("/a"), std::string("a/"),
        std::string("a b"), std::string("a_b"), std::string("a..b"), std::string("..")}) {
    EventValue text = value(EventValue::Kind::text, tag, 1);
    text.texts = {"x"};
    for (const MadeFile& made : files_of(text, tag)) {
      ++paths[made.path];
      EXPECT_TRUE(made.path.starts_with("tensorboard/")) << made.path;
      EXPECT_EQ(made.path.find(".."), std::string::npos) << made.path;
      EXPECT_EQ(made.path.find("//"), std::string::npos) << made.path;
    }
  }
  EXPECT_EQ(paths.size(), 8u);
}

}  // namespace
}  // namespace hearth::shim
