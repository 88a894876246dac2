// The files of control groups, for cgroup.cc and cgroup_detect.cc. They are the kernel's, no files
// of ours: no observer is told of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::os {

// One write(2), as the kernel wants it.
Result<void> write_value(const std::string& file, std::string_view text);
// The number in a file that holds one; nothing for "max" or if it is not there.
std::optional<int64_t> read_value(const std::string& file);
// The number behind `key` in a file of lines "key number".
std::optional<int64_t> read_keyed(const std::string& file, std::string_view key);
// Whether this process is one of the group's own.
bool joined_by_us(const std::string& group);

}  // namespace hearth::os
