// Numbers for node shapes: 0, 1, 2 ... in the order of their coming. A flat hash table, since a
// scheduler asks it many times per decision.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/shape.h"

namespace hearth::sched {

class ShapeTable {
 public:
  // The number of the shape; size() grows if it is new.
  uint32_t number(const NodeShape& shape) {
    if (2 * (shapes_.size() + 1) > slots_.size()) grow();
    const auto hash = static_cast<uint32_t>(ShapeHash()(shape));
    size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].number != kEmpty; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == hash && shapes_[slots_[at].number] == shape) return slots_[at].number;
    }
    slots_[at] = {hash, static_cast<uint32_t>(shapes_.size())};
    shapes_.push_back(shape);
    return slots_[at].number;
  }
  const NodeShape& shape(uint32_t number) const { return shapes_[number]; }
  size_t size() const { return shapes_.size(); }
  void clear() {
    shapes_.clear();
    slots_.assign(slots_.size(), {});
  }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  struct Slot {
    uint32_t hash = 0, number = kEmpty;
  };

  void grow() {
    const std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max<size_t>(64, 2 * old.size()), {});
    for (const Slot& slot : old) {
      if (slot.number == kEmpty) continue;
      size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].number != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<NodeShape> shapes_;
  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace hearth::sched
