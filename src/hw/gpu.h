// NVIDIA GPUs, by the driver's management library, loaded at run time.
//
//   const auto gpus = Gpus::open();
//   if (!gpus) say(gpus.why());            // "no NVIDIA driver: libnvidia-ml.so.1 was not found"
//   else for (const GpuDevice& gpu : (*gpus)->list()) ...
//
// Thread-safe: NVML is, and Gpus holds no state but the library. Keep one per process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/probe.h"

namespace hearth::hw {

struct MigInstance {
  std::string uuid;    // "MIG-..."
  std::string name;    // "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
  int64_t memory = 0;  // bytes
  bool operator==(const MigInstance&) const = default;
};

// What does not change while the driver is loaded.
struct GpuDevice {
  int index = 0;                   // in PCI order, as nvidia-smi counts
  std::string uuid;                // "GPU-..."
  std::string name;                // "NVIDIA H100 80GB HBM3"
  std::string bus_id;              // "0000:3b:00.0", as under /sys/bus/pci/devices
  int64_t memory = 0;              // bytes
  std::string compute_capability;  // "9.0"; "" where unknown
  bool mig = false;                // split: only its instances can be given to tasks
  std::vector<MigInstance> instances;
  std::string fault;  // words when the GPU is there but does not answer; the rest is then partial
  bool operator==(const GpuDevice&) const = default;
};

struct GpuProcess {
  int64_t pid = 0;
  std::optional<int64_t> memory;  // bytes
};

// What changes all the time. An empty field: this GPU or driver does not tell.
struct GpuState {
  std::string uuid;
  int64_t memory_used = 0, memory_total = 0;  // bytes
  std::optional<int> utilization;             // percent of the time in which some kernel ran
  std::optional<int> memory_utilization;      // percent of the time in which memory was moved
  std::optional<int> temperature;             // degrees Celsius
  std::optional<double> power, power_limit;   // watts
};
struct GpuEcc {
  int64_t corrected = 0, uncorrected = 0;  // since the driver was loaded
};

// How two GPUs reach each other, nearest first.
enum class GpuDistance {
  same_board,
  one_switch,
  switches,
  host_bridge,
  numa_node,
  system,
  unknown
};
struct GpuPair {
  GpuDistance distance = GpuDistance::unknown;
  int nvlinks = 0;           // active links between the two; through an NVSwitch: the fewer of both
  bool peer_access = false;  // one can read the other's memory
  bool operator==(const GpuPair&) const = default;
};
using GpuMatrix = std::vector<std::vector<GpuPair>>;  // [i][j], symmetric; the diagonal is idle

class Gpus {
 public:
  static constexpr unsigned kMostGpus = 128;        // in one machine
  static constexpr unsigned kMostProcesses = 1024;  // on one GPU

  // `library`: a path, or "" for libnvidia-ml.so.1 on the loader's path and in the folders into
  // which container runtimes and WSL mount it.
  static Probe<std::shared_ptr<Gpus>> open(const std::string& library = "");
  ~Gpus();
  Gpus(const Gpus&) = delete;

  const std::string& driver_version() const { return driver_version_; }
  const std::string& cuda_version() const { return cuda_version_; }  // "12.4"; "" where unknown

  std::vector<GpuDevice> list() const;
  // By "GPU-..." or "MIG-..."; about 0.1 ms of driver calls.
  Probe<GpuState> state(const std::string& uuid) const;
  Probe<GpuEcc> ecc(const std::string& uuid) const;
  Probe<std::vector<GpuProcess>> processes(const std::string& uuid) const;
  GpuMatrix matrix(const std::vector<GpuDevice>& gpus) const;

 private:
  struct Library;
  explicit Gpus(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
  std::string driver_version_, cuda_version_;
};

}  // namespace hearth::hw
