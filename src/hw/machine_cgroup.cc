// Control groups: which version, which of this process, what may be made below them.
#include <algorithm>
#include <functional>
#include <map>

#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "hw/cgroup_limits.h"
#include "hw/machine.h"
#include "hw/mounts.h"

namespace hearth::hw {
namespace {

constexpr int kMostDepth = 64;  // of groups above this process

// A mounted tree of groups and this process's place in it.
struct Tree {
  bool v2 = false;
  std::string controllers;  // v1: comma-separated, as the mount says
  std::string mount;
  std::string directory;
  bool read_only = false;
};

// controllers ("" for v2) -> path of the own group
std::map<std::string, std::string> own_groups(std::string_view self_cgroup) {
  std::map<std::string, std::string> paths;
  for (const auto row : split(self_cgroup, '\n')) {
    const size_t first = row.find(':');
    const size_t second = first == row.npos ? row.npos : row.find(':', first + 1);
    if (second == row.npos) continue;
    const std::string path(row.substr(second + 1));
    for (const auto one : split(row.substr(first + 1, second - first - 1), ',')) {
      paths[std::string(one)] = path;
    }
  }
  return paths;
}

// In a container the mount shows only a part of the tree, or the own path lies outside of it.
std::string directory_of(const Root& root, const Mount& mount, const std::string& path) {
  std::string below = path;
  const bool inside = path == mount.root || path.starts_with(mount.root + "/");
  if (mount.root != "/" && inside) below = path.substr(mount.root.size());
  if (below == "/" || below.empty()) return mount.point;
  std::string directory = mount.point + below;
  return root.exists(directory) ? directory : mount.point;
}

std::vector<Tree> trees(const Root& root, int64_t pid = 0) {
  std::vector<Tree> found;
  const auto mounts = parse_mounts(root.read("/proc/self/mountinfo").value_or(""));
  const std::string process = pid > 0 ? format("{}", pid) : "self";
  const auto groups = own_groups(root.read(format("/proc/{}/cgroup", process)).value_or(""));
  for (const Mount& mount : mounts) {
    const bool v2 = mount.filesystem == "cgroup2";
    if (!v2 && mount.filesystem != "cgroup") continue;
    if (!v2 && mount.super_options.find("name=") != std::string::npos) continue;
    Tree tree{.v2 = v2, .mount = mount.point, .read_only = has_option(mount.options, "ro")};
    std::string path = "/";
    if (v2) {
      if (const auto own = groups.find(""); own != groups.end()) path = own->second;
    } else {
      for (const auto option : split(mount.super_options, ',')) {
        const auto own = groups.find(std::string(option));
        if (own == groups.end()) continue;  // "rw", "release_agent=..."
        path = own->second;
        tree.controllers += (tree.controllers.empty() ? "" : ",") + std::string(option);
      }
      if (tree.controllers.empty()) continue;
    }
    tree.directory = directory_of(root, mount, path);
    found.push_back(std::move(tree));
  }
  return found;
}

bool may_make_groups(const Root& root, const Tree& tree) {
  if (tree.read_only || !root.writable(tree.directory)) return false;
  if (!root.writable(tree.directory + "/cgroup.procs")) return false;
  return !tree.v2 || root.writable(tree.directory + "/cgroup.subtree_control");
}

// Calls `look` with each directory from the own group up to the mount.
void walk_up(const Tree& tree, const std::function<void(const std::string&)>& look) {
  std::string directory = tree.directory;
  for (int depth = 0; depth < kMostDepth; ++depth) {
    look(directory);
    const size_t slash = directory.rfind('/');
    if (directory.size() <= tree.mount.size() || slash == std::string::npos) return;
    directory.resize(slash);
  }
}

// Tasks get their groups below the highest one that may be written to (os::detect_cgroups): what
// that has counts. The own group, if there is none.
std::string highest_writable(const Root& root, Tree tree) {
  std::string highest = tree.directory;
  bool writable = true;
  walk_up(tree, [&](const std::string& directory) {
    tree.directory = directory;
    writable = writable && may_make_groups(root, tree);
    if (writable) highest = directory;
  });
  return highest;
}

template <typename T>
void tighten(std::optional<T>& bound, T value) {
  if (!bound || value < *bound) bound = value;
}

Probe<bool> can_limit(const Cgroups& groups, bool read_only) {
  std::string missing;
  const CgroupController* locked = nullptr;
  for (const std::string_view name : {"cpu", "memory"}) {
    const auto* controller = groups.find(name);
    if (controller == nullptr) missing += (missing.empty() ? "" : " and ") + std::string(name);
    if (controller != nullptr && !controller->writable) locked = controller;
  }
  // Who owns the group can say more about its controllers than who may only look.
  if (locked != nullptr && read_only)
    return Absent{"/sys/fs/cgroup is mounted read-only, as in most containers"};
  if (locked != nullptr)
    return Absent{format("{} is not delegated to this user", locked->directory)};
  if (missing.empty()) return true;
  return Absent{format("the group of this process has no controller for {}", missing)};
}

}  // namespace

const CgroupController* Cgroups::find(std::string_view name) const {
  for (const auto& controller : controllers) {
    if (controller.name == name) return &controller;
  }
  return nullptr;
}

std::string Cgroups::describe() const {
  const std::string_view kind = version == CgroupVersion::v2   ? "v2"
                                : version == CgroupVersion::v1 ? "v1"
                                                               : "v1 (hybrid)";
  return format("{}, {}", kind, limits ? "delegated" : "no limits: " + limits.why());
}

Probe<Cgroups> cgroups(const Root& root, int64_t pid) {
  auto found = trees(root, pid);
  if (found.empty()) return Absent{"no cgroup file system is mounted"};
  Cgroups groups;
  bool v1 = false, v2 = false, read_only = false;
  for (Tree& tree : found) {
    if (tree.v2) tree.directory = highest_writable(root, tree);
    const bool writable = may_make_groups(root, tree);
    read_only = read_only || tree.read_only;
    v2 = v2 || tree.v2;
    v1 = v1 || !tree.v2;
    const std::string names =
        tree.v2 ? root.line(tree.directory + "/cgroup.controllers").value_or("") : tree.controllers;
    for (const auto name : split(names, tree.v2 ? ' ' : ',')) {
      if (name.empty()) continue;
      groups.controllers.push_back({std::string(name), tree.directory, writable});
    }
  }
  groups.version = v1 && v2 ? CgroupVersion::hybrid : v1 ? CgroupVersion::v1 : CgroupVersion::v2;
  std::sort(groups.controllers.begin(), groups.controllers.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  groups.limits = can_limit(groups, read_only);
  return groups;
}

std::optional<double> cgroup_cpu_quota(const Root& root) {
  std::optional<double> bound;
  for (const Tree& tree : trees(root)) {
    if (!tree.v2 && !has_option(tree.controllers, "cpu")) continue;
    walk_up(tree, [&](const std::string& directory) {
      std::optional<int64_t> quota, period;
      if (tree.v2) {  // "max 100000" or "150000 100000"
        const auto text = root.line(directory + "/cpu.max");
        if (!text || text->starts_with("max")) return;
        quota = leading_number(*text);
        const size_t blank = text->find(' ');
        if (blank != std::string::npos) period = leading_number(text->substr(blank));
      } else {
        quota = root.number(directory + "/cpu.cfs_quota_us");
        period = root.number(directory + "/cpu.cfs_period_us");
      }
      if (!quota || !period || *quota <= 0 || *period <= 0) return;
      tighten(bound, static_cast<double>(*quota) / static_cast<double>(*period));
    });
  }
  return bound;
}

std::optional<int64_t> cgroup_memory_limit(const Root& root) {
  constexpr int64_t kNone = int64_t{1} << 60;  // v1 writes "no limit" as a number near 2^63
  std::optional<int64_t> bound;
  for (const Tree& tree : trees(root)) {
    if (!tree.v2 && !has_option(tree.controllers, "memory")) continue;
    const std::string_view file = tree.v2 ? "/memory.max" : "/memory.limit_in_bytes";
    walk_up(tree, [&](const std::string& directory) {
      const auto limit = root.number(directory + std::string(file));
      if (limit && *limit < kNone) tighten(bound, *limit);
    });
  }
  return bound;
}

}  // namespace hearth::hw
