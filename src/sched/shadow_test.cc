#include "sched/shadow.h"

#include <gtest/gtest.h>

namespace hearth::sched {
namespace {

NodeShape empty_node(int16_t model, int16_t gpus, int64_t cpus) {
  NodeShape shape;
  shape.total_milli_cpus = cpus * 1000;
  shape.model = model;
  shape.gpu_count = gpus;
  return empty_of(shape);
}

TaskShape task(int64_t cpus, int16_t gpus, int16_t milli = kWholeGpu) {
  return {cpus * 1000, 0, kAnyModel, gpus, milli};
}

std::map<TaskShape, int64_t> usual() {
  return {{task(6, 1, 300), 30}, {task(10, 1, 700), 20}, {task(8, 1), 20}, {task(60, 8), 2}};
}

std::vector<double> allocated(const std::vector<Trial>& trials) {
  std::vector<double> shares;
  for (const Trial& trial : trials) shares.push_back(trial.allocated);
  return shares;
}

TEST(Shadow, TheSameSeedGivesTheSameTrials) {
  const Shadow shadow({{empty_node(0, 8, 96), 12}}, usual());
  const auto first = allocated(shadow.replay(Shadow::candidates(), 5));
  EXPECT_EQ(allocated(shadow.replay(Shadow::candidates(), 5)), first);
  EXPECT_NE(allocated(shadow.replay(Shadow::candidates(), 6)), first);
  for (const double share : first) {
    EXPECT_GT(share, 0.8);
    EXPECT_LE(share, 1);
  }
}

// What runs on the nodes does not matter, and ten times the nodes of each kind are the same cluster
// once it is cut down.
TEST(Shadow, AClusterIsCutDownByKind) {
  NodeShape busy = empty_node(0, 2, 64);
  busy.milli_cpus = 0;
  busy.free_milli = {};
  const Shadow large({{busy, 1500}, {empty_node(1, 1, 16), 500}}, usual());
  const Shadow small({{empty_node(0, 2, 64), 150}, {empty_node(1, 1, 16), 50}}, usual());
  EXPECT_EQ(allocated(large.replay({{}}, 1)), allocated(small.replay({{}}, 1)));
}

TEST(Shadow, TheFirstStaysUnlessAnotherIsClearlyBetter) {
  const Shadow shadow({{empty_node(0, 8, 96), 12}}, usual());
  const Weights spread{.fill = -1, .fit = -0.02};  // wants most left unused
  EXPECT_EQ(shadow.best({spread, Weights{}}, 1), Weights{});
  EXPECT_EQ(shadow.best({Weights{}, spread}, 1), Weights{});
  const Weights same{.fit = 0.0200001};
  EXPECT_EQ(shadow.best({same, Weights{}}, 1), same);
}

TEST(Shadow, WithoutArrivalsOrGpusTheFirstStays) {
  EXPECT_EQ(Shadow({{empty_node(0, 8, 96), 12}}, {}).best(Shadow::candidates(), 1), Weights{});
  EXPECT_EQ(Shadow({{empty_node(0, 0, 96), 12}}, usual()).best(Shadow::candidates(), 1), Weights{});
}

}  // namespace
}  // namespace hearth::sched
