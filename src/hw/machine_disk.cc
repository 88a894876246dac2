// The disk under a path, and how long it takes to make bytes durable.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/format.h"
#include "base/id.h"
#include "hw/machine.h"
#include "hw/mounts.h"

namespace hearth::hw {
namespace {

constexpr std::array<std::string_view, 16> kNetwork = {
    "nfs",  "nfs4",   "cifs", "smb3", "smbfs", "afs",      "ceph",     "lustre",
    "gpfs", "beegfs", "9p",   "gfs2", "ocfs2", "orangefs", "virtiofs", "glusterfs"};

// The folder itself or the nearest one above it that is there, links resolved on the real machine.
std::string nearest_folder(const Root& root, const std::string& path) {
  std::filesystem::path at = path;
  std::error_code error;
  if (root.is_real()) {
    at = std::filesystem::absolute(at, error);
    if (auto real = std::filesystem::weakly_canonical(at, error); !error) at = real;
  }
  while (at.has_parent_path() && at != at.root_path() && !root.exists(at.string())) {
    at = at.parent_path();
  }
  return at.string();
}

// A partition has no queue of its own: that of the whole device counts.
std::optional<bool> rotational(const Root& root, const std::string& device_number) {
  const std::string device = "/sys/dev/block/" + device_number;
  for (const std::string_view queue : {"/queue/rotational", "/../queue/rotational"}) {
    if (const auto value = root.number(device + std::string(queue))) return *value != 0;
  }
  return std::nullopt;
}

Probe<SyncLatency> time_syncs(int fd, int count, Clock& clock) {
  const std::string block(4096, 'h');
  std::vector<int64_t> micros;
  for (int i = 0; i < count; ++i) {
    const Time start = clock.steady();
    if (::write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) {
      return Absent{format("write: {}", std::strerror(errno))};
    }
    if (::fdatasync(fd) != 0) return Absent{format("fdatasync: {}", std::strerror(errno))};
    micros.push_back((clock.steady() - start).micros);
  }
  std::sort(micros.begin(), micros.end());
  const auto at = [&](size_t percent) { return micros[(micros.size() - 1) * percent / 100]; };
  return SyncLatency{
      .count = count, .p50_micros = at(50), .p99_micros = at(99), .most_micros = micros.back()};
}

}  // namespace

Probe<Disk> disk(const Root& root, const std::string& path) {
  const auto mounts = parse_mounts(root.read("/proc/self/mountinfo").value_or(""));
  const std::string folder = nearest_folder(root, path);
  const Mount* mount = mount_of(mounts, folder);
  if (mount == nullptr) return Absent{format("no mount holds {}", folder)};
  struct statvfs space{};
  if (::statvfs(root.at(folder).c_str(), &space) != 0) {
    return Absent{format("{}: {}", folder, std::strerror(errno))};
  }
  const auto unit = static_cast<int64_t>(space.f_frsize);
  Disk found{.path = path,
             .mount_point = mount->point,
             .device = mount->source,
             .filesystem = mount->filesystem,
             .options = mount->options,
             .total = static_cast<int64_t>(space.f_blocks) * unit,
             .free = static_cast<int64_t>(space.f_bavail) * unit};
  found.free_files = space.f_files == 0 ? -1 : static_cast<int64_t>(space.f_favail);
  found.read_only = has_option(mount->options, "ro") || has_option(mount->super_options, "ro");
  found.network = std::find(kNetwork.begin(), kNetwork.end(), mount->filesystem) != kNetwork.end();
  found.fuse = mount->filesystem == "fuse" || mount->filesystem.starts_with("fuse.");
  found.in_memory = mount->filesystem == "tmpfs" || mount->filesystem == "ramfs";
  found.rotational = rotational(root, mount->device_number);
  return found;
}

Probe<SyncLatency> sync_latency(const std::string& directory, int count, Clock& clock) {
  count = std::clamp(count, 1, 1000);
  const std::string path = format("{}/.hearth-sync-{}", directory, new_id());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Absent{format("{}: {}", directory, std::strerror(errno))};
  ::unlink(path.c_str());  // now: nothing is left behind, whatever happens
  auto found = time_syncs(fd, count, clock);
  ::close(fd);
  return found;
}

}  // namespace hearth::hw
