// Facts about processors, memory, GPUs, control groups and clocks.
#include <algorithm>

#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "hw/doctor_facts.h"

namespace hearth::hw {
namespace {

constexpr int64_t kSmallMemory = int64_t{4} << 30;
constexpr double kHighPressure = 10;   // percent of the last five minutes
constexpr double kHighClockError = 1;  // second

// "2 x NVIDIA H100 80GB HBM3 (80 GiB)" and so on for each model.
std::string describe(const std::vector<GpuDevice>& gpus) {
  std::vector<std::pair<std::string, int>> kinds;
  for (const auto& gpu : gpus) {
    std::string kind = gpu.fault.empty() ? format("{} ({})", gpu.name, format_size(gpu.memory))
                                         : format("GPU {} that does not answer", gpu.index);
    if (gpu.mig) kind += format(", split into {}", plural(gpu.instances.size(), "instance"));
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const auto& one) { return one.first == kind; });
    if (same == kinds.end()) {
      kinds.emplace_back(kind, 1);
    } else {
      ++same->second;
    }
  }
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds) texts.push_back(format("{} x {}", count, kind));
  return format("{}", join(texts, "; "));
}

Fact no_gpu_fact(const Root& root, const std::string& why) {
  Fact fact{.name = "gpus", .state = FactState::missing, .found = why};
  fact.means = "Jobs run on the CPU; a job that asks for a GPU waits until a pool has one.";
  for (const auto& card : pci_gpus(root)) {
    if (card.vendor != "NVIDIA") {
      fact.found += format("; an {} GPU is at {}", card.vendor, card.bus_id);
      fact.means = "Hearth gives only NVIDIA GPUs to jobs so far; this one stays idle.";
      continue;
    }
    fact.state = FactState::warning;
    fact.found += format("; an NVIDIA GPU is at {} (kernel driver: {})", card.bus_id,
                         card.driver.empty() ? "none" : card.driver);
    fact.means = "There is a GPU, but without NVIDIA's driver no job can use it.";
    fact.mend = "Install the driver (Debian: apt install nvidia-driver from non-free) and restart.";
    return fact;
  }
  return fact;
}

std::string mend_of_cgroups(const Cgroups& groups) {
  if (groups.version == CgroupVersion::v2 && ::geteuid() != 0) {
    return "Run the server in a delegated unit: systemd-run --user --scope -p Delegate=yes hearth "
           "up, or install deploy/'s unit.";
  }
  if (::geteuid() != 0)
    return "Version 1 groups can be made by root alone: run the server as root.";
  return "In a container: start it with a writable cgroup mount (--cgroupns=private and a writable "
         "/sys/fs/cgroup).";
}

}  // namespace

Fact kernel_fact(const Root& root) {
  Fact fact{.name = "system"};
  const auto found = kernel(root);
  if (!found)
    return unsure("system", found.why(),
                  "Hearth cannot tell the kernel's version; it needs Linux 5.4 or later.");
  fact.found = format("{}, Linux {}",
                      found->distribution.empty() ? "unknown distribution" : found->distribution,
                      found->release);
  if (!found->container.empty()) fact.found += format(", inside {}", found->container);
  if (found->hypervisor) fact.found += ", a virtual machine";
  fact.means = "Hearth is built for Debian 12; other distributions work where its libraries do.";
  return fact;
}

Fact cpu_fact(const Root& root) {
  Fact fact{.name = "cpus"};
  const auto found = cpus(root);
  if (!found)
    return unsure("cpus", found.why(), "Hearth cannot tell how many CPUs it may give to jobs.",
                  "Mount /proc.");
  fact.found = format("{}: {}", found->model, plural(found->online, "CPU"));
  if (found->cores > 0) fact.found += format(", {}", plural(found->cores, "core"));
  fact.found += format(", {}", plural(found->numa_nodes, "NUMA node"));
  const double usable = found->usable();
  fact.means = format("Jobs can ask for up to {:g} CPUs in all.", usable);
  if (usable < found->online) {
    fact.state = FactState::warning;
    fact.found += format("; {:g} of them usable", usable);
    fact.means += " The rest is kept from this process by an affinity, a cpuset or a quota.";
    fact.mend = "If that is not wanted, start Hearth outside of that container or service.";
  }
  return fact;
}

Fact memory_fact(const Root& root) {
  Fact fact{.name = "memory"};
  const auto found = memory(root);
  if (!found)
    return unsure("memory", found.why(), "Hearth cannot tell how much memory it may give to jobs.",
                  "Mount /proc.");
  fact.found = format("{}, {} free", format_size(found->total), format_size(found->available));
  fact.found += found->swap_total > 0 ? format(", {} swap", format_size(found->swap_total))
                                      : std::string(", no swap");
  if (found->limit) fact.found += format("; limited to {}", format_size(*found->limit));
  fact.means = format("Jobs can ask for up to {} in all.", format_size(found->usable()));
  if (found->usable() < kSmallMemory) {
    fact.state = FactState::warning;
    fact.means += " Training with PyTorch wants 4 GiB or more.";
    fact.mend = "Close other programs, or use a machine with more memory.";
  }
  return fact;
}

