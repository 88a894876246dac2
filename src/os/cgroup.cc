#include "os/cgroup.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <set>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "os/cgroup_files.h"
#include "os/files.h"
#include "os/numbers.h"
#include "os/process.h"
#include "os/tree.h"

namespace hearth::os {
namespace {

constexpr int64_t kMostBytes = 1 << 20;
constexpr int64_t kPeriodMicros = 100'000;  // of the quota; the kernel's own default
constexpr int64_t kLeastQuotaMicros = 1'000;
constexpr Duration kFreezeWait = Duration::seconds(2);
constexpr Duration kRemoveWait = Duration::seconds(2);
constexpr int kLookMillis = 5;
constexpr int kMostDepth = 64;

bool good_name(const std::string& name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 200 && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), good);
}

// v1 may mount two controllers at one place.
std::set<std::string> places(const std::map<std::string, std::string>& folders) {
  std::set<std::string> out;
  for (const auto& [controller, folder] : folders) out.insert(folder);
  return out;
}

// Not to spin: there is nothing to wait on in these files on v1.
void pause_briefly() {
  poll(nullptr, 0, kLookMillis);
}

Result<void> set_v1(const std::map<std::string, std::string>& folders, const CgroupLimits& limits) {
  const auto set = [&](const char* controller, const char* file,
                       const std::string& value) -> Result<void> {
    const auto folder = folders.find(controller);
    if (folder == folders.end()) return {};
    return write_value(format("{}/{}", folder->second, file), value);
  };
  if (limits.memory_bytes > 0) {
    const std::string bytes = format("{}", limits.memory_bytes);
    TRY(set("memory", "memory.limit_in_bytes", bytes));
    // Memory and swap together; not there where the kernel does not account for swap.
    ignore(set("memory", "memory.memsw.limit_in_bytes", bytes));
  }
  if (limits.cpus > 0) {
    const auto shares = std::clamp<int64_t>(std::llround(1024 * limits.cpus), 2, 262'144);
    TRY(set("cpu", "cpu.shares", format("{}", shares)));
  }
  if (limits.cpu_quota) {
    const auto quota =
        std::max<int64_t>(kLeastQuotaMicros, std::llround(*limits.cpu_quota * kPeriodMicros));
    TRY(set("cpu", "cpu.cfs_period_us", format("{}", kPeriodMicros)));
    TRY(set("cpu", "cpu.cfs_quota_us", format("{}", quota)));
  }
  if (limits.pids > 0) TRY(set("pids", "pids.max", format("{}", limits.pids)));
  return {};
}

Result<void> set_v2(const std::string& folder, bool memory, const CgroupLimits& limits) {
  const auto set = [&](const char* file, const std::string& value) -> Result<void> {
    const std::string path = format("{}/{}", folder, file);
    return exists(path) ? write_value(path, value) : Result<void>();
  };
  if (limits.memory_bytes > 0) {
    // Not there though it was detected: the parent is another one, made anew a moment ago.
    if (memory) TRY(write_value(folder + "/memory.max", format("{}", limits.memory_bytes)));
    TRY(set("memory.swap.max", "0"));
    // A task of which one process is gone is of no use: end all of it.
    ignore(set("memory.oom.group", "1"));
  }
  if (limits.cpus > 0) {
    const auto weight = std::clamp<int64_t>(std::llround(100 * limits.cpus), 1, 10'000);
    TRY(set("cpu.weight", format("{}", weight)));
  }
  if (limits.cpu_quota) {
    const auto quota =
        std::max<int64_t>(kLeastQuotaMicros, std::llround(*limits.cpu_quota * kPeriodMicros));
    TRY(set("cpu.max", format("{} {}", quota, kPeriodMicros)));
  }
  if (limits.pids > 0) TRY(set("pids.max", format("{}", limits.pids)));
  return {};
}

// v1: "8:0 Read 4096", v2: "8:0 rbytes=4096 wbytes=0 ..."; summed over the devices.
void add_io(const std::string& file, CgroupStats& stats) {
  const auto text = read_file(file, kMostBytes);
  if (!text.ok()) return;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() == 3 && words[1] == "Read")
      stats.read_bytes += leading_number<int64_t>(words[2]).value_or(0);
    if (words.size() == 3 && words[1] == "Write")
      stats.write_bytes += leading_number<int64_t>(words[2]).value_or(0);
    for (const std::string_view word : words) {
      if (word.starts_with("rbytes="))
        stats.read_bytes += leading_number<int64_t>(word.substr(7)).value_or(0);
      if (word.starts_with("wbytes="))
        stats.write_bytes += leading_number<int64_t>(word.substr(7)).value_or(0);
    }
  }
}

