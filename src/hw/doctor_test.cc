#include "hw/doctor.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "hw/doctor_facts.h"
#include "hw/test_tree.h"

namespace hearth::hw {
namespace {

DoctorOptions options_in(const TestTree& tree) {
  ::setenv("HEARTH_FAKE_GPUS", "2:H100-80GB", 1);
  return {.data_directory = tree.directory() + "/data/not/yet",
          .address = "127.0.0.1",
          .port = 0,
          .path = tree.directory() + "/bin",
          .nvml = HEARTH_FAKE_NVML,
          .syncs = 3};
}

TEST(Doctor, EveryFactSaysWhatItMeans) {
  TestTree tree;
  const auto facts = doctor(options_in(tree), system_clock());
  std::vector<std::string> names;
  for (const auto& fact : facts) {
    names.push_back(fact.name);
    EXPECT_FALSE(fact.found.empty()) << fact.name;
    EXPECT_TRUE(fact.means.ends_with('.')) << fact.name << ": " << fact.means;
  }
  for (const char* name : {"system", "cpus", "memory", "pressure", "gpus", "cgroups", "pidfd",
                           "disk", "disk sync", "clock", "python3", "git", "containers", "fuse",
                           "user namespaces", "port", "ipv6", "open files"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

TEST(Doctor, NamesOfStates) {
  EXPECT_EQ(name(FactState::ok), "ok");
  EXPECT_EQ(name(FactState::missing), "missing");
}

TEST(Doctor, GpusOrWhyNot) {
  TestTree tree;
  bool has_gpus = false;
  ::setenv("HEARTH_FAKE_GPUS", "2:H100-80GB; 1:L4-24GB ecc=1", 1);
  const auto some = gpu_fact(tree.root(), HEARTH_FAKE_NVML, has_gpus);
  EXPECT_TRUE(has_gpus);
  EXPECT_EQ(some.found,
            "2 x NVIDIA H100-80GB (80 GiB); 1 x NVIDIA L4-24GB (24 GiB); driver 550.0.fake, CUDA "
            "up to 12.4");
  EXPECT_EQ(some.state, FactState::warning);
  EXPECT_NE(some.means.find("GPU 2 had 1 memory error"), std::string::npos);
  const auto none = gpu_fact(tree.root(), "/nowhere.so", has_gpus);
  EXPECT_EQ(none.state, FactState::missing);
  EXPECT_EQ(none.mend, "");
  const std::string card = "/sys/bus/pci/devices/0000:3b:00.0/";
  tree.file(card + "class", "0x030200\n").file(card + "vendor", "0x10de\n");
  const auto no_driver = gpu_fact(tree.root(), "/nowhere.so", has_gpus);
  EXPECT_EQ(no_driver.state, FactState::warning);
  EXPECT_NE(no_driver.found.find("0000:3b:00.0"), std::string::npos);
  EXPECT_FALSE(no_driver.mend.empty());
}

TEST(Doctor, PythonAndTorchAreAsked) {
  TestTree tree;
  const std::string path = tree.directory() + "/bin";
  auto facts = python_facts(path, false);
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].state, FactState::missing);
  tree.program("/bin/python3", "#!/bin/sh\nprintf '3.11.2\\n1.13.1\\n\\n'\n");
  facts = python_facts(path, true);
  ASSERT_EQ(facts.size(), 2U);
  EXPECT_EQ(facts[0].found, path + "/python3 3.11.2");
  EXPECT_EQ(facts[1].found, "1.13.1, for CPUs only");
  EXPECT_EQ(facts[1].state, FactState::warning);  // there are GPUs
  EXPECT_EQ(python_facts(path, false)[1].state, FactState::ok);
  tree.program("/bin/python3", "#!/bin/sh\nprintf '3.11.2\\n\\n\\n'\n");
  EXPECT_EQ(python_facts(path, false)[1].state, FactState::missing);
  tree.program("/bin/python3", "#!/bin/sh\nexit 3\n");
  facts = python_facts(path, false);
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].state, FactState::warning);
  EXPECT_NE(facts[0].found.find("exit code 3"), std::string::npos);
}

// The question itself, put to the machine's python3 with a torch that is only files.
TEST(Doctor, PythonReadsTorchsVersion) {
  if (!find_program(Root(), "python3")) GTEST_SKIP() << "no python3 in the system's PATH";
  TestTree tree;
  tree.file("/site/torch/__init__.py", "raise SystemExit('imported')\n");
  tree.file("/site/torch/version.py",
            "from typing import Optional\n__version__ = '2.5.1+cu124'\ndebug = False\n"
            "cuda: Optional[str] = '12.4'\n");
  const std::string real = *find_program(Root(), "python3");
  tree.program("/bin/python3", "#!/bin/sh\nshift 2\nexport PYTHONPATH=" + tree.directory() +
                                   "/site\nexec " + real + " -c \"$1\"\n");
  const auto facts = python_facts(tree.directory() + "/bin", true);
  ASSERT_EQ(facts.size(), 2U) << facts[0].found;
  EXPECT_EQ(facts[1].found, "2.5.1+cu124, for CUDA 12.4");
  EXPECT_EQ(facts[1].state, FactState::ok);
}

TEST(Doctor, ReadOnlyAndNetworkDisksAreRefused) {
  TestTree tree;
  tree.file("/proc/self/mountinfo", "40 27 0:50 / / rw - nfs4 server:/export rw\n");
  const auto fact = disk_fact(tree.root(), "/data");
  EXPECT_EQ(fact.state, FactState::missing);
  EXPECT_NE(fact.means.find("refuses"), std::string::npos);
  EXPECT_FALSE(fact.mend.empty());
}

TEST(Doctor, CgroupsOrWhatHappensWithout) {
  TestTree tree;
  const auto none = cgroup_fact(tree.root());
  EXPECT_EQ(none.state, FactState::missing);
  EXPECT_NE(none.means.find("watches the memory"), std::string::npos);
  const std::string own = "/sys/fs/cgroup/a";
  tree.file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.file("/proc/self/cgroup", "0::/a\n");
  tree.file(own + "/cgroup.controllers", "cpu memory\n").file(own + "/cgroup.procs", "");
  tree.file(own + "/cgroup.subtree_control", "");
  EXPECT_EQ(cgroup_fact(tree.root()).state, FactState::ok);
}

// In a user's shell nothing is delegated; to their server, in its unit, something is.
TEST(Doctor, CgroupsOfTheServerCount) {
  TestTree tree;
  const std::string user = "/user.slice/user-1000.slice/";
  tree.file("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.file("/proc/self/cgroup", "0::" + user + "session-1.scope\n");
  tree.file("/proc/77/cgroup", "0::" + user + "user@1000.service/app.slice/hearth.service\n");
  for (const char* group : {"user@1000.service/", "user@1000.service/app.slice/",
                            "user@1000.service/app.slice/hearth.service/"})
    for (const char* file : {"cgroup.procs", "cgroup.subtree_control"})
      tree.file("/sys/fs/cgroup" + user + group + file, "");
  // A unit with Delegate=memory alone; the user's manager has more to give.
  tree.file("/sys/fs/cgroup" + user + "user@1000.service/app.slice/hearth.service/" +
                "cgroup.controllers",
            "memory\n");
  tree.file("/sys/fs/cgroup" + user + "user@1000.service/cgroup.controllers", "cpu memory pids\n");
  tree.file("/sys/fs/cgroup" + user + "session-1.scope/cgroup.controllers", "memory pids\n");
  EXPECT_EQ(cgroup_fact(tree.root()).state, FactState::warning);
  EXPECT_NE(cgroup_fact(tree.root()).found.find("not delegated"), std::string::npos);
  EXPECT_EQ(cgroup_fact(tree.root(), 77).state, FactState::ok);
}

TEST(Doctor, BusyMachineIsNamed) {
  TestTree tree;
  const std::string quiet = "some avg10=0 avg60=0 avg300=0.5 total=1\n";
  tree.file("/proc/pressure/cpu", quiet).file("/proc/pressure/memory", quiet);
  tree.file("/proc/pressure/io", "some avg10=0 avg60=0 avg300=40 total=1\n");
  EXPECT_EQ(pressure_fact(tree.root()).state, FactState::warning);
  tree.file("/proc/pressure/io", quiet);
  EXPECT_EQ(pressure_fact(tree.root()).state, FactState::ok);
}

TEST(Doctor, FewCpusLittleMemory) {
  TestTree tree;
  tree.file("/proc/cpuinfo", "processor : 0\nmodel name : X\n");
  tree.file("/sys/devices/system/cpu/online", "0-7\n");
  tree.file("/proc/self/status", "Cpus_allowed_list:\t0-1\n");
  const auto cpus = cpu_fact(tree.root());
  EXPECT_EQ(cpus.state, FactState::warning);
  EXPECT_NE(cpus.means.find("up to 2 CPUs"), std::string::npos);
  tree.file("/proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 1 kB\n");
  EXPECT_EQ(memory_fact(tree.root()).state, FactState::warning);
}

}  // namespace
}  // namespace hearth::hw
