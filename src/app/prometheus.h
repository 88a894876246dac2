// prometheus-cpp behind base's metric facade.
#pragma once

#include <string>

namespace hearth::app {

void use_prometheus();          // before threads start
std::string prometheus_text();  // the exposition format, version 0.0.4

}  // namespace hearth::app
