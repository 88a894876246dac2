// The shim as a process of its own (this program, started with --shim) against a server in this
// one.
#include "shim/shim.h"

#include <map>
#include <mutex>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/id.h"
#include "base/units.h"
#include "domain/codec.h"
#include "domain/dataset.h"
#include "domain/wire/api.h"
#include "domain/wire/sync.h"
#include "domain/wire/task_spec.h"
#include "net/server.h"
#include "os/archive.h"
#include "os/process.h"
#include "os/tree.h"
#include "track/log_frame.h"

namespace hearth::shim {
namespace {

// Takes syncs as the real server does: knows its marks, ignores what it has.
class FakeServer : public net::Handler {
 public:
  net::BodyRule rule(const net::RequestHead&) override { return {.most_bytes = 64 << 20}; }
  net::Response malformed(int status, std::string_view detail, const std::string&) override {
    return net::Response::text(status, "text/plain", std::string(detail));
  }
  net::Response handle(net::Request& request) override {
    const std::lock_guard lock(mutex_);
    if (request.headers.get("Authorization") != "Bearer shim-secret-token")
      return net::Response::text(401, "application/json", "{}");
    if (refuse > 0 && --refuse >= 0) return net::Response::text(503, "application/json", "{}");
    if (request.path.ends_with("/sync")) return sync(request);
    if (request.path.starts_with("/api/v1/objects/")) return object(request);
    return upload(request);
  }

