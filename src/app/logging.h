// spdlog behind base's log facade.
#pragma once

namespace hearth::app {

// Lines with time and level to stderr.
void log_to_stderr();

}  // namespace hearth::app
