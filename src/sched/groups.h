// The nodes of a pool, grouped by equal state, and the best place among them for a task.
//
//   score(n, t, GPU) = gain of Value - (kept(before) - kept(after)) * weights.reserve
//
// The best place is that with the highest score; of equal ones the node with the least number.
// Nodes in equal state share one score, and scores stand until the state of the nodes, the typical
// tasks or the prices change, so a decision costs the number of distinct states. What is kept is
// bounded and may be dropped at any moment: the answer is that of full rescoring, bit for bit.
// Typical tasks and prices change in arrived() alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "sched/scarcity.h"
#include "sched/shape.h"
#include "sched/shape_table.h"
#include "sched/typical.h"
#include "sched/value.h"

namespace hearth::sched {

struct Pick {
  uint32_t node = 0;
  NodeShape after;  // tells which GPU: the one with as much free as is missing in it
  double score = 0;
};

class Groups {
 public:
  // What is kept in memory at most.
  struct Bounds {
    size_t states = size_t{1} << 17;  // about 20 MB
    size_t cells = size_t{1} << 20;   // scores, 40 MB
  };
  static constexpr int64_t kLearnEvery = 64;  // arrivals that ask a GPU

  explicit Groups(const Weights& weights = {}) : value_(weights) {}
  Groups(const Weights& weights, const Bounds& bounds) : value_(weights), bounds_(bounds) {}

  // Numbers are the caller's and small: memory goes with the largest.
  void set(uint32_t node, const NodeShape& shape);
  void remove(uint32_t node);
  const NodeShape* find(uint32_t node) const;

  // Other weights from now on; what has been learnt stays.
  void reweigh(const Weights& weights);

  // A task came, whether it finds a place or not: what is expected is learnt from these.
  void arrived(const TaskShape& task);

  std::optional<Pick> pick(const TaskShape& task);
  // Among the nodes that `allowed` takes. It must answer the same for a node within one call.
  std::optional<Pick> pick(const TaskShape& task, const std::function<bool(uint32_t)>& allowed);

  const Typical& typical() const { return typical_; }
  const Scarcity& scarcity() const { return scarcity_; }
  const Weights& weights() const { return value_.weights(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct State {
    uint32_t slot = kNone;  // where nodes are in this state
    uint64_t loss_time = 0, kept_time = 0;
    double loss = 0, kept = 0;
  };
  // Nodes in one state.
  struct Slot {
    uint32_t state = kNone;
    uint64_t gain_time = 0, score_time = 0;  // scores that are older do not hold
    std::set<uint32_t> nodes;
  };
  // The best way for a task in a slot.
  struct Cell {
    uint64_t gain_time = 0, score_time = 0;
    double gain = 0, score = 0;
    uint32_t after = kNone;  // kNone: does not fit
  };
  struct Row {
    std::vector<Cell> cells;  // by slot
  };

  uint32_t state_of(const NodeShape& shape);
  double loss(uint32_t state);
  double kept(uint32_t state);
  void enter(uint32_t node, uint32_t state);
  void leave(uint32_t node);
  Row& row_of(const TaskShape& task);
  void find_way(const TaskShape& task, const Slot& slot, Cell& cell);
  void learn_value();
  void learn_scarcity();
  void states_are_full();

  Value value_;
  Bounds bounds_;
  Typical typical_;
  Scarcity scarcity_;
  ShapeTable shapes_;
  std::vector<State> states_;  // by number of the shape
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> slot_of_;  // by node
  std::unordered_map<TaskShape, Row, ShapeHash> rows_;
  size_t cells_ = 0;
  uint64_t time_ = 1, learnt_ = 1, priced_ = 1;
  int64_t gpu_arrivals_ = 0;
};

}  // namespace hearth::sched
