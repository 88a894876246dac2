#pragma once

#include <string_view>

namespace hearth::app {

constexpr std::string_view kVersion = HEARTH_VERSION;

}  // namespace hearth::app
