// Gangs of the local executor: ports, lent nodes, what their orders say.
#include "executors/local/ports.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/codec.h"
#include "domain/topology.h"
#include "executors/local/local_executor.h"
#include "os/files.h"
#include "tests/contract/executor_witness.h"

namespace hearth::executors {
namespace {

// Somebody else's.
class Listener {
 public:
  explicit Listener(int64_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listens_ =
        ::bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 && ::listen(fd_, 1) == 0;
  }
  ~Listener() { ::close(fd_); }
  bool listens() const { return listens_; }

 private:
  int fd_;
  bool listens_ = false;
};

TEST(Ports, RowsLieBesideEachOtherAndNeverMeetOnesThatAreHeldOrTaken) {
  const auto first = find_ports(3, 7, {});
  ASSERT_TRUE(first.ok()) << first.error().text();
  for (const int64_t port : *first) {
    EXPECT_GE(port, kFirstPort);
    EXPECT_LE(port + kPortsOfTask - 1, kLastPort);
    EXPECT_EQ((port - kFirstPort) % kPortsOfTask, 0);
  }
  const auto others = find_ports(3, 7, {first->begin(), first->end()});
  ASSERT_TRUE(others.ok());
  for (const int64_t port : *others)
    EXPECT_EQ(std::count(first->begin(), first->end(), port), 0) << port;
  // Any port of a row counts, not the first alone.
  const Listener other(first->front() + 3);
  if (!other.listens()) GTEST_SKIP() << "somebody was faster";
  const auto again = find_ports(1, 7, {});
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->front(), first->front());
}

TEST(Ports, WhereThereAreNotEnoughItSaysSo) {
  std::set<int64_t> held;
  for (int64_t port = kFirstPort; port <= kLastPort; port += kPortsOfTask) held.insert(port);
  const auto none = find_ports(1, 0, held);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::unavailable);
}

class LentNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    auto place = os::TemporaryDirectory::make();
    ASSERT_TRUE(place.ok());
    place_.emplace(std::move(place).value());
    auto opened = LocalExecutor::open(
        {.work_directory = place_->path(),
         .shim = {HEARTH_TEST_SHIM},
         .lent = {{.name = "a", .pool = "p", .cpus = 4, .memory_bytes = 1 << 30, .lent = true},
                  {.name = "b", .pool = "p", .cpus = 4, .memory_bytes = 1 << 30, .lent = true}},
         .nvml = "/nowhere/libnvidia-ml.so.1",
         .drain_pause = Duration::millis(10)},
        system_clock());
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    executor_ = std::move(opened).value();
    executor_->watch(&witness_);
  }
  static Launch gang(hearth::Launch contract = hearth::Launch::plain) {
    Launch launch = make_launch("run=5ms", 2);
    launch.nodes = {"a", "b"};
    for (TaskSpec& task : launch.tasks) {
      task.launch = contract;
      task.node = launch.nodes[static_cast<size_t>(task.rank)];
      task.peers = {{.role = "worker", .rank = 0, .node = "a"},
                    {.role = "worker", .rank = 1, .node = "b"}};
    }
    return launch;
  }
  TaskSpec order(const Launch& launch, size_t task) const {
    auto text = os::read_file(
        place_->path() + "/" + launch.attempt_id + "/" + launch.tasks[task].task_id + "/task.json",
        kMostOrderBytes);
    auto spec = from_json<TaskSpec>(std::move(text).value_or("{}"));
    EXPECT_TRUE(spec.ok());
    return std::move(spec).value_or(TaskSpec{});
  }
  void wait(const Launch& launch) {
    for (const TaskSpec& task : launch.tasks) EXPECT_TRUE(witness_.wait_over(task.task_id));
  }

  std::optional<os::TemporaryDirectory> place_;
  Witness witness_;
  std::unique_ptr<LocalExecutor> executor_;
};

TEST_F(LentNodes, StandInThePlaceOfTheMachine) {
  const auto nodes = executor_->topology();
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ((*nodes)[1].name, "b");
  EXPECT_TRUE((*nodes)[1].lent);
  EXPECT_TRUE(witness_.wait_nodes(2));
}

TEST_F(LentNodes, EveryMemberIsToldTheSameAddresses) {
  const Launch first = gang(), second = gang();
  ASSERT_TRUE(executor_->start(first).ok());
  ASSERT_TRUE(executor_->start(second).ok());
  std::set<int64_t> ports;
  for (const Launch* launch : {&first, &second}) {
    const TaskSpec one = order(*launch, 0), two = order(*launch, 1);
    EXPECT_EQ(one.peers, two.peers);
    EXPECT_EQ(one.interface, "lo");
    for (const Peer& peer : one.peers) {
      EXPECT_EQ(peer.address, "127.0.0.1");
      EXPECT_TRUE(ports.insert(peer.first_port).second) << "two have " << peer.first_port;
    }
    wait(*launch);
  }
}

TEST_F(LentNodes, ANodeThatIsNotInTheFileIsToldAndNothingStarts) {
  Launch launch = gang();
  launch.nodes[1] = "c";
  const auto started = executor_->start(launch);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, Code::unavailable);  // another place may do: tried again
  EXPECT_NE(started.error().detail.find("node c"), std::string::npos);
  EXPECT_TRUE(executor_->recover().value_or({}).empty());
  // Nor does this machine stand in for a lent node when the file is gone.
  auto without = LocalExecutor::open({.work_directory = place_->path() + "/other",
                                      .shim = {HEARTH_TEST_SHIM},
                                      .nvml = "/nowhere/libnvidia-ml.so.1"},
                                     system_clock());
  ASSERT_TRUE(without.ok());
  EXPECT_EQ((*without)->start(gang()).error().code, Code::unavailable);
}

TEST_F(LentNodes, OnlyMpirunsGangsGetAFolderWithPipes) {
  const Launch plain = gang(), mpi = gang(hearth::Launch::mpi);
  ASSERT_TRUE(executor_->start(plain).ok());
  ASSERT_TRUE(executor_->start(mpi).ok());
  EXPECT_FALSE(os::exists(place_->path() + "/" + plain.attempt_id + "/gang"));
  const auto pipe = os::status(place_->path() + "/" + mpi.attempt_id + "/gang/rank-1");
  ASSERT_TRUE(pipe.ok());
  EXPECT_TRUE(S_ISFIFO(pipe->st_mode));
  EXPECT_EQ(pipe->st_mode & 07777, 0600U);
  wait(plain);
  wait(mpi);
  EXPECT_EQ(executor_->recover().value_or({}).size(), 4U);  // the folder is no task
  EXPECT_TRUE(executor_->forget(mpi.attempt_id).ok());
}

}  // namespace
}  // namespace hearth::executors
