// What a simulation did, drawn: GPUs in use and jobs that wait over time, and how long jobs took.
#pragma once

#include <string>

#include "sched/simulate.h"

namespace hearth::app {

// A whole SVG document of its own, without script or anything to load.
std::string draw(const sched::Simulated& done, double gpus, const std::string& title);

}  // namespace hearth::app
