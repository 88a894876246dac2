// How long jobs of one kind run: which part of them runs on past each step of running time. Pure.
#pragma once

#include <array>
#include <cstddef>

#include "base/clock.h"

namespace hearth::sched {

// Steps of running time: the first is below kFirstStep, then four to each doubling.
inline constexpr size_t kSteps = 93;
inline constexpr double kFirstStep = 8;  // seconds
double step_begins(size_t step);         // seconds
size_t step_of(double seconds);
// Of those that reach a step, such a part ends in it.
using StepHazards = std::array<double, kSteps>;

class RunTimes {
 public:
  // Of a job that ran for `before` in earlier attempts; all below is told of this attempt alone.
  explicit RunTimes(const StepHazards& hazards, Duration before = {});
  RunTimes no_longer_than(Duration most) const;
  // Of those that run for longer than `already` a part (0..1) runs no longer than this, counted
  // from the attempt's begin, and never 0. Where none runs for so long: as long again.
  Duration at(double part, Duration already = {}) const;

 private:
  double running_on(double seconds) const;

  std::array<double, kSteps + 1> on_{};  // past the begin of each step; of the one behind, none
  Duration before_;
  Duration most_{INT64_MAX};
};

}  // namespace hearth::sched
