// What this machine is and what it lets this process do. Every function looks once and answers;
// none changes anything, but for sync_latency, which writes and removes one small file.
// Sizes are bytes. Root{} is the machine itself, Root(DIR) a tree of captured files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hw/probe.h"
#include "hw/root.h"

namespace hearth::hw {

struct Cpus {
  std::string model;
  std::string architecture;  // as uname -m
  int online = 0;            // logical CPUs
  int cores = 0;             // physical; 0 where the kernel does not say
  int packages = 0;
  int numa_nodes = 1;
  std::vector<int> allowed;     // this process may run on these (affinity and cpuset)
  std::optional<double> quota;  // CPUs per second of the tightest cgroup above; none = no quota
  double usable() const;        // what is left of all these: the smaller of allowed and quota
};
Probe<Cpus> cpus(const Root& root);

struct Memory {
  int64_t total = 0, available = 0;
  int64_t swap_total = 0, swap_free = 0;
  std::optional<int64_t> limit;  // of the tightest cgroup above; none = no limit
  int64_t usable() const;        // the smaller of total and limit
};
Probe<Memory> memory(const Root& root);

struct Kernel {
  std::string release;          // "6.1.0-18-amd64"
  std::string distribution;     // "Debian GNU/Linux 12 (bookworm)"; "" where unknown
  std::string distribution_id;  // "debian"
  std::string hostname;
  std::string boot_id;  // differs after each boot; "" where unknown
  bool hypervisor = false;
  std::string container;  // "docker", "podman", ... when this process is inside one; else ""
};
Probe<Kernel> kernel(const Root& root);

struct Clocks {
  std::string source;         // "tsc", "kvm-clock", ...
  bool synchronised = false;  // the kernel's own word (adjtimex), set by whichever NTP daemon runs
  double error_seconds = 0;   // the largest error the kernel admits, when synchronised
};
Probe<Clocks> clocks(const Root& root);

// Pressure stall information: share of time (percent) in which some or all tasks waited.
struct Pressure {
  struct Line {
    double avg10 = 0, avg60 = 0, avg300 = 0;  // percent
    int64_t total_micros = 0;
    bool operator==(const Line&) const = default;
  };
  Line some, full;
};
struct Pressures {
  Probe<Pressure> cpu, memory, io;
};
Probe<Pressure> parse_pressure(std::string_view text);
Pressures pressures(const Root& root);

struct Disk {
  std::string path;         // as asked
  std::string mount_point;  // of the file system that holds it
  std::string device, filesystem, options;
  int64_t total = 0, free = 0;  // free: for this user
  int64_t free_files = 0;       // inodes; -1 where the file system does not count them
  bool read_only = false;
  bool network = false;  // NFS, CIFS, a cluster file system
  bool fuse = false;
  bool in_memory = false;          // tmpfs: gone after a reboot
  std::optional<bool> rotational;  // of the block device under it, where there is one
  bool fit_for_database() const { return !read_only && !network && !fuse; }
};
// `path` need not exist yet: the nearest folder above it counts.
Probe<Disk> disk(const Root& root, const std::string& path);

struct SyncLatency {
  int count = 0;
  int64_t p50_micros = 0, p99_micros = 0, most_micros = 0;
};
// `count` times (1..1000) 4 KiB appended and fdatasync in `directory`, timed one by one.
Probe<SyncLatency> sync_latency(const std::string& directory, int count, Clock& clock);

// Programs are looked for in the directories of `path` ("a:b"), nothing is run.
inline constexpr std::string_view kSystemPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
Probe<std::string> find_program(const Root& root, std::string_view name,
                                std::string_view path = kSystemPath);

struct Program {
  std::string name, path;
};
// Of podman, docker, runc, crun, apptainer those that are there.
Probe<std::vector<Program>> container_programs(const Root& root);

struct Fuse {
  std::string device;  // "/dev/fuse"
  std::string helper;  // fusermount3 or fusermount; "" = only root can mount
};
Probe<Fuse> fuse(const Root& root);

struct UserNamespaces {
  int64_t most = 0;            // how many the kernel grants
  bool mapped_ranges = false;  // newuidmap and a range in /etc/subuid: rootless containers
};
// May an ordinary user make one; else why not.
Probe<UserNamespaces> user_namespaces(const Root& root);

enum class CgroupVersion { v1, v2, hybrid };  // hybrid: v1 holds the controllers, v2 is mounted too
struct CgroupController {
  std::string name;       // "cpu", "memory", ...
  std::string directory;  // the own group in that controller's tree; v2: the highest writable one
  bool writable = false;  // a group may be made below it
};
struct Cgroups {
  CgroupVersion version = CgroupVersion::v2;
  std::vector<CgroupController> controllers;  // those present, by name
  // Can CPU and memory of a task be limited by the process, else why not.
  Probe<bool> limits;
  const CgroupController* find(std::string_view name) const;
  std::string describe() const;  // "v2, delegated", "v1", "hybrid, not writable"
};
// Of this process, or of another one of the same user (the server).
Probe<Cgroups> cgroups(const Root& root, int64_t pid = 0);

// pidfd_open(2) and waiting on it, by trying with this very process.
Probe<bool> pidfd();

struct Ipv6 {
  bool loopback = false;  // ::1
  bool global = false;    // an address that reaches beyond the link
};
Probe<Ipv6> ipv6(const Root& root);

struct Limits {
  // -1 = unlimited
  int64_t open_files = 0, open_files_most = 0;  // soft and hard
  int64_t processes = 0;
  int64_t locked_memory = 0;
};
Probe<Limits> limits(const Root& root);

// Can a server listen there now; else why not ("address already in use").
Probe<bool> port_free(const std::string& address, uint16_t port);

// GPUs on the PCI bus, told by vendor, whether or not a driver is there.
struct PciGpu {
  std::string bus_id;  // "0000:3b:00.0"
  std::string vendor;  // "NVIDIA", "AMD", "Intel"
  std::string driver;  // bound kernel driver, "" = none
  int numa_node = -1;
};
std::vector<PciGpu> pci_gpus(const Root& root);

// All of the above that need no argument.
struct Machine {
  Probe<Cpus> cpus;
  Probe<Memory> memory;
  Probe<Kernel> kernel;
  Probe<Clocks> clocks;
  Pressures pressures;
  Probe<std::vector<Program>> containers;
  Probe<Fuse> fuse;
  Probe<UserNamespaces> user_namespaces;
  Probe<Cgroups> cgroups;
  Probe<bool> pidfd;
  Probe<Ipv6> ipv6;
  Probe<Limits> limits;
  std::vector<PciGpu> pci_gpus;
};
Machine machine(const Root& root);

}  // namespace hearth::hw