CgroupStats stats_v1(const std::map<std::string, std::string>& folders) {
  CgroupStats stats;
  const auto file = [&](const char* controller, const char* name) {
    const auto folder = folders.find(controller);
    return folder == folders.end() ? "" : format("{}/{}", folder->second, name);
  };
  stats.memory_bytes = read_value(file("memory", "memory.usage_in_bytes")).value_or(0);
  stats.memory_peak_bytes = read_value(file("memory", "memory.max_usage_in_bytes")).value_or(0);
  stats.oom_kills = read_keyed(file("memory", "memory.oom_control"), "oom_kill").value_or(0);
  stats.cpu.micros = read_value(file("cpuacct", "cpuacct.usage")).value_or(0) / 1000;
  stats.throttled.micros = read_keyed(file("cpu", "cpu.stat"), "throttled_time").value_or(0) / 1000;
  stats.pids = read_value(file("pids", "pids.current")).value_or(0);
  add_io(file("blkio", "blkio.throttle.io_service_bytes_recursive"), stats);
  return stats;
}

CgroupStats stats_v2(const std::string& folder) {
  CgroupStats stats;
  stats.memory_bytes = read_value(folder + "/memory.current").value_or(0);
  stats.memory_peak_bytes = read_value(folder + "/memory.peak").value_or(0);
  stats.oom_kills = read_keyed(folder + "/memory.events", "oom_kill").value_or(0);
  stats.cpu.micros = read_keyed(folder + "/cpu.stat", "usage_usec").value_or(0);
  stats.throttled.micros = read_keyed(folder + "/cpu.stat", "throttled_usec").value_or(0);
  stats.pids = read_value(folder + "/pids.current").value_or(0);
  add_io(folder + "/io.stat", stats);
  return stats;
}

// The folder and those below it, deepest first. 0 or the errno of the first that stays.
int remove_folders(const std::string& folder, int depth) {
  if (const auto entries = list_directory(folder); entries.ok() && depth < kMostDepth)
    for (const Entry& entry : *entries)
      if (entry.kind == EntryKind::directory)
        if (const int error = remove_folders(format("{}/{}", folder, entry.name), depth + 1);
            error != 0)
          return error;
  return rmdir(folder.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

}  // namespace

Result<void> write_value(const std::string& file, std::string_view text) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return Error::from_errno(format("opening {}", file), errno);
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return Error::from_errno(format("writing {} to {}", text, file), errno);
  return {};
}

std::optional<int64_t> read_value(const std::string& file) {
  if (file.empty()) return std::nullopt;
  const auto text = read_file(file, kMostBytes);
  return text.ok() ? leading_number<int64_t>(*text) : std::nullopt;
}

std::optional<int64_t> read_keyed(const std::string& file, std::string_view key) {
  if (file.empty()) return std::nullopt;
  const auto text = read_file(file, kMostBytes);
  if (!text.ok()) return std::nullopt;
  for (const std::string_view line : split(*text, '\n'))
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
      return leading_number<int64_t>(line.substr(key.size()));
  return std::nullopt;
}

bool joined_by_us(const std::string& group) {
  const auto text = read_file(group + "/cgroup.procs", kMostBytes);
  if (!text.ok()) return false;
  const auto pids = split(*text, '\n');
  return std::find(pids.begin(), pids.end(), format("{}", getpid())) != pids.end();
}

Result<Cgroup> Cgroup::create(const CgroupSupport& support, const std::string& name,
                              const CgroupLimits& limits) {
  if (!good_name(name)) return Error::invalid(format("'{}' is no name for a control group", name));
  if (support.version == CgroupVersion::none)
    return Error::of(Code::unsupported, "there are no control groups here: " + support.why);
  Cgroup group;
  group.version_ = support.version;
  std::set<std::string> made;
  for (const auto& [controller, parent] : support.parents) {
    const std::string folder = format("{}/{}", parent, name);
    if (!made.contains(folder) && mkdir(folder.c_str(), 0755) != 0) {
      const Error error = Error::from_errno(format("making control group {}", folder), errno);
      for (const std::string& undone : made) rmdir(undone.c_str());
      return error;
    }
    made.insert(folder);
    group.folders_[controller] = folder;
  }
  auto set = group.version_ == CgroupVersion::v1
                 ? set_v1(group.folders_, limits)
                 : set_v2(group.folders_.begin()->second, support.memory, limits);
  if (set.ok()) return group;
  ignore(group.remove());
  return std::move(set).error();
}

Result<Cgroup> Cgroup::open(const CgroupSupport& support, const std::string& name) {
  if (!good_name(name)) return Error::invalid(format("'{}' is no name for a control group", name));
  Cgroup group;
  group.version_ = support.version;
  for (const auto& [controller, parent] : support.parents)
    if (const std::string folder = format("{}/{}", parent, name); exists(folder))
      group.folders_[controller] = folder;
  if (group.folders_.empty()) return Error::not_found(format("there is no control group {}", name));
  return group;
}

