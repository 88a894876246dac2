// The topology file: nodes and GPUs that are not there, lent to the local executor by
// `hearth up --topology FILE`, so that gangs, fractions and placement can be tried with real
// processes on one machine. It changes only by adding, as the job file does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/codec.h"
#include "domain/describe.h"
#include "domain/node.h"

namespace hearth {

struct LentGpu {
  std::string uuid, model;
  Size memory;
  std::string numa, link;
  bool operator==(const LentGpu&) const = default;
};
struct LentNuma {
  std::string name;
  double cpus = 0;
  Size memory;
  bool operator==(const LentNuma&) const = default;
};
struct LentNode {
  std::string name;
  std::string pool = "local";
  std::string rack, spine;
  double cpus = 0;
  Size memory;
  std::vector<LentNuma> numa;
  std::vector<LentGpu> gpus;
  std::vector<std::vector<double>> gpu_bandwidth;
  double network_bandwidth = 0;
  std::map<std::string, std::string> labels;
  bool operator==(const LentNode&) const = default;
};
struct TopologyFile {
  int64_t hearth = 1;
  std::vector<LentNode> nodes;
  bool operator==(const TopologyFile&) const = default;
};

// Decodes and checks a topology file (YAML, or JSON, which is YAML): field errors and rules between
// fields, all at once.
Result<TopologyFile> parse_topology(std::string_view text);
// What an executor says of these nodes.
std::vector<NodeInfo> nodes_of(const TopologyFile& file);
// "2 nodes with 8 GPUs are lent by a topology file: they are not real"; "" when none is.
std::string lent_words(const std::vector<NodeInfo>& nodes);

template <>
struct Describe<LentGpu> {
  static constexpr std::string_view name = "LentGpu", doc = "One GPU of a node.";
  static void fields(Fields<LentGpu>& f);
};
template <>
struct Describe<LentNuma> {
  static constexpr std::string_view name = "LentNuma", doc = "One NUMA node of a machine.";
  static void fields(Fields<LentNuma>& f);
};
template <>
struct Describe<LentNode> {
  static constexpr std::string_view name = "LentNode", doc = "A machine that is lent.";
  static void fields(Fields<LentNode>& f);
};
template <>
struct Describe<TopologyFile> {
  static constexpr std::string_view name = "TopologyFile",
                                    doc = "Machines and GPUs that are lent to the local executor.";
  static void fields(Fields<TopologyFile>& f);
};

}  // namespace hearth
