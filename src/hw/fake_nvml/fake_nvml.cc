// A stand-in for NVIDIA's management library: GPUs out of the environment, for machines without.
//
//   HEARTH_FAKE_GPUS="8:H100-80GB"
//   HEARTH_FAKE_GPUS="4:A100-40GB nvlink=pairs numa=2 switch=2; 1:L4-24GB util=35 used=2GB"
//   HEARTH_FAKE_GPUS="@/tmp/gpus"       the same text in a file, read again before every answer
//
// COUNT:MODEL-MEMORY, then keys for each GPU of the group, groups apart by ';' or a line's end:
//   nvlink=none|pairs|all   no links; 0-1, 2-3 ... linked; all linked through switches
//   numa=N  switch=N        the group is spread over N NUMA nodes, each of N PCIe switches
//   util=PERCENT  used=SIZE  temp=CELSIUS  power=WATTS  ecc=ERRORS  pids=PID+PID...
//   mig=N                   split into N instances
//   lost=1                  listed, but answers nothing ("fallen off the bus")
// No HEARTH_FAKE_GPUS: no GPU. "fail=CODE": nvmlInit fails with that NVML code.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "hw/nvml.h"

#define FAKE extern "C" __attribute__((visibility("default"))) nvml::Return

namespace hearth::hw {
// A device handle: the address of one of these, which live until the process ends.
struct nvml::DeviceHandle {
  unsigned gpu = 0;
  int instance = -1;  // of MIG; -1 = the whole GPU
};

namespace {

struct FakeGpu {
  std::string name;
  unsigned long long memory = 0, used = 0, ecc = 0;
  unsigned util = 0, temp = 35, power = 70, mig = 0;
  int numa = 0, pcie_switch = 0;  // numbers that are equal for GPUs in the same
  std::string nvlink = "none";
  unsigned group_first = 0, group_size = 0;
  std::vector<unsigned> pids;
  bool lost = false;
};

struct World {
  std::mutex mutex;
  int fail = 0;
  std::vector<FakeGpu> gpus;
  std::map<std::pair<unsigned, int>, nvml::DeviceHandle> handles;
};
World& world() {
  static World one;  // handles are addresses inside it: they live until the library is closed
  return one;
}

// 0 for what is no number.
unsigned number_of(std::string_view text) {
  unsigned number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

unsigned long long size_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const char unit = *end;
  const int shift = unit == 'T' ? 40 : unit == 'G' ? 30 : unit == 'M' ? 20 : unit == 'K' ? 10 : 0;
  return static_cast<unsigned long long>(number * static_cast<double>(1ULL << shift));
}

void set(FakeGpu& gpu, const std::string& key, const std::string& value) {
  const auto number = number_of(value);
  if (key == "util") gpu.util = number;
  if (key == "used") gpu.used = size_of(value);
  if (key == "temp") gpu.temp = number;
  if (key == "power") gpu.power = number;
  if (key == "ecc") gpu.ecc = number;
  if (key == "mig") gpu.mig = number;
  if (key == "nvlink") gpu.nvlink = value;
  if (key == "lost") gpu.lost = number != 0;
  if (key == "pids") {
    std::stringstream pids(value);
    for (std::string pid; std::getline(pids, pid, '+');) gpu.pids.push_back(number_of(pid));
  }
}

void add_group(std::string group, World& into) {
  std::replace(group.begin(), group.end(), ',', ' ');
  std::stringstream words(group);
  std::string head, word;
  if (!(words >> head)) return;
  if (head.rfind("fail=", 0) == 0) {
    into.fail = static_cast<int>(number_of(head.substr(5)));
    return;
  }
  const size_t colon = head.find(':');
  const unsigned count = colon == head.npos ? 1 : number_of(head.substr(0, colon));
  const std::string model = colon == head.npos ? head : head.substr(colon + 1);
  const size_t dash = model.rfind('-');
  std::map<std::string, std::string> keys;
  while (words >> word) {
    const size_t equals = word.find('=');
    if (equals != word.npos) keys[word.substr(0, equals)] = word.substr(equals + 1);
  }
  const auto amount = [&](const char* key) {
    return keys.count(key) != 0 ? std::max(1, static_cast<int>(number_of(keys[key]))) : 1;
  };
  const int numa = amount("numa"), switches = amount("switch");
  FakeGpu gpu;
  gpu.name = "NVIDIA " + model;
  gpu.memory = dash == model.npos ? 16ULL << 30 : size_of(model.substr(dash + 1));
  gpu.group_first = static_cast<unsigned>(into.gpus.size());
  gpu.group_size = count;
  for (const auto& [key, value] : keys) set(gpu, key, value);
  for (unsigned i = 0; i < count; ++i) {
    gpu.numa = static_cast<int>(i) * numa / static_cast<int>(count);
    gpu.pcie_switch = static_cast<int>(gpu.group_first * 1000) +
                      static_cast<int>(i) * numa * switches / static_cast<int>(count);
    into.gpus.push_back(gpu);
  }
}

// Under the mutex. A file is read anew each time, so that a test can change its GPUs.
void load(bool first) {
  World& all = world();
  const char* text = std::getenv("HEARTH_FAKE_GPUS");
  std::string description = text == nullptr ? "" : text;
  const bool file = !description.empty() && description[0] == '@';
  if (!first && !file) return;
  if (file) {
    std::ifstream in(description.substr(1));
    description.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::replace(description.begin(), description.end(), '\n', ';');
  all.gpus.clear();
  all.fail = 0;
  std::stringstream groups(description);
  for (std::string group; std::getline(groups, group, ';');) add_group(group, all);
}

nvml::Return write_text(const std::string& text, char* out, unsigned size) {
  if (text.size() + 1 > size) return nvml::kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return nvml::kSuccess;
}

std::string uuid_of(unsigned gpu, int instance) {
  char text[64];
  if (instance < 0) {
    std::snprintf(text, sizeof text, "GPU-00000000-0000-4000-8000-%012x", gpu);
  } else {
    std::snprintf(text, sizeof text, "MIG-00000000-0000-4000-8000-%08x%04x", gpu, instance);
  }
  return text;
}

nvml::Device handle(unsigned gpu, int instance) {
  auto& entry = world().handles[{gpu, instance}];
  entry.gpu = gpu;
  entry.instance = instance;
  return &entry;
}

// Runs fn(gpu) for a device that answers, else gives the code of one that does not.
template <typename Fn>
nvml::Return with(nvml::Device device, Fn&& fn) {
  const std::lock_guard lock(world().mutex);
  load(false);
  if (device == nullptr || device->gpu >= world().gpus.size()) return nvml::kInvalidArgument;
  FakeGpu& gpu = world().gpus[device->gpu];
  if (gpu.lost) return nvml::kGpuIsLost;
  return fn(gpu);
}

void write_pci(unsigned gpu, nvml::PciInfo* out) {
  *out = {};
  out->bus = 0x10 + gpu;
  out->pci_device_id = 0x233010de;
  std::snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", out->bus);
  std::snprintf(out->bus_id_legacy, sizeof out->bus_id_legacy, "0000:%02X:00.0", out->bus);
}

// Number of the GPU at the other end of `gpu`'s links under nvlink=pairs; itself when there is
// none.
unsigned partner(const FakeGpu& gpu, unsigned index) {
  const unsigned other = gpu.group_first + ((index - gpu.group_first) ^ 1U);
  return other < gpu.group_first + gpu.group_size ? other : index;
}

constexpr unsigned kLinks = 4;  // of each GPU that has any

}  // namespace
}  // namespace hearth::hw

using namespace hearth::hw;  // NOLINT: the functions below are C

FAKE nvmlInit_v2() {
  const std::lock_guard lock(world().mutex);
  load(true);
  return world().fail;
}
FAKE nvmlShutdown() {
  return nvml::kSuccess;
}
FAKE nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return write_text("550.0.fake", out, size);
}
FAKE nvmlSystemGetCudaDriverVersion_v2(int* out) {
  return *out = 12040, nvml::kSuccess;
}
FAKE nvmlDeviceGetCount_v2(unsigned* out) {
  const std::lock_guard lock(world().mutex);
  load(false);
  *out = static_cast<unsigned>(world().gpus.size());
  return nvml::kSuccess;
}
FAKE nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml::Device* out) {
  const std::lock_guard lock(world().mutex);
  load(false);
  if (index >= world().gpus.size()) return nvml::kInvalidArgument;
  *out = handle(index, -1);
  return world().gpus[index].lost ? nvml::kGpuIsLost : nvml::kSuccess;
}
FAKE nvmlDeviceGetHandleByUUID(const char* uuid, nvml::Device* out) {
  const std::lock_guard lock(world().mutex);
  load(false);
  for (unsigned i = 0; i < world().gpus.size(); ++i) {
    for (int instance = -1; instance < static_cast<int>(world().gpus[i].mig); ++instance) {
      if (uuid_of(i, instance) != uuid) continue;
      *out = handle(i, instance);
      return world().gpus[i].lost ? nvml::kGpuIsLost : nvml::kSuccess;
    }
  }
  return nvml::kNotFound;
}
FAKE nvmlDeviceGetUUID(nvml::Device device, char* out, unsigned size) {
  return with(device, [&](FakeGpu&) {
    return write_text(uuid_of(device->gpu, device->instance), out, size);
  });
}
FAKE nvmlDeviceGetName(nvml::Device device, char* out, unsigned size) {
  return with(device, [&](FakeGpu& gpu) {
    return write_text(gpu.name + (device->instance < 0 ? "" : " MIG"), out, size);
  });
}
FAKE nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::Memory* out) {
  return with(device, [&](FakeGpu& gpu) {
    const auto share = device->instance < 0 ? 1 : std::max(1U, gpu.mig);
    *out = {gpu.memory / share, (gpu.memory - gpu.used) / share, gpu.used / share};
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciInfo* out) {
  return with(device, [&](FakeGpu&) { return write_pci(device->gpu, out), nvml::kSuccess; });
}
FAKE nvmlDeviceGetUtilizationRates(nvml::Device device, nvml::Utilization* out) {
  return with(device, [&](FakeGpu& gpu) -> nvml::Return {
    if (gpu.mig > 0) return nvml::kNotSupported;  // as the real one
    *out = {gpu.util, gpu.util / 2};
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetTemperature(nvml::Device device, int, unsigned* out) {
  return with(device, [&](FakeGpu& gpu) { return *out = gpu.temp, nvml::kSuccess; });
}
FAKE nvmlDeviceGetPowerUsage(nvml::Device device, unsigned* out) {
  return with(device, [&](FakeGpu& gpu) { return *out = gpu.power * 1000, nvml::kSuccess; });
}
FAKE nvmlDeviceGetEnforcedPowerLimit(nvml::Device device, unsigned* out) {
  return with(device, [&](FakeGpu&) { return *out = 700'000, nvml::kSuccess; });
}
FAKE nvmlDeviceGetCudaComputeCapability(nvml::Device device, int* major, int* minor) {
  return with(device, [&](FakeGpu&) { return *major = 9, *minor = 0, nvml::kSuccess; });
}
FAKE nvmlDeviceGetTotalEccErrors(nvml::Device device, int kind, int, unsigned long long* out) {
  return with(device, [&](FakeGpu& gpu) {
    *out = kind == nvml::kEccUncorrected ? gpu.ecc : gpu.ecc * 2;
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetComputeRunningProcesses_v3(nvml::Device device, unsigned* count,
                                             nvml::ProcessInfo* out) {
  return with(device, [&](FakeGpu& gpu) -> nvml::Return {
    const unsigned room = *count;
    *count = static_cast<unsigned>(gpu.pids.size());
    if (*count > room) return nvml::kInsufficientSize;
    for (unsigned i = 0; i < *count; ++i) out[i] = {gpu.pids[i], gpu.used / *count, ~0U, ~0U};
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetTopologyCommonAncestor(nvml::Device a, nvml::Device b, int* out) {
  return with(a, [&](FakeGpu& one) -> nvml::Return {
    const FakeGpu& two = world().gpus[b->gpu];
    *out = one.numa != two.numa                 ? nvml::kTopologySystem
           : one.pcie_switch != two.pcie_switch ? nvml::kTopologyNode
                                                : nvml::kTopologySingle;
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetP2PStatus(nvml::Device a, nvml::Device b, int, int* out) {
  return with(a, [&](FakeGpu& one) {
    const FakeGpu& two = world().gpus[b->gpu];
    *out = one.group_first == two.group_first ? nvml::kP2pOk : 1;
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetNvLinkState(nvml::Device device, unsigned link, unsigned* out) {
  return with(device, [&](FakeGpu& gpu) -> nvml::Return {
    if (gpu.nvlink == "none" || link >= kLinks) return nvml::kInvalidArgument;
    *out = gpu.nvlink == "all" || partner(gpu, device->gpu) != device->gpu ? 1 : 0;
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml::Device device, unsigned, nvml::PciInfo* out) {
  return with(device, [&](FakeGpu& gpu) {
    write_pci(gpu.nvlink == "pairs" ? partner(gpu, device->gpu) : 0xd0, out);
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetNvLinkRemoteDeviceType(nvml::Device device, unsigned, int* out) {
  return with(device, [&](FakeGpu& gpu) {
    *out = gpu.nvlink == "all" ? nvml::kRemoteSwitch : nvml::kRemoteGpu;
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetMigMode(nvml::Device device, unsigned* current, unsigned* pending) {
  return with(device, [&](FakeGpu& gpu) {
    *current = *pending = gpu.mig > 0;
    return nvml::kSuccess;
  });
}
FAKE nvmlDeviceGetMaxMigDeviceCount(nvml::Device device, unsigned* out) {
  return with(device, [&](FakeGpu&) { return *out = 7, nvml::kSuccess; });
}
FAKE nvmlDeviceGetMigDeviceHandleByIndex(nvml::Device device, unsigned index, nvml::Device* out) {
  return with(device, [&](FakeGpu& gpu) -> nvml::Return {
    if (index >= gpu.mig) return nvml::kNotFound;
    *out = handle(device->gpu, static_cast<int>(index));
    return nvml::kSuccess;
  });
}
