// What the control groups above this process already bound. Inside hw alone.
#pragma once

#include <cstdint>
#include <optional>

#include "hw/root.h"

namespace hearth::hw {

// CPUs per second of the tightest group from this process's own up to the root; none = no quota.
std::optional<double> cgroup_cpu_quota(const Root& root);
// Bytes, likewise.
std::optional<int64_t> cgroup_memory_limit(const Root& root);

}  // namespace hearth::hw
