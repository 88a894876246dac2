#include "domain/part_done.h"

#include <cmath>

#include <gtest/gtest.h>

namespace hearth {
namespace {

constexpr Time kAt{5'000'000};

Run run_with(std::map<std::string, std::string> params,
             std::map<std::string, LatestMetric> metrics) {
  Run run;
  run.params = std::move(params);
  run.metrics = std::move(metrics);
  return run;
}

TEST(PartDone, IsToldByTheRun) {
  const LatestMetric two{2, 700, kAt};
  const auto epochs = part_done(run_with({{"epochs", "8"}}, {{"epoch", two}}));
  ASSERT_TRUE(epochs);
  EXPECT_EQ(epochs->part, 0.25);
  EXPECT_EQ(epochs->at, kAt);
  EXPECT_EQ(part_done(run_with({{"num_train_epochs", "4.0"}}, {{"epoch", two}}))->part, 0.5);
  EXPECT_EQ(part_done(run_with({{"epochs", "1"}}, {{"epoch", two}}))->part, 1);
  // Its own word goes before what is counted.
  const LatestMetric most{0.9, 1, kAt};
  EXPECT_EQ(part_done(run_with({{"epochs", "8"}}, {{"epoch", two}, {"progress", most}}))->part,
            0.9);
}

TEST(PartDone, StepsAreThoseOfTheNewestMetric) {
  const auto run = run_with({{"max_steps", "1000"}}, {{"loss", {0.1, 250, kAt}},
                                                      {"accuracy", {0.9, 200, Time{1}}},
                                                      {"system/cpu_percent", {3, 5000, Time{1}}}});
  ASSERT_TRUE(part_done(run));
  EXPECT_EQ(part_done(run)->part, 0.25);
  EXPECT_EQ(part_done(run)->at, kAt);
}

// As the trainer of Hugging Face logs it: three epochs unless told otherwise, and -1 for no bound.
TEST(PartDone, ABoundOfStepsGoesBeforeEpochs) {
  const std::map<std::string, LatestMetric> metrics = {{"epoch", {0.03, 50, kAt}},
                                                       {"loss", {1, 50, kAt}}};
  EXPECT_EQ(part_done(run_with({{"num_train_epochs", "3"}, {"max_steps", "100"}}, metrics))->part,
            0.5);
  EXPECT_NEAR(part_done(run_with({{"num_train_epochs", "3"}, {"max_steps", "-1"}}, metrics))->part,
              0.01, 1e-9);
}

TEST(PartDone, WhatSaysNothingIsNotGuessed) {
  const LatestMetric one{1, 10, kAt};
  EXPECT_FALSE(part_done(run_with({}, {{"epoch", one}})));
  EXPECT_FALSE(part_done(run_with({{"epochs", "8"}}, {{"loss", one}})));
  for (const char* epochs : {"0", "-3", "many", "", "8 or so", "inf", "nan"})
    EXPECT_FALSE(part_done(run_with({{"epochs", epochs}}, {{"epoch", one}}))) << epochs;
  EXPECT_FALSE(part_done(run_with({{"epochs", "8"}}, {{"epoch", {NAN, 10, kAt}}})));
}

}  // namespace
}  // namespace hearth
