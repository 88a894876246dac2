// A task of a gang from start to end: its port, what its gang's failure says of it, its last lines.
#include <netinet/in.h>
#include <sys/socket.h>

#include "shim/fixture_test.h"

namespace hearth::shim {
namespace {

class GangShim : public Shim {
 protected:
  // A listener of somebody else's on a port that the kernel chose; our row begins there.
  int take_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    CHECK(::bind(fd, reinterpret_cast<sockaddr*>(&at), size) == 0 && ::listen(fd, 1) == 0);
    CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    return fd;
  }
  void in_gang(int64_t port) {
    spec_.world_size = 2;
    spec_.rank = 1;
    spec_.peers = {{.role = "worker", .rank = 0, .address = "127.0.0.1"},
                   {.role = "worker", .rank = 1, .address = "127.0.0.1", .first_port = port}};
  }
  int64_t port_ = 0;
};

TEST_F(GangShim, APortThatAnotherHasIsFoundBeforeTheProcess) {
  const os::Fd other(take_port());
  in_gang(port_);
  EXPECT_EQ(run("echo never"), kShimDone);
  EXPECT_EQ(path_of_states(), "preparing starting failed");
  EXPECT_EQ(last().failure->failure_class, FailureClass::node);
  EXPECT_NE(last().failure->text.find(format("port {}", port_)), std::string::npos);
  EXPECT_EQ(fake_.log(), "");
  EXPECT_TRUE(nothing_left());
}

TEST_F(GangShim, AFailureIsToldBeforeAllIsSavedWithTheLinesAtTheEnd) {
  in_gang(0);
  EXPECT_EQ(run("for i in 1 2 3 4 5 6 7 8 9 10 11; do echo line $i; done; exit 3"), kShimDone);
  const auto states = fake_.states();
  ASSERT_GE(states.size(), 2U);
  const StateRecord& saving = states[states.size() - 2];
  EXPECT_EQ(saving.state, TaskState::saving);
  ASSERT_TRUE(saving.failure.has_value());
  EXPECT_EQ(saving.failure->exit_code, 3);
  ASSERT_EQ(last().failure->lines.size(), kMostFailureLines);
  EXPECT_EQ(last().failure->lines.front(), "line 2");
  EXPECT_EQ(last().failure->lines.back(), "line 11");
}

TEST_F(GangShim, OneThatItsGangTookAlongSaysSo) {
  in_gang(0);
  start("echo ready; exec sleep 60");
  ASSERT_TRUE(until([&] { return fake_.log() == "ready\n"; }));
  SyncAnswer stop;
  stop.stop = true;
  stop.stop_class = "gang";
  stop.grace_seconds = 5;
  fake_.answer(stop);
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_EQ(last().failure->failure_class, FailureClass::cancelled);
  EXPECT_EQ(last().failure->text, "ended with its gang: another task had failed");
}

}  // namespace
}  // namespace hearth::shim
