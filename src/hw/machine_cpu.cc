// Processors, memory, kernel, clocks, pressure.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>
#include <utility>

#include <sys/timex.h>
#include <sys/utsname.h>

#include "base/format.h"
#include "base/units.h"
#include "hw/cgroup_limits.h"
#include "hw/machine.h"

namespace hearth::hw {
namespace {

std::string machine_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "";
}

// The kernel names the processor by another key on each architecture.
std::string cpu_model(std::string_view cpuinfo, const std::string& architecture) {
  for (const std::string_view key : {"model name", "cpu model", "Model", "cpu"}) {
    if (auto found = field(cpuinfo, key); found && !found->empty()) return *found;
  }
  return architecture;
}

int64_t kib(std::string_view meminfo, std::string_view key) {
  const auto text = field(meminfo, key);
  const auto number = text ? leading_number(*text) : std::nullopt;
  return number.value_or(0) * 1024;
}

// "some avg10=0.01 avg60=0.98 avg300=0.94 total=12755780"
bool parse_pressure_line(std::string_view row, Pressure::Line& line) {
  int found = 0;
  for (const auto word : split(row, ' ')) {
    const size_t equals = word.find('=');
    if (equals == word.npos) continue;
    const auto key = word.substr(0, equals), text = word.substr(equals + 1);
    const char* end = text.data() + text.size();
    if (key == "total") {
      found += std::from_chars(text.data(), end, line.total_micros).ec == std::errc();
      continue;
    }
    double* const target = key == "avg10"    ? &line.avg10
                           : key == "avg60"  ? &line.avg60
                           : key == "avg300" ? &line.avg300
                                             : nullptr;
    found += target != nullptr && std::from_chars(text.data(), end, *target).ec == std::errc();
  }
  return found == 4;
}

Probe<Pressure> read_pressure(const Root& root, std::string_view what) {
  const std::string path = format("/proc/pressure/{}", what);
  if (!root.exists("/proc/pressure")) {
    return Absent{"the kernel has no /proc/pressure (before 4.20, or psi=0)"};
  }
  const auto text = root.read(path);
  return text ? parse_pressure(*text) : Probe<Pressure>(text.absent());
}

std::string distribution_field(std::string_view os_release, std::string_view key) {
  for (const auto row : split(os_release, '\n')) {
    if (!row.starts_with(key) || row.size() <= key.size() || row[key.size()] != '=') continue;
    auto value = trim(row.substr(key.size() + 1));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'')) {
      value = value.substr(1, value.size() - 2);
    }
    return std::string(value);
  }
  return "";
}

std::string container_around(const Root& root) {
  if (const auto name = root.line("/run/systemd/container"); name && !name->empty()) return *name;
  if (root.exists("/run/.containerenv")) return "podman";
  if (root.exists("/.dockerenv")) return "docker";
  return "";
}

}  // namespace

double Cpus::usable() const {
  const auto count =
      static_cast<double>(allowed.empty() ? static_cast<size_t>(online) : allowed.size());
  return quota ? std::min(count, *quota) : count;
}

Probe<Cpus> cpus(const Root& root) {
  const auto cpuinfo = root.read("/proc/cpuinfo");
  if (!cpuinfo) return cpuinfo.absent();
  Cpus found;
  found.architecture = machine_name();
  found.model = cpu_model(*cpuinfo, found.architecture);
  const auto online = parse_cpu_list(root.line("/sys/devices/system/cpu/online").value_or(""));
  found.online = static_cast<int>(online.size());
  if (online.empty()) {
    for (const auto row : split(*cpuinfo, '\n')) found.online += row.starts_with("processor");
  }
  std::set<std::pair<int64_t, int64_t>> cores;
  std::set<int64_t> packages;
  for (const int cpu : online) {
    const auto folder = format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    const auto package = root.number(folder + "physical_package_id");
    const auto core = root.number(folder + "core_id");
    if (!package || !core) continue;
    packages.insert(*package);
    cores.emplace(*package, *core);
  }
  found.cores = static_cast<int>(cores.size());
  found.packages = static_cast<int>(packages.size());
  const auto nodes = parse_cpu_list(root.line("/sys/devices/system/node/online").value_or("0"));
  found.numa_nodes = std::max(1, static_cast<int>(nodes.size()));
  const auto status = root.read("/proc/self/status");
  const auto allowed = status ? field(*status, "Cpus_allowed_list") : std::nullopt;
  found.allowed = allowed ? parse_cpu_list(*allowed) : online;
  found.quota = cgroup_cpu_quota(root);
  return found;
}

