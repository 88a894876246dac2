#include "sched/value.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace hearth::sched {
namespace {

TaskShape task(int64_t cpus, int16_t gpus, int16_t milli = kWholeGpu) {
  return {cpus * 1000, 0, kAnyModel, gpus, milli};
}

NodeShape node(int64_t cpus, std::initializer_list<int16_t> free) {
  NodeShape shape;
  shape.milli_cpus = cpus * 1000;
  shape.total_milli_cpus = 64000;
  shape.gpu_count = static_cast<int16_t>(free.size());
  std::copy(free.begin(), free.end(), shape.free_milli.begin());
  return shape;
}

TEST(Shape, EveryAmountFreeIsAWayForOneGpu) {
  std::vector<NodeShape> ways;
  each_way(node(8, {1000, 1000, 700, 300}), task(2, 1, 400),
           [&](const NodeShape& left) { ways.push_back(left); });
  EXPECT_EQ(ways, (std::vector{node(6, {1000, 700, 600, 300}), node(6, {1000, 1000, 300, 300})}));
}

TEST(Shape, SeveralGpusAreTheTightestThatHoldIt) {
  std::vector<NodeShape> ways;
  each_way(node(8, {1000, 1000, 700, 300}), task(2, 2, 500),
           [&](const NodeShape& left) { ways.push_back(left); });
  EXPECT_EQ(ways, (std::vector{node(6, {1000, 500, 300, 200})}));
}

TEST(Shape, NoWayWithoutCpusModelOrGpus) {
  const NodeShape here = node(8, {1000, 700});
  TaskShape other = task(1, 1);
  other.models = Models{1} << 3;
  EXPECT_TRUE(fits(here, task(8, 1)));
  EXPECT_FALSE(fits(here, task(9, 1)));
  EXPECT_FALSE(fits(here, task(1, 2)));
  EXPECT_FALSE(fits(here, task(1, 3, 100)));
  EXPECT_FALSE(fits(here, other));
  EXPECT_EQ(here.slots(task(3, 1, 300)), 2);
  EXPECT_EQ(here.slots(task(1, 1, 300)), 5);
  EXPECT_EQ(here.slots(other), 0);
}

// 600 and 300 free, 6 CPUs. The first can use the 600 and not the 300; the second lacks CPUs and
// the third asks no GPU: nothing of the 900 is for them. 0.5 * 300 + 0.3 * 900 + 0.2 * 900 = 600.
TEST(Value, FragmentationByHand) {
  Value value({.fragmentation = 1, .fill = 0});
  value.learn({{task(4, 1, 500), 0.5}, {task(8, 1), 0.3}, {task(2, 0), 0.2}});
  EXPECT_DOUBLE_EQ(value.fragmentation(node(6, {600, 300})), 0.6);
  EXPECT_DOUBLE_EQ(value.fragmentation(node(6, {0, 0})), 0);
  // With 8 CPUs and a whole GPU all but the last can use the 1000: 0.2 * 1300 + 0.8 * 300.
  EXPECT_DOUBLE_EQ(value.fragmentation(node(8, {1000, 300})), 0.5);
  // Two GPUs for a task of two, else none: the GPUs with too little free are lost.
  value.learn({{task(1, 2), 1}});
  EXPECT_DOUBLE_EQ(value.fragmentation(node(8, {1000, 1000, 400})), 0.4);
  EXPECT_DOUBLE_EQ(value.fragmentation(node(8, {1000, 999, 400})), 2.399);
}

TEST(Value, FillByHand) {
  Value value;
  value.learn({{task(4, 1, 400), 1}});
  EXPECT_DOUBLE_EQ(value.fill(node(32, {1000})), 0.2);
  EXPECT_DOUBLE_EQ(value.fill(node(4, {1000})), 0.6);  // CPUs for one
  EXPECT_DOUBLE_EQ(value.fill(node(3, {1000})), 1);    // for none
  EXPECT_DOUBLE_EQ(value.fill(node(32, {850, 390})), 0.05 + 0.39);
  value.learn({{task(1, 2, 500), 1}});
  EXPECT_DOUBLE_EQ(value.fill(node(32, {1000, 1000})), 0);
  EXPECT_DOUBLE_EQ(value.fill(node(32, {1000, 700, 500, 100})), 0.5 + 0.2 + 0.5 + 0.1);
}

// Half of the sequences begin with each task, draws being stratified. After the first there are
// CPUs for no other: 400 are left. After the second there are some for itself alone: 200 are left.
TEST(Value, FillIsTheMeanOverOrders) {
  Value value;
  value.learn({{task(6, 1, 600), 0.5}, {task(4, 1, 400), 0.5}});
  EXPECT_DOUBLE_EQ(value.fill(node(8, {1000})), 0.3);
}

TEST(Value, ATaskBoundToAnotherModelFillsNothing) {
  Value value;
  TaskShape bound = task(1, 1);
  bound.models = Models{1} << 1;
  value.learn({{bound, 1}});
  NodeShape here = node(8, {1000});
  EXPECT_DOUBLE_EQ(value.fill(here), 1);
  here.model = 1;
  EXPECT_DOUBLE_EQ(value.fill(here), 0);
}

TEST(Value, GainIsRoundedAndFitDecidesTies) {
  const NodeShape after = node(16, {0, 0});  // three quarters of the CPUs and all GPUs in use
  EXPECT_DOUBLE_EQ(Value({.grain = 0, .fit = 0}).gain(0.5, 0.37, after), 0.13);
  EXPECT_DOUBLE_EQ(Value({.grain = 0.04, .fit = 0}).gain(0.5, 0.37, after), 0.12);
  EXPECT_DOUBLE_EQ(Value({.fit = 0.02}).gain(0.5, 0.5, after), 0.02 * 1.75 / 2);
}

NodeShape random_node(Random& random) {
  NodeShape shape;
  shape.total_milli_cpus = 64000;
  shape.milli_cpus = static_cast<int64_t>(random.below(65)) * 1000;
  shape.gpu_count = 8;
  for (auto& milli : shape.free_milli) milli = static_cast<int16_t>(random.below(11) * 100);
  std::fill(shape.free_milli.begin() + 8, shape.free_milli.end(), int16_t{0});
  std::sort(shape.free_milli.rbegin(), shape.free_milli.rend());
  return shape;
}

TEST(Value, TheSameBitsWhateverWasAskedBefore) {
  const std::vector<TypicalTask> typical{
      {task(4, 1, 300), 0.4}, {task(8, 1), 0.3}, {task(6, 1, 700), 0.2}, {task(60, 8), 0.1}};
  const Weights weights{.fragmentation = 0.5, .fill = 0.5};
  SeededRandom random(1);
  Value busy(weights);
  busy.learn({{task(1, 1), 1}});
  busy.loss(node(8, {1000, 500}));
  busy.learn(typical);
  for (int i = 0; i < 200; ++i) {
    const NodeShape shape = random_node(random);
    const double first = busy.loss(shape);
    Value fresh(weights);
    fresh.learn(typical);
    EXPECT_EQ(fresh.loss(shape), first);
    EXPECT_EQ(busy.loss(shape), first);
    EXPECT_GE(first, 0);
    EXPECT_LE(first, static_cast<double>(shape.free_gpu_milli()) / kWholeGpu);
  }
}

}  // namespace
}  // namespace hearth::sched
