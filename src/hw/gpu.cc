#include "hw/gpu.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <dlfcn.h>

#include "base/format.h"
#include "hw/nvml.h"

namespace hearth::hw {
namespace {

// The loader's own path first; then where WSL, container runtimes and NixOS put the library.
constexpr std::array<const char*, 4> kLibraries = {
    "libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1", "/run/opengl-driver/lib/libnvidia-ml.so.1"};

std::string words(nvml::Return code) {
  switch (code) {
    case nvml::kNotSupported:
      return "this GPU does not support it";
    case nvml::kNoPermission:
      return "this user may not use the GPU devices (/dev/nvidia*)";
    case nvml::kNotFound:
      return "there is no such GPU";
    case nvml::kDriverNotLoaded:
      return "the NVIDIA kernel driver is not loaded";
    case nvml::kTimeout:
      return "the driver did not answer in time";
    case nvml::kLibraryNotFound:
      return "a part of the NVIDIA driver's libraries is missing";
    case nvml::kFunctionNotFound:
      return "this driver is too old for it";
    case nvml::kGpuIsLost:
      return "the GPU has fallen off the bus; the machine needs a restart";
    case nvml::kResetRequired:
      return "the GPU needs a reset before it can be used again";
    case nvml::kVersionMismatch:
      return "the NVIDIA driver's kernel module and library are of different versions; "
             "restart the machine";
    default:
      return format("NVML error {}", code);
  }
}

std::string bus_id(const nvml::PciInfo& pci) {
  return format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

GpuDistance distance(int level) {
  switch (level) {
    case nvml::kTopologyInternal:
      return GpuDistance::same_board;
    case nvml::kTopologySingle:
      return GpuDistance::one_switch;
    case nvml::kTopologyMultiple:
      return GpuDistance::switches;
    case nvml::kTopologyHostBridge:
      return GpuDistance::host_bridge;
    case nvml::kTopologyNode:
      return GpuDistance::numa_node;
    case nvml::kTopologySystem:
      return GpuDistance::system;
    default:
      return GpuDistance::unknown;
  }
}

// Fills the table; the name of a function that must be there and is not, else "".
std::string find_functions(void* handle, nvml::Api& api) {
  std::string missing;
#define HEARTH_NVML_FIND(member, symbol, parameters) \
  api.member = reinterpret_cast<decltype(api.member)>(::dlsym(handle, #symbol));
#define HEARTH_NVML_DEMAND(member, symbol, parameters) \
  HEARTH_NVML_FIND(member, symbol, parameters)         \
  if (api.member == nullptr) missing = #symbol;
  HEARTH_NVML_REQUIRED(HEARTH_NVML_DEMAND)
  HEARTH_NVML_OPTIONAL(HEARTH_NVML_FIND)
#undef HEARTH_NVML_DEMAND
#undef HEARTH_NVML_FIND
  return missing;
}

}  // namespace

struct Gpus::Library {
  void* handle = nullptr;
  nvml::Api api;
  bool started = false;

  Library() = default;
  Library(const Library&) = delete;
  ~Library() {
    if (started) api.shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }

  // A call through a pointer that may be null; the code of NVML.
  template <typename... Parameters, typename... Arguments>
  static nvml::Return call(nvml::Return (*function)(Parameters...), Arguments... arguments) {
    return function == nullptr ? nvml::kFunctionNotFound : function(arguments...);
  }
  std::string text(nvml::Return (*function)(nvml::Device, char*, unsigned), nvml::Device device) {
    char buffer[nvml::kTextMost] = {};
    return call(function, device, buffer, nvml::kTextMost) == nvml::kSuccess ? buffer : "";
  }
  Probe<nvml::Device> find(const std::string& uuid) {
    nvml::Device device = nullptr;
    const auto rc = api.device_by_uuid(uuid.c_str(), &device);
    if (rc != nvml::kSuccess) return Absent{format("{}: {}", uuid, words(rc))};
    return device;
  }
  void fill(GpuDevice& gpu, nvml::Device device);
  void fill_mig(GpuDevice& gpu, nvml::Device device);
};

void Gpus::Library::fill(GpuDevice& gpu, nvml::Device device) {
  char uuid[nvml::kTextMost] = {};
  nvml::Return rc = api.uuid(device, uuid, nvml::kTextMost);
  gpu.uuid = uuid;
  gpu.name = text(api.name, device);
  nvml::PciInfo pci{};
  if (api.pci(device, &pci) == nvml::kSuccess) gpu.bus_id = bus_id(pci);
  nvml::Memory memory{};
  if (rc == nvml::kSuccess) rc = api.memory(device, &memory);
  gpu.memory = static_cast<int64_t>(memory.total);
  int major = 0, minor = 0;
  if (call(api.compute_capability, device, &major, &minor) == nvml::kSuccess) {
    gpu.compute_capability = format("{}.{}", major, minor);
  }
  fill_mig(gpu, device);
  // The whole memory of a GPU split by MIG may be refused to ordinary users.
  if (rc != nvml::kSuccess && !gpu.mig) gpu.fault = words(rc);
}

void Gpus::Library::fill_mig(GpuDevice& gpu, nvml::Device device) {
  unsigned current = 0, pending = 0, most = 0;
  if (call(api.mig_mode, device, &current, &pending) != nvml::kSuccess || current == 0) return;
  gpu.mig = true;
  if (call(api.mig_most, device, &most) != nvml::kSuccess) return;
  for (unsigned i = 0; i < std::min(most, kMostGpus); ++i) {
    nvml::Device instance = nullptr;
    if (call(api.mig_by_index, device, i, &instance) != nvml::kSuccess) continue;
    nvml::Memory memory{};
    if (api.memory(instance, &memory) != nvml::kSuccess) memory = {};
    gpu.instances.push_back({.uuid = text(api.uuid, instance),
                             .name = text(api.name, instance),
                             .memory = static_cast<int64_t>(memory.total)});
  }
}

Probe<std::shared_ptr<Gpus>> Gpus::open(const std::string& library) {
  auto loaded = std::make_unique<Library>();
  if (!library.empty()) {
    loaded->handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  } else {
    for (const char* name : kLibraries) {
      if (loaded->handle == nullptr) loaded->handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (loaded->handle == nullptr) {
    if (library.empty()) return Absent{"no NVIDIA driver: libnvidia-ml.so.1 was not found"};
    const char* why = ::dlerror();
    return Absent{why != nullptr ? why : library + " cannot be loaded"};
  }
  const std::string missing = find_functions(loaded->handle, loaded->api);
  if (!missing.empty()) {
    return Absent{format("the NVIDIA driver's library is too old: it has no {}", missing)};
  }
  const auto rc = loaded->api.init();
  if (rc != nvml::kSuccess) return Absent{words(rc)};
  loaded->started = true;
  return std::shared_ptr<Gpus>(new Gpus(std::move(loaded)));
}

Gpus::Gpus(std::unique_ptr<Library> library) : library_(std::move(library)) {
  char version[nvml::kTextMost] = {};
  if (library_->api.driver_version(version, nvml::kTextMost) == nvml::kSuccess) {
    driver_version_ = version;
  }
  int cuda = 0;  // 12040 = 12.4
  if (Library::call(library_->api.cuda_version, &cuda) == nvml::kSuccess) {
    cuda_version_ = format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  }
}

Gpus::~Gpus() = default;

std::vector<GpuDevice> Gpus::list() const {
  std::vector<GpuDevice> found;
  unsigned count = 0;
  if (library_->api.device_count(&count) != nvml::kSuccess) return found;
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    GpuDevice gpu;
    gpu.index = static_cast<int>(i);
    nvml::Device device = nullptr;
    const auto rc = library_->api.device_by_index(i, &device);
    if (rc == nvml::kSuccess) {
      library_->fill(gpu, device);
    } else {
      gpu.fault = words(rc);
    }
    found.push_back(std::move(gpu));
  }
  return found;
}

Probe<GpuState> Gpus::state(const std::string& uuid) const {
  const auto device = library_->find(uuid);
  if (!device) return device.absent();
  const auto& api = library_->api;
  GpuState state{.uuid = uuid};
  nvml::Memory memory{};
  const auto rc = api.memory(*device, &memory);
  if (rc != nvml::kSuccess) return Absent{format("{}: {}", uuid, words(rc))};
  state.memory_used = static_cast<int64_t>(memory.used);
  state.memory_total = static_cast<int64_t>(memory.total);
  nvml::Utilization utilization{};
  if (Library::call(api.utilization, *device, &utilization) == nvml::kSuccess) {
    state.utilization = static_cast<int>(utilization.gpu);
    state.memory_utilization = static_cast<int>(utilization.memory);
  }
  unsigned value = 0;
  const int sensor = nvml::kSensorGpu;
  if (Library::call(api.temperature, *device, sensor, &value) == nvml::kSuccess) {
    state.temperature = static_cast<int>(value);
  }
  if (Library::call(api.power, *device, &value) == nvml::kSuccess) state.power = value / 1000.0;
  if (Library::call(api.power_limit, *device, &value) == nvml::kSuccess) {
    state.power_limit = value / 1000.0;
  }
  return state;
}

Probe<GpuEcc> Gpus::ecc(const std::string& uuid) const {
  const auto device = library_->find(uuid);
  if (!device) return device.absent();
  const auto read = [&](int kind, int64_t& errors) {
    unsigned long long count = 0;
    const int since = nvml::kEccVolatile;
    const auto rc = Library::call(library_->api.ecc_errors, *device, kind, since, &count);
    errors = static_cast<int64_t>(count);
    return rc;
  };
  GpuEcc found;
  auto rc = read(nvml::kEccCorrected, found.corrected);
  if (rc == nvml::kSuccess) rc = read(nvml::kEccUncorrected, found.uncorrected);
  if (rc != nvml::kSuccess) return Absent{format("{}: {}", uuid, words(rc))};
  return found;
}

Probe<std::vector<GpuProcess>> Gpus::processes(const std::string& uuid) const {
  const auto device = library_->find(uuid);
  if (!device) return device.absent();
  std::vector<nvml::ProcessInfo> infos(64);
  nvml::Return rc = nvml::kInsufficientSize;
  unsigned count = 0;
  while (rc == nvml::kInsufficientSize && infos.size() <= kMostProcesses) {
    count = static_cast<unsigned>(infos.size());
    rc = Library::call(library_->api.processes, *device, &count, infos.data());
    if (rc == nvml::kInsufficientSize) infos.resize(infos.size() * 4);
  }
  if (rc != nvml::kSuccess) return Absent{format("{}: {}", uuid, words(rc))};
  std::vector<GpuProcess> found;
  for (unsigned i = 0; i < count; ++i) {
    GpuProcess process{.pid = infos[i].pid};
    if (infos[i].used_memory != nvml::kNotAvailable) {
      process.memory = static_cast<int64_t>(infos[i].used_memory);
    }
    found.push_back(process);
  }
  return found;
}

GpuMatrix Gpus::matrix(const std::vector<GpuDevice>& gpus) const {
  const size_t count = gpus.size();
  const auto& api = library_->api;
  GpuMatrix pairs(count, std::vector<GpuPair>(count));
  std::vector<nvml::Device> devices(count, nullptr);
  std::vector<int> to_switch(count, 0);
  for (size_t i = 0; i < count; ++i) {
    if (const auto device = library_->find(gpus[i].uuid)) devices[i] = *device;
    if (devices[i] == nullptr) continue;
    for (unsigned link = 0; link < nvml::kMostNvLinks; ++link) {
      unsigned active = 0;
      if (Library::call(api.nvlink_state, devices[i], link, &active) != nvml::kSuccess) break;
      if (active == 0) continue;
      int kind = nvml::kRemoteGpu;
      Library::call(api.nvlink_remote_type, devices[i], link, &kind);
      to_switch[i] += kind == nvml::kRemoteSwitch;
      nvml::PciInfo remote{};
      if (Library::call(api.nvlink_remote_pci, devices[i], link, &remote) != nvml::kSuccess)
        continue;
      for (size_t j = 0; j < count; ++j) {
        pairs[i][j].nvlinks += j != i && gpus[j].bus_id == bus_id(remote);
      }
    }
  }
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      if (i == j || devices[i] == nullptr || devices[j] == nullptr) continue;
      GpuPair& pair = pairs[i][j];
      int level = -1, peer = -1;
      const int ability = nvml::kP2pCapRead;
      Library::call(api.common_ancestor, devices[i], devices[j], &level);
      Library::call(api.p2p_status, devices[i], devices[j], ability, &peer);
      pair.distance = distance(level);
      pair.peer_access = peer == nvml::kP2pOk;
      if (pair.peer_access) pair.nvlinks += std::min(to_switch[i], to_switch[j]);
    }
  }
  return pairs;
}

}  // namespace hearth::hw