int64_t Memory::usable() const {
  return limit ? std::min(total, *limit) : total;
}

Probe<Memory> memory(const Root& root) {
  const auto text = root.read("/proc/meminfo");
  if (!text) return text.absent();
  Memory found{.total = kib(*text, "MemTotal"),
               .available = kib(*text, "MemAvailable"),
               .swap_total = kib(*text, "SwapTotal"),
               .swap_free = kib(*text, "SwapFree"),
               .limit = cgroup_memory_limit(root)};
  if (found.total == 0) return Absent{"/proc/meminfo has no MemTotal"};
  return found;
}

Probe<Kernel> kernel(const Root& root) {
  Kernel found;
  found.release = root.line("/proc/sys/kernel/osrelease").value_or("");
  if (found.release.empty()) return Absent{"/proc/sys/kernel/osrelease cannot be read"};
  found.hostname = root.line("/proc/sys/kernel/hostname").value_or("");
  found.boot_id = root.line("/proc/sys/kernel/random/boot_id").value_or("");
  auto os_release = root.read("/etc/os-release");
  if (!os_release) os_release = root.read("/usr/lib/os-release");
  if (os_release) {
    found.distribution = distribution_field(*os_release, "PRETTY_NAME");
    found.distribution_id = distribution_field(*os_release, "ID");
  }
  const auto flags = field(root.read("/proc/cpuinfo").value_or(""), "flags");
  found.hypervisor = flags && (" " + *flags + " ").find(" hypervisor ") != std::string::npos;
  found.container = container_around(root);
  return found;
}

Probe<Clocks> clocks(const Root& root) {
  Clocks found;
  found.source =
      root.line("/sys/devices/system/clocksource/clocksource0/current_clocksource").value_or("");
  timex state{};
  const int rc = ::adjtimex(&state);  // modes = 0: looks, changes nothing
  if (rc < 0) return Absent{format("adjtimex: {}", std::strerror(errno))};
  found.synchronised = rc != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
  found.error_seconds = static_cast<double>(state.maxerror) / 1e6;
  return found;
}

Probe<Pressure> parse_pressure(std::string_view text) {
  Pressure found;
  bool some = false;
  for (const auto row : split(text, '\n')) {
    if (row.starts_with("some ")) some = parse_pressure_line(row, found.some);
    // Before 5.13 the file of the CPU has no such line.
    if (row.starts_with("full ") && !parse_pressure_line(row, found.full)) some = false;
  }
  if (!some) return Absent{"the pressure file is not of the known form"};
  return found;
}

Pressures pressures(const Root& root) {
  return {.cpu = read_pressure(root, "cpu"),
          .memory = read_pressure(root, "memory"),
          .io = read_pressure(root, "io")};
}

Machine machine(const Root& root) {
  return {.cpus = cpus(root),
          .memory = memory(root),
          .kernel = kernel(root),
          .clocks = clocks(root),
          .pressures = pressures(root),
          .containers = container_programs(root),
          .fuse = fuse(root),
          .user_namespaces = user_namespaces(root),
          .cgroups = cgroups(root),
          .pidfd = pidfd(),
          .ipv6 = ipv6(root),
          .limits = limits(root),
          .pci_gpus = pci_gpus(root)};
}

}  // namespace hearth::hw
