#include "hw/topology.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "base/format.h"
#include "base/units.h"
#include "hw/root.h"

namespace hearth::hw {
namespace {

using Set = std::vector<int>;  // GPUs, ascending

bool contains(const Set& all, const Set& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}
bool meets(const Set& a, const Set& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](int x) { return std::binary_search(b.begin(), b.end(), x); });
}

// GPUs 0..count-1 in classes: two that are `same` end in one (and so do those in between). Each
// class ascending, classes by their lowest.
std::vector<Set> classes(int count, const std::function<bool(int, int)>& same) {
  std::vector<int> root(static_cast<size_t>(count));
  std::iota(root.begin(), root.end(), 0);
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      const int low = root[i], high = root[j];
      if (low == high || !same(i, j)) continue;
      std::replace(root.begin(), root.end(), std::max(low, high), std::min(low, high));
    }
  }
  std::map<int, Set> by_root;
  for (int i = 0; i < count; ++i) by_root[root[i]].push_back(i);
  std::vector<Set> found;
  for (auto& [lowest, set] : by_root) found.push_back(std::move(set));
  return found;
}

// Disjoint sets in which each GPU is linked with each other: from the lowest free GPU on, the next
// that is linked with all taken so far. On a cube mesh these are its fully linked quads.
std::vector<Set> cliques(const GpuMatrix& pairs) {
  std::vector<Set> found;
  std::vector<bool> taken(pairs.size(), false);
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (taken[i]) continue;
    Set clique{static_cast<int>(i)};
    for (size_t j = i + 1; j < pairs.size(); ++j) {
      const bool linked = std::all_of(clique.begin(), clique.end(), [&](int member) {
        return pairs[static_cast<size_t>(member)][j].nvlinks > 0;
      });
      if (linked && !taken[j]) clique.push_back(static_cast<int>(j));
    }
    for (const int member : clique) taken[static_cast<size_t>(member)] = true;
    if (clique.size() > 1) found.push_back(std::move(clique));
  }
  return found;
}

class Builder {
 public:
  Builder(const Locality& locality, const std::vector<GpuDevice>& gpus, const GpuMatrix& pairs)
      : locality_(locality), gpus_(gpus), pairs_(pairs), count_(static_cast<int>(gpus.size())) {
    for (const auto& gpu : gpus) {
      const auto at = std::find_if(locality.places.begin(), locality.places.end(),
                                   [&](const auto& place) { return place.bus_id == gpu.bus_id; });
      places_.push_back(at == locality.places.end() ? nullptr : &*at);
    }
  }

