#include "sched/groups.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/format.h"

namespace hearth::sched {
namespace {

NodeShape empty_node(int16_t model, int16_t gpus, int64_t cpus) {
  NodeShape shape;
  shape.total_milli_cpus = cpus * 1000;
  shape.total_memory_bytes = cpus * 4;
  shape.model = model;
  shape.gpu_count = gpus;
  return empty_of(shape);
}

TaskShape task(int64_t cpus, int16_t gpus, int16_t milli = kWholeGpu, Models models = kAnyModel) {
  return {cpus * 1000, cpus, models, gpus, milli};
}

TaskShape random_task(Random& random) {
  static const std::vector<TaskShape> kShapes{
      task(4, 1),          task(8, 1),          task(6, 1, 300), task(12, 1, 700),
      task(3, 1, 500),     task(8, 0),          task(60, 8),     task(16, 2),
      task(30, 4),         task(6, 1, 1000, 2), task(4, 2, 500), task(5, 1, 250, 1),
      task(90, 8, 1000, 1)};
  return kShapes[random.below(kShapes.size())];
}

// What Groups says, worked out node by node with nothing kept from before.
std::optional<Pick> full_rescoring(const Groups& groups, uint32_t nodes, const TaskShape& task) {
  Value value(groups.weights());
  value.learn(groups.typical().tasks());
  std::optional<Pick> best;
  for (uint32_t node = 0; node < nodes; ++node) {
    const NodeShape* before = groups.find(node);
    if (before == nullptr) continue;
    std::optional<Pick> way;
    each_way(*before, task, [&](const NodeShape& after) {
      const double gain = value.gain(value.loss(*before), value.loss(after), after);
      if (!way || gain >= way->score) way = Pick{node, after, gain};
    });
    if (!way) continue;
    way->score -= groups.weights().reserve *
                  (groups.scarcity().kept(*before) - groups.scarcity().kept(way->after));
    if (!best || way->score > best->score) best = way;
  }
  return best;
}

// Nodes come, fill, empty and go. Small bounds make it forget all the time.
void compare(const Weights& weights, const Groups::Bounds& bounds, uint64_t seed) {
  constexpr uint32_t kNodes = 40;
  SeededRandom random(seed);
  Groups groups(weights, bounds);
  const auto fresh = [](uint32_t node) {
    return empty_node(static_cast<int16_t>(node % 3), node % 3 == 2 ? 2 : 8, 48 + 24 * (node % 2));
  };
  for (uint32_t node = 0; node < kNodes; ++node) groups.set(node, fresh(node));
  int placed = 0;
  for (int i = 0; i < 400; ++i) {
    const TaskShape task = random_task(random);
    groups.arrived(task);
    const auto expected = full_rescoring(groups, kNodes, task);
    const auto pick = groups.pick(task);
    ASSERT_EQ(pick.has_value(), expected.has_value()) << "step " << i;
    if (pick) {
      ASSERT_EQ(pick->node, expected->node) << "step " << i;
      ASSERT_EQ(pick->score, expected->score) << "step " << i;
      ASSERT_EQ(pick->after, expected->after) << "step " << i;
      groups.set(pick->node, pick->after);
      ++placed;
    }
    if (i == 150) groups.reweigh({.fragmentation = 0.25, .fill = 0.75});
    const auto node = static_cast<uint32_t>(random.below(kNodes));
    if (random.below(20) == 0) groups.remove(node);
    if (random.below(8) == 0) groups.set(node, fresh(node));
  }
  EXPECT_GT(placed, 100);
}

TEST(Groups, AnswerIsThatOfFullRescoringBitForBit) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    compare({}, {}, seed);
    compare({.fragmentation = 0.5, .fill = 0.5}, {}, seed);
    compare(Weights::fragmentation_only(), {}, seed);
    compare({}, {.states = 50, .cells = 60}, seed);
  }
}

// Prices go by what is free now, however it came to be.
TEST(Groups, PricesFollowTheNodes) {
  const NodeShape empty = empty_node(0, 8, 64);
  NodeShape broken = empty;
  broken.free_milli[7] = 0;
  const auto arrive = [](Groups& groups, int times) {
    for (int i = 0; i < times; ++i) groups.arrived(task(2, 1));
  };
  Groups moved, built;
  for (uint32_t node = 0; node < 8; ++node) moved.set(node, empty);
  arrive(moved, 65);  // the last one learns
  for (uint32_t node = 0; node < 6; ++node) moved.set(node, broken);
  moved.remove(6);
  arrive(moved, 1);
  for (uint32_t node = 0; node < 6; ++node) built.set(node, broken);
  built.set(7, empty);
  arrive(built, 66);
  EXPECT_GT(built.scarcity().kept(empty), 0);
  EXPECT_EQ(moved.scarcity().kept(empty), built.scarcity().kept(empty));
}

