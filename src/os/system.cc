#include "os/system.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include <pwd.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "os/files.h"
#include "os/numbers.h"

namespace hearth::os {
namespace {

constexpr int64_t kMostProcBytes = 1 << 20;
constexpr int kMostGroupDepth = 64;

std::optional<int64_t> number_in(const std::string& path) {
  const auto text = read_file(path, kMostProcBytes);
  if (!text.ok()) return std::nullopt;
  return leading_number<int64_t>(*text);
}

// Calls each(folder, v2) for our control group of `controller` and every parent of it.
template <typename Each>
void own_groups(std::string_view controller, Each&& each) {
  const auto text = read_file("/proc/self/cgroup", kMostProcBytes);
  if (!text.ok()) return;
  for (const std::string_view line : split(*text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 3) continue;
    const bool v2 = fields[0] == "0" && fields[1].empty();
    const auto names = split(fields[1], ',');
    if (!v2 && std::find(names.begin(), names.end(), controller) == names.end()) continue;
    std::string base = v2 ? "/sys/fs/cgroup" : format("/sys/fs/cgroup/{}", controller);
    if (v2 && exists("/sys/fs/cgroup/unified")) base += "/unified";
    std::string group(fields[2]);
    for (int depth = 0; depth < kMostGroupDepth; ++depth) {
      each(base + group, v2);
      if (group.empty() || group == "/") break;
      group.resize(group.rfind('/'));
    }
  }
}

}  // namespace

std::string hostname() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

double allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  double cpus = online_cpus();
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = CPU_COUNT(&set);
  own_groups("cpu", [&](const std::string& folder, bool v2) {
    double quota = -1, period = 0;
    if (v2) {
      const auto text = read_file(folder + "/cpu.max", kMostProcBytes);
      if (!text.ok()) return;
      const auto fields = split(trim(*text), ' ');
      if (fields.size() != 2 || fields[0] == "max") return;
      quota = leading_number<double>(fields[0]).value_or(-1);
      period = leading_number<double>(fields[1]).value_or(0);
    } else {
      quota = static_cast<double>(number_in(folder + "/cpu.cfs_quota_us").value_or(-1));
      period = static_cast<double>(number_in(folder + "/cpu.cfs_period_us").value_or(0));
    }
    if (quota > 0 && period > 0) cpus = std::min(cpus, quota / period);
  });
  return cpus;
}

int online_cpus() {
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

int64_t total_memory_bytes() {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * page_size();
}

int64_t allowed_memory_bytes() {
  int64_t bytes = total_memory_bytes();
  own_groups("memory", [&](const std::string& folder, bool v2) {
    const auto limit = number_in(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
    if (limit && *limit > 0) bytes = std::min(bytes, *limit);
  });
  return bytes;
}

int64_t page_size() {
  return sysconf(_SC_PAGESIZE);
}

Result<std::string> boot_id() {
  const std::string text = TRY(read_file("/proc/sys/kernel/random/boot_id", kMostProcBytes));
  return std::string(trim(text));
}

Result<Peer> peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return Error::from_errno("asking for the other end of a socket", errno);
  return Peer{credentials.pid, credentials.uid, credentials.gid};
}

Result<std::string> own_executable() {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size < 0) return Error::from_errno("reading /proc/self/exe", errno);
  path.resize(static_cast<size_t>(size));
  return path;
}

std::string user_name(uid_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  std::string buffer(16384, '\0');
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return entry.pw_name;
  return format("{}", uid);
}

std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return home;
  passwd entry{};
  passwd* found = nullptr;
  std::string buffer(16384, '\0');
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return entry.pw_dir;
  return "/";
}

}  // namespace hearth::os
