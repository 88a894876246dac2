#include "os/cgroup.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "os/files.h"
#include "os/process.h"
#include "os/tree.h"

namespace hearth::os {
namespace {

class Groups : public testing::Test {
 protected:
  void SetUp() override {
    options_.parent = format("hearth-test-{}", getpid());
    support_ = detect_cgroups(options_);
    if (support_.version == CgroupVersion::none) GTEST_SKIP() << support_.why;
  }
  void TearDown() override {
    remove_parents(support_);
    for (const auto& [controller, folder] : support_.parents) EXPECT_FALSE(exists(folder));
  }
  Process start(const Cgroup& group, const std::string& text) {
    SpawnOptions options;
    options.shell = text;
    options.environment = {"PATH=/usr/bin:/bin"};
    options.enter_groups = group.entry_files();
    return std::move(spawn(options).value());
  }
  CgroupOptions options_;
  CgroupSupport support_;
};

TEST_F(Groups, SaysWhatThereIs) {
  EXPECT_FALSE(support_.why.empty());
  EXPECT_TRUE(list_cgroups(support_)->empty());
  const CgroupSupport none = detect_cgroups({.mount = "/no/such/mount"});
  EXPECT_EQ(none.version, CgroupVersion::none);
  EXPECT_NE(none.why.find("/no/such/mount"), std::string::npos);
  EXPECT_EQ(Cgroup::create(none, "x", {}).error().code, Code::unsupported);
}

TEST_F(Groups, MakesFindsAndRemovesThem) {
  const auto group = Cgroup::create(support_, "task-1", {});
  ASSERT_TRUE(group.ok()) << group.error().text();
  EXPECT_EQ(Cgroup::create(support_, "task-1", {}).error().code, Code::exists);
  EXPECT_EQ(*list_cgroups(support_), std::vector<std::string>{"task-1"});
  EXPECT_TRUE(Cgroup::open(support_, "task-1").ok());
  EXPECT_TRUE(group->remove().ok());
  EXPECT_TRUE(group->remove().ok());
  EXPECT_EQ(Cgroup::open(support_, "task-1").error().code, Code::not_found);
  EXPECT_EQ(Cgroup::create(support_, "../x", {}).error().code, Code::invalid);
}

TEST_F(Groups, TheParentGoesWhenItIsEmptyAndIsMadeAgain) {
  const auto group = Cgroup::create(support_, "task-1", {.memory_bytes = 64 << 20});
  ASSERT_TRUE(group.ok()) << group.error().text();
  remove_parents(support_);
  EXPECT_TRUE(Cgroup::open(support_, "task-1").ok()) << "somebody is in it";
  ASSERT_TRUE(group->remove().ok());
  remove_parents(support_);
  const auto late = Cgroup::create(support_, "task-1", {.memory_bytes = 64 << 20});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::not_found) << late.error().text();
  const auto again = Cgroup::create(detect_cgroups(options_), "task-1", {.memory_bytes = 64 << 20});
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(again->remove().ok());
}

// A parent made anew has no controllers on for its children: that is no unlimited group.
TEST_F(Groups, AGroupWithoutItsLimitIsNone) {
  if (support_.version != CgroupVersion::v2 || !support_.memory) GTEST_SKIP() << support_.why;
  remove_parents(support_);
  const std::string parent = support_.parents.at("");
  ASSERT_EQ(mkdir(parent.c_str(), 0755), 0);
  EXPECT_EQ(Cgroup::create(support_, "task-1", {.memory_bytes = 64 << 20}).error().code,
            Code::not_found);
  EXPECT_TRUE(list_cgroups(support_)->empty());
}

TEST_F(Groups, ChildrenStartInside) {
  const auto group = Cgroup::create(support_, "task-2", {.memory_bytes = 256 << 20, .cpus = 0.5});
  ASSERT_TRUE(group.ok()) << group.error().text();
  Process child = start(*group, "sleep 100 & sleep 100");
  for (int i = 0; i < 200 && group->processes()->size() < 3; ++i) usleep(10'000);
  EXPECT_EQ(group->processes()->size(), 3u);
  EXPECT_EQ(group->stats()->pids, support_.pids ? 3 : 0);
  EXPECT_EQ(group->remove().error().code, Code::conflict);
  TreeQuery query;
  query.cgroup_procs = group->procs_files();
  EXPECT_EQ(find_tree(query).size(), 3u);
  ASSERT_TRUE(group->kill_all(Duration::seconds(10)).ok());
  EXPECT_EQ(child.wait()->signal, SIGKILL);
  EXPECT_TRUE(group->remove().ok());
}

TEST_F(Groups, MovesARunningProcess) {
  const auto group = Cgroup::create(support_, "task-3", {});
  SpawnOptions options;
  options.argv = {"/bin/sleep", "100"};
  Process child = std::move(spawn(options).value());
  ASSERT_TRUE(group->add(child.pid()).ok());
  EXPECT_EQ(*group->processes(), std::vector<pid_t>{child.pid()});
  ASSERT_TRUE(group->kill_all(Duration::seconds(10)).ok());
  ignore(child.wait());
  EXPECT_TRUE(group->remove().ok());
}

TEST_F(Groups, OutOfMemoryIsToldApartFromAKill) {
  if (!support_.memory) GTEST_SKIP() << support_.why;
  const auto group = Cgroup::create(support_, "task-4", {.memory_bytes = 32 << 20});
  Process hungry = start(*group, "exec python3 -c \"x = b'x' * (256 << 20)\"");
  EXPECT_EQ(hungry.wait()->signal, SIGKILL);
  EXPECT_GE(group->stats()->oom_kills, 1);
  EXPECT_LE(group->stats()->memory_peak_bytes, 33 << 20);
  ASSERT_TRUE(group->remove().ok());

  const auto other = Cgroup::create(support_, "task-5", {.memory_bytes = 32 << 20});
  Process killed = start(*other, "kill -9 $$");
  EXPECT_EQ(killed.wait()->signal, SIGKILL);
  EXPECT_EQ(other->stats()->oom_kills, 0);
  EXPECT_TRUE(other->remove().ok());
}

TEST_F(Groups, CpusAreAWeightAndAQuotaOnlyWhenAsked) {
  if (support_.version != CgroupVersion::v1 || !support_.cpu) GTEST_SKIP() << support_.why;
  const auto weight = Cgroup::create(support_, "task-6", {.cpus = 0.05});
  const std::string folder = weight->folders().at("cpu");
  EXPECT_EQ(*read_file(folder + "/cpu.shares", 100), "51\n");
  EXPECT_EQ(*read_file(folder + "/cpu.cfs_quota_us", 100), "-1\n");
  EXPECT_TRUE(weight->remove().ok());
  const auto hard = Cgroup::create(support_, "task-7", {.cpus = 2, .cpu_quota = 0.2});
  const Time begin = system_clock().steady();
  Process busy = start(*hard, "while :; do :; done");
  usleep(600'000);
  const CgroupStats stats = hard->stats().value();
  EXPECT_GT(stats.cpu.micros, 10'000);
  EXPECT_LT(stats.cpu.micros, (system_clock().steady() - begin).micros / 5 + 180'000);
  EXPECT_GT(stats.throttled.micros, 0);
  ASSERT_TRUE(hard->kill_all(Duration::seconds(10)).ok());
  ignore(busy.wait());
  EXPECT_TRUE(hard->remove().ok());
}

TEST_F(Groups, TooManyProcessesFailInsideAlone) {
  if (!support_.pids) GTEST_SKIP() << support_.why;
  const auto group = Cgroup::create(support_, "task-8", {.pids = 3});
  Process child = start(*group, "sleep 0.1 & sleep 0.1 & sleep 0.1 & sleep 0.1 & wait");
  EXPECT_FALSE(child.wait()->success());
  ignore(group->kill_all(Duration::seconds(10)));
  EXPECT_TRUE(group->remove().ok());
}

TEST_F(Groups, FreezesAndThaws) {
  if (!support_.freeze) GTEST_SKIP() << support_.why;
  const auto group = Cgroup::create(support_, "task-9", {});
  Process child = start(*group, "while :; do :; done");
  ASSERT_TRUE(group->freeze().ok());
  const Duration before = process_info(child.pid())->cpu;
  usleep(100'000);
  EXPECT_EQ(process_info(child.pid())->cpu, before);
  ASSERT_TRUE(group->thaw().ok());
  Duration after = before;
  for (int i = 0; i < 200 && after <= before; ++i) {
    usleep(10'000);
    after = process_info(child.pid())->cpu;
  }
  EXPECT_GT(after, before);
  ASSERT_TRUE(group->kill_all(Duration::seconds(10)).ok());
  ignore(child.wait());
  EXPECT_TRUE(group->remove().ok());
}

TEST_F(Groups, EndsWhatForksAllTheTime) {
  const auto group = Cgroup::create(support_, "task-10", {.pids = 200});
  Process child = start(*group, "trap '' TERM; while :; do setsid sleep 0.02 & sleep 0.005; done");
  usleep(100'000);
  ASSERT_TRUE(group->kill_all(Duration::seconds(10)).ok());
  ignore(child.wait());
  EXPECT_TRUE(group->processes()->empty());
  EXPECT_TRUE(group->remove().ok());
}

// Version 2 beside version 1 has no controllers here, but places, kills and freezes all the same.
class Unified : public Groups {
 protected:
  void SetUp() override {
    options_.mount = "/sys/fs/cgroup/unified";
    Groups::SetUp();
  }
};

TEST_F(Unified, PlacesKillsAndFreezes) {
  ASSERT_EQ(support_.version, CgroupVersion::v2);
  EXPECT_FALSE(support_.memory);
  EXPECT_NE(support_.why.find("memory cannot be limited"), std::string::npos);
  const auto group = Cgroup::create(support_, "task-1", {.memory_bytes = 64 << 20, .cpus = 1});
  ASSERT_TRUE(group.ok()) << group.error().text();
  Process child = start(*group, "sleep 100 & setsid sleep 100");
  for (int i = 0; i < 200 && group->processes()->size() < 3; ++i) usleep(10'000);
  EXPECT_EQ(group->processes()->size(), 3u);
  EXPECT_TRUE(group->freeze().ok());
  EXPECT_TRUE(group->thaw().ok());
  EXPECT_TRUE(group->stats().ok());
  ASSERT_TRUE(group->kill_all(Duration::seconds(10)).ok());
  ignore(child.wait());
  EXPECT_TRUE(group->remove().ok());
}

// Nothing but time changes by it: after a pause the kernel waits before it moves a process.
TEST_F(Groups, AnExpectedMoveLeavesUsWhereWeAre) {
  const std::string before = *read_file("/proc/self/cgroup", 1 << 16);
  const auto group = Cgroup::create(support_, "task-12", {});
  ASSERT_TRUE(group.ok());
  const auto least = [&](bool expected) {
    int64_t best = 1'000'000'000;
    for (int i = 0; i < 5; ++i) {
      usleep(100'000);
      if (expected) {
        EXPECT_TRUE(expect_move().ok());
      }
      SpawnOptions options;
      options.argv = {"/bin/true"};
      options.enter_groups = group->entry_files();
      const Time begin = system_clock().steady();
      Process child = std::move(spawn(options).value());
      best = std::min(best, (system_clock().steady() - begin).micros);
      ignore(child.wait());
    }
    return best;
  };
  const int64_t plain = least(false), expected = least(true);
  std::printf("spawn into a control group: %ld us, expected %ld us\n", plain, expected);
  EXPECT_EQ(*read_file("/proc/self/cgroup", 1 << 16), before);
  EXPECT_FALSE(expect_move("/no/such/mount").ok());
  EXPECT_TRUE(group->remove().ok());
}

TEST_F(Groups, PlacementCost) {
  const auto group = Cgroup::create(support_, "task-11", {.memory_bytes = 256 << 20});
  const auto least = [&](bool inside) {
    int64_t best = 1'000'000'000;
    for (int i = 0; i < 20; ++i) {
      SpawnOptions options;
      options.argv = {"/bin/true"};
      if (inside) options.enter_groups = group->entry_files();
      const Time begin = system_clock().steady();
      Process child = std::move(spawn(options).value());
      best = std::min(best, (system_clock().steady() - begin).micros);
      ignore(child.wait());
    }
    return best;
  };
  const int64_t outside = least(false), inside = least(true);
  std::printf("spawn: %ld us, into a control group %ld us\n", outside, inside);
  EXPECT_LT(inside, 100'000);
  EXPECT_TRUE(group->remove().ok());
}

}  // namespace
}  // namespace hearth::os
