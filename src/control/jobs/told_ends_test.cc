#include "control/jobs/told_ends.h"

#include <gtest/gtest.h>

namespace hearth::control {
namespace {

Time at(double seconds) {
  return Time{} + Duration::seconds(seconds);
}

TEST(ToldEnds, ThePaceTellsTheEnd) {
  ToldEnds told;
  told.begin("a", at(100));
  EXPECT_FALSE(told.ends_at("a", {0.25, at(400)})) << "its preparation is no pace";
  EXPECT_FALSE(told.ends_at("a", {0.26, at(401)})) << "too little to tell a pace";
  EXPECT_EQ(told.ends_at("a", {0.5, at(500)}), at(700));
  // It became slower.
  EXPECT_EQ(told.ends_at("a", {0.75, at(800)}), at(1000));
  EXPECT_EQ(told.ends_at("a", {1, at(1000)}), at(1000));
  EXPECT_FALSE(told.ends_at("stranger", {0.5, at(500)}));
}

TEST(ToldEnds, WhatAnEarlierAttemptSaidIsNoPace) {
  ToldEnds told;
  told.begin("b", at(1000));
  EXPECT_FALSE(told.ends_at("b", {0.6, at(500)}));
  EXPECT_FALSE(told.ends_at("b", {0.6, at(1000)}));
  EXPECT_EQ(told.ends_at("b", {0.7, at(1010)}), at(1040));
  // Its run counts anew.
  EXPECT_FALSE(told.ends_at("b", {0.1, at(1020)}));
  EXPECT_EQ(told.ends_at("b", {0.2, at(1030)}), at(1110));
  told.forget("b");
  EXPECT_FALSE(told.ends_at("b", {0.5, at(1100)}));
}

}  // namespace
}  // namespace hearth::control
