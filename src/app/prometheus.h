// prometheus-cpp behind base's metric facade.
#pragma once

#include <string>
#include <vector>

#include "base/metrics.h"

namespace hearth::app {

void use_prometheus();  // before threads start
// All that was counted, and these: the exposition format, version 0.0.4.
std::string prometheus_text(const std::vector<GaugeFamily>& more);

}  // namespace hearth::app
