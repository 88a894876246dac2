// What an executor says there is: nodes and GPUs as a tree of cells.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "domain/describe.h"

namespace hearth {

struct Gpu {
  std::string uuid, model;
  int64_t index = 0;
  int64_t memory_bytes = 0;
  std::string numa, link;  // cells it lies in: NUMA node, switch or NVLink clique
  bool healthy = true;
  std::string problem;  // why it is not
  bool operator==(const Gpu&) const = default;
};
template <>
struct Describe<Gpu> {
  static constexpr std::string_view name = "Gpu", doc = "One GPU or MIG instance.";
  static void fields(Fields<Gpu>& f) {
    f("uuid", &Gpu::uuid, "the driver's name for it");
    f("model", &Gpu::model, "marketing name");
    f("index", &Gpu::index, "the driver's number");
    f("memory_bytes", &Gpu::memory_bytes, "its memory");
    f("numa", &Gpu::numa, "NUMA node it hangs on");
    f("link", &Gpu::link, "switch or NVLink clique");
    f("healthy", &Gpu::healthy, "may be given to jobs");
    f("problem", &Gpu::problem, "why it may not");
  }
};

// "H100" names "NVIDIA H100 80GB HBM3": so do job files and quotas.
inline bool names_model(std::string_view wanted, std::string_view model) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return !std::ranges::search(model, wanted, {}, lower, lower).empty() || wanted.empty();
}

struct NumaCell {
  std::string name;
  double cpus = 0;
  int64_t memory_bytes = 0;
  bool operator==(const NumaCell&) const = default;
};
template <>
struct Describe<NumaCell> {
  static constexpr std::string_view name = "NumaCell", doc = "One NUMA node of a machine.";
  static void fields(Fields<NumaCell>& f) {
    f("name", &NumaCell::name, "as its GPUs name it");
    f("cpus", &NumaCell::cpus, "its cores");
    f("memory_bytes", &NumaCell::memory_bytes, "its memory");
  }
};

struct NodeInfo {
  std::string name, pool;
  double cpus = 0;
  int64_t memory_bytes = 0;
  std::vector<Gpu> gpus;
  std::vector<NumaCell> numa;
  // GB/s between each two GPUs, in the order of `gpus`; empty where nobody measured it.
  std::vector<std::vector<double>> gpu_bandwidth;
  double network_bandwidth = 0;  // GB/s to its rack; 0: nobody measured it
  std::string rack, spine;
  std::map<std::string, std::string> labels;
  bool ready = true;
  bool cordoned = false;
  std::string problem;
  // From then on only jobs of the projects `kept_for` run here (none named: no job at all): a node
  // that is drained, maintenance, a reservation. {0}: never.
  Time closes_at;
  Time opens_at;  // again; {0}: nobody knows
  std::vector<std::string> kept_for;
  std::string closes_for;  // why it is closed or will be, for people
  bool lent = false;       // by a topology file: neither the node nor its GPUs are real
  bool operator==(const NodeInfo&) const = default;
};
template <>
struct Describe<NodeInfo> {
  static constexpr std::string_view name = "Node", doc = "A machine that runs tasks.";
  static void fields(Fields<NodeInfo>& f) {
    f("name", &NodeInfo::name, "unique in its pool");
    f("pool", &NodeInfo::pool, "whose");
    f("cpus", &NodeInfo::cpus, "cores for tasks");
    f("memory_bytes", &NodeInfo::memory_bytes, "memory for tasks");
    f("gpus", &NodeInfo::gpus, "its GPUs");
    f("numa", &NodeInfo::numa, "its NUMA nodes");
    f("gpu_bandwidth", &NodeInfo::gpu_bandwidth,
      "GB/s between each two GPUs, as measured or given; empty: unknown");
    f("network_bandwidth", &NodeInfo::network_bandwidth,
      "GB/s to its rack, as measured or given; 0: unknown");
    f("rack", &NodeInfo::rack, "cell above");
    f("spine", &NodeInfo::spine, "cell above the rack");
    f("labels", &NodeInfo::labels, "for people and constraints");
    f("ready", &NodeInfo::ready, "takes tasks");
    f("cordoned", &NodeInfo::cordoned, "an admin has closed it to new tasks");
    f("problem", &NodeInfo::problem, "why it is not ready");
    f("closes_at", &NodeInfo::closes_at,
      "from then on only jobs of the projects in kept_for run here; absent: never");
    f("opens_at", &NodeInfo::opens_at, "when it opens again; absent: nobody knows");
    f("kept_for", &NodeInfo::kept_for, "projects that may stay; none: no job does");
    f("closes_for", &NodeInfo::closes_for, "why it is closed, or will be");
    f("lent", &NodeInfo::lent, "by a topology file: neither it nor its GPUs are real");
  }
};

}  // namespace hearth
