#include "domain/topology.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

constexpr std::string_view kGood = R"(hearth: 1
nodes:
  - name: node-0
    pool: train
    rack: rack-a
    cpus: 16
    memory: 64GiB
    numa: [{name: numa0, cpus: 8, memory: 32GiB}, {name: numa1, cpus: 8, memory: 32GiB}]
    gpus:
      - {uuid: GPU-0, model: H100, memory: 80GiB, numa: numa0, link: nvlink0}
      - {uuid: GPU-1, model: H100, memory: 80GiB, numa: numa1, link: nvlink0}
    gpu_bandwidth: [[0, 300], [300, 0]]
    network_bandwidth: 25
  - {name: node-1, cpus: 4, memory: 8GiB}
)";

// "path: found" of each mistake, with its line.
std::vector<std::string> mistakes(std::string text) {
  const auto file = parse_topology(text);
  std::vector<std::string> all;
  if (file.ok()) return all;
  for (const FieldError& error : file.error().errors) {
    EXPECT_FALSE(error.allowed.empty()) << error.path;
    EXPECT_FALSE(error.mend.empty()) << error.path;
    all.push_back(std::to_string(error.line) + " " + error.path);
  }
  return all;
}
std::vector<std::string> changed(std::string_view what, std::string_view to) {
  std::string text(kGood);
  text.replace(text.find(what), what.size(), to);
  return mistakes(text);
}
using Lines = std::vector<std::string>;

TEST(Topology, BecomesTheNodesOfAnExecutor) {
  const auto file = parse_topology(kGood);
  ASSERT_TRUE(file.ok()) << file.error().text();
  const auto nodes = nodes_of(*file);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].name, "node-0");
  EXPECT_EQ(nodes[0].pool, "train");
  EXPECT_EQ(nodes[0].rack, "rack-a");
  EXPECT_EQ(nodes[0].memory_bytes, 64LL << 30);
  EXPECT_EQ(nodes[0].numa.size(), 2U);
  ASSERT_EQ(nodes[0].gpus.size(), 2U);
  EXPECT_EQ(nodes[0].gpus[1].uuid, "GPU-1");
  EXPECT_EQ(nodes[0].gpus[1].index, 1);
  EXPECT_EQ(nodes[0].gpus[1].link, "nvlink0");
  EXPECT_EQ(nodes[0].gpu_bandwidth[0][1], 300);
  EXPECT_TRUE(nodes[0].lent && nodes[1].lent);
  EXPECT_EQ(nodes[1].pool, "local");
  EXPECT_EQ(lent_words(nodes), "2 nodes with 2 GPUs lent by a topology file: they are not real");
  EXPECT_EQ(lent_words({NodeInfo{}}), "");
  // JSON is taken as well.
  EXPECT_TRUE(
      parse_topology(R"({"hearth":1,"nodes":[{"name":"a","cpus":1,"memory":"1GiB"}]})").ok());
}

TEST(Topology, TellsEachMistakeWithItsPlace) {
  EXPECT_EQ(changed("node-1", "node-0"), Lines{"14 nodes[1].name"});
  EXPECT_EQ(changed("uuid: GPU-1", "uuid: GPU-0"), Lines{"11 nodes[0].gpus[1].uuid"});
  EXPECT_EQ(changed("numa: numa1, link", "numa: numa7, link"), Lines{"11 nodes[0].gpus[1].numa"});
  EXPECT_EQ(changed("{name: numa1", "{name: numa0"),
            (Lines{"8 nodes[0].numa[1].name", "11 nodes[0].gpus[1].numa"}));
  EXPECT_EQ(changed("memory: 64GiB", "memory: 63GiB"), Lines{"8 nodes[0].numa"});
  EXPECT_EQ(changed("[[0, 300], [300, 0]]", "[[0, 300]]"), Lines{"12 nodes[0].gpu_bandwidth"});
  EXPECT_EQ(changed("[[0, 300], [300, 0]]", "[[0, 300], [300]]"),
            Lines{"12 nodes[0].gpu_bandwidth[1]"});
  EXPECT_EQ(changed("[[0, 300], [300, 0]]", "[[0, 300], [200, 0]]"),
            Lines{"12 nodes[0].gpu_bandwidth[1][0]"});
  EXPECT_EQ(changed("[[0, 300], [300, 0]]", "[[0, -1], [-1, 0]]"),
            Lines{"12 nodes[0].gpu_bandwidth[0][1]"});
  EXPECT_EQ(changed("hearth: 1", "hearth: 2"), Lines{"1 hearth"});
  EXPECT_EQ(changed("rack: rack-a", "rak: rack-a"), Lines{"5 nodes[0].rak"});
  EXPECT_EQ(changed("cpus: 16", "cpus: 0"), Lines{"6 nodes[0].cpus"});
  EXPECT_EQ(changed("cpus: 16", "cpuss: 16"), Lines{"6 nodes[0].cpuss"});
  EXPECT_EQ(mistakes("hearth: 1\n"), Lines{"1 nodes"});
  EXPECT_EQ(mistakes("hearth: 1\nnodes: []\n"), Lines{"2 nodes"});
}

}  // namespace
}  // namespace hearth
