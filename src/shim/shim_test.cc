// How a task runs and ends.
#include "os/cgroup.h"
#include "shim/fixture_test.h"

namespace hearth::shim {
namespace {

TEST_F(Shim, RunsToTheEndAndLeavesNothing) {
  EXPECT_EQ(run("echo hello; echo problem >&2"), kShimDone);
  EXPECT_EQ(path_of_states(), "preparing starting running saving succeeded");
  EXPECT_EQ(last().exit_code, 0);
  EXPECT_EQ(fake_.log(), "hello\n");
  EXPECT_EQ(fake_.log(track::Stream::err), "problem\n");
  EXPECT_TRUE(fake_.in_order());
  EXPECT_TRUE(nothing_left());
  EXPECT_TRUE(os::exists(task_dir() + "/exit.json"));
  start_shim({});  // again: nothing to do
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_EQ(fake_.states().size(), 5u);
}

TEST_F(Shim, SaysHowItEnded) {
  EXPECT_EQ(run("python3 -c 'raise ValueError(\"bad value\")'"), kShimDone);
  ASSERT_TRUE(last().failure.has_value());
  EXPECT_EQ(last().failure->failure_class, FailureClass::exit);
  EXPECT_EQ(last().failure->exit_code, 1);
  EXPECT_EQ(last().failure->text, "exit code 1: ValueError: bad value");
}

TEST_F(Shim, TellsSignalsApart) {
  EXPECT_EQ(run("kill -SEGV $$"), kShimDone);
  EXPECT_EQ(last().failure->failure_class, FailureClass::signal);
  EXPECT_EQ(last().failure->signal, SIGSEGV);
  EXPECT_NE(last().failure->text.find("Segmentation"), std::string::npos);
}

TEST_F(Shim, AMissingCommandDidNotStart) {
  spec_.command.words = {"no-such-program"};
  EXPECT_EQ(run(""), kShimDone);
  EXPECT_EQ(path_of_states(), "preparing starting failed");
  EXPECT_EQ(last().failure->failure_class, FailureClass::start);
  EXPECT_NE(last().failure->text.find("no-such-program"), std::string::npos);
  EXPECT_TRUE(nothing_left());
}

TEST_F(Shim, TheShellsMissingCommandIsSaidSo) {
  EXPECT_EQ(run("no-such-program"), kShimDone);
  EXPECT_EQ(last().failure->exit_code, 127);
  EXPECT_NE(last().failure->text.find("did not find"), std::string::npos);
}

TEST_F(Shim, TheTimeLimitEndsWhatIgnoresSigterm) {
  spec_.time_limit_seconds = 0.5;
  spec_.grace_seconds = 0.3;
  EXPECT_EQ(run("trap '' TERM; (setsid sh -c \"trap '' TERM; while :; do sleep 1; done\" &) ; "
                "while :; do sleep 1; done"),
            kShimDone);
  EXPECT_EQ(last().failure->failure_class, FailureClass::time_limit);
  EXPECT_EQ(path_of_states(), "preparing starting running stopping saving failed");
  EXPECT_TRUE(nothing_left());
}

TEST_F(Shim, AnOrderOfTheServerEndsIt) {
  start("echo ready; sleep 100");
  ASSERT_TRUE(until([&] { return fake_.log() == "ready\n"; }));
  SyncAnswer stop;
  stop.stop = true;
  stop.stop_class = "preemption";
  stop.grace_seconds = 1;
  fake_.answer(stop);
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_EQ(last().failure->failure_class, FailureClass::preemption);
}

TEST_F(Shim, SigtermEndsItInOrder) {
  start("echo ready; sleep 100");
  ASSERT_TRUE(until([&] { return fake_.log() == "ready\n"; }));
  ASSERT_TRUE(shim_.send_signal(SIGTERM).ok());
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_EQ(last().failure->failure_class, FailureClass::node);
}

TEST_F(Shim, WhenTheServerWantsNoMoreItEnds) {
  start("echo ready; sleep 100");
  ASSERT_TRUE(until([&] { return fake_.log() == "ready\n"; }));
  fake_.gone = true;
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_TRUE(nothing_left());
}

TEST_F(Shim, WithoutAServerAndWithoutItsFolderItEnds) {
  start("echo ready; sleep 100");
  ASSERT_TRUE(until([&] { return fake_.log() == "ready\n"; }));
  server_->stop(Duration::seconds(1));
  ASSERT_TRUE(os::remove_tree(task_dir()).ok());
  EXPECT_NE(wait(), -1) << "it still runs";
  os::TreeQuery all;
  all.marker = "HEARTH_TASK=" + spec_.task_id;
  EXPECT_TRUE(os::find_tree(all).empty());
}

TEST_F(Shim, TheControlGroupsOutOfMemoryIsToldApart) {
  spec_.resources.memory.bytes = 64 << 20;
  EXPECT_EQ(run("exec python3 -c \"x = b'x' * (300 << 20)\""), kShimDone);
  if (fake_.states().size() > 2 && fake_.states()[2].limits == "watched") GTEST_SKIP();
  EXPECT_EQ(last().failure->failure_class, FailureClass::oom);
  EXPECT_NE(last().failure->text.find("64 MiB"), std::string::npos);
}

TEST_F(Shim, WithoutAControlGroupMemoryIsWatched) {
  spec_.resources.memory.bytes = 100 << 20;
  EXPECT_EQ(
      run("exec python3 -c \"import time; x = b'x' * (300 << 20); time.sleep(60)\"", {"--watch"}),
      kShimDone);
  EXPECT_EQ(fake_.states()[2].limits, "watched");
  EXPECT_EQ(last().failure->failure_class, FailureClass::oom);
  EXPECT_TRUE(nothing_left());
}

TEST_F(Shim, SecretsAreBlackedOutAlsoAcrossReads) {
  spec_.secrets["WANDB_KEY"] = "s3cr3t-value";
  EXPECT_EQ(run("printf 's3cr'; sleep 0.3; printf '3t-value|'; echo $WANDB_KEY $HEARTH_TOKEN"),
            kShimDone);
  std::string log = fake_.log();
  std::erase(log, '\n');  // a line that pauses for long comes in parts
  EXPECT_EQ(log, "***|*** ***");
}

TEST_F(Shim, LongAndBinaryLinesSurvive) {
  EXPECT_EQ(run("head -c 1000000 /dev/zero | tr '\\0' 'x'; echo; printf 'a\\001\\377\\000b\\n'"),
            kShimDone);
  std::string all = fake_.log();
  std::erase(all, '\n');
  EXPECT_EQ(all.size(), 1'000'000u + 5);
  EXPECT_TRUE(all.ends_with(std::string_view("a\001\377\000b", 5)));
}

TEST_F(Shim, TheEnvironmentIsAsAgreed) {
  spec_.params["lr"] = Param{AnyJson{"0.5"}};
  spec_.env["MINE"] = "yes";
  spec_.gpus = {"GPU-1", "GPU-2"};
  spec_.resources.cpus = 2.5;
  EXPECT_EQ(run("env; echo lr=${params.lr}; cat $HEARTH_PARAMS; pwd"), kShimDone);
  const std::string log = fake_.log();
  for (const char* line :
       {"MINE=yes\n", "CUDA_VISIBLE_DEVICES=GPU-1,GPU-2\n", "OMP_NUM_THREADS=2\n",
        "PYTHONUNBUFFERED=1\n", "HEARTH_RANK=0\n", "lr=0.5\n", "{\"lr\":0.5}\n",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"})
    EXPECT_NE(log.find(line), std::string::npos) << line;
}

TEST_F(Shim, NoGpuMeansNoneIsSeen) {
  EXPECT_EQ(run("echo \"[$CUDA_VISIBLE_DEVICES]\" ${CUDA_VISIBLE_DEVICES+set}"), kShimDone);
  EXPECT_EQ(fake_.log(), "[] set\n");
}

TEST_F(Shim, CodeAndDataAreThere) {
  ASSERT_TRUE(os::make_directories(dir_ / "code").ok());
  ASSERT_TRUE(os::write_file_atomic(dir_ / "code/run.sh", "cat data/x more/y/z\n", 0755).ok());
  ASSERT_TRUE(os::bundle_directory(dir_ / "code", dir_ / "bundle").ok());
  spec_.code_digest = fake_.put(os::read_file(dir_ / "bundle", 1 << 20).value());
  ASSERT_TRUE(os::make_directories(dir_ / "set").ok());
  ASSERT_TRUE(os::write_file_atomic(dir_ / "set/x", "from disk\n").ok());
  spec_.datasets.push_back({.variable = "SET", .at = "data", .path = dir_ / "set"});
  Manifest manifest;
  manifest.files.push_back({"y/z", fake_.put("from store\n"), 11});
  spec_.datasets.push_back(
      {.variable = "MORE", .at = "more", .manifest_digest = fake_.put(to_json(manifest))});
  EXPECT_EQ(run("./run.sh; ls -d $HEARTH_DATA_SET"), kShimDone);
  EXPECT_EQ(fake_.log(), format("from disk\nfrom store\n{}/work/data\n", task_dir()));
  EXPECT_EQ(fake_.states()[2].dataset_fingerprints.size(), 1u);
  EXPECT_TRUE(os::exists(dir_ / "set/x"));  // the link was removed, not what it led to
}

TEST_F(Shim, AMissingPathIsAFailedStart) {
  spec_.datasets.push_back({.variable = "X", .at = "x", .path = "/no/such/place"});
  EXPECT_EQ(run("echo"), kShimDone);
  EXPECT_EQ(last().failure->failure_class, FailureClass::start);
  EXPECT_NE(last().failure->text.find("/no/such/place"), std::string::npos);
}

TEST_F(Shim, LiveValuesReachTheFile) {
  start("while ! grep -q 0.25 $HEARTH_LIVE; do sleep 0.05; done; cat $HEARTH_LIVE");
  SyncAnswer answer;
  answer.live_version = 3;
  answer.live["lr"] = {AnyJson{"0.25"}, 2, 100};
  fake_.answer(answer);
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_EQ(fake_.log(),
            "{\"version\":3,\"values\":{\"lr\":{\"value\":0.25,\"version\":2,\"at_step\":100}}}\n");
}

TEST_F(Shim, TheServerMayBeAwayForAWhile) {
  server_.reset();
  start("for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i; sleep 0.05; done");
  usleep(1'000'000);
  start_server();
  fake_.refuse = 3;
  EXPECT_EQ(wait(), kShimDone);
  std::string expected;
  for (int i = 1; i <= 10; ++i) expected += format("line {}\n", i);
  EXPECT_EQ(fake_.log(), expected);
  EXPECT_EQ(path_of_states(), "preparing starting running saving succeeded");
}

TEST_F(Shim, AKilledShimIsDrained) {
  start("echo one; (setsid sh -c \"trap '' TERM; while :; do sleep 1; done\" &) ; sleep 100");
  ASSERT_TRUE(until([&] { return fake_.log() == "one\n"; }));
  start_shim({"--drain"});  // holds off while the other lives, then gives up: not waited for here
  ASSERT_TRUE(shim_.send_signal(SIGKILL).ok());
  ignore(shim_.wait());
  const auto holder = os::lock_holder(task_dir() + "/lock");
  ASSERT_TRUE(holder.ok() && *holder);
  ASSERT_TRUE(os::ProcessRef::open(**holder)->send_signal(SIGKILL).ok());
  start_shim({"--drain"});
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_EQ(last().state, TaskState::failed);
  EXPECT_EQ(last().failure->failure_class, FailureClass::lost);
  EXPECT_EQ(fake_.log(), "one\n");
  EXPECT_TRUE(fake_.in_order());
  EXPECT_TRUE(nothing_left());
  start_shim({"--drain"});
  EXPECT_EQ(wait(), kShimDone);
}

TEST_F(Shim, ASecondShimStaysOut) {
  start("echo ready; sleep 100");
  ASSERT_TRUE(until([&] { return fake_.log() == "ready\n"; }));
  os::Process first = std::move(shim_);
  start_shim({});
  EXPECT_EQ(wait(), kShimBusy);
  ASSERT_TRUE(first.send_signal(SIGTERM).ok());
  EXPECT_EQ(first.wait()->code, kShimDone);
}

TEST_F(Shim, AFullDiskIsSaidSo) {
  ASSERT_TRUE(os::make_directories(task_dir()).ok());
  if (mount("hearth-test", task_dir().c_str(), "tmpfs", 0, "size=8m,mode=0700") != 0)
    GTEST_SKIP() << "may not mount";
  EXPECT_EQ(run("echo begin; dd if=/dev/zero of=big bs=1M count=20 || exit 3"), kShimDone);
  umount2(task_dir().c_str(), MNT_DETACH);
  EXPECT_EQ(last().state, TaskState::failed);
  ASSERT_TRUE(last().failure.has_value());
  EXPECT_EQ(last().failure->failure_class, FailureClass::disk);
  EXPECT_EQ(last().failure->exit_code, 3);
  EXPECT_EQ(fake_.log(), "begin\n");
}

TEST_F(Shim, AStopEndsAFetchThatTakesLong) {
  spec_.code_digest = sha256("code");
  fake_.stalls = true;
  start("echo never");
  ASSERT_TRUE(until([&] { return fake_.stalled > 0; }));
  const Time before = system_clock().steady();
  SyncAnswer stop;
  stop.stop = true;
  stop.stop_class = "cancelled";
  fake_.answer(stop);
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_LT(system_clock().steady() - before, Duration::seconds(30));
  EXPECT_EQ(path_of_states(), "preparing failed");
  EXPECT_EQ(last().failure->failure_class, FailureClass::cancelled);
  EXPECT_TRUE(nothing_left());
}

TEST_F(Shim, SigtermEndsAFetchThatTakesLong) {
  spec_.code_digest = sha256("code");
  fake_.stalls = true;
  start("echo never");
  ASSERT_TRUE(until([&] { return fake_.stalled > 0; }));
  const Time before = system_clock().steady();
  ASSERT_TRUE(shim_.send_signal(SIGTERM).ok());
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_LT(system_clock().steady() - before, Duration::seconds(30));
  EXPECT_EQ(path_of_states(), "preparing failed");
  EXPECT_TRUE(nothing_left());
}

TEST_F(Shim, AFullSpoolDropsLinesAndSaysHowMany) {
  spec_.spool_bytes = 300 << 10;
  server_.reset();
  start(
      "i=0; while [ $i -lt 20000 ]; do echo line number $i of many; i=$((i+1)); done; echo end; "
      "touch ../ended");
  ASSERT_TRUE(until([&] { return os::exists(task_dir() + "/ended"); }));
  start_server();
  EXPECT_EQ(wait(), kShimDone);
  const size_t kept = split(fake_.log(), '\n').size() - 1;
  EXPECT_LT(kept, 20'001u);
  size_t dropped = 0;
  const std::string said = fake_.log(track::Stream::hearth);
  for (const std::string_view line : split(said, '\n'))
    if (line.find("lines were dropped") != std::string_view::npos)
      dropped += std::stoul(std::string(line));
  EXPECT_EQ(kept + dropped, 20'001u);
}

TEST_F(Shim, TakesAHundredThousandLinesASecond) {
  const Time begin = system_clock().steady();
  EXPECT_EQ(run("head -c 16000000 /dev/zero | tr '\\0' 'x' | fold -w 79"), kShimDone);
  const double seconds = (system_clock().steady() - begin).seconds();
  const size_t lines = split(fake_.log(), '\n').size();
  std::printf("%zu lines in %.2f s (with sanitizers, server included)\n", lines, seconds);
  EXPECT_GT(lines, 200'000u);
}

TEST_F(Shim, ATaskOfAnotherUserOwnsItsPlace) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(os::set_mode(dir_.path(), 0711).ok());
  ASSERT_TRUE(os::make_directories(task_dir(), 0711).ok());
  spec_.uid = spec_.gid = 54321;
  EXPECT_EQ(run("id -u; touch here && echo wrote; cat ../task.json 2>/dev/null || echo refused; "
                "touch ../x 2>/dev/null || echo refused"),
            kShimDone);
  EXPECT_EQ(fake_.log(), "54321\nwrote\nrefused\nrefused\n");
}

}  // namespace
}  // namespace hearth::shim

namespace {
constexpr std::string_view kGroups = "hearth-shim-test";
}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--shim" && argc > 2) {
    hearth::shim::ShimOptions options;
    options.directory = argv[2];
    options.cgroup_parent = kGroups;
    for (int i = 3; i < argc; ++i) {
      options.drain = options.drain || std::string_view(argv[i]) == "--drain";
      if (std::string_view(argv[i]) == "--sdk") options.sdk_directory = argv[i + 1];
      if (std::string_view(argv[i]) == "--protocols") {
        options.protocols = {std::stoi(argv[i + 1]), std::stoi(argv[i + 2])};
        options.protocol_pause = hearth::Duration::millis(200);
      }
      options.cgroups = options.cgroups && std::string_view(argv[i]) != "--watch";
    }
    return hearth::shim::run_shim(options);
  }
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const auto groups = hearth::os::detect_cgroups({.parent = std::string(kGroups), .probe = false});
  hearth::os::remove_parents(groups);
  return failed;
}
