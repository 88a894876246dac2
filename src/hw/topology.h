// The machine as a tree of cells: GPU < PCIe switch or NVLink clique < NUMA node < machine. An
// NVLink clique that spans NUMA nodes (NVSwitch) stands above them. A switch or clique of one GPU
// is left out; so is one that cuts across a larger cell (the links are in Topology::pairs all the
// same).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hw/gpu.h"
#include "hw/probe.h"

namespace hearth::hw {

enum class CellKind { node, nvlink, numa, pcie_switch, gpu };
std::string_view name(CellKind kind);

struct Cell {
  CellKind kind = CellKind::node;
  int index = 0;          // among its kind, from 0; numa and gpu: the system's own number
  std::vector<int> gpus;  // indices into Topology::gpus of all GPUs below (or itself), ascending
  std::vector<int> cpus;  // node and numa: the logical CPUs, ascending
  int64_t memory = 0;     // node and numa: bytes
  std::vector<Cell> children;  // in order of their lowest GPU, those without a GPU last
};

struct Topology {
  Cell root;
  std::vector<GpuDevice> gpus;
  GpuMatrix pairs;
  std::string gpus_why;       // why there are no GPUs, when there are none
  std::string cells() const;  // one line a cell, indented: for people and tests
};

// What hwloc tells of processors, memory and the PCI tree.
struct Locality {
  struct Numa {
    int index = 0;
    std::vector<int> cpus;
    int64_t memory = 0;
  };
  struct PciPlace {
    std::string bus_id;                // "0000:3b:00.0"
    int numa = -1;                     // index; -1 = no single node is near
    std::vector<std::string> bridges;  // bus ids of the PCI bridges above, host bridges excluded
  };
  std::vector<int> cpus;
  int64_t memory = 0;
  std::vector<Numa> numa;        // ascending by index
  std::vector<PciPlace> places;  // of display and processing accelerators
};
// Of this machine, or of the machine whose hwloc XML (lstopo --of xml) is given.
Probe<Locality> locality(const std::string& hwloc_xml = "");

// Pure. GPUs are placed by their bus id; where the PCI tree does not know it, by `pairs`.
Topology build_topology(const Locality& locality, std::vector<GpuDevice> gpus, GpuMatrix pairs);

// Locality and GPUs of this machine; gpus may be null (then `why` says why there are none).
Probe<Topology> topology(const Gpus* gpus, const std::string& why);

}  // namespace hearth::hw
