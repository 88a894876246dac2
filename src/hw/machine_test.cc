#include "hw/machine.h"

#include <filesystem>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hw/test_tree.h"

namespace hearth::hw {
namespace {

// Captured from a Debian 12 guest with two processors; shortened.
constexpr const char* kCpuinfo =
    "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\nflags\t\t: fpu vme "
    "hypervisor avx2\n\nprocessor\t: 1\nmodel name\t: AMD EPYC\n";
constexpr const char* kMeminfo =
    "MemTotal:       24684092 kB\nMemFree:        24245780 kB\nMemAvailable:   24269708 kB\n"
    "SwapTotal:             0 kB\nSwapFree:              0 kB\n";

TestTree& add_cpus(TestTree& tree) {
  tree.file("/proc/cpuinfo", kCpuinfo);
  tree.file("/sys/devices/system/cpu/online", "0-3\n");
  for (int cpu = 0; cpu < 4; ++cpu) {  // two packages of one core with two threads each
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    tree.file(folder + "physical_package_id", std::to_string(cpu % 2));
    tree.file(folder + "core_id", "0");
  }
  return tree;
}

TestTree& add_v2(TestTree& tree) {
  const std::string top = "/sys/fs/cgroup", own = top + "/user.slice/me.scope";
  tree.file("/proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
  tree.file("/proc/self/cgroup", "0::/user.slice/me.scope\n");
  tree.file(own + "/cgroup.controllers", "cpu io memory pids\n");
  tree.file(own + "/cgroup.procs", "").file(own + "/cgroup.subtree_control", "");
  tree.file(own + "/cpu.max", "max 100000\n").file(own + "/memory.max", "8589934592\n");
  tree.file(top + "/user.slice/cpu.max", "150000 100000\n");
  tree.file(top + "/user.slice/memory.max", "4294967296\n");
  return tree;
}

TestTree& add_v1(TestTree& tree) {
  const std::string top = "/sys/fs/cgroup";
  tree.file("/proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
            "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
            "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
            "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
            "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  tree.file("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/box\n1:cpu,cpuacct:/box\n0::/\n");
  for (const std::string folder : {"/cpu,cpuacct", "/memory"}) {
    tree.file(top + folder + "/box/cgroup.procs", "");
  }
  tree.file(top + "/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
  tree.file(top + "/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  tree.file(top + "/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
  tree.file(top + "/memory/memory.limit_in_bytes", "1073741824\n");
  tree.file(top + "/unified/cgroup.controllers", "\n");
  return tree;
}

TEST(Cpus, CountsWhatIsThereAndWhatIsAllowed) {
  TestTree tree;
  add_cpus(tree).file("/proc/self/status", "Cpus_allowed:\t7\nCpus_allowed_list:\t0-2\n");
  tree.file("/sys/devices/system/node/online", "0-1\n");
  const auto found = cpus(tree.root());
  ASSERT_TRUE(found) << found.why();
  EXPECT_EQ(found->model, "AMD EPYC");
  EXPECT_EQ(found->online, 4);
  EXPECT_EQ(found->cores, 2);
  EXPECT_EQ(found->packages, 2);
  EXPECT_EQ(found->numa_nodes, 2);
  EXPECT_EQ(found->allowed, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(found->quota, std::nullopt);
  EXPECT_EQ(found->usable(), 3);
  add_v2(tree);
  EXPECT_EQ(cpus(tree.root())->usable(), 1.5);
  EXPECT_EQ(cpus(Root("/nowhere")).why(), "/proc/cpuinfo: No such file or directory");
}

TEST(Memory, TightestLimitCounts) {
  TestTree tree;
  tree.file("/proc/meminfo", kMeminfo);
  EXPECT_EQ(memory(tree.root())->limit, std::nullopt);
  EXPECT_EQ(memory(tree.root())->total, int64_t{24684092} * 1024);
  EXPECT_EQ(memory(tree.root())->usable(), int64_t{24684092} * 1024);
  add_v2(tree);
  EXPECT_EQ(memory(tree.root())->limit, int64_t{4} << 30);
  add_v1(tree);
  EXPECT_EQ(memory(tree.root())->usable(), int64_t{1} << 30);
  tree.file("/proc/meminfo", "nothing\n");
  EXPECT_FALSE(memory(tree.root()));
}

TEST(Kernel, NamesTheSystem) {
  TestTree tree;
  tree.file("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n").file("/proc/cpuinfo", kCpuinfo);
  tree.file("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n");
  tree.file("/run/.containerenv", "");
  const auto found = kernel(tree.root());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->release, "6.1.0-18-amd64");
  EXPECT_EQ(found->distribution, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(found->distribution_id, "debian");
  EXPECT_TRUE(found->hypervisor);
  EXPECT_EQ(found->container, "podman");
}

TEST(Pressure, ParsesOldAndNewForms) {
  const auto found = parse_pressure(
      "some avg10=0.01 avg60=0.98 avg300=12.50 total=12755780\n"
      "full avg10=0.00 avg60=0.00 avg300=0.25 total=7\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->some.avg300, 12.5);
  EXPECT_EQ(found->some.total_micros, 12755780);
  EXPECT_EQ(found->full.avg300, 0.25);
  EXPECT_EQ(parse_pressure("some avg10=0.01 avg60=0.98 avg300=1 total=1\n")->full.avg10, 0);
  EXPECT_FALSE(parse_pressure("some avg10=zero avg60=0 avg300=0 total=1\n"));
  EXPECT_FALSE(parse_pressure(""));
  EXPECT_NE(pressures(Root("/nowhere")).cpu.why().find("psi"), std::string::npos);
}

TEST(Cgroups, V2Delegated) {
  TestTree tree;
  const auto found = cgroups(add_v2(tree).root());
  ASSERT_TRUE(found) << found.why();
  EXPECT_EQ(found->version, CgroupVersion::v2);
  ASSERT_NE(found->find("memory"), nullptr);
  EXPECT_EQ(found->find("memory")->directory, "/sys/fs/cgroup/user.slice/me.scope");
  EXPECT_TRUE(found->find("cpu")->writable);
  EXPECT_TRUE(found->limits) << found->limits.why();
  EXPECT_EQ(found->describe(), "v2, delegated");
}

TEST(Cgroups, V2WithoutControllersSaysSo) {
  TestTree tree;
  add_v2(tree).file("/sys/fs/cgroup/user.slice/me.scope/cgroup.controllers", "memory pids\n");
  const auto found = cgroups(tree.root());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->limits.why(), "the group of this process has no controller for cpu");
}

TEST(Cgroups, ReadOnlyAsInAContainer) {
  TestTree tree;
  add_v2(tree).file("/proc/self/mountinfo",
                    "30 23 0:26 /user.slice /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
  // The mount shows /user.slice as its top, so that the own group is me.scope right below it.
  tree.file("/sys/fs/cgroup/me.scope/cgroup.controllers", "cpu memory\n");
  const auto found = cgroups(tree.root());
  ASSERT_TRUE(found);
  ASSERT_NE(found->find("cpu"), nullptr);
  EXPECT_EQ(found->find("cpu")->directory, "/sys/fs/cgroup/me.scope");
  EXPECT_EQ(found->limits.why(), "/sys/fs/cgroup is mounted read-only, as in most containers");
}

TEST(Cgroups, Hybrid) {
  TestTree tree;
  const auto found = cgroups(add_v1(tree).root());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version, CgroupVersion::hybrid);
  ASSERT_NE(found->find("cpuacct"), nullptr);
  EXPECT_EQ(found->find("cpuacct")->directory, "/sys/fs/cgroup/cpu,cpuacct/box");
  EXPECT_EQ(found->find("name=systemd"), nullptr);
  EXPECT_TRUE(found->limits) << found->limits.why();
}

TEST(Cgroups, None) {
  EXPECT_EQ(cgroups(Root("/nowhere")).why(), "no cgroup file system is mounted");
}

TEST(Disk, TellsWhereAPathLies) {
  TestTree tree;
  tree.file("/proc/self/mountinfo",
            "27 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
            "40 27 0:50 / /shared rw - nfs4 server:/export rw\n"
            "41 27 0:51 / /fuse ro - fuse.sshfs me@there: rw\n");
  tree.file("/shared/x", "").file("/fuse/x", "").file("/data/x", "");
  tree.file("/sys/dev/block/254:1/../queue/rotational", "1\n");
  const auto local = disk(tree.root(), "/data/not/yet");
  ASSERT_TRUE(local) << local.why();
  EXPECT_EQ(local->device, "/dev/vda1");
  EXPECT_TRUE(local->fit_for_database());
  EXPECT_GT(local->total, 0);
  EXPECT_TRUE(disk(tree.root(), "/shared/db")->network);
  EXPECT_FALSE(disk(tree.root(), "/shared/db")->fit_for_database());
  EXPECT_TRUE(disk(tree.root(), "/fuse/x")->fuse);
  EXPECT_TRUE(disk(tree.root(), "/fuse/x")->read_only);
  const auto real = disk(Root(), tree.directory());
  ASSERT_TRUE(real) << real.why();
  EXPECT_GT(real->free, 0);
}

TEST(Disk, SyncLatencyLeavesNothing) {
  TestTree tree;
  const auto found = sync_latency(tree.directory(), 5, system_clock());
  ASSERT_TRUE(found) << found.why();
  EXPECT_EQ(found->count, 5);
  EXPECT_LE(found->p50_micros, found->p99_micros);
  EXPECT_LE(found->p99_micros, found->most_micros);
  EXPECT_TRUE(std::filesystem::is_empty(tree.directory()));
  EXPECT_NE(sync_latency("/nowhere", 5, system_clock()).why().find("No such file"),
            std::string::npos);
}

TEST(Host, Programs) {
  TestTree tree;
  tree.program("/usr/bin/podman", "").file("/usr/bin/runc", "not executable");
  std::filesystem::create_directories(tree.directory() + "/usr/bin/crun");
  const auto found = container_programs(tree.root());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().path, "/usr/bin/podman");
  EXPECT_FALSE(container_programs(Root("/nowhere")));
}

TEST(Host, UserNamespaces) {
  TestTree tree;
  EXPECT_EQ(user_namespaces(tree.root()).why(), "the kernel is built without user namespaces");
  tree.file("/proc/sys/user/max_user_namespaces", "96365\n");
  ASSERT_TRUE(user_namespaces(tree.root()));
  EXPECT_FALSE(user_namespaces(tree.root())->mapped_ranges);
  const std::string uid = std::to_string(::geteuid());
  tree.file("/etc/passwd", "me:x:" + uid + ":0::/:/bin/sh\n").file("/etc/subuid", "me:1:65536\n");
  tree.program("/usr/bin/newuidmap", "");
  EXPECT_TRUE(user_namespaces(tree.root())->mapped_ranges);
  tree.file("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
  EXPECT_EQ(user_namespaces(tree.root()).why(), "kernel.unprivileged_userns_clone is 0");
}

TEST(Host, LimitsAndIpv6) {
  TestTree tree;
  tree.file("/proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n"
            "Max processes             96365                unlimited            processes \n"
            "Max open files            1024                 524288               files     \n"
            "Max locked memory         unlimited            unlimited            bytes     \n");
  const auto found = limits(tree.root());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->open_files, 1024);
  EXPECT_EQ(found->open_files_most, 524288);
  EXPECT_EQ(found->processes, 96365);
  EXPECT_EQ(found->locked_memory, -1);
  EXPECT_FALSE(ipv6(tree.root()));
  tree.file("/proc/net/if_inet6", "00000000000000000000000000000001 01 80 10 80       lo\n");
  EXPECT_TRUE(ipv6(tree.root())->loopback);
  EXPECT_FALSE(ipv6(tree.root())->global);
}

TEST(Host, PciGpus) {
  TestTree tree;
  const std::string bus = "/sys/bus/pci/devices/";
  tree.file(bus + "0000:3b:00.0/class", "0x030200\n").file(bus + "0000:3b:00.0/vendor", "0x10de\n");
  tree.file(bus + "0000:3b:00.0/numa_node", "1\n");
  tree.file(bus + "0000:00:02.0/class", "0x030000\n").file(bus + "0000:00:02.0/vendor", "0x8086\n");
  tree.file(bus + "0000:01:00.0/class", "0x020000\n").file(bus + "0000:01:00.0/vendor", "0x10de\n");
  std::filesystem::create_symlink("../../../drivers/nvidia",
                                  tree.directory() + bus + "0000:3b:00.0/driver");
  const auto found = pci_gpus(tree.root());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].bus_id, "0000:3b:00.0");
  EXPECT_EQ(found[0].vendor, "NVIDIA");
  EXPECT_EQ(found[0].driver, "nvidia");
  EXPECT_EQ(found[0].numa_node, 1);
}

TEST(Host, PortTakenAndFree) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&where), size), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size), 0);
  const uint16_t port = ntohs(where.sin_port);
  EXPECT_NE(port_free("127.0.0.1", port).why().find("Address already in use"), std::string::npos);
  ::close(fd);
  EXPECT_TRUE(port_free("localhost", port));
  EXPECT_FALSE(port_free("not.an.address", 1));
}

TEST(Machine, ThisOne) {
  const Machine found = machine(Root());
  ASSERT_TRUE(found.cpus) << found.cpus.why();
  EXPECT_GT(found.cpus->usable(), 0);
  ASSERT_TRUE(found.memory);
  EXPECT_GT(found.memory->usable(), int64_t{64} << 20);
  ASSERT_TRUE(found.kernel);
  EXPECT_TRUE(found.pidfd) << found.pidfd.why();
  ASSERT_TRUE(found.limits);
}

}  // namespace
}  // namespace hearth::hw
