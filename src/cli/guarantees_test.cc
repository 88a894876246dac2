#include "cli/guarantees.h"

#include <gtest/gtest.h>

namespace hearth::cli {
namespace {

QuotaStatus quota(const std::string& project, const std::string& parent, double gpus) {
  QuotaStatus one;
  one.quota.project = project;
  one.parent = parent;
  if (gpus > 0) one.quota.guaranteed.gpus = gpus;
  return one;
}

NodeStatus node(bool ready, std::vector<std::string> models) {
  NodeStatus one;
  one.node.ready = ready;
  one.node.cpus = 8;
  for (const std::string& model : models) one.node.gpus.push_back({.model = model});
  return one;
}

TEST(Guarantees, AProjectsOwnCoversThoseBelowIt) {
  EXPECT_EQ(guaranteed_in_all({quota("cars", "", 8), quota("vision", "cars", 3),
                               quota("sound", "cars", 2), quota("text", "", 1)})
                .at("gpus"),
            9);
  // One that is promised nothing itself is what is below it; one above may not be seen.
  EXPECT_EQ(guaranteed_in_all(
                {quota("cars", "", 0), quota("vision", "cars", 3), quota("sound", "hidden", 2)})
                .at("gpus"),
            5);
  EXPECT_TRUE(guaranteed_in_all({quota("a", "", 0)}).empty());
}

TEST(Guarantees, AreWarnedOfBeyondWhatIsThere) {
  const std::vector<QuotaStatus> quotas{quota("vision", "", 100), quota("text", "", 8)};
  std::vector<NodeStatus> nodes{node(true, {"NVIDIA H100 80GB", "NVIDIA H100 80GB"}),
                                node(false, {"NVIDIA H100 80GB"})};
  nodes[0].node.gpus.push_back({.model = "NVIDIA A100", .healthy = false});
  Amounts changed;
  changed.gpus = 100;
  changed.cpus = 8;
  EXPECT_EQ(
      beyond_what_is_there(changed, quotas, nodes),
      "Warning: the projects are guaranteed 108 GPUs in all, and the cluster has 2 GPUs now.\n"
      "  Until nodes come that have the rest, who asks for it waits.");
  changed = {};
  changed.gpu_models = {{"h100", 2}};
  EXPECT_EQ(beyond_what_is_there(changed, quotas, nodes), "");
  changed.gpu_models = {{"A100", 1}};
  EXPECT_NE(beyond_what_is_there(changed, quotas, nodes).find("1 A100"), std::string::npos);
  EXPECT_EQ(beyond_what_is_there({}, quotas, nodes), "");
}

}  // namespace
}  // namespace hearth::cli
