#include "hw/root.h"

#include <gtest/gtest.h>

#include "hw/mounts.h"
#include "hw/test_tree.h"

namespace hearth::hw {
namespace {

TEST(Root, ReadsOrSaysWhy) {
  TestTree tree;
  tree.file("/proc/a", "  first \nsecond\n").file("/proc/n", "42\n");
  const Root root = tree.root();
  EXPECT_EQ(*root.read("/proc/a"), "  first \nsecond\n");
  EXPECT_EQ(root.line("/proc/a"), "first");
  EXPECT_EQ(root.number("/proc/n"), 42);
  EXPECT_EQ(root.number("/proc/a"), std::nullopt);
  EXPECT_EQ(root.read("/proc/none").why(), "/proc/none: No such file or directory");
  EXPECT_EQ(root.list("/proc"), (std::vector<std::string>{"a", "n"}));
  EXPECT_TRUE(root.list("/none").empty());
}

TEST(Root, CpuLists) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("5"), std::vector<int>{5});
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("x,3-,0-99999999").empty());
  EXPECT_EQ(format_cpu_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(format_cpu_list({}), "");
}

TEST(Root, Fields) {
  const std::string_view text =
      "MemTotal:       24684092 kB\nMemTotalX: 1\nmodel name\t: A: B\nq\n";
  EXPECT_EQ(field(text, "MemTotal"), "24684092 kB");
  EXPECT_EQ(field(text, "model name"), "A: B");
  EXPECT_EQ(field(text, "model"), "name\t: A: B");
  EXPECT_EQ(field(text, "Mem"), std::nullopt);
  EXPECT_EQ(field(text, "q"), std::nullopt);
}

constexpr std::string_view kMounts =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n"
    "40 27 0:50 / /mnt/my\\040disk ro - nfs4 server:/export ro,vers=4.2\n"
    "41 27 0:51 / /mnt rw - tmpfs tmpfs rw\n"
    "broken line\n";

TEST(Mounts, ParsesAndFinds) {
  const auto mounts = parse_mounts(kMounts);
  ASSERT_EQ(mounts.size(), 4U);
  EXPECT_EQ(mounts[2].point, "/mnt/my disk");
  EXPECT_EQ(mounts[1].source, "/dev/vda");
  EXPECT_EQ(mount_of(mounts, "/mnt/my disk/a")->filesystem, "nfs4");
  EXPECT_EQ(mount_of(mounts, "/mnt/my disks")->filesystem, "tmpfs");
  EXPECT_EQ(mount_of(mounts, "/mntx")->filesystem, "ext4");
  EXPECT_EQ(mount_of({}, "/"), nullptr);
  EXPECT_TRUE(has_option("rw,ro,x", "ro"));
  EXPECT_FALSE(has_option("rw,errors=remount-ro", "ro"));
}

}  // namespace
}  // namespace hearth::hw
