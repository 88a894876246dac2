#include "executors/local/shim_group.h"

#include <gtest/gtest.h>

#include "hw/test_tree.h"

namespace hearth::executors {
namespace {

using Groups = std::vector<std::string>;

TEST(ShimGroup, RootsServerInAUnitOfVersionTwo) {
  hw::TestTree tree;
  tree.file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.file("/proc/self/cgroup", "0::/system.slice/hearth.service\n");
  tree.file("/sys/fs/cgroup/cgroup.procs", "");
  EXPECT_EQ(shim_groups(tree.root()), Groups{"/sys/fs/cgroup/hearth-shims"});
}

TEST(ShimGroup, AUsersServerBelowWhatWasDelegated) {
  hw::TestTree tree;
  const std::string user = "/user.slice/user-1000.slice/user@1000.service";
  tree.file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.file("/proc/self/cgroup", "0::" + user + "/app.slice/hearth.service\n");
  tree.file("/sys/fs/cgroup" + user + "/cgroup.procs", "");  // what stands above is not ours
  tree.file("/sys/fs/cgroup" + user + "/app.slice/cgroup.procs", "");
  EXPECT_EQ(shim_groups(tree.root()), Groups{"/sys/fs/cgroup" + user + "/hearth-shims"});
}

TEST(ShimGroup, VersionOneGoesBySystemdsTree) {
  hw::TestTree tree;
  tree.file("/proc/self/mountinfo",
            "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
            "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n");
  tree.file("/proc/self/cgroup", "4:memory:/box\n1:name=systemd:/system.slice/hearth.service\n");
  tree.file("/sys/fs/cgroup/systemd/cgroup.procs", "");
  EXPECT_EQ(shim_groups(tree.root()), Groups{"/sys/fs/cgroup/systemd/hearth-shims"});
}

TEST(ShimGroup, NoneWhereThereIsNoUnitOrNoRight) {
  hw::TestTree tree;
  EXPECT_TRUE(shim_groups(tree.root()).empty());
  tree.file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.file("/proc/self/cgroup", "0::/\n").file("/sys/fs/cgroup/cgroup.procs", "");
  EXPECT_TRUE(shim_groups(tree.root()).empty());
  hw::TestTree locked;
  locked.file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  locked.file("/proc/self/cgroup", "0::/a/b\n");
  EXPECT_TRUE(shim_groups(locked.root()).empty());
}

}  // namespace
}  // namespace hearth::executors
