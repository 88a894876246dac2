// This machine as the domain's NodeInfo: what an executor tells the scheduler.
#pragma once

#include <string>

#include "domain/node.h"
#include "hw/machine.h"
#include "hw/topology.h"

namespace hearth::hw {

// Pure. A GPU split by MIG stands as its instances; one that does not answer stands unhealthy with
// the words. Cells are named "numa0", "switch1", "nvlink0".
NodeInfo node_info(const std::string& name, const Machine& machine, const Topology& topology);

}  // namespace hearth::hw
