#include "sched/run_times.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace hearth::sched {
namespace {

constexpr double kPerOctave = 4;

}  // namespace

double step_begins(size_t step) {
  if (step == 0) return 0;
  return kFirstStep * std::exp2(static_cast<double>(step - 1) / kPerOctave);
}

size_t step_of(double seconds) {
  if (seconds < kFirstStep) return 0;
  const double steps = std::floor(kPerOctave * std::log2(seconds / kFirstStep) + 1e-9);
  return std::min(kSteps - 1, static_cast<size_t>(steps) + 1);
}

RunTimes::RunTimes(const StepHazards& hazards, Duration before) : before_(before) {
  on_[0] = 1;
  for (size_t step = 0; step + 1 < kSteps; ++step) on_[step + 1] = on_[step] * (1 - hazards[step]);
}

RunTimes RunTimes::no_longer_than(Duration most) const {
  RunTimes made = *this;
  made.most_ = std::min(most_, most);
  return made;
}

// Within a step they end evenly.
double RunTimes::running_on(double seconds) const {
  const size_t step = step_of(seconds);
  const double begins = step_begins(step), wide = step_begins(step + 1) - begins;
  const double part = std::clamp((seconds - begins) / wide, 0.0, 1.0);
  return on_[step] + part * (on_[step + 1] - on_[step]);
}

Duration RunTimes::at(double part, Duration already) const {
  const double ran = before_.seconds() + already.seconds();
  const double reach = running_on(ran), left = reach * (1 - part);
  if (already.micros > 0 && (reach <= 0 || already >= most_)) return {2 * already.micros};
  // The first step at whose end fewer are left than that.
  const auto end = std::upper_bound(on_.begin() + 1, on_.end() - 1, left, std::greater<>());
  const auto step = static_cast<size_t>(end - on_.begin()) - 1;
  const double begins = step_begins(step), ending = on_[step] - on_[step + 1];
  const double within = ending > 0 ? std::clamp((on_[step] - left) / ending, 0.0, 1.0) : 0;
  const double all = begins + within * (step_begins(step + 1) - begins);
  const Duration run = Duration::seconds(all - before_.seconds());
  return std::min(most_, std::max({run, already, Duration{1}}));
}

}  // namespace hearth::sched
