#include "sched/cells.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hearth::sched {
namespace {

GpuMask bit(size_t gpu) {
  return GpuMask{1} << gpu;
}

// Cells in the order of their names.
std::vector<GpuMask> cells_of(const std::map<std::string, GpuMask>& by_name) {
  std::vector<GpuMask> found;
  for (const auto& [name, mask] : by_name) found.push_back(mask);
  return found;
}

}  // namespace

int32_t Cells::find(const NodeKey& key) const {
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? -1 : at->second;
}

int32_t Cells::model_of(const std::string& name) {
  const auto at = std::find(models_.begin(), models_.end(), name);
  if (at != models_.end()) return static_cast<int32_t>(at - models_.begin());
  if (models_.size() == kMostModels) return static_cast<int32_t>(kMostModels) - 1;
  models_.push_back(name);
  for (auto& tier : domains_) {
    for (Domain& domain : tier) {
      domain.whole_gpus.resize(models_.size());
      domain.milli_gpus.resize(models_.size());
    }
  }
  return static_cast<int32_t>(models_.size()) - 1;
}

int32_t Cells::domain_of(Tier tier, int32_t pool, const std::string& name) {
  const auto index = static_cast<size_t>(tier);
  const auto [at, fresh] = domain_by_name_[index].try_emplace(
      {pool, name}, static_cast<int32_t>(domains_[index].size()));
  if (fresh) {
    Domain& made = domains_[index].emplace_back();
    made.pool = tier == Tier::pool ? at->second : pool;
    made.name = name;
    made.whole_gpus.resize(models_.size());
    made.milli_gpus.resize(models_.size());
  }
  return at->second;
}

// Masks and totals from what the node says of itself; free = all of it.
void Cells::shape(Node& node) {
  const NodeInfo& info = node.info;
  node.present = true;
  node.open = info.ready && !info.cordoned;
  node.total_cpus = node.free_cpus = std::llround(info.cpus * 1000);
  node.total_memory = node.free_memory = info.memory_bytes;
  node.gpus = static_cast<uint8_t>(std::min(info.gpus.size(), kMostGpus));
  node.healthy = 0;
  node.has_cells = false;
  node.free_milli.assign(node.gpus, kWholeGpu);
  std::map<std::string, GpuMask> links, numas;
  std::map<int32_t, GpuMask> models;
  for (size_t i = 0; i < node.gpus; ++i) {
    const Gpu& gpu = info.gpus[i];
    if (gpu.healthy) node.healthy |= bit(i);
    node.has_cells = node.has_cells || !gpu.link.empty() || !gpu.numa.empty();
    links[gpu.link.empty() ? "numa " + gpu.numa : "link " + gpu.link] |= bit(i);
    numas[gpu.numa] |= bit(i);
    models[model_of(gpu.model)] |= bit(i);
  }
  node.whole = node.healthy;
  node.links = cells_of(links);
  node.numas = cells_of(numas);
  node.models.assign(models.begin(), models.end());
  node.pool = domain_of(Tier::pool, -1, info.pool);
  node.rack = info.rack.empty() ? -1 : domain_of(Tier::rack, node.pool, info.rack);
  node.spine = info.spine.empty() ? -1 : domain_of(Tier::spine, node.pool, info.spine);
}

// Adds the node's free amounts to its domains, or takes them out.
void Cells::count(const Node& node, int64_t sign) {
  if (!node.present || !node.open) return;
  const std::array<int32_t, 3> in = {node.rack, node.spine, node.pool};
  for (size_t tier = 0; tier < in.size(); ++tier) {
    if (in[tier] < 0) continue;
    Domain& domain = domains_[tier][static_cast<size_t>(in[tier])];
    domain.with_cells += static_cast<int32_t>(sign) * (node.has_cells ? 1 : 0);
    domain.free_cpus += sign * node.free_cpus;
    domain.free_memory += sign * node.free_memory;
    for (const auto& [model, mask] : node.models) {
      const auto m = static_cast<size_t>(model);
      domain.whole_gpus[m] += sign * count_bits(node.whole & mask);
      for (GpuMask left = mask & node.healthy; left != 0; left &= left - 1) {
        domain.milli_gpus[m] += sign * node.free_milli[static_cast<size_t>(__builtin_ctzll(left))];
      }
    }
  }
}

void Cells::touch(int32_t index) {
  const auto at = static_cast<size_t>(index);
  if (is_touched_.size() <= at) is_touched_.resize(nodes_.size());
  if (is_touched_[at] != 0) return;
  is_touched_[at] = 1;
  touched_.push_back(index);
}

std::vector<int32_t> Cells::take_touched() {
  for (const int32_t index : touched_) is_touched_[static_cast<size_t>(index)] = 0;
  return std::exchange(touched_, {});
}

