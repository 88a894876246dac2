// detect_cgroups(): what is mounted, what we may write to, and whether it works.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "os/cgroup.h"
#include "os/cgroup_files.h"
#include "os/files.h"
#include "os/process.h"
#include "os/tree.h"

namespace hearth::os {
namespace {

constexpr int64_t kMostMountBytes = 8 << 20;
constexpr int kMostDepth = 64;
constexpr int kMostMoves = 20;  // looks for processes to move out of a group
constexpr int kMostMakes = 5;   // of a parent that somebody else removes meanwhile
constexpr std::string_view kControllers[] = {"memory", "cpu",     "cpuacct",
                                             "pids",   "freezer", "blkio"};

struct Mounts {
  std::map<std::string, std::string> v1;  // controller -> mount point
  std::string v2;
};

// proc(5), mountinfo: "... ROOT POINT OPTIONS ... - TYPE SOURCE SUPER_OPTIONS"
Mounts find_mounts(const std::string& below) {
  Mounts mounts;
  const auto text = read_file("/proc/self/mountinfo", kMostMountBytes);
  if (!text.ok()) return mounts;
  for (const std::string_view line : split(*text, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const std::string point(before[4]);
    if (point != below && !point.starts_with(below + "/")) continue;
    if (after[0] == "cgroup2") mounts.v2 = point;
    if (after[0] != "cgroup") continue;
    const auto options = split(after[2], ',');
    for (const std::string_view controller : kControllers)
      if (std::find(options.begin(), options.end(), controller) != options.end())
        mounts.v1[std::string(controller)] = point;
  }
  return mounts;
}

void say(CgroupSupport& support, std::string_view words) {
  if (!support.why.empty()) support.why += "; ";
  support.why += words;
}

Result<void> make_path(const std::string& top, const std::string& relative) {
  std::string path = top;
  for (const std::string_view piece : split(relative, '/')) {
    if (piece.empty()) continue;
    path += format("/{}", piece);
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
      return Error::from_errno(format("making {}", path), errno);
  }
  return {};
}

std::string joined(const std::string& top, const std::string& parent) {
  return top + (parent.starts_with('/') ? "" : "/") + parent;
}

// Starts a program inside a group below the parent: the only honest answer.
Result<void> try_placing(const CgroupSupport& support) {
  const std::string name = format("probe-{}", getpid());
  const auto group = Cgroup::create(support, name, {});
  if (!group.ok()) return group.error();
  SpawnOptions options;
  options.argv = {"/bin/true"};
  options.enter_groups = group->entry_files();
  auto child = spawn(options);
  if (child.ok()) ignore(child->wait());
  const auto removed = group->remove();
  if (!child.ok()) return std::move(child).error();
  return removed;
}

// --- version 1 -------------------------------------------------------------------------------

CgroupSupport detect_v1(const Mounts& mounts, const CgroupOptions& options) {
  CgroupSupport support;
  for (const auto& [controller, point] : mounts.v1) {
    const auto made = make_path(point, options.parent);
    if (made.ok()) {
      support.parents[controller] = joined(point, options.parent);
    } else if (controller == "memory" || controller == "cpu" || controller == "pids") {
      say(support, format("{} cannot be limited: {}", controller, made.error().detail));
    }
  }
  const auto has = [&](const char* controller) { return support.parents.contains(controller); };
  support.memory = has("memory");
  support.cpu = has("cpu");
  support.pids = has("pids");
  support.freeze = has("freezer");
  for (const char* controller : {"memory", "cpu", "pids"})
    if (!mounts.v1.contains(controller))
      say(support, format("{} cannot be limited: its controller is not mounted", controller));
  if (support.parents.empty()) {
    say(support, "control groups of version 1 can be made by root alone");
    return support;
  }
  support.version = CgroupVersion::v1;
  support.made = !options.parent.starts_with('/');
  return support;
}

// --- version 2 -------------------------------------------------------------------------------

std::string own_v2_group() {
  const auto text = read_file("/proc/self/cgroup", kMostMountBytes);
  if (!text.ok()) return "/";
  for (const std::string_view line : split(*text, '\n'))
    if (line.starts_with("0::")) return std::string(line.substr(3));
  return "/";
}

bool writable(const std::string& group) {
  return access(group.c_str(), W_OK) == 0 && access((group + "/cgroup.procs").c_str(), W_OK) == 0 &&
         access((group + "/cgroup.subtree_control").c_str(), W_OK) == 0;
}

// The highest group above us, or our own, that we may write to; "" if there is none.
std::string highest_writable(const std::string& mount) {
  std::string group = own_v2_group();
  std::string highest;
  for (int depth = 0; depth < kMostDepth; ++depth) {
    if (group == "/") group.clear();
    if (!writable(mount + group)) break;
    highest = mount + group;
    if (group.empty()) break;
    group.resize(group.rfind('/'));
  }
  return highest;
}

// A group with processes of its own may not give controllers to its children: they go to a leaf.
Result<void> make_room(const std::string& group) {
  const std::string leaf = group + "/hearth-server";
  if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST)
    return Error::from_errno(format("making {}", leaf), errno);
  for (int look = 0; look < kMostMoves; ++look) {
    const auto text = read_file(group + "/cgroup.procs", kMostMountBytes);
    if (!text.ok()) return text.error();
    if (trim(*text).empty()) return {};
    for (const std::string_view pid : split(trim(*text), '\n'))
      ignore(write_value(leaf + "/cgroup.procs", pid));
  }
  return Error::conflict(format("{} does not become empty", group));
}

// Turns on what there is for the children of `group`.
void turn_on(const std::string& group, CgroupSupport& support) {
  const auto text = read_file(group + "/cgroup.controllers", kMostMountBytes);
  if (!text.ok()) return;
  for (const std::string_view controller : split(trim(*text), ' ')) {
    if (controller != "memory" && controller != "cpu" && controller != "pids" && controller != "io")
      continue;
    const std::string wish = format("+{}", controller);
    const std::string file = group + "/cgroup.subtree_control";
    auto done = write_value(file, wish);
    if (!done.ok() && joined_by_us(group) && make_room(group).ok()) done = write_value(file, wish);
    if (!done.ok()) say(support, done.error().detail);
  }
}

// The folder of all tasks below `top`, with the controllers on for its children; its path.
Result<std::string> make_parent(const std::string& top, const std::string& parent,
                                CgroupSupport& support) {
  for (int tries = 0; tries < kMostMakes; ++tries) {
    TRY(make_path(top, parent));
    std::string path = top;
    turn_on(path, support);
    for (const std::string_view piece : split(parent, '/')) {
      if (piece.empty()) continue;
      path += format("/{}", piece);
      turn_on(path, support);
    }
    // Another server at its end removes it while it is empty.
    if (exists(path)) return path;
  }
  return Error::conflict(format("{} is removed again and again", joined(top, parent)));
}

CgroupSupport detect_v2(const std::string& mount, const CgroupOptions& options) {
  CgroupSupport support;
  const std::string top = options.parent.starts_with('/') ? mount : highest_writable(mount);
  if (top.empty()) {
    say(support, format("no control group is delegated to {}; `systemd-run --user --scope -p "
                        "Delegate=yes hearth up` or the unit in deploy/ gives one",
                        getuid() == 0 ? "this container" : "this user"));
    return support;
  }
  support.delegated = top != mount;
  const auto made = make_parent(top, options.parent, support);
  if (!made.ok()) {
    say(support, made.error().detail);
    return support;
  }
  const std::string& path = *made;
  support.parents[""] = path;
  support.version = CgroupVersion::v2;
  support.made = !options.parent.starts_with('/');
  const auto enabled = read_file(path + "/cgroup.subtree_control", kMostMountBytes);
  const auto names = split(enabled.ok() ? trim(*enabled) : std::string_view(), ' ');
  const auto has = [&](const char* name) {
    const bool found = std::find(names.begin(), names.end(), name) != names.end();
    if (!found)
      say(support,
          format("{} cannot be limited: its controller is not given to {}{}", name, path,
                 support.delegated ? " (Delegate= of the unit names those it gives)" : ""));
    return found;
  };
  support.memory = has("memory");
  support.cpu = has("cpu");
  support.pids = has("pids");
  support.freeze = exists(path + "/cgroup.freeze");
  return support;
}

// The folder of this process's own group in a hierarchy, by a line of /proc/self/cgroup
// ("ID:CONTROLLERS:PATH"); "" if it is not there, as in a container with a mount of its own.
std::string own_group(const Mounts& mounts, std::string_view line) {
  const size_t controllers = line.find(':') + 1;
  const size_t path = line.find(':', controllers) + 1;
  if (controllers == 0 || path == 0) return "";
  const auto names = split(line.substr(controllers, path - controllers - 1), ',');
  const auto point = mounts.v1.find(std::string(names.empty() ? "" : names[0]));
  std::string group = point != mounts.v1.end() ? point->second : "";
  if (line.starts_with("0::")) group = mounts.v2;
  if (group.empty()) return "";
  if (line.substr(path) != "/") group += line.substr(path);
  return joined_by_us(group) ? group : "";
}

}  // namespace

Result<void> expect_move(const std::string& mount) {
  const Mounts mounts = find_mounts(mount);
  const std::string text = TRY(read_file("/proc/self/cgroup", kMostMountBytes));
  for (const std::string_view line : split(text, '\n')) {
    const std::string group = own_group(mounts, line);
    if (!group.empty() && write_value(group + "/cgroup.procs", "0").ok()) return {};
  }
  return Error::of(Code::unsupported, "no control group of this process may be written to");
}

CgroupSupport detect_cgroups(const CgroupOptions& options) {
  const Mounts mounts = find_mounts(options.mount);
  CgroupSupport support;
  // Where version 1 has the memory controller, version 2 beside it has none.
  if (mounts.v1.contains("memory") || (mounts.v2.empty() && !mounts.v1.empty())) {
    support = detect_v1(mounts, options);
  } else if (!mounts.v2.empty()) {
    support = detect_v2(mounts.v2, options);
  } else {
    say(support, format("no control groups are mounted below {}", options.mount));
  }
  if (support.version == CgroupVersion::none) return support;
  if (const auto placed = options.probe ? try_placing(support) : Result<void>(); !placed.ok()) {
    CgroupSupport none;
    none.why = format("a program cannot be started in a control group: {}", placed.error().detail);
    return none;
  }
  const std::string found =
      format("control groups of version {}{}", support.version == CgroupVersion::v1 ? 1 : 2,
             support.delegated ? ", delegated" : "");
  support.why = support.why.empty() ? found : format("{}; {}", found, support.why);
  return support;
}

}  // namespace hearth::os
