// /proc/self/mountinfo as records. Inside hw alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::hw {

struct Mount {
  std::string device_number;  // "254:0"
  std::string root;           // the part of the file system that is mounted
  std::string point;
  std::string options;  // of this mount
  std::string filesystem, source;
  std::string super_options;  // of the file system; for cgroup v1 the controllers
};
// Lines that are not whole are skipped.
std::vector<Mount> parse_mounts(std::string_view mountinfo);
// The mount that holds `path` (absolute); null if none does. Of two on one point the later counts.
const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path);
// Is `option` one of the comma-separated `options`.
bool has_option(std::string_view options, std::string_view option);

}  // namespace hearth::hw
