// The hwloc side of topology.h: the one file that knows that library.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <hwloc.h>

#include "base/format.h"
#include "hw/topology.h"

namespace hearth::hw {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

// hwloc's plug-ins for accelerators start their drivers: slow, and Gpus asks NVML itself. That for
// PCI reads a large file of names and leaks it; the one for Linux finds the same devices by sysfs.
constexpr const char* kUnwanted[] = {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl", "pci"};

std::vector<int> numbers(hwloc_const_bitmap_t set) {
  std::vector<int> found;
  if (set == nullptr || hwloc_bitmap_weight(set) < 0) return found;  // infinite
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) found.push_back(i);
  return found;
}

std::string bus_id(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return format("{:04x}:{:02x}:{:02x}.{:x}", static_cast<unsigned>(pci.domain), pci.bus, pci.dev,
                pci.func);
}

Probe<Handle> load(const std::string& xml) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return Absent{"hwloc cannot be started"};
  Handle topology(raw);
  if (!xml.empty()) {
    const int size = static_cast<int>(xml.size()) + 1;
    if (hwloc_topology_set_xmlbuffer(raw, xml.c_str(), size) != 0) {
      return Absent{"hwloc cannot read this XML"};
    }
  } else {
    for (const char* name : kUnwanted) {
      hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
    }
  }
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_load(raw) != 0) {
    return Absent{format("hwloc cannot tell this machine's topology: {}", std::strerror(errno))};
  }
  return topology;
}

Locality::PciPlace place_of(hwloc_topology_t topology, hwloc_obj_t device) {
  Locality::PciPlace place{.bus_id = bus_id(device->attr->pcidev)};
  for (hwloc_obj_t above = device->parent; above != nullptr; above = above->parent) {
    if (above->type != HWLOC_OBJ_BRIDGE) break;
    if (above->attr->bridge.upstream_type != HWLOC_OBJ_BRIDGE_PCI) continue;
    place.bridges.push_back(bus_id(above->attr->bridge.upstream.pci));
  }
  const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, device);
  if (near != nullptr && near->nodeset != nullptr && hwloc_bitmap_weight(near->nodeset) == 1) {
    place.numa = hwloc_bitmap_first(near->nodeset);
  }
  return place;
}

}  // namespace

Probe<Locality> locality(const std::string& hwloc_xml) {
  const auto loaded = load(hwloc_xml);
  if (!loaded) return loaded.absent();
  hwloc_topology_t topology = loaded->get();
  const hwloc_obj_t machine = hwloc_get_root_obj(topology);
  Locality found;
  found.cpus = numbers(machine->cpuset);
  found.memory = static_cast<int64_t>(machine->total_memory);
  hwloc_obj_t numa = nullptr;
  while ((numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa)) != nullptr) {
    found.numa.push_back({.index = static_cast<int>(numa->os_index),
                          .cpus = numbers(numa->cpuset),
                          .memory = static_cast<int64_t>(numa->attr->numanode.local_memory)});
  }
  std::sort(found.numa.begin(), found.numa.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_pcidev(topology, device)) != nullptr) {
    const int base_class = device->attr->pcidev.class_id >> 8;
    // PCI base classes: display controller, processing accelerator
    if (base_class == 0x03 || base_class == 0x12) {
      found.places.push_back(place_of(topology, device));
    }
  }
  return found;
}

}  // namespace hearth::hw
