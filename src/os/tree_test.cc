#include "os/tree.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/format.h"
#include "base/id.h"
#include "os/system.h"

namespace hearth::os {
namespace {

class Tree : public testing::Test {
 protected:
  Tree() { EXPECT_TRUE(become_subreaper().ok()); }
  ~Tree() override {
    ignore(kill_tree(query(), {.first_signal = 0}));
    if (child_.valid()) ignore(child_.wait());
    reap_orphans({});
  }
  // Starts a shell of the task and waits until `count` processes are found.
  void start(const std::string& text, size_t count, bool new_session = true) {
    SpawnOptions options;
    options.shell = text;
    options.environment = {"PATH=/usr/bin:/bin", marker_};
    options.new_session = new_session;
    child_ = std::move(spawn(options).value());
    wait_for(count);
  }
  void wait_for(size_t count) {
    for (int i = 0; i < 3000 && find_tree(query()).size() != count; ++i) usleep(10'000);
    ASSERT_EQ(find_tree(query()).size(), count);
  }
  TreeQuery query() const {
    TreeQuery query;
    query.marker = marker_;
    return query;
  }
  std::string marker_ = "HEARTH_TASK=" + new_id();
  Process child_;
};

// Ignores SIGTERM and, forked twice, lives on in a session of its own under another parent.
const std::string kStubborn =
    "trap '' TERM; (setsid sh -c \"trap '' TERM; while :; do sleep 1; done\" &) ; "
    "while :; do sleep 1; done";

TEST_F(Tree, FindsWhoRanAwayByTheMarker) {
  start(kStubborn, 4);
  TreeQuery by_session;
  by_session.sessions = {child_.pid()};
  EXPECT_EQ(find_tree(by_session).size(), 2u);  // the one that opened a session is not there
  TreeQuery by_root;
  by_root.roots = {{child_.pid(), child_.start_time()}};
  EXPECT_EQ(find_tree(by_root).size(), 2u);
  by_root.roots = {{child_.pid(), child_.start_time() + 1}};
  EXPECT_EQ(find_tree(by_root).size(), 0u);
}

TEST_F(Tree, EndsAProcessThatIgnoresSigtermAndOneThatHasLeftTheSession) {
  start(kStubborn, 4);
  const auto report = kill_tree(query(), {.first_signal = SIGTERM, .grace = Duration::millis(200)});
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_TRUE(report->used_kill);
  EXPECT_GE(report->found, 4);
  EXPECT_TRUE(find_tree(query()).empty());
  EXPECT_EQ(child_.wait()->signal, SIGKILL);
}

TEST_F(Tree, PoliteOnesEndBySigtermAlone) {
  start("sleep 100 & sleep 100 & wait", 3);
  const Time begin = system_clock().steady();
  const auto report = kill_tree(query(), {.first_signal = SIGTERM, .grace = Duration::seconds(60)});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->used_kill);
  EXPECT_LT((system_clock().steady() - begin).seconds(), 30);
  EXPECT_EQ(child_.wait()->signal, SIGTERM);
}

TEST_F(Tree, EndsWhatKeepsForking) {
  // Each lives for a moment only and starts the next in a session of its own.
  const auto dir = TemporaryDirectory::make();
  const std::string script = *dir / "hop";
  ASSERT_TRUE(
      write_file_atomic(
          script, "#!/bin/sh\ntrap '' TERM\nsleep 0.01\nsetsid " + script + " &\nexit 0\n", 0755)
          .ok());
  SpawnOptions options;
  options.argv = {script};
  options.environment = {"PATH=/usr/bin:/bin", marker_};
  child_ = std::move(spawn(options).value());
  ignore(child_.wait());
  const auto report = kill_tree(query(), {.first_signal = SIGTERM, .grace = Duration::millis(50)});
  ASSERT_TRUE(report.ok()) << report.error().text();
  usleep(100'000);
  EXPECT_TRUE(find_tree(query()).empty());
}

TEST_F(Tree, StoppedProcessesEndToo) {
  start("kill -STOP $$", 1);
  EXPECT_TRUE(kill_tree(query(), {.first_signal = SIGTERM}).ok());
  ignore(child_.wait());
}

TEST_F(Tree, NeverTakesItselfOrItsParents) {
  TreeQuery everything;
  everything.roots = {{1, 0}, {getpid(), 0}};
  everything.sessions = {getsid(0)};
  for (const ProcessInfo& info : find_tree(everything)) {
    EXPECT_NE(info.pid, getpid());
    EXPECT_NE(info.pid, getppid());
    EXPECT_NE(info.pid, 1);
  }
  EXPECT_EQ(kill_tree(TreeQuery(), {}).error().code, Code::invalid);
}

TEST_F(Tree, ExceptIsHonoured) {
  start("sleep 100 & wait", 2);
  TreeQuery some = query();
  some.except = {child_.pid()};
  EXPECT_EQ(find_tree(some).size(), 1u);
}

TEST_F(Tree, SamplesMemoryAndTimeOfAll) {
  start("sh -c 'while :; do :; done' & sh -c 'while :; do :; done' & wait", 3);
  TreeSampler sampler(query());
  const TreeSample first = sampler.sample();
  EXPECT_EQ(first.processes, 3);
  EXPECT_EQ(first.threads, 3);
  EXPECT_GT(first.pss_bytes, 100 << 10);
  TreeSample later = first;
  for (int i = 0; i < 100 && later.cpu.micros < first.cpu.micros + 200'000; ++i) {
    usleep(50'000);
    later = sampler.sample();
  }
  EXPECT_GE(later.cpu.micros, first.cpu.micros + 200'000);
  ASSERT_TRUE(kill_tree(query(), {.first_signal = 0}).ok());
  ignore(child_.wait());
  // What was used stays counted when all are gone.
  const TreeSample last = sampler.sample();
  EXPECT_EQ(last.processes, 0);
  EXPECT_GE(last.cpu.micros, later.cpu.micros);
}

TEST_F(Tree, PssCountsSharedPagesOnce) {
  // Two processes over one mapping of 64 MiB: RSS sees it twice.
  start(
      "exec python3 -c \"import os,mmap,time; m=mmap.mmap(-1,64<<20); m.write(b'x'*(64<<20)); "
      "os.fork(); m[:]; print(1); time.sleep(100)\"",
      2);
  TreeSampler sampler(query());
  int64_t rss = 0;
  TreeSample sample;
  for (int i = 0; i < 200; ++i) {
    rss = 0;
    for (const ProcessInfo& info : find_tree(query())) rss += info.rss_bytes;
    sample = sampler.sample();
    if (rss > (120 << 20) && sample.processes == 2 && sample.pss_bytes < rss - (50 << 20)) break;
    usleep(50'000);
  }
  EXPECT_GT(rss, 120 << 20);
  EXPECT_LT(sample.pss_bytes, rss - (50 << 20));
  EXPECT_GT(sample.pss_bytes, 64 << 20);
}

TEST_F(Tree, OrphansAreReapedButNotTheKept) {
  SpawnOptions options;
  options.shell = "(setsid sleep 0.05 &) ; exec sleep 100";
  options.environment = {"PATH=/usr/bin:/bin", marker_};
  child_ = std::move(spawn(options).value());
  size_t reaped = 0;
  for (int i = 0; i < 1000 && reaped == 0; ++i) {
    reaped = reap_orphans({child_.pid()});
    usleep(10'000);
  }
  EXPECT_GE(reaped, 1u);
  ASSERT_TRUE(child_.send_signal(SIGKILL).ok());
  pollfd look{child_.pidfd(), POLLIN, 0};
  ASSERT_EQ(poll(&look, 1, 10'000), 1);
  reap_orphans({child_.pid()});
  EXPECT_EQ(child_.wait()->signal, SIGKILL);
}

}  // namespace
}  // namespace hearth::os
