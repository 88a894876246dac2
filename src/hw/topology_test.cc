#include "hw/topology.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/format.h"
#include "hw/node.h"

namespace hearth::hw {
namespace {

// hwloc's XML of a machine with two packages of two cores, 64 GiB each, two PCIe switches under
// each package and two GPUs under each switch: at the bus ids of the fake library's first eight.
std::string eight_gpu_xml() {
  const auto sets = [](unsigned cpus, unsigned nodes) {
    return format(
        "cpuset=\"0x{0:08x}\" complete_cpuset=\"0x{0:08x}\" nodeset=\"0x{1:08x}\" "
        "complete_nodeset=\"0x{1:08x}\"",
        cpus, nodes);
  };
  int id = 1;
  std::string xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
      "<topology version=\"2.0\">\n";
  xml += format(
      "<object type=\"Machine\" os_index=\"0\" {} allowed_cpuset=\"0x0000000f\" "
      "allowed_nodeset=\"0x00000003\" gp_index=\"{}\">\n",
      sets(0xf, 0x3), id++);
  for (unsigned package = 0; package < 2; ++package) {
    const unsigned cpus = 3U << (2 * package), node = 1U << package;
    xml += format("<object type=\"Package\" os_index=\"{}\" {} gp_index=\"{}\">\n", package,
                  sets(cpus, node), id++);
    xml += format(
        "<object type=\"NUMANode\" os_index=\"{}\" {} gp_index=\"{}\" "
        "local_memory=\"68719476736\"/>\n",
        package, sets(cpus, node), id++);
    for (unsigned core = 0; core < 2; ++core) {
      const unsigned cpu = 2 * package + core;
      xml += format("<object type=\"Core\" os_index=\"{}\" {} gp_index=\"{}\">", cpu,
                    sets(1U << cpu, node), id++);
      xml += format("<object type=\"PU\" os_index=\"{}\" {} gp_index=\"{}\"/></object>\n", cpu,
                    sets(1U << cpu, node), id++);
    }
    xml += format(
        "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"0-1\" depth=\"0\" "
        "bridge_pci=\"0000:[{:02x}-{:02x}]\">\n",
        id++, package * 8, 0x1f);
    for (unsigned sw = 0; sw < 2; ++sw) {
      const unsigned gpu = 4 * package + 2 * sw;
      xml += format(
          "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"1-1\" depth=\"1\" "
          "bridge_pci=\"0000:[{:02x}-{:02x}]\" pci_busid=\"0000:{:02x}:0{}.0\" "
          "pci_type=\"0604 [1000:c010] [1000:c010] b0\" pci_link_speed=\"31.5\">\n",
          id++, 0x10 + gpu, 0x11 + gpu, package * 8, sw + 1);
      for (unsigned i = 0; i < 2; ++i) {
        xml += format(
            "<object type=\"PCIDev\" gp_index=\"{}\" pci_busid=\"0000:{:02x}:00.0\" "
            "pci_type=\"0302 [10de:2330] [10de:16c1] a1\" pci_link_speed=\"31.5\"/>\n",
            id++, 0x10 + gpu + i);
      }
      xml += "</object>\n";
    }
    xml += "</object>\n</object>\n";
  }
  return xml + "</object>\n</topology>\n";
}

Topology with_fake(const Locality& near, const std::string& description) {
  ::setenv("HEARTH_FAKE_GPUS", description.c_str(), 1);
  const auto gpus = Gpus::open(HEARTH_FAKE_NVML);
  EXPECT_TRUE(gpus) << gpus.why();
  auto list = (*gpus)->list();
  auto pairs = (*gpus)->matrix(list);
  return build_topology(near, std::move(list), std::move(pairs));
}

TEST(Locality, OfAnotherMachine) {
  const auto near = locality(eight_gpu_xml());
  ASSERT_TRUE(near) << near.why();
  EXPECT_EQ(near->cpus, (std::vector<int>{0, 1, 2, 3}));
  ASSERT_EQ(near->numa.size(), 2U);
  EXPECT_EQ(near->numa[1].cpus, (std::vector<int>{2, 3}));
  EXPECT_EQ(near->numa[1].memory, int64_t{64} << 30);
  ASSERT_EQ(near->places.size(), 8U);
  EXPECT_EQ(near->places[5].bus_id, "0000:15:00.0");
  EXPECT_EQ(near->places[5].numa, 1);
  EXPECT_EQ(near->places[5].bridges, std::vector<std::string>{"0000:08:01.0"});
  EXPECT_FALSE(locality("<no/>"));
}

TEST(Locality, OfThisMachine) {
  const auto near = locality();
  ASSERT_TRUE(near) << near.why();
  EXPECT_FALSE(near->cpus.empty());
  EXPECT_GT(near->memory, 0);
  EXPECT_FALSE(near->numa.empty());
}

TEST(Topology, SwitchesUnderNuma) {
  const auto near = locality(eight_gpu_xml());
  ASSERT_TRUE(near);
  EXPECT_EQ(with_fake(*near, "8:A100-40GB").cells(),
            "node 0 cpus 0-3 memory 128 GiB gpus 0-7\n"
            "  numa 0 cpus 0-1 memory 64 GiB gpus 0-3\n"
            "    switch 0 gpus 0-1\n      gpu 0\n      gpu 1\n"
            "    switch 1 gpus 2-3\n      gpu 2\n      gpu 3\n"
            "  numa 1 cpus 2-3 memory 64 GiB gpus 4-7\n"
            "    switch 2 gpus 4-5\n      gpu 4\n      gpu 5\n"
            "    switch 3 gpus 6-7\n      gpu 6\n      gpu 7\n");
}

TEST(Topology, NvSwitchStandsAboveNuma) {
  const auto near = locality(eight_gpu_xml());
  ASSERT_TRUE(near);
  const auto found = with_fake(*near, "8:H100-80GB nvlink=all");
  ASSERT_EQ(found.root.children.size(), 1U);
  EXPECT_EQ(found.root.children[0].kind, CellKind::nvlink);
  ASSERT_EQ(found.root.children[0].children.size(), 2U);
  EXPECT_EQ(found.root.children[0].children[1].kind, CellKind::numa);
}

TEST(Topology, LinkedPairs) {
  const auto near = locality(eight_gpu_xml());
  ASSERT_TRUE(near);
  const auto found = with_fake(*near, "4:A100-40GB nvlink=pairs");
  EXPECT_EQ(found.cells(),
            "node 0 cpus 0-3 memory 128 GiB gpus 0-3\n"
            "  numa 0 cpus 0-1 memory 64 GiB gpus 0-3\n"
            "    nvlink 0 gpus 0-1\n      switch 0 gpus 0-1\n        gpu 0\n        gpu 1\n"
            "    nvlink 1 gpus 2-3\n      switch 1 gpus 2-3\n        gpu 2\n        gpu 3\n"
            "  numa 1 cpus 2-3 memory 64 GiB\n");
}

// The hybrid cube mesh of eight V100: two quads, each GPU linked with its twin in the other.
TEST(Topology, CubeMeshGivesItsQuads) {
  const auto near = locality(eight_gpu_xml());
  ASSERT_TRUE(near);
  std::vector<GpuDevice> gpus(8);
  GpuMatrix pairs(8, std::vector<GpuPair>(8));
  for (int i = 0; i < 8; ++i) {
    gpus[i] = {
        .index = i, .uuid = format("GPU-{}", i), .bus_id = format("0000:{:02x}:00.0", 16 + i)};
    for (int j = 0; j < 8; ++j) {
      if (i != j) pairs[i][j].nvlinks = i / 4 == j / 4 || i % 4 == j % 4 ? 1 : 0;
    }
  }
  const auto found = build_topology(*near, gpus, pairs);
  ASSERT_EQ(found.root.children.size(), 2U);
  ASSERT_EQ(found.root.children[0].children.size(), 1U);
  EXPECT_EQ(found.root.children[0].children[0].kind, CellKind::nvlink);
  EXPECT_EQ(found.root.children[0].children[0].gpus, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(found.root.children[1].children[0].index, 1);
}

// Links 0-4, 1-5 ... cut across the NUMA nodes: no cell, but the matrix has them.
TEST(Topology, LinksAcrossNumaAreNoCell) {
  const auto near = locality(eight_gpu_xml());
  ASSERT_TRUE(near);
  std::vector<GpuDevice> gpus(8);
  GpuMatrix pairs(8, std::vector<GpuPair>(8));
  for (int i = 0; i < 8; ++i) {
    gpus[i] = {
        .index = i, .uuid = format("GPU-{}", i), .bus_id = format("0000:{:02x}:00.0", 16 + i)};
    pairs[i][(i + 4) % 8].nvlinks = 2;
  }
  const auto found = build_topology(*near, gpus, pairs);
  EXPECT_EQ(found.cells().find("nvlink"), std::string::npos);
  EXPECT_EQ(found.pairs[0][4].nvlinks, 2);
}

TEST(Topology, UnknownPlaceOnOneNumaNode) {
  Locality near{.cpus = {0, 1}, .memory = int64_t{8} << 30};
  near.numa.push_back({.index = 0, .cpus = {0, 1}, .memory = int64_t{8} << 30});
  EXPECT_EQ(with_fake(near, "2:L4-24GB").cells(),
            "node 0 cpus 0-1 memory 8 GiB gpus 0-1\n"
            "  numa 0 cpus 0-1 memory 8 GiB gpus 0-1\n"
            "    switch 0 gpus 0-1\n      gpu 0\n      gpu 1\n");
}

TEST(Topology, UnknownPlacesByTheDriversWord) {
  Locality near{.cpus = {0, 1}, .memory = int64_t{8} << 30};
  near.numa.push_back({.index = 0, .cpus = {0, 1}, .memory = int64_t{8} << 30});
  const auto found = with_fake(near, "4:L4-24GB numa=2");
  ASSERT_EQ(found.root.children.size(), 3U);
  EXPECT_EQ(found.root.children[0].gpus, (std::vector<int>{0, 1}));
  EXPECT_TRUE(found.root.children[0].cpus.empty());
  EXPECT_EQ(found.root.children[2].cpus, (std::vector<int>{0, 1}));
}

TEST(Topology, WithoutGpus) {
  const auto found = topology(nullptr, "no driver");
  ASSERT_TRUE(found) << found.why();
  EXPECT_EQ(found->gpus_why, "no driver");
  EXPECT_EQ(found->root.kind, CellKind::node);
  EXPECT_FALSE(found->root.cpus.empty());
}

TEST(NodeInfo, NamesCellsInstancesAndFaults) {
  const auto near = locality(eight_gpu_xml());
  ASSERT_TRUE(near);
  auto found = with_fake(*near, "2:A100-40GB; 1:H100-80GB mig=2; 1:A100-40GB lost=1");
  Machine machine;
  machine.cpus = Cpus{.online = 4, .allowed = {0, 1, 2, 3}, .quota = 2.5};
  machine.memory = Memory{.total = int64_t{128} << 30};
  const NodeInfo node = node_info("n0", machine, found);
  EXPECT_EQ(node.cpus, 2.5);
  EXPECT_EQ(node.memory_bytes, int64_t{128} << 30);
  ASSERT_EQ(node.numa.size(), near->numa.size());
  EXPECT_EQ(node.numa[0].name, "numa0");
  EXPECT_EQ(node.numa[0].cpus, static_cast<double>(near->numa[0].cpus.size()));
  EXPECT_EQ(node.numa[0].memory_bytes, near->numa[0].memory);
  ASSERT_EQ(node.gpus.size(), 5U);
  EXPECT_EQ(node.gpus[0].model, "NVIDIA A100-40GB");
  EXPECT_EQ(node.gpus[0].numa, "numa0");
  EXPECT_EQ(node.gpus[0].link, "switch0");
  EXPECT_TRUE(node.gpus[2].uuid.starts_with("MIG-"));
  EXPECT_EQ(node.gpus[3].memory_bytes, int64_t{40} << 30);
  EXPECT_FALSE(node.gpus[4].healthy);
  EXPECT_NE(node.gpus[4].problem.find("fallen off"), std::string::npos);
}

}  // namespace
}  // namespace hearth::hw
