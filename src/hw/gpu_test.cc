#include "hw/gpu.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "hw/test_tree.h"

namespace hearth::hw {
namespace {

// HEARTH_FAKE_NVML is the path of the stand-in library, given by the build.
Probe<std::shared_ptr<Gpus>> open_fake(const std::string& gpus) {
  ::setenv("HEARTH_FAKE_GPUS", gpus.c_str(), 1);
  return Gpus::open(HEARTH_FAKE_NVML);
}

TEST(Gpus, NoLibraryIsAnAnswer) {
  const auto found = Gpus::open("/nowhere/libnvidia-ml.so.1");
  ASSERT_FALSE(found);
  EXPECT_NE(found.why().find("/nowhere/libnvidia-ml.so.1"), std::string::npos);
}

TEST(Gpus, DriverThatDoesNotStart) {
  EXPECT_EQ(open_fake("fail=9").why(), "the NVIDIA kernel driver is not loaded");
  EXPECT_NE(open_fake("fail=18").why().find("different versions"), std::string::npos);
}

TEST(Gpus, ListsEight) {
  const auto gpus = open_fake("8:H100-80GB");
  ASSERT_TRUE(gpus) << gpus.why();
  EXPECT_EQ((*gpus)->driver_version(), "550.0.fake");
  EXPECT_EQ((*gpus)->cuda_version(), "12.4");
  const auto list = (*gpus)->list();
  ASSERT_EQ(list.size(), 8U);
  EXPECT_EQ(list[3].index, 3);
  EXPECT_EQ(list[3].uuid, "GPU-00000000-0000-4000-8000-000000000003");
  EXPECT_EQ(list[3].name, "NVIDIA H100-80GB");
  EXPECT_EQ(list[3].memory, int64_t{80} << 30);
  EXPECT_EQ(list[3].bus_id, "0000:13:00.0");
  EXPECT_EQ(list[3].compute_capability, "9.0");
  EXPECT_FALSE(list[3].mig);
  EXPECT_TRUE(list[3].fault.empty());
}

TEST(Gpus, None) {
  const auto gpus = open_fake("");
  ASSERT_TRUE(gpus);
  EXPECT_TRUE((*gpus)->list().empty());
}

TEST(Gpus, StateErrorsProcesses) {
  const auto gpus = open_fake("1:A100-40GB util=35 used=2GB temp=61 power=250 ecc=3 pids=11+12");
  ASSERT_TRUE(gpus);
  const std::string uuid = (*gpus)->list().front().uuid;
  const auto state = (*gpus)->state(uuid);
  ASSERT_TRUE(state) << state.why();
  EXPECT_EQ(state->utilization, 35);
  EXPECT_EQ(state->memory_used, int64_t{2} << 30);
  EXPECT_EQ(state->memory_total, int64_t{40} << 30);
  EXPECT_EQ(state->temperature, 61);
  EXPECT_EQ(state->power, 250.0);
  EXPECT_EQ((*gpus)->ecc(uuid)->uncorrected, 3);
  EXPECT_EQ((*gpus)->ecc(uuid)->corrected, 6);
  const auto processes = (*gpus)->processes(uuid);
  ASSERT_TRUE(processes);
  ASSERT_EQ(processes->size(), 2U);
  EXPECT_EQ((*processes)[1].pid, 12);
  EXPECT_EQ((*processes)[1].memory, int64_t{1} << 30);
  EXPECT_NE((*gpus)->state("GPU-none").why().find("no such GPU"), std::string::npos);
}

TEST(Gpus, ManyProcesses) {
  std::string pids = "1000";
  for (int pid = 1001; pid < 1200; ++pid) pids += "+" + std::to_string(pid);
  const auto gpus = open_fake("1:A100-40GB used=4GB pids=" + pids);
  ASSERT_TRUE(gpus);
  const auto processes = (*gpus)->processes((*gpus)->list().front().uuid);
  ASSERT_TRUE(processes) << processes.why();
  EXPECT_EQ(processes->size(), 200U);
}

TEST(Gpus, MigInstances) {
  const auto gpus = open_fake("1:H100-80GB mig=4");
  ASSERT_TRUE(gpus);
  const auto list = (*gpus)->list();
  ASSERT_TRUE(list[0].mig);
  ASSERT_EQ(list[0].instances.size(), 4U);
  EXPECT_TRUE(list[0].instances[1].uuid.starts_with("MIG-"));
  EXPECT_EQ(list[0].instances[1].memory, int64_t{20} << 30);
  const auto state = (*gpus)->state(list[0].instances[1].uuid);
  ASSERT_TRUE(state) << state.why();
  EXPECT_EQ(state->memory_total, int64_t{20} << 30);
  EXPECT_EQ(state->utilization, std::nullopt);
}

TEST(Gpus, ALostOneIsListedWithWords) {
  TestTree tree;
  tree.file("/gpus", "2:H100-80GB\n");
  const auto gpus = open_fake("@" + tree.directory() + "/gpus");
  ASSERT_TRUE(gpus);
  const auto before = (*gpus)->list();
  ASSERT_EQ(before.size(), 2U);
  EXPECT_TRUE((*gpus)->state(before[1].uuid));
  tree.file("/gpus", "1:H100-80GB\n1:H100-80GB lost=1\n");
  EXPECT_NE((*gpus)->state(before[1].uuid).why().find("fallen off the bus"), std::string::npos);
  const auto after = (*gpus)->list();
  ASSERT_EQ(after.size(), 2U);
  EXPECT_TRUE(after[0].fault.empty());
  EXPECT_NE(after[1].fault.find("fallen off the bus"), std::string::npos);
}

TEST(Gpus, MatrixOfLinks) {
  const auto gpus = open_fake("4:A100-40GB nvlink=pairs numa=2 switch=1; 1:L4-24GB");
  ASSERT_TRUE(gpus);
  const auto pairs = (*gpus)->matrix((*gpus)->list());
  ASSERT_EQ(pairs.size(), 5U);
  EXPECT_EQ(pairs[0][1].nvlinks, 4);
  EXPECT_EQ(pairs[1][0], pairs[0][1]);
  EXPECT_EQ(pairs[0][1].distance, GpuDistance::one_switch);
  EXPECT_EQ(pairs[0][2].nvlinks, 0);
  EXPECT_EQ(pairs[0][2].distance, GpuDistance::system);
  EXPECT_TRUE(pairs[0][2].peer_access);
  EXPECT_FALSE(pairs[0][4].peer_access);
  const auto all = open_fake("3:H100-80GB nvlink=all");
  EXPECT_EQ((*all)->matrix((*all)->list())[0][2].nvlinks, 4);
}

}  // namespace
}  // namespace hearth::hw