  struct Line {
    uint64_t seq;
    track::Stream stream;
    std::string text;
  };
  std::vector<StateRecord> states() { return copy(states_); }
  std::vector<TaskRecord> records(const std::string& kind) {
    std::vector<TaskRecord> out;
    for (const TaskRecord& record : copy(records_))
      if (record.kind == kind) out.push_back(record);
    return out;
  }
  std::string log(track::Stream stream = track::Stream::out) {
    std::string out;
    for (const Line& line : copy(lines_))
      if (line.stream == stream) out += line.text + "\n";
    return out;
  }
  std::string object(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    return objects_[digest];
  }
  std::string put(std::string bytes) {
    const std::lock_guard lock(mutex_);
    const std::string digest = sha256(bytes);
    objects_[digest] = std::move(bytes);
    return digest;
  }
  void answer(SyncAnswer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  bool in_order() {
    const std::lock_guard lock(mutex_);
    return in_order_;
  }
  std::atomic<int> refuse{0};  // so many requests are answered 503
  std::atomic<bool> gone{false};

 private:
  template <typename T>
  std::vector<T> copy(const std::vector<T>& from) {
    const std::lock_guard lock(mutex_);
    return from;
  }

  net::Response sync(net::Request& request) {
    if (gone) return net::Response::text(410, "application/json", "{}");
    const size_t end = request.body.find('\n');
    const auto head = from_json<SyncHead>(std::string_view(request.body).substr(0, end),
                                          Origin::server, kMostSyncBytes);
    if (!head.ok()) return net::Response::text(400, "application/json", "{}");
    SyncAnswer answer = answer_;
    for (const StateRecord& state : head->states)
      if (state.seq == marks_.state + 1) {
        states_.push_back(state);
        marks_.state = state.seq;
        in_order_ = in_order_ && !(finished(state.state) && behind(*head, request.body, end));
      }
    for (const TaskRecord& record : head->records) {
      if (record.seq <= marks_.metrics) continue;
      in_order_ = in_order_ && record.seq == marks_.metrics + 1;
      records_.push_back(record);
      marks_.metrics = record.seq;
    }
    const auto frames = as_bytes(std::string_view(request.body).substr(end + 1));
    const auto walked = track::each_frame(frames, [&](const track::Frame& frame) {
      for (const track::Record& record : frame) {
        if (record.seq <= static_cast<uint64_t>(marks_.log)) continue;
        lines_.push_back({record.seq, record.stream, std::string(record.bytes)});
        marks_.log = static_cast<int64_t>(record.seq);
      }
      return Result<void>();
    });
    in_order_ = in_order_ && walked.ok();
    answer.acknowledged = marks_;
    const bool empty = head->states.empty() && head->records.empty() && frames.empty();
    const bool news = answer.stop || answer.live_version > head->live_version;
    if (empty && !news && head->wait_seconds > 0) {
      net::Response wait;
      wait.body = net::Wait{"never", 1000, Duration::millis(200), [answer] {
                              return net::Response::text(200, "application/json", to_json(answer));
                            }};
      return wait;
    }
    return net::Response::text(200, "application/json", to_json(answer));
  }
  // A final state must bring all the rest with it or come after it: nothing later is checked below.
  bool behind(const SyncHead&, const std::string&, size_t) { return ended_ = true, false; }

  net::Response object(net::Request& request) {
    const std::string digest = request.path.substr(std::string("/api/v1/objects/").size());
    if (!objects_.contains(digest)) return net::Response::text(404, "application/json", "{}");
    return net::Response::text(200, "application/octet-stream",
                               request.method == "HEAD" ? "" : objects_[digest]);
  }
  net::Response upload(net::Request& request) {
    if (request.path == "/api/v1/uploads") {
      const auto body = from_json<UploadBody>(request.body);
      uploads_[body->digest] = "";
      return net::Response::text(201, "application/json", to_json(UploadResult{body->digest, 0}));
    }
    std::string id = request.path.substr(std::string("/api/v1/uploads/").size());
    if (id.ends_with("/finish")) {
      id.resize(id.size() - 7);
      if (sha256(uploads_[id]) != id) return net::Response::text(400, "application/json", "{}");
      objects_[id] = uploads_[id];
      return net::Response::text(
          200, "application/json",
          to_json(StoredResult{id, static_cast<int64_t>(objects_[id].size())}));
    }
    uploads_[id] += request.body;
    return net::Response::text(
        200, "application/json",
        to_json(UploadResult{id, static_cast<int64_t>(uploads_[id].size())}));
  }

  std::mutex mutex_;
  SyncAnswer answer_;
  Marks marks_;
  bool in_order_ = true, ended_ = false;
  std::vector<StateRecord> states_;
  std::vector<TaskRecord> records_;
  std::vector<Line> lines_;
  std::map<std::string, std::string> objects_, uploads_;
};

class Shim : public testing::Test {
 protected:
  Shim() {
    spec_.task_id = new_id();
    spec_.attempt_id = new_id();
    spec_.job_id = new_id();
    spec_.run_id = new_id();
    spec_.job_name = "job-7";
    spec_.project = spec_.experiment = "p";
    spec_.shim_token = "shim-secret-token";
    spec_.job_token = "job-secret-token";
    spec_.resources.memory.bytes = int64_t{512} << 20;
    spec_.server_socket = dir_ / "api.sock";
    spec_.server_url = "http://127.0.0.1:1";
    start_server();
  }
  ~Shim() override {
    os::TreeQuery all;
    all.marker = "HEARTH_TASK=" + spec_.task_id;
    ignore(os::kill_tree(all, {.first_signal = 0}));
    if (shim_.valid()) {
      ignore(shim_.send_signal(SIGKILL));
      ignore(shim_.wait());
    }
  }
  void start_server() {
    net::ServerOptions options;
    options.listen.push_back({.unix_path = spec_.server_socket});
    options.workers = 2;
    server_ = std::move(net::Server::create(options, fake_, signals_).value());
    server_->start();
  }
  std::string task_dir() const { return dir_ / "task"; }
  void start(const std::string& command, std::vector<std::string> flags = {}) {
    spec_.command.text = command;
    ASSERT_TRUE(os::make_directories(task_dir()).ok());
    ASSERT_TRUE(os::write_file_atomic(task_dir() + "/task.json", to_json(spec_), 0600).ok());
    start_shim(std::move(flags));
  }
  void start_shim(std::vector<std::string> flags) {
    os::SpawnOptions options;
    options.argv = {"/proc/self/exe", "--shim", task_dir()};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    options.environment = os::current_environment();
    options.standard_error = os::Stdio::inherit();
    shim_ = std::move(os::spawn(options).value());
  }
  int wait() {
    const auto exit = shim_.wait(Duration::seconds(60));
    if (!exit.ok() || !*exit) return -1;
    return (*exit)->signal != 0 ? -(*exit)->signal : (*exit)->code;
  }
  int run(const std::string& command, std::vector<std::string> flags = {}) {
    start(command, std::move(flags));
    return wait();
  }
  template <typename Ready>
  bool until(Ready&& ready, int seconds = 30) {
    for (int i = 0; i < seconds * 100; ++i) {
      if (ready()) return true;
      usleep(10'000);
    }
    return false;
  }
  StateRecord last() {
    const auto states = fake_.states();
    return states.empty() ? StateRecord{} : states.back();
  }
  std::string path_of_states() {
    std::string out;
    for (const StateRecord& state : fake_.states())
      out += (out.empty() ? "" : " ") +
             std::string(Words<TaskState>::words[static_cast<size_t>(state.state)]);
    return out;
  }
  bool nothing_left() {
    os::TreeQuery all;
    all.marker = "HEARTH_TASK=" + spec_.task_id;
    return os::find_tree(all).empty() && !os::exists(task_dir() + "/spool") &&
           !os::exists(task_dir() + "/work") && !os::exists(task_dir() + "/cgroup");
  }

  // In memory where there is such a place: the syncs are not what is tested here.
  os::TemporaryDirectory dir_ = std::move(
      os::TemporaryDirectory::make("hearth-shim", os::exists("/dev/shm") ? "/dev/shm" : "")
          .value());
  Signals signals_;
  FakeServer fake_;
  std::unique_ptr<net::Server> server_;
  TaskSpec spec_;
  os::Process shim_;
};

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
  EXPECT_EQ(fake_.log(), "***|*** ***\n");
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

TEST_F(Shim, OutputsAreSaved) {
  spec_.outputs.artifacts = {"plots/**"};
  spec_.outputs.models.push_back({"out/model.pt", "net"});
  EXPECT_EQ(run("mkdir -p plots out; echo a > plots/a.txt; echo b > plots/b.txt; echo m > "
                "out/model.pt"),
            kShimDone);
  ASSERT_EQ(fake_.records("artifact").size(), 2u);
  EXPECT_EQ(fake_.records("artifact")[0].path, "plots/a.txt");
  EXPECT_EQ(fake_.object(fake_.records("artifact")[0].digest), "a\n");
  ASSERT_EQ(fake_.records("model").size(), 1u);
  EXPECT_EQ(fake_.records("model")[0].name, "net");
}

// A stand-in for the SDK, by its protocol.
const char* const kClient = R"PY(
import json, os, socket
def connect(session, first):
    s = socket.socket(socket.AF_UNIX)
    folder = os.open(os.path.dirname(os.environ["HEARTH_SOCKET"]), os.O_RDONLY)
    s.connect("/proc/self/fd/%d/sdk.sock" % folder)
    s.sendall((json.dumps({"t":"hello","v":1,"pid":1,"rank":0,"session":session,"next":first}) + "\n").encode())
    return s
def say(s, **record):
    s.sendall((json.dumps(record) + "\n").encode())
def flush(s, n):
    say(s, t="flush", id=n)
    line = b""
    while not line.endswith(b"\n"):
        line += s.recv(1)
    assert json.loads(line) == {"t":"flushed","id":n}, line
)PY";

TEST_F(Shim, TakesReportsOnceAndInOrder) {
  const std::string script = std::string(kClient) + R"PY(
s = connect("aa", 0)
for i in range(50):
    say(s, t="metric", step=i, time_us=1000+i, values={"loss": i, "odd": "NaN"})
flush(s, 1)
s.close()
s = connect("aa", 40)            # again from 40, as after a broken connection
for i in range(40, 60):
    say(s, t="metric", step=i, time_us=1000+i, values={"loss": i})
s.sendall(b"this is no json\n")
say(s, t="of a later version", x=1)
if os.fork() == 0:
    c = connect("bb", 0)
    say(c, t="params", values={"epochs": 3, "name": "x"})
    flush(c, 1)
    os._exit(0)
os.wait()
say(s, t="live_applied", name="lr", value=0.5, version=2, step=7)
s.sendall(b'{"t":"metric","step":99,"values":{"torn')
)PY";
  ASSERT_TRUE(os::write_file_atomic(dir_ / "client.py", script).ok());
  EXPECT_EQ(run("python3 " + (dir_ / "client.py")), kShimDone) << fake_.log(track::Stream::err);
  const auto metrics = fake_.records("metric");
  ASSERT_EQ(metrics.size(), 60u);
  for (size_t i = 0; i < metrics.size(); ++i) EXPECT_EQ(metrics[i].step, static_cast<int64_t>(i));
  EXPECT_EQ(fake_.records("params").at(0).texts.at("epochs"), "3");
  EXPECT_EQ(fake_.records("live").at(0).version, 2);
  EXPECT_NE(fake_.log(track::Stream::hearth).find("not understood"), std::string::npos);
}

TEST_F(Shim, CheckpointsOfTheSdkExistOnceTheyAreSent) {
  spec_.outputs.checkpoints = CheckpointOutput{"ckpt", 1};
  const std::string script = std::string(kClient) + R"PY(
s = connect("aa", 0)
for step in (1, 2):
    d = os.environ["HEARTH_CHECKPOINT_DIR"] + "/step-%010d" % step
    os.mkdir(d)
    open(d + "/model.pt", "w").write("weights %d" % step)
    say(s, t="checkpoint", step=step, path=d)
say(s, t="model", path=d + "/model.pt", name=None)
flush(s, 1)
)PY";
  ASSERT_TRUE(os::write_file_atomic(dir_ / "client.py", script).ok());
  EXPECT_EQ(run("python3 " + (dir_ / "client.py")), kShimDone) << fake_.log(track::Stream::err);
  const auto checkpoints = fake_.records("checkpoint");
  ASSERT_EQ(checkpoints.size(), 2u);
  EXPECT_EQ(checkpoints[1].step, 2);
  const auto manifest = from_json<Manifest>(fake_.object(checkpoints[1].digest));
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->files.at(0).path, "step-0000000002/model.pt");
  EXPECT_EQ(fake_.object(manifest->files[0].digest), "weights 2");
  EXPECT_EQ(fake_.records("model").at(0).name, "job");
}