TEST(Groups, OnlyAllowedNodes) {
  Groups groups;
  for (uint32_t node = 0; node < 4; ++node) groups.set(node, empty_node(0, 2, 16));
  EXPECT_EQ(groups.pick(task(4, 1))->node, 0u);
  EXPECT_EQ(groups.pick(task(4, 1), [](uint32_t node) { return node >= 2; })->node, 2u);
  EXPECT_FALSE(groups.pick(task(4, 1), [](uint32_t) { return false; }));
  EXPECT_FALSE(groups.pick(task(17, 1)));
  groups.remove(0);
  groups.remove(7);
  EXPECT_EQ(groups.find(0), nullptr);
  EXPECT_EQ(groups.pick(task(4, 1))->node, 1u);
}

TEST(Groups, AShareGoesWhereItFillsAGpu) {
  Groups groups;
  NodeShape partly = empty_node(0, 4, 64);
  partly.free_milli = {1000, 600, 400, 0};
  groups.set(0, partly);
  groups.set(1, empty_node(0, 4, 64));
  for (int i = 0; i < 64; ++i) groups.arrived(task(2, 1, 400));
  const auto pick = groups.pick(task(2, 1, 400));
  EXPECT_EQ(pick->node, 0u);
  EXPECT_EQ(pick->after.free_milli, (std::array<int16_t, kMaxGpusPerNode>{1000, 600}));
}

TEST(Scarcity, AModelThatOthersNeedIsLeftToThem) {
  Groups groups;
  for (uint32_t node = 0; node < 8; ++node) groups.set(node, empty_node(node < 2 ? 1 : 0, 2, 16));
  for (int i = 0; i < 65; ++i) groups.arrived(task(2, 1, 1000, i % 4 == 0 ? 2 : kAnyModel));
  const NodeShape rare = empty_node(1, 2, 16), plain = empty_node(0, 2, 16);
  EXPECT_GT(groups.scarcity().kept(rare), groups.scarcity().kept(plain));
  EXPECT_GE(groups.pick(task(2, 1))->node, 2u);
  EXPECT_LT(groups.pick(task(2, 1, 1000, 2))->node, 2u);
}

// A quarter of the GPU is asked by tasks of model 1, which has a quarter of it: the pressure is 1.
TEST(Scarcity, PriceOfAModelByHand) {
  Typical typical;
  for (int i = 0; i < 64; ++i) typical.arrived(task(1, 1, 1000, i % 4 == 0 ? 2 : kAnyModel));
  Scarcity scarcity;
  NodeShape rare = empty_node(1, 1, 16), plain = empty_node(0, 1, 16);
  scarcity.learn(typical, {{rare, 1000}, {plain, 3000}});
  EXPECT_TRUE(scarcity.reprice(typical.gpu_milli_seen()));
  scarcity.learn(typical, {{plain, 3000}, {rare, 1000}});
  EXPECT_FALSE(scarcity.reprice(typical.gpu_milli_seen()));
  EXPECT_NEAR(scarcity.kept(rare) - scarcity.kept(plain), Scarcity::kModelWeight, 1e-9);
  // Half as much again of it, and the pressure is 2/3: no price.
  for (int i = 0; i < 500; ++i) {
    scarcity.entered(rare);
    scarcity.left(plain);
  }
  EXPECT_TRUE(scarcity.reprice(typical.gpu_milli_seen()));
  EXPECT_NEAR(scarcity.kept(rare) - scarcity.kept(plain), 0, 1e-9);
}

// 8 nodes of 8 GPUs are empty, and of 64 arrivals each asked one GPU: as many will come again. The
// one whole node that is taken as seen needs 1 + 2 * sqrt(1) of the 8: a pressure of 0.375, which
// is rounded down to 0.35.
TEST(Scarcity, PriceOfAWholeNodeByHand) {
  Typical typical;
  for (int i = 0; i < 64; ++i) typical.arrived(task(1, 1));
  const NodeShape empty = empty_node(0, 8, 64);
  NodeShape broken = empty;
  broken.free_milli[7] = 0;
  Scarcity scarcity;
  scarcity.learn(typical, {{empty, 8}});
  EXPECT_TRUE(scarcity.reprice(typical.gpu_milli_seen()));
  EXPECT_NEAR(scarcity.kept(empty), Scarcity::kLargeWeight * 8 * (0.35 - 0.3) / 0.7, 1e-9);
  EXPECT_EQ(scarcity.kept(broken), 0);
  // With half of them broken the rest is dearer at once, without learning anew.
  for (int i = 0; i < 4; ++i) {
    scarcity.left(empty);
    scarcity.entered(broken);
  }
  const double before = scarcity.kept(empty);
  EXPECT_TRUE(scarcity.reprice(typical.gpu_milli_seen()));
  EXPECT_GT(scarcity.kept(empty), 2 * before);
}

TEST(Scarcity, WholeNodesAreKeptForThoseWhoNeedThem) {
  Groups groups;
  for (uint32_t node = 0; node < 8; ++node) groups.set(node, empty_node(0, 8, 64));
  for (int i = 0; i < 65; ++i) groups.arrived(i % 2 == 0 ? task(60, 8) : task(4, 1));
  NodeShape broken = empty_node(0, 8, 64);
  broken.free_milli[7] = 0;
  EXPECT_GT(groups.scarcity().kept(empty_node(0, 8, 64)), groups.scarcity().kept(broken));
}

}  // namespace
}  // namespace hearth::sched
