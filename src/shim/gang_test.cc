#include "shim/gang.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "shim/variables.h"

namespace hearth::shim {
namespace {

TaskSpec member(Launch launch, int64_t rank) {
  TaskSpec spec;
  spec.launch = launch;
  spec.rank = rank;
  spec.world_size = 3;
  spec.attempt_id = "A";
  spec.gang_secret = "s";
  spec.interface = "lo";
  spec.uid = 1000;
  for (int64_t i = 0; i < 3; ++i)
    spec.peers.push_back({.role = i == 0 ? "chief" : "worker",
                          .rank = i,
                          .node = i == 1 ? "a" : "b",
                          .address = "127.0.0.1",
                          .first_port = 20000 + i * kPortsOfTask,
                          .gpus = i});
  spec.role = spec.peers[static_cast<size_t>(rank)].role;
  spec.node = spec.peers[static_cast<size_t>(rank)].node;
  return spec;
}
const Layout kLayout{"/d/A/T"};

TEST(Gang, OneThatIsAloneIsToldOfNobody) {
  TaskSpec spec;
  spec.node = "a";
  const auto variables = gang_variables(spec, kLayout);
  EXPECT_EQ(variables.size(), 1U);
  EXPECT_EQ(variables.at("HEARTH_NODE"), "a");
  EXPECT_TRUE(gang_defaults(spec).empty());
  EXPECT_FALSE(taken_port(spec));
}

TEST(Gang, PlainTellsWhereTheOthersAreAndNothingElse) {
  const auto variables = gang_variables(member(Launch::plain, 2), kLayout);
  EXPECT_EQ(variables.at("HEARTH_PEERS"), "127.0.0.1:20000,127.0.0.1:20008,127.0.0.1:20016");
  EXPECT_EQ(variables.at("HEARTH_COORDINATOR"), "127.0.0.1:20000");
  EXPECT_EQ(variables.at("HEARTH_PORTS"), "20016-20023");
  EXPECT_EQ(variables.at("HEARTH_ROLE_RANK"), "1");
  EXPECT_EQ(variables.at("HEARTH_ROLE_WORLD_SIZE"), "2");
  EXPECT_EQ(variables.at("HEARTH_LOCAL_RANK"), "1");
  EXPECT_EQ(variables.at("HEARTH_LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(variables.at("HEARTH_GANG_SECRET"), "s");
  EXPECT_EQ(variables.at("HEARTH_LAUNCH"), "plain");
  for (const auto& [name, value] : variables) EXPECT_TRUE(name.starts_with("HEARTH_")) << name;
  EXPECT_EQ(gang_defaults(member(Launch::plain, 2)).at("GLOO_SOCKET_IFNAME"), "lo");
}

TEST(Gang, TorchrunSetsItsOwnFamilyAlone) {
  const auto variables = gang_variables(member(Launch::torchrun, 2), kLayout);
  EXPECT_EQ(variables.at("RANK"), "2");
  EXPECT_EQ(variables.at("WORLD_SIZE"), "3");
  EXPECT_EQ(variables.at("LOCAL_RANK"), "0");
  EXPECT_EQ(variables.at("LOCAL_WORLD_SIZE"), "1");
  EXPECT_EQ(variables.at("MASTER_ADDR"), "127.0.0.1");
  EXPECT_EQ(variables.at("MASTER_PORT"), "20000");
  EXPECT_EQ(variables.at("PET_NNODES"), "3");
  EXPECT_EQ(variables.at("PET_NODE_RANK"), "2");
  EXPECT_EQ(gang_defaults(member(Launch::torchrun, 2)).at("PET_NPROC_PER_NODE"), "2");
  EXPECT_EQ(gang_defaults(member(Launch::torchrun, 0)).at("PET_NPROC_PER_NODE"), "1");
  const auto& known = launch_variables(Launch::torchrun);
  for (const auto& [name, value] : variables)
    EXPECT_TRUE(name.starts_with("HEARTH_") ||
                std::find(known.begin(), known.end(), name) != known.end())
        << name << " is not told to the job file's rules";
}

TEST(Gang, APartOfAGpuIsToldToTheDriver) {
  TaskSpec spec;
  spec.gpus = {"GPU-1", "GPU-2"};
  const auto has = [&](const std::string& wanted) {
    const auto all = variables(spec, kLayout, {});
    return std::find(all.begin(), all.end(), wanted) != all.end();
  };
  EXPECT_TRUE(has("CUDA_VISIBLE_DEVICES=GPU-1,GPU-2"));
  EXPECT_FALSE(has("HEARTH_GPU_SHARE=1"));
  spec.resources.gpu_share = 0.25;
  spec.resources.gpu_memory = Size{10LL << 30};
  EXPECT_TRUE(has("CUDA_VISIBLE_DEVICES=GPU-1,GPU-2"));
  EXPECT_TRUE(has("HEARTH_GPU_SHARE=0.25"));
  EXPECT_TRUE(has("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25"));
  EXPECT_TRUE(has("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=10240M,1=10240M"));
}

TEST(Gang, MpirunIsTheFirstTasksAlone) {
  const auto first = gang_variables(member(Launch::mpi, 0), kLayout);
  EXPECT_EQ(first.at("HEARTH_GANG_DIR"), "/d/A/gang");
  EXPECT_EQ(first.at("OMPI_MCA_orte_default_hostfile"), "/d/A/gang/hosts");
  const auto other = gang_variables(member(Launch::mpi, 1), kLayout);
  EXPECT_EQ(other.at("HEARTH_GANG_DIR"), "/d/A/gang");
  EXPECT_FALSE(other.contains("OMPI_MCA_orte_default_hostfile"));
  EXPECT_FALSE(first.contains("RANK"));
  const auto defaults = gang_defaults(member(Launch::mpi, 0));
  EXPECT_EQ(defaults.at("OMPI_MCA_hwloc_base_binding_policy"), "none");
  EXPECT_FALSE(defaults.contains("OMPI_ALLOW_RUN_AS_ROOT"));
}

}  // namespace
}  // namespace hearth::shim
