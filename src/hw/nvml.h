// The part of NVIDIA's management library that Hearth calls: types and functions as NVIDIA's public
// NVML reference documents them, declared anew so that no driver or toolkit is needed to build.
// gpu.cc finds the functions by name at run time; fake_nvml/ defines them for tests.
#pragma once

namespace hearth::hw::nvml {

using Return = int;
enum : Return {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kVersionMismatch = 18,
  kUnknown = 999,
};

using Device = struct DeviceHandle*;

struct Memory {
  unsigned long long total, free, used;  // bytes
};
struct Utilization {
  unsigned int gpu, memory;  // percent
};
struct PciInfo {
  char bus_id_legacy[16];
  unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct ProcessInfo {  // of the _v2 and _v3 calls
  unsigned int pid;
  unsigned long long used_memory;  // kNotAvailable where the driver does not say
  unsigned int gpu_instance, compute_instance;
};
inline constexpr unsigned long long kNotAvailable = ~0ULL;

inline constexpr unsigned int kTextMost = 96;  // enough for names, UUIDs and versions
inline constexpr unsigned int kMostNvLinks = 18;

enum : int { kSensorGpu = 0 };
enum : int { kEccCorrected = 0, kEccUncorrected = 1 };
enum : int { kEccVolatile = 0 };  // since the driver was loaded
enum : int { kP2pCapRead = 0 };
enum : int { kP2pOk = 0 };
enum : int { kRemoteGpu = 0, kRemoteSwitch = 2 };
enum : int {  // how far two GPUs are from each other
  kTopologyInternal = 0,
  kTopologySingle = 10,
  kTopologyMultiple = 20,
  kTopologyHostBridge = 30,
  kTopologyNode = 40,
  kTopologySystem = 50,
};

// X(member of Api, name in the library, parameters)
#define HEARTH_NVML_REQUIRED(X)                                              \
  X(init, nvmlInit_v2, ())                                                   \
  X(shutdown, nvmlShutdown, ())                                              \
  X(driver_version, nvmlSystemGetDriverVersion, (char*, unsigned int))       \
  X(device_count, nvmlDeviceGetCount_v2, (unsigned int*))                    \
  X(device_by_index, nvmlDeviceGetHandleByIndex_v2, (unsigned int, Device*)) \
  X(device_by_uuid, nvmlDeviceGetHandleByUUID, (const char*, Device*))       \
  X(uuid, nvmlDeviceGetUUID, (Device, char*, unsigned int))                  \
  X(name, nvmlDeviceGetName, (Device, char*, unsigned int))                  \
  X(memory, nvmlDeviceGetMemoryInfo, (Device, Memory*))                      \
  X(pci, nvmlDeviceGetPciInfo_v3, (Device, PciInfo*))

// Missing ones only leave a field empty: older drivers, and parts that a vGPU does not have.
#define HEARTH_NVML_OPTIONAL(X)                                                                \
  X(cuda_version, nvmlSystemGetCudaDriverVersion_v2, (int*))                                   \
  X(utilization, nvmlDeviceGetUtilizationRates, (Device, Utilization*))                        \
  X(temperature, nvmlDeviceGetTemperature, (Device, int, unsigned int*))                       \
  X(power, nvmlDeviceGetPowerUsage, (Device, unsigned int*))                                   \
  X(power_limit, nvmlDeviceGetEnforcedPowerLimit, (Device, unsigned int*))                     \
  X(compute_capability, nvmlDeviceGetCudaComputeCapability, (Device, int*, int*))              \
  X(ecc_errors, nvmlDeviceGetTotalEccErrors, (Device, int, int, unsigned long long*))          \
  X(processes, nvmlDeviceGetComputeRunningProcesses_v3, (Device, unsigned int*, ProcessInfo*)) \
  X(common_ancestor, nvmlDeviceGetTopologyCommonAncestor, (Device, Device, int*))              \
  X(p2p_status, nvmlDeviceGetP2PStatus, (Device, Device, int, int*))                           \
  X(nvlink_state, nvmlDeviceGetNvLinkState, (Device, unsigned int, unsigned int*))             \
  X(nvlink_remote_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2, (Device, unsigned int, PciInfo*))  \
  X(nvlink_remote_type, nvmlDeviceGetNvLinkRemoteDeviceType, (Device, unsigned int, int*))     \
  X(mig_mode, nvmlDeviceGetMigMode, (Device, unsigned int*, unsigned int*))                    \
  X(mig_most, nvmlDeviceGetMaxMigDeviceCount, (Device, unsigned int*))                         \
  X(mig_by_index, nvmlDeviceGetMigDeviceHandleByIndex, (Device, unsigned int, Device*))

struct Api {
#define HEARTH_NVML_MEMBER(member, symbol, parameters) Return(*member) parameters = nullptr;
  HEARTH_NVML_REQUIRED(HEARTH_NVML_MEMBER)
  HEARTH_NVML_OPTIONAL(HEARTH_NVML_MEMBER)
#undef HEARTH_NVML_MEMBER
};

}  // namespace hearth::hw::nvml
