// What there is and what of it is free: nodes with their GPUs as cells (GPU < switch or NVLink
// clique < NUMA < node < rack < spine < pool) and counters per cell that every change keeps true.
// Changes between mark() and undo() leave no trace: that is the overlay on which gangs, preemption
// and what-if are tried. Inside sched alone.
//
// About 400 bytes a node, and 24 a GPU.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "domain/node.h"
#include "sched/shape.h"

namespace hearth::sched {

using NodeKey = std::pair<std::string, std::string>;  // pool, name

// GPUs (or MIG instances) of one node that are scheduled; more are not seen.
inline constexpr size_t kMostGpus = 64;
using GpuMask = uint64_t;
using ModelMask = uint64_t;  // bit = index in Cells::models
inline constexpr size_t kMostModels = 64;

// What one task takes of one node.
struct Grant {
  int32_t node = -1;
  int64_t cpus = 0, memory = 0;  // milli-CPU, bytes
  GpuMask gpus = 0;
  int64_t milli = kWholeGpu;  // of each GPU
  bool operator==(const Grant&) const = default;
};

struct Node {
  NodeKey key;
  NodeInfo info;
  int32_t pool = -1, rack = -1, spine = -1;  // domains; -1: none
  bool present = false, open = false;
  bool has_cells = false;  // switches, cliques or NUMA nodes are known
  uint8_t gpus = 0;
  int64_t total_cpus = 0, total_memory = 0;
  int64_t free_cpus = 0, free_memory = 0;  // below zero where it has shrunk under what runs
  GpuMask healthy = 0;
  GpuMask whole = 0;                  // healthy and wholly free
  uint64_t version = 0;               // another one after every change
  std::vector<int64_t> free_milli;    // by GPU; below zero while one is promised on
  std::vector<GpuMask> links, numas;  // cells; a GPU without a link lies in its NUMA node's
  std::vector<std::pair<int32_t, GpuMask>> models;  // model, which GPUs are of it
};

// Nodes of one rack, spine or pool.
struct Domain {
  int32_t pool = -1;
  std::string name;
  std::vector<int32_t> nodes;
  int32_t with_cells = 0;                  // open nodes whose GPUs lie in known cells
  int64_t free_cpus = 0, free_memory = 0;  // of open nodes; so are the GPUs
  std::vector<int64_t> whole_gpus;         // by model
  std::vector<int64_t> milli_gpus;         // by model, of GPUs that are shared or wholly free
};

enum class Tier { rack, spine, pool };
inline constexpr std::array<Tier, 3> kTiers = {Tier::rack, Tier::spine, Tier::pool};

class Cells {
 public:
  // Told anew of a known node: what is taken there stays taken (by the GPUs' UUIDs).
  int32_t set_node(const NodeInfo& info);
  void remove_node(const NodeKey& key);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int32_t index) const { return nodes_[static_cast<size_t>(index)]; }
  int32_t find(const NodeKey& key) const;  // -1: never heard of it
  const std::vector<Domain>& domains(Tier tier) const {
    return domains_[static_cast<size_t>(tier)];
  }
  const std::vector<std::string>& models() const { return models_; }
  // GPUs of these UUIDs that the node has.
  GpuMask mask_of(int32_t node, const std::vector<std::string>& uuids) const;

  void take(const Grant& grant) { change(grant, -1); }
  void give(const Grant& grant) { change(grant, +1); }
  // Whether what was taken is really there: nothing below zero on its node and GPUs.
  bool covered(const Grant& grant) const;

  // Counts the changes; undo() goes back to there, bit for bit but for versions.
  size_t mark() const { return log_.size(); }
  void undo(size_t mark);
  // What was changed so far is for good.
  void settle() { log_.clear(); }

  // Nodes that have changed since this was last asked, in whatever way.
  std::vector<int32_t> take_touched();

  // The same cluster with nothing running: only what is in service, or all of it.
  Cells idle(bool all_in_service) const;
  uint64_t topology_version() const { return topology_version_; }

 private:
  struct Change {
    Grant grant;
    int sign;
  };
  void change(const Grant& grant, int sign);
  void apply(const Grant& grant, int64_t sign);
  void count(const Node& node, int64_t sign);
  void touch(int32_t index);
  int32_t model_of(const std::string& name);
  int32_t domain_of(Tier tier, int32_t pool, const std::string& name);
  void shape(Node& node);

  std::vector<Node> nodes_;
  std::map<NodeKey, int32_t> by_key_;
  std::array<std::vector<Domain>, 3> domains_;
  std::array<std::map<std::pair<int32_t, std::string>, int32_t>, 3> domain_by_name_;
  std::vector<std::string> models_;
  std::vector<Change> log_;
  std::vector<int32_t> touched_;
  std::vector<char> is_touched_;  // by node
  uint64_t version_ = 0, topology_version_ = 0;
};

// The numbers of the bits that are set, the least first: `for (const size_t gpu : bits(mask))`.
class Bits {
 public:
  explicit Bits(uint64_t mask) : mask_(mask) {}
  size_t operator*() const { return static_cast<size_t>(__builtin_ctzll(mask_)); }
  Bits& operator++() {
    mask_ &= mask_ - 1;
    return *this;
  }
  bool operator==(const Bits&) const = default;
  Bits begin() const { return *this; }
  Bits end() const { return Bits(0); }

 private:
  uint64_t mask_;
};
inline Bits bits(uint64_t mask) {
  return Bits(mask);
}
inline int64_t count_bits(GpuMask mask) {
  return __builtin_popcountll(mask);
}

}  // namespace hearth::sched