int32_t Cells::set_node(const NodeInfo& info) {
  const NodeKey key{info.pool, info.name};
  const auto [at, fresh] = by_key_.try_emplace(key, static_cast<int32_t>(nodes_.size()));
  if (fresh) nodes_.emplace_back().key = key;
  const int32_t index = at->second;
  remove_node(key);
  Node& node = nodes_[static_cast<size_t>(index)];
  node.info = info;
  shape(node);
  node.version = ++version_;
  touch(index);
  count(node, +1);
  const std::array<int32_t, 3> in = {node.rack, node.spine, node.pool};
  for (size_t tier = 0; tier < in.size(); ++tier) {
    if (in[tier] < 0) continue;
    auto& nodes = domains_[tier][static_cast<size_t>(in[tier])].nodes;
    const auto before = [&](int32_t a, int32_t b) {
      return nodes_[static_cast<size_t>(a)].key < nodes_[static_cast<size_t>(b)].key;
    };
    nodes.insert(std::upper_bound(nodes.begin(), nodes.end(), index, before), index);
  }
  ++topology_version_;
  return index;
}

void Cells::remove_node(const NodeKey& key) {
  const int32_t index = find(key);
  if (index < 0) return;
  Node& node = nodes_[static_cast<size_t>(index)];
  if (!node.present) return;
  count(node, -1);
  const std::array<int32_t, 3> in = {node.rack, node.spine, node.pool};
  for (size_t tier = 0; tier < in.size(); ++tier) {
    if (in[tier] >= 0) std::erase(domains_[tier][static_cast<size_t>(in[tier])].nodes, index);
  }
  node.present = node.open = false;
  node.version = ++version_;
  touch(index);
  ++topology_version_;
}

GpuMask Cells::mask_of(int32_t node, const std::vector<std::string>& uuids) const {
  const Node& at = nodes_[static_cast<size_t>(node)];
  GpuMask mask = 0;
  for (size_t i = 0; i < at.gpus; ++i) {
    if (std::find(uuids.begin(), uuids.end(), at.info.gpus[i].uuid) != uuids.end()) mask |= bit(i);
  }
  return mask;
}

void Cells::apply(const Grant& grant, int64_t sign) {
  Node& node = nodes_[static_cast<size_t>(grant.node)];
  if (!node.present) return;
  const std::array<int32_t, 3> in = {node.rack, node.spine, node.pool};
  node.free_cpus += sign * grant.cpus;
  node.free_memory += sign * grant.memory;
  const GpuMask whole_before = node.whole;
  for (GpuMask left = grant.gpus; left != 0; left &= left - 1) {
    const auto gpu = static_cast<size_t>(__builtin_ctzll(left));
    node.free_milli[gpu] += sign * grant.milli;
    const bool whole = node.free_milli[gpu] == kWholeGpu && (node.healthy & bit(gpu)) != 0;
    node.whole = whole ? node.whole | bit(gpu) : node.whole & ~bit(gpu);
  }
  node.version = ++version_;
  touch(grant.node);
  if (!node.open) return;
  for (size_t tier = 0; tier < in.size(); ++tier) {
    if (in[tier] < 0) continue;
    Domain& domain = domains_[tier][static_cast<size_t>(in[tier])];
    domain.free_cpus += sign * grant.cpus;
    domain.free_memory += sign * grant.memory;
    if (grant.gpus == 0) continue;
    for (const auto& [model, mask] : node.models) {
      const auto m = static_cast<size_t>(model);
      domain.whole_gpus[m] += count_bits(node.whole & mask) - count_bits(whole_before & mask);
      domain.milli_gpus[m] += sign * grant.milli * count_bits(grant.gpus & mask & node.healthy);
    }
  }
}

void Cells::change(const Grant& grant, int sign) {
  apply(grant, sign);
  log_.push_back({grant, sign});
}

void Cells::undo(size_t mark) {
  while (log_.size() > mark) {
    const Change last = log_.back();
    log_.pop_back();
    apply(last.grant, -last.sign);
  }
}

bool Cells::covered(const Grant& grant) const {
  const Node& node = nodes_[static_cast<size_t>(grant.node)];
  if (!node.present || !node.open || node.free_cpus < 0 || node.free_memory < 0) return false;
  if ((grant.gpus & ~node.healthy) != 0) return false;
  for (GpuMask left = grant.gpus; left != 0; left &= left - 1) {
    if (node.free_milli[static_cast<size_t>(__builtin_ctzll(left))] < 0) return false;
  }
  return true;
}

Cells Cells::idle(bool all_in_service) const {
  Cells made;
  made.models_ = models_;
  for (const Node& node : nodes_) {
    NodeInfo info = node.info;
    if (all_in_service) {
      info.ready = true;
      info.cordoned = false;
      for (Gpu& gpu : info.gpus) gpu.healthy = true;
    }
    made.set_node(info);
    if (!node.present) made.remove_node(node.key);
  }
  return made;
}

}  // namespace hearth::sched
