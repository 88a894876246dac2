// A plan in which one job alone is asked about. Inside sched alone.
#pragma once

#include <optional>
#include <string>

#include "sched/state.h"

namespace hearth::sched {

struct About {
  std::string job_id;
  bool only_whether = false;  // it starts: the plan ends with its turn
  // Answers:
  bool starts = false;           // only_whether
  std::optional<Raise> raise{};  // only_whether: the limit that alone stops it
  bool inexact = false;          // a trial in its place could not tell what a plan would do
};
Plan plan_about(Cluster::State& state, Time now, const PlanOptions& options, About& about);

}  // namespace hearth::sched