Fact pressure_fact(const Root& root) {
  Fact fact{.name = "pressure"};
  const auto found = pressures(root);
  if (!found.cpu || !found.memory || !found.io)
    return lacking("pressure",
                   !found.cpu      ? found.cpu.why()
                   : !found.memory ? found.memory.why()
                                   : found.io.why(),
                   "Hearth cannot say whether slow jobs wait for CPU, memory or disk.",
                   "Boot the kernel with psi=1.");
  const double most =
      std::max({found.cpu->some.avg300, found.memory->some.avg300, found.io->some.avg300});
  fact.found = format(
      "in the last 5 minutes tasks waited {:.1f} % of the time for CPU, {:.1f} % "
      "for memory, {:.1f} % for disks",
      found.cpu->some.avg300, found.memory->some.avg300, found.io->some.avg300);
  fact.means = "The machine has room for jobs.";
  if (most > kHighPressure) {
    fact.state = FactState::warning;
    fact.means = "The machine is busy already: jobs will run slower than they could.";
    fact.mend = "See what else runs here (top, iotop).";
  }
  return fact;
}

Fact gpu_fact(const Root& root, const std::string& nvml, bool& has_gpus) {
  const auto gpus = Gpus::open(nvml);
  if (!gpus) return no_gpu_fact(root, gpus.why());
  const auto list = (*gpus)->list();
  if (list.empty()) return no_gpu_fact(root, "the NVIDIA driver lists no GPU");
  has_gpus = true;
  Fact fact{.name = "gpus"};
  fact.found = format("{}; driver {}", describe(list), (*gpus)->driver_version());
  if (!(*gpus)->cuda_version().empty()) {
    fact.found += format(", CUDA up to {}", (*gpus)->cuda_version());
  }
  fact.means = "Jobs that ask for GPUs get them by UUID and see no others.";
  for (const auto& gpu : list) {
    if (!gpu.fault.empty()) {
      fact.state = FactState::warning;
      fact.means += format(" GPU {} is left out: {}.", gpu.index, gpu.fault);
      fact.mend = "Look into the kernel's log (dmesg | grep -i xid) and restart the machine.";
      continue;
    }
    const auto ecc = (*gpus)->ecc(gpu.uuid);
    if (!ecc || ecc->uncorrected == 0) continue;
    fact.state = FactState::warning;
    fact.means += format(" GPU {} had {} that could not be corrected.", gpu.index,
                         plural(ecc->uncorrected, "memory error"));
    fact.mend = "Restart the machine; if they come again, have the GPU replaced.";
  }
  return fact;
}

Fact cgroup_fact(const Root& root, int64_t server_pid) {
  Fact fact{.name = "cgroups"};
  const auto found = cgroups(root, server_pid);
  const std::string without =
      "Hearth watches the memory of each task itself and ends it when it is over its limit (within "
      "about a second, so that a fast one can take more for a moment); CPU shares are not kept "
      "apart.";
  if (!found)
    return lacking("cgroups", found.why(), without,
                   "Mount them (systemd does), or start the container with them.");
  fact.found = found->describe();
  if (found->limits) {
    fact.means =
        "The kernel keeps each task to its memory and CPU share, and nothing of a task is "
        "left behind.";
    return fact;
  }
  fact.state = FactState::warning;
  fact.means = without;
  fact.mend = mend_of_cgroups(*found);
  return fact;
}

Fact clock_fact(const Root& root) {
  Fact fact{.name = "clock"};
  const auto found = clocks(root);
  if (!found)
    return unsure("clock", found.why(),
                  "Hearth cannot tell whether this machine's clock is right.");
  fact.found =
      format("source {}, {}", found->source.empty() ? "unknown" : found->source,
             found->synchronised ? format("synchronised to within {:.3f} s", found->error_seconds)
                                 : std::string("not synchronised"));
  fact.means = "Times in logs and records can be compared with those of other machines.";
  if (!found->synchronised || found->error_seconds > kHighClockError) {
    fact.state = FactState::warning;
    fact.means =
        "Times in logs may differ from those of other machines; order within Hearth does "
        "not depend on them. Tokens and TLS certificates may be refused when it is far "
        "off.";
    fact.mend = "Install a time service: apt install systemd-timesyncd (or chrony).";
  }
  return fact;
}

}  // namespace hearth::hw
