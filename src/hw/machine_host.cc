// Programs, containers, FUSE, namespaces, processes, network, limits, the PCI bus.
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "hw/machine.h"

namespace hearth::hw {
namespace {

// This user's name, for /etc/subuid; "" where /etc/passwd does not say.
std::string user_name(const Root& root) {
  const std::string passwd = root.read("/etc/passwd").value_or("");
  const std::string uid = std::to_string(::geteuid());
  for (const auto row : split(passwd, '\n')) {
    const auto parts = split(row, ':');
    if (parts.size() > 2 && parts[2] == uid) return std::string(parts[0]);
  }
  return "";
}

bool has_mapped_range(const Root& root) {
  const std::string name = user_name(root), uid = std::to_string(::geteuid());
  const std::string ranges = root.read("/etc/subuid").value_or("");
  for (const auto row : split(ranges, '\n')) {
    const auto owner = split(row, ':').front();
    if (!owner.empty() && (owner == name || owner == uid)) return true;
  }
  return false;
}

int64_t limit_of(std::string_view text) {
  return text == "unlimited" ? -1 : leading_number(text).value_or(0);
}

// Soft and hard of a line of /proc/self/limits.
std::pair<int64_t, int64_t> limit_pair(std::string_view limits, std::string_view key) {
  std::vector<std::string_view> words;
  const std::string row = field(limits, key).value_or("");
  for (const auto word : split(row, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.size() < 2) return {0, 0};
  return {limit_of(words[0]), limit_of(words[1])};
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
std::optional<Address> parse_address(const std::string& text, uint16_t port) {
  Address address;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  const std::string plain = text == "localhost" ? "127.0.0.1" : text;
  if (::inet_pton(AF_INET, plain.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.size = sizeof *v4;
    return address;
  }
  if (::inet_pton(AF_INET6, plain.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.size = sizeof *v6;
    return address;
  }
  return std::nullopt;
}

std::string vendor_name(std::string_view id) {
  if (id == "0x10de") return "NVIDIA";
  if (id == "0x1002") return "AMD";
  if (id == "0x8086") return "Intel";
  return "";
}

}  // namespace

Probe<std::string> find_program(const Root& root, std::string_view name, std::string_view path) {
  for (const auto folder : split(path, ':')) {
    if (folder.empty()) continue;
    const std::string candidate = format("{}/{}", folder, name);
    std::error_code error;
    if (::access(root.at(candidate).c_str(), X_OK) == 0 &&
        std::filesystem::is_regular_file(root.at(candidate), error)) {
      return candidate;
    }
  }
  return Absent{format("{} is not in {}", name, path)};
}

Probe<std::vector<Program>> container_programs(const Root& root) {
  std::vector<Program> found;
  for (const std::string_view name : {"podman", "docker", "runc", "crun", "apptainer"}) {
    if (const auto path = find_program(root, name)) found.push_back({std::string(name), *path});
  }
  if (found.empty()) return Absent{"none of podman, docker, runc, crun, apptainer is installed"};
  return found;
}

Probe<Fuse> fuse(const Root& root) {
  const std::string_view device = "/dev/fuse";
  if (!root.exists(device)) return Absent{"there is no /dev/fuse (kernel module fuse not loaded)"};
  Fuse found{.device = std::string(device)};
  for (const std::string_view name : {"fusermount3", "fusermount"}) {
    const auto path = find_program(root, name);
    if (path && found.helper.empty()) found.helper = *path;
  }
  if (!root.writable(device)) return Absent{"this user may not open /dev/fuse"};
  if (found.helper.empty() && ::geteuid() != 0) {
    return Absent{"/dev/fuse is there, but without fusermount3 only root can mount"};
  }
  return found;
}

Probe<UserNamespaces> user_namespaces(const Root& root) {
  const auto most = root.number("/proc/sys/user/max_user_namespaces");
  if (!most) return Absent{"the kernel is built without user namespaces"};
  if (*most <= 0) return Absent{"user.max_user_namespaces is 0"};
  if (root.number("/proc/sys/kernel/unprivileged_userns_clone").value_or(1) == 0) {
    return Absent{"kernel.unprivileged_userns_clone is 0"};
  }
  if (root.number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").value_or(0) != 0) {
    return Absent{"kernel.apparmor_restrict_unprivileged_userns is 1"};
  }
  return UserNamespaces{
      .most = *most,
      .mapped_ranges = find_program(root, "newuidmap").ok() && has_mapped_range(root)};
}

Probe<bool> pidfd() {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  if (fd < 0) return Absent{format("pidfd_open: {}", std::strerror(errno))};
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&waiting, 1, 0);
  ::close(fd);
  if (ready != 0) return Absent{"a pidfd of a living process does not wait"};
  return true;
}

Probe<Ipv6> ipv6(const Root& root) {
  const auto text = root.read("/proc/net/if_inet6");
  if (!text) return Absent{"the kernel has IPv6 switched off"};
  Ipv6 found;
  for (const auto row : split(*text, '\n')) {  // address index prefix scope flags name
    const auto words = split(row, ' ');
    if (words.size() < 4) continue;
    found.loopback = found.loopback || words[3] == "10";
    found.global = found.global || words[3] == "00";
  }
  if (!found.loopback && !found.global) return Absent{"no interface has an IPv6 address"};
  return found;
}

Probe<Limits> limits(const Root& root) {
  const auto text = root.read("/proc/self/limits");
  if (!text) return text.absent();
  const auto files = limit_pair(*text, "Max open files");
  return Limits{.open_files = files.first,
                .open_files_most = files.second,
                .processes = limit_pair(*text, "Max processes").first,
                .locked_memory = limit_pair(*text, "Max locked memory").first};
}

Probe<bool> port_free(const std::string& address, uint16_t port) {
  const auto parsed = parse_address(address, port);
  if (!parsed) return Absent{format("{} is not an IP address", address)};
  const int fd = ::socket(parsed->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Absent{format("socket: {}", std::strerror(errno))};
  const int on = 1;  // as a server does: connections that linger do not count
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto* const where = reinterpret_cast<const sockaddr*>(&parsed->storage);
  const int failed = ::bind(fd, where, parsed->size) == 0 && ::listen(fd, 1) == 0 ? 0 : errno;
  ::close(fd);
  if (failed != 0) return Absent{format("{}:{}: {}", address, port, std::strerror(failed))};
  return true;
}

std::vector<PciGpu> pci_gpus(const Root& root) {
  std::vector<PciGpu> found;
  const std::string_view bus = "/sys/bus/pci/devices";
  for (const auto& id : root.list(bus)) {
    const std::string folder = format("{}/{}/", bus, id);
    const std::string kind = root.line(folder + "class").value_or("");
    const std::string vendor = vendor_name(root.line(folder + "vendor").value_or(""));
    // 0x0300 VGA, 0x0302 3D controller, 0x1200 processing accelerator. A VGA card of Intel or of
    // a board's console is no computing GPU.
    const bool accelerator = kind.starts_with("0x0302") || kind.starts_with("0x1200");
    if (vendor.empty() || !(accelerator || (kind.starts_with("0x0300") && vendor != "Intel"))) {
      continue;
    }
    PciGpu gpu{.bus_id = id, .vendor = vendor};
    std::error_code error;
    const auto driver = std::filesystem::read_symlink(root.at(folder + "driver"), error);
    if (!error) gpu.driver = driver.filename().string();
    gpu.numa_node = static_cast<int>(root.number(folder + "numa_node").value_or(-1));
    found.push_back(std::move(gpu));
  }
  return found;
}

}  // namespace hearth::hw