TEST_F(Shim, GoesOnFromACheckpoint) {
  spec_.outputs.checkpoints = CheckpointOutput{"ckpt", 3};
  Manifest manifest;
  manifest.files.push_back({"step-0000000005/model.pt", fake_.put("five"), 4});
  spec_.resume_manifest_digest = fake_.put(to_json(manifest));
  EXPECT_EQ(run("cat $HEARTH_RESUME_FROM/model.pt; echo; cat ckpt/step-0000000005/model.pt"),
            kShimDone);
  EXPECT_EQ(fake_.log(), "five\nfive\n");
}

TEST_F(Shim, CheckpointsOfOtherCodeAreFound) {
  spec_.outputs.checkpoints = CheckpointOutput{"ckpt", 3};
  EXPECT_EQ(run("mkdir ckpt/checkpoint-500; echo w > ckpt/checkpoint-500/model.bin; echo i > "
                "ckpt/net-7.index; echo d > ckpt/net-7.data"),
            kShimDone);
  const auto checkpoints = fake_.records("checkpoint");
  ASSERT_EQ(checkpoints.size(), 2u);
  std::map<int64_t, size_t> files;
  for (const TaskRecord& checkpoint : checkpoints)
    files[*checkpoint.step] = from_json<Manifest>(fake_.object(checkpoint.digest))->files.size();
  EXPECT_EQ(files, (std::map<int64_t, size_t>{{7, 2}, {500, 1}}));
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

TEST_F(Shim, AFullSpoolDropsLinesAndSaysHowMany) {
  spec_.spool_bytes = 300 << 10;
  server_.reset();
  start("i=0; while [ $i -lt 20000 ]; do echo line number $i of many; i=$((i+1)); done; echo end");
  usleep(1'500'000);
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

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--shim" && argc > 2) {
    hearth::shim::ShimOptions options;
    options.directory = argv[2];
    options.cgroup_parent = "hearth-test";
    for (int i = 3; i < argc; ++i) {
      options.drain = options.drain || std::string_view(argv[i]) == "--drain";
      options.cgroups = options.cgroups && std::string_view(argv[i]) != "--watch";
    }
    return hearth::shim::run_shim(options);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
