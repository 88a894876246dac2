// For the shim's tests: a server that takes syncs and objects, and the shim as a process of its own
// (the test program, started with --shim).
#pragma once

#include <set>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
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
#include "shim/shim.h"
#include "track/log_frame.h"

namespace hearth::shim {

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
  // What the server speaks from now on; versions of the requests that it could read.
  void speak(ProtocolRange range) {
    const std::lock_guard lock(mutex_);
    speaks_ = range;
    heard_.clear();
  }
  std::set<int64_t> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  std::atomic<int> refuse{0};  // so many requests are answered 503
  std::atomic<bool> gone{false};
  std::atomic<bool> stalls{false};  // objects come without an end
  std::atomic<int> stalled{0};

 private:
  template <typename T>
  std::vector<T> copy(const std::vector<T>& from) {
    const std::lock_guard lock(mutex_);
    return from;
  }

  net::Response sync(net::Request& request) {
    if (gone) return net::Response::text(410, "application/json", "{}");
    const size_t end = request.body.find('\n');
    const auto hello = from_json<SyncHello>(std::string_view(request.body).substr(0, end),
                                            Origin::server, kMostSyncBytes);
    const auto protocol = hello.ok() ? agree(*hello, speaks_) : Result<int64_t>(hello.error());
    if (!protocol.ok())
      return net::Response::text(
          501, "application/json",
          format(R"({{"code":"unsupported","detail":"{}"}})", protocol.error().detail));
    heard_.insert(hello->protocol);
    const auto head = from_json<SyncHead>(std::string_view(request.body).substr(0, end),
                                          Origin::server, kMostSyncBytes);
    if (!head.ok()) return net::Response::text(400, "application/json", "{}");
    SyncAnswer answer = answer_;
    answer.protocol = *protocol;
    // A final state comes with or behind all the rest.
    if (ended_ && (!head->records.empty() || head->log_bytes > 0)) in_order_ = false;
    bool ends = false;
    for (const StateRecord& state : head->states)
      if (state.seq == marks_.state + 1) {
        states_.push_back(state);
        marks_.state = state.seq;
        ends = ends || finished(state.state);
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
    ended_ = ended_ || ends;
    const bool empty = head->states.empty() && head->records.empty() && frames.empty();
    const bool news = answer.stop || answer.live_version > head->live_version;
    if (empty && !news && head->wait_seconds > 0) {
      net::Response wait;
      wait.body =
          net::Wait{"never", 1000, Duration::millis(200), [answer] { return json(answer); }};
      return wait;
    }
    return json(answer);
  }
  // As of a later version of the server: a shim passes over what it does not know.
  static net::Response json(const SyncAnswer& answer) {
    std::string text = to_json(answer);
    text.insert(1, R"("of_a_later_version":{"x":[1]},)");
    return net::Response::text(200, "application/json", text);
  }
  net::Response object(net::Request& request) {
    const std::string digest = request.path.substr(std::string("/api/v1/objects/").size());
    if (stalls) {
      // Begins a body that never ends: a piece now, then nothing.
      net::Response endless;
      endless.body = net::StreamBody{
          {}, Duration::seconds(3600), [] { return net::Chunk{std::string(1 << 20, 'x')}; }};
      ++stalled;
      return endless;
    }
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
  ProtocolRange speaks_ = kShimProtocols;
  std::set<int64_t> heard_;
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

}  // namespace hearth::shim
