// How far forecasts of starts were off, as it is kept over restarts.
#pragma once

#include <cstdint>

#include "domain/describe.h"

namespace hearth {

// In standard deviations of the runs that a forecast is made of (sched/forecast.h).
struct ForecastErrors {
  double low = -1, high = 1;
  int64_t starts = 0;  // learnt from so many
  bool operator==(const ForecastErrors&) const = default;
};
template <>
struct Describe<ForecastErrors> {
  static constexpr std::string_view name = "ForecastErrors", doc = "How far forecasts were off.";
  static void fields(Fields<ForecastErrors>& f) {
    f("low", &ForecastErrors::low, "one start in twenty errs below this").min(-1e6).max(1e6);
    f("high", &ForecastErrors::high, "one start in nine errs above this").min(-1e6).max(1e6);
    f("starts", &ForecastErrors::starts, "learnt from so many").min(0);
  }
};

struct LearntErrors {
  ForecastErrors first, later;  // of what is said as a wait begins, and at a moment after it
  bool operator==(const LearntErrors&) const = default;
};
template <>
struct Describe<LearntErrors> {
  static constexpr std::string_view name = "LearntErrors", doc = "How far forecasts were off.";
  static void fields(Fields<LearntErrors>& f) {
    f("first", &LearntErrors::first, "of what was said as a wait began");
    f("later", &LearntErrors::later, "of what was said while it lasted");
  }
};

}  // namespace hearth