  Cell build() {
    Cell node{.kind = CellKind::node, .cpus = locality_.cpus, .memory = locality_.memory};
    node.gpus.resize(gpus_.size());
    std::iota(node.gpus.begin(), node.gpus.end(), 0);
    std::vector<Cell> cells = numa_cells();
    int index = 0;
    for (auto& set : cliques(pairs_)) {
      cells.push_back({.kind = CellKind::nvlink, .index = index++, .gpus = std::move(set)});
    }
    index = 0;
    for (auto& set : switches()) {
      cells.push_back({.kind = CellKind::pcie_switch, .index = index++, .gpus = std::move(set)});
    }
    for (int i = 0; i < count_; ++i) {
      cells.push_back(
          {.kind = CellKind::gpu, .index = gpus_[static_cast<size_t>(i)].index, .gpus = {i}});
    }
    // Large before small; of equal ones that kind first which stands above by its nature.
    std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
      const auto key = [](const Cell& cell) {
        return std::tuple(-std::ssize(cell.gpus), rank(cell.kind), cell.index);
      };
      return key(a) < key(b);
    });
    for (Cell& cell : cells) insert(node, std::move(cell));
    order(node);
    return node;
  }

 private:
  static int rank(CellKind kind) {
    switch (kind) {
      case CellKind::node:
        return 0;
      case CellKind::numa:
        return 1;
      case CellKind::nvlink:
        return 2;
      case CellKind::pcie_switch:
        return 3;
      case CellKind::gpu:
        return 4;
    }
    return 5;
  }

  std::vector<Cell> numa_cells() {
    std::vector<Cell> cells;
    for (const auto& numa : locality_.numa) {
      cells.push_back(
          {.kind = CellKind::numa, .index = numa.index, .cpus = numa.cpus, .memory = numa.memory});
    }
    Set unplaced;
    for (int i = 0; i < count_; ++i) {
      const auto* place = places_[static_cast<size_t>(i)];
      const auto home = std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) {
        return place != nullptr && cell.index == place->numa;
      });
      if (home != cells.end()) {
        home->gpus.push_back(i);
      } else if (!gpus_[static_cast<size_t>(i)].uuid.empty()) {
        unplaced.push_back(i);
      }
    }
    place_by_pairs(cells, unplaced);
    return cells;
  }

  // The PCI tree does not say where these are. On a machine with one NUMA node there is no doubt;
  // else GPUs that the driver calls near form a cell of their own, whose CPUs are not known.
  void place_by_pairs(std::vector<Cell>& cells, const Set& unplaced) const {
    auto groups = classes(static_cast<int>(unplaced.size()), [&](int i, int j) {
      const auto distance =
          pair(unplaced[static_cast<size_t>(i)], unplaced[static_cast<size_t>(j)]).distance;
      return distance != GpuDistance::system && distance != GpuDistance::unknown;
    });
    for (auto& group : groups) {
      for (int& gpu : group) gpu = unplaced[static_cast<size_t>(gpu)];
    }
    if (groups.size() == 1 && cells.size() == 1) {
      auto& gpus = cells.front().gpus;
      gpus.insert(gpus.end(), groups.front().begin(), groups.front().end());
      std::sort(gpus.begin(), gpus.end());
      return;
    }
    int next = cells.empty() ? 0 : cells.back().index + 1;
    for (auto& group : groups) {
      if (group.size() < 2) continue;
      cells.push_back({.kind = CellKind::numa, .index = next++, .gpus = std::move(group)});
    }
  }

  std::vector<Set> switches() const {
    auto found = classes(count_, [&](int i, int j) {
      const auto* a = places_[static_cast<size_t>(i)];
      const auto* b = places_[static_cast<size_t>(j)];
      if (a == nullptr || b == nullptr) {
        const auto distance = pair(i, j).distance;
        return distance == GpuDistance::same_board || distance == GpuDistance::one_switch ||
               distance == GpuDistance::switches;
      }
      return std::any_of(a->bridges.begin(), a->bridges.end(), [&](const std::string& bridge) {
        return std::find(b->bridges.begin(), b->bridges.end(), bridge) != b->bridges.end();
      });
    });
    std::erase_if(found, [](const Set& set) { return set.size() < 2; });
    return found;
  }

  // Below the smallest cell that holds it whole; dropped if it cuts across a sibling.
  static void insert(Cell& parent, Cell&& cell) {
    for (Cell& child : parent.children) {
      if (cell.gpus.empty()) break;
      if (contains(child.gpus, cell.gpus)) return insert(child, std::move(cell));
      if (meets(child.gpus, cell.gpus)) return;
    }
    parent.children.push_back(std::move(cell));
  }

  static void order(Cell& cell) {
    const auto lowest = [](const Cell& one) {
      return one.gpus.empty() ? std::pair(1, one.index) : std::pair(0, one.gpus.front());
    };
    std::sort(cell.children.begin(), cell.children.end(),
              [&](const Cell& a, const Cell& b) { return lowest(a) < lowest(b); });
    for (Cell& child : cell.children) order(child);
  }

  const GpuPair& pair(int i, int j) const {
    static const GpuPair kUnknown;
    const auto row = static_cast<size_t>(i), column = static_cast<size_t>(j);
    return row < pairs_.size() && column < pairs_[row].size() ? pairs_[row][column] : kUnknown;
  }

  const Locality& locality_;
  const std::vector<GpuDevice>& gpus_;
  const GpuMatrix& pairs_;
  const int count_;
  std::vector<const Locality::PciPlace*> places_;  // of each GPU; null = unknown
};

void describe(const Cell& cell, size_t depth, std::string& text) {
  text += format("{}{} {}", std::string(depth * 2, ' '), name(cell.kind), cell.index);
  if (!cell.cpus.empty()) text += " cpus " + format_cpu_list(cell.cpus);
  if (cell.memory > 0) text += " memory " + format_size(cell.memory);
  if (cell.kind != CellKind::gpu && !cell.gpus.empty()) {
    text += " gpus " + format_cpu_list(cell.gpus);
  }
  text += '\n';
  for (const Cell& child : cell.children) describe(child, depth + 1, text);
}

}  // namespace

std::string_view name(CellKind kind) {
  switch (kind) {
    case CellKind::node:
      return "node";
    case CellKind::nvlink:
      return "nvlink";
    case CellKind::numa:
      return "numa";
    case CellKind::pcie_switch:
      return "switch";
    case CellKind::gpu:
      return "gpu";
  }
  return "";
}

std::string Topology::cells() const {
  std::string text;
  describe(root, 0, text);
  return text;
}

Topology build_topology(const Locality& locality, std::vector<GpuDevice> gpus, GpuMatrix pairs) {
  Topology found;
  found.root = Builder(locality, gpus, pairs).build();
  found.gpus = std::move(gpus);
  found.pairs = std::move(pairs);
  return found;
}

Probe<Topology> topology(const Gpus* gpus, const std::string& why) {
  const auto near = locality();
  if (!near) return near.absent();
  std::vector<GpuDevice> list;
  GpuMatrix pairs;
  if (gpus != nullptr) {
    list = gpus->list();
    pairs = gpus->matrix(list);
  }
  Topology found = build_topology(*near, std::move(list), std::move(pairs));
  if (found.gpus.empty()) found.gpus_why = gpus == nullptr ? why : "the driver lists no GPU";
  return found;
}

}  // namespace hearth::hw
