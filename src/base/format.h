// The one door to the formatting library: format("{}", x).
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth {
using fmt::format;
using fmt::join;
}  // namespace hearth