std::vector<std::string> Cgroup::procs_files() const {
  std::vector<std::string> out;
  for (const std::string& folder : places(folders_)) out.push_back(folder + "/cgroup.procs");
  return out;
}

std::string group_entry(const std::string& folder) {
  std::string thread = folder + "/tasks";  // there is none in version 2
  return exists(thread) ? thread : folder + "/cgroup.procs";
}

std::vector<std::string> Cgroup::entry_files() const {
  std::vector<std::string> out;
  for (const std::string& folder : places(folders_)) out.push_back(group_entry(folder));
  return out;
}

Result<void> Cgroup::add(pid_t pid) const {
  for (const std::string& file : procs_files()) TRY(write_value(file, format("{}", pid)));
  return {};
}

Result<std::vector<pid_t>> Cgroup::processes() const {
  std::set<pid_t> pids;
  for (const std::string& file : procs_files()) {
    const auto found = pids_in_group(file);
    pids.insert(found.begin(), found.end());
  }
  return std::vector<pid_t>(pids.begin(), pids.end());
}

Result<CgroupStats> Cgroup::stats() const {
  if (folders_.empty() || !exists(folders_.begin()->second))
    return Error::not_found("the control group is gone");
  return version_ == CgroupVersion::v1 ? stats_v1(folders_) : stats_v2(folders_.begin()->second);
}

Result<void> Cgroup::freeze() const {
  const Time end = system_clock().steady() + kFreezeWait;
  const auto folder = folders_.find(version_ == CgroupVersion::v1 ? "freezer" : "");
  if (folder == folders_.end())
    return Error::of(Code::unsupported, "this control group has no freezer");
  for (;;) {
    if (version_ == CgroupVersion::v1) {
      TRY(write_value(folder->second + "/freezer.state", "FROZEN"));
      const auto state = TRY(read_file(folder->second + "/freezer.state", kMostBytes));
      if (trim(state) == "FROZEN") return {};
    } else {
      TRY(write_value(folder->second + "/cgroup.freeze", "1"));
      if (read_keyed(folder->second + "/cgroup.events", "frozen") == 1) return {};
    }
    if (system_clock().steady() >= end)
      return Error::of(Code::timeout, "the control group does not freeze");
    pause_briefly();
  }
}

Result<void> Cgroup::thaw() const {
  const auto folder = folders_.find(version_ == CgroupVersion::v1 ? "freezer" : "");
  if (folder == folders_.end())
    return Error::of(Code::unsupported, "this control group has no freezer");
  if (version_ == CgroupVersion::v1)
    return write_value(folder->second + "/freezer.state", "THAWED");
  return write_value(folder->second + "/cgroup.freeze", "0");
}

Result<void> Cgroup::kill_all(Duration deadline) const {
  const Time end = system_clock().steady() + deadline;
  for (;;) {
    const std::vector<pid_t> first = TRY(processes());
    if (first.empty()) return {};
    if (system_clock().steady() >= end)
      return Error::of(Code::timeout,
                       format("{} processes of the control group do not end", first.size()));
    const auto folder = folders_.find("");
    const bool killed =
        folder != folders_.end() && write_value(folder->second + "/cgroup.kill", "1").ok();
    if (!killed) {
      // On v1: frozen, nobody forks while we go through the list.
      const bool frozen = freeze().ok();
      std::vector<ProcessRef> held;
      for (const pid_t pid : first)
        if (auto ref = ProcessRef::open(pid); ref.ok()) held.push_back(std::move(*ref));
      // Still in the group after it was held: so it is the one that stood in the list.
      const std::vector<pid_t> again = TRY(processes());
      for (const ProcessRef& ref : held)
        if (std::binary_search(again.begin(), again.end(), ref.pid()))
          ignore(ref.send_signal(SIGKILL));
      if (frozen) TRY(thaw());
    }
    pause_briefly();
  }
}

Result<void> Cgroup::remove() const {
  const Time end = system_clock().steady() + kRemoveWait;
  for (const std::string& folder : places(folders_)) {
    for (int error = remove_folders(folder, 0); error != 0; error = remove_folders(folder, 0)) {
      if (error != EBUSY) return Error::from_errno(format("removing {}", folder), error);
      if (system_clock().steady() >= end)
        return Error::conflict(format("{} still has processes", folder));
      pause_briefly();
    }
  }
  return {};
}

void remove_parents(const CgroupSupport& support) {
  if (!support.made) return;
  for (const std::string& folder : places(support.parents)) rmdir(folder.c_str());
}

Result<std::vector<std::string>> list_cgroups(const CgroupSupport& support) {
  std::set<std::string> names;
  for (const std::string& parent : places(support.parents)) {
    const std::vector<Entry> entries = TRY(list_directory(parent));
    for (const Entry& entry : entries)
      if (entry.kind == EntryKind::directory) names.insert(entry.name);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace hearth::os
