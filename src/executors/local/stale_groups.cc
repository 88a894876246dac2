#include "executors/local/stale_groups.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/id.h"
#include "base/log.h"
#include "os/files.h"
#include "os/tree.h"

namespace hearth::executors {
namespace {

constexpr std::string_view kPrefix = "task-";
constexpr int64_t kMostCommandBytes = 1 << 20;

std::vector<std::string> command_lines() {
  std::vector<std::string> lines;
  for (const os::ProcessInfo& process : os::list_processes()) {
    auto line = os::read_file(format("/proc/{}/cmdline", process.pid), kMostCommandBytes);
    if (line.ok()) lines.push_back(std::move(line).value());
  }
  return lines;
}

}  // namespace

void remove_stale_groups(const os::CgroupSupport& support) {
  const auto names = os::list_cgroups(support);
  if (!names.ok()) return;
  std::vector<std::string> empty;
  for (const std::string& name : *names) {
    if (!name.starts_with(kPrefix) || !is_id(name.substr(kPrefix.size()))) continue;
    const auto group = os::Cgroup::open(support, name);
    if (!group.ok()) continue;
    const auto processes = group->processes();
    if (processes.ok() && processes->empty()) empty.push_back(name);
  }
  if (empty.empty()) return;
  // Looked at after the groups: a shim that made one of them was there before it.
  const std::vector<std::string> lines = command_lines();
  for (const std::string& name : empty) {
    const std::string id = name.substr(kPrefix.size());
    const bool named = std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(id) != line.npos;
    });
    if (named) continue;
    const auto group = os::Cgroup::open(support, name);
    if (!group.ok()) continue;
    // Whose processes we do not see (of another container) cannot be removed: no use to go on.
    if (const auto removed = group->remove(); !removed.ok())
      return log_warning("{}", removed.error().text());
  }
}

}  // namespace hearth::executors
