#include "sched/typical.h"

#include <gtest/gtest.h>

namespace hearth::sched {
namespace {

TaskShape gpus(int16_t count, int64_t memory = 0) {
  return {4000, memory, kAnyModel, count, kWholeGpu};
}

TEST(Typical, LearnsAtSixteenArrivalsAndAtEveryDoubling) {
  Typical typical;
  std::vector<int> learnt;
  for (int i = 1; i <= 70; ++i) {
    const uint64_t before = typical.version();
    typical.arrived(gpus(1));
    if (typical.version() != before) learnt.push_back(i);
  }
  EXPECT_EQ(learnt, (std::vector{16, 32, 64}));
}

TEST(Typical, TheMostFrequentThatCoverNineteenOfTwenty) {
  Typical typical;
  typical.arrived(gpus(8));
  for (int i = 0; i < 9; ++i) typical.arrived(gpus(1, i % 2));  // memory does not tell them apart
  for (int i = 0; i < 22; ++i) typical.arrived(gpus(2));
  ASSERT_EQ(typical.tasks().size(), 2u);
  EXPECT_EQ(typical.tasks()[0].shape, gpus(2));
  EXPECT_DOUBLE_EQ(typical.tasks()[0].weight, 22.0 / 31);
  EXPECT_EQ(typical.tasks()[1].shape, gpus(1));
  EXPECT_DOUBLE_EQ(typical.tasks()[1].weight, 9.0 / 31);
  EXPECT_EQ(typical.seen().size(), 4u);
  EXPECT_EQ(typical.gpu_milli_seen(), (8 + 9 + 44) * 1000);
}

TEST(Typical, WhatCameLongAgoFades) {
  Typical typical;
  for (int64_t i = 0; i < Typical::kWindow; ++i) typical.arrived(gpus(1));
  for (int64_t i = 0; i < 3 * Typical::kWindow; ++i) typical.arrived(gpus(2));
  ASSERT_EQ(typical.tasks().size(), 1u);
  EXPECT_EQ(typical.tasks()[0].shape, gpus(2));
}

TEST(Typical, ShapesWithoutEndAreForgotten) {
  Typical typical;
  for (int i = 0; i < 1000; ++i) typical.arrived(gpus(1));
  for (size_t i = 0; i < 3 * Typical::kMaxSeen; ++i) {
    typical.arrived(gpus(2, static_cast<int64_t>(i)));
    ASSERT_LE(typical.seen().size(), Typical::kMaxSeen);
  }
  EXPECT_TRUE(typical.seen().contains(gpus(1)));
  EXPECT_LE(typical.tasks().size(), Typical::kMaxTypical);
}

}  // namespace
}  // namespace hearth::sched
