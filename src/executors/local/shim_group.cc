#include "executors/local/shim_group.h"

#include <optional>
#include <string_view>

#include "base/units.h"
#include "hw/mounts.h"

namespace hearth::executors {
namespace {

constexpr std::string_view kName = "/hearth-shims";

// This process's group in the tree whose line in /proc/self/cgroup has these controllers.
std::optional<std::string> own_group(std::string_view self_cgroup, std::string_view controllers) {
  for (const auto row : split(self_cgroup, '\n')) {
    const size_t first = row.find(':');
    const size_t second = first == row.npos ? row.npos : row.find(':', first + 1);
    if (second == row.npos) continue;
    if (row.substr(first + 1, second - first - 1) != controllers) continue;
    return std::string(row.substr(second + 1));
  }
  return std::nullopt;
}

// The highest group from the mount down to (not with) the own one in which this user may make
// others and into which it may move processes.
std::optional<std::string> highest_writable(const hw::Root& root, const std::string& mount,
                                            const std::string& own) {
  for (size_t end = 0; end != own.npos; end = own.find('/', end + 1)) {
    const std::string folder = mount + own.substr(0, end);
    if (root.writable(folder) && root.writable(folder + "/cgroup.procs")) return folder;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> shim_groups(const hw::Root& root) {
  std::vector<std::string> found;
  const std::string self = root.read("/proc/self/cgroup").value_or("");
  const std::string info = root.read("/proc/self/mountinfo").value_or("");
  for (const hw::Mount& mount : hw::parse_mounts(info)) {
    const bool v2 = mount.filesystem == "cgroup2";
    const bool systemd =
        mount.filesystem == "cgroup" && hw::has_option(mount.super_options, "name=systemd");
    if (!v2 && !systemd) continue;
    const auto own = own_group(self, v2 ? "" : "name=systemd");
    if (!own || *own == "/" || mount.root != "/") continue;
    if (own->starts_with(kName)) continue;  // a server started by a task, in tests
    if (const auto parent = highest_writable(root, mount.point, *own)) {
      found.push_back(*parent + std::string(kName));
    }
  }
  return found;
}

}  // namespace hearth::executors
