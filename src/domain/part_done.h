// How far a run is, as its own metrics and parameters say.
#pragma once

#include <optional>

#include "domain/run.h"

namespace hearth {

struct PartDone {
  double part = 0;  // 0..1 of the training
  Time at;          // when the run said so
};

// The metric `progress` (0..1); or the greatest step of any metric beside a parameter `max_steps`;
// or `epoch` beside `epochs`, `num_epochs`, `max_epochs` or `num_train_epochs`; or that step beside
// `total_steps` or `num_steps`. Nothing when the run does not say.
std::optional<PartDone> part_done(const Run& run);
// The epochs it wants, by the parameters above.
std::optional<double> epochs_wanted(const Run& run);

}  // namespace hearth
