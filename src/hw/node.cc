#include "hw/node.h"

#include "base/format.h"

namespace hearth::hw {
namespace {

// The cells above one GPU, from the machine down.
struct Above {
  std::string numa, link;
};

void collect(const Cell& cell, Above above, std::vector<Above>& of_gpus, NodeInfo& node) {
  const std::string label = format("{}{}", name(cell.kind), cell.index);
  if (cell.kind == CellKind::numa) {
    above.numa = label;
    node.numa.push_back({label, static_cast<double>(cell.cpus.size()), cell.memory});
  }
  if (cell.kind == CellKind::nvlink || cell.kind == CellKind::pcie_switch) above.link = label;
  if (cell.kind == CellKind::gpu) of_gpus[static_cast<size_t>(cell.gpus.front())] = above;
  for (const Cell& child : cell.children) collect(child, above, of_gpus, node);
}

}  // namespace

NodeInfo node_info(const std::string& name, const Machine& machine, const Topology& topology) {
  NodeInfo node;
  node.name = name;
  if (machine.cpus) node.cpus = machine.cpus->usable();
  if (machine.memory) node.memory_bytes = machine.memory->usable();
  std::vector<Above> above(topology.gpus.size());
  collect(topology.root, {}, above, node);
  for (size_t i = 0; i < topology.gpus.size(); ++i) {
    const GpuDevice& device = topology.gpus[i];
    Gpu gpu;
    gpu.uuid = device.uuid;
    gpu.model = device.name;
    gpu.index = device.index;
    gpu.memory_bytes = device.memory;
    gpu.numa = above[i].numa;
    gpu.link = above[i].link;
    gpu.healthy = device.fault.empty();
    gpu.problem = device.fault;
    if (!device.mig) node.gpus.push_back(gpu);
    for (const auto& instance : device.instances) {
      gpu.uuid = instance.uuid;
      gpu.model = instance.name;
      gpu.memory_bytes = instance.memory;
      node.gpus.push_back(gpu);
    }
  }
  return node;
}

}  // namespace hearth::hw
