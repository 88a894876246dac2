#include "sched/groups.h"

#include <algorithm>

#include "base/result.h"

namespace hearth::sched {

uint32_t Groups::state_of(const NodeShape& shape) {
  const uint32_t id = shapes_.number(shape);
  if (id == states_.size()) states_.emplace_back();
  return id;
}

// Forgets the states that no node is in. Only between decisions: numbers of states change.
void Groups::states_are_full() {
  const ShapeTable old = std::move(shapes_);
  shapes_ = ShapeTable();
  states_.clear();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].state == kNone) continue;
    slots_[i].state = state_of(old.shape(slots_[i].state));
    states_[slots_[i].state].slot = static_cast<uint32_t>(i);
  }
  rows_.clear();  // their cells name states
  cells_ = 0;
}

double Groups::loss(uint32_t id) {
  State& state = states_[id];
  if (state.loss_time < learnt_) {
    state.loss = value_.loss(shapes_.shape(id));
    state.loss_time = learnt_;
  }
  return state.loss;
}

double Groups::kept(uint32_t id) {
  State& state = states_[id];
  if (state.kept_time < priced_) {
    state.kept = scarcity_.kept(shapes_.shape(id));
    state.kept_time = priced_;
  }
  return state.kept;
}

void Groups::enter(uint32_t node, uint32_t id) {
  State& state = states_[id];
  if (state.slot == kNone) {
    if (free_slots_.empty()) {
      free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    state.slot = free_slots_.back();
    free_slots_.pop_back();
    Slot& slot = slots_[state.slot];
    slot.state = id;
    slot.gain_time = slot.score_time = ++time_;
  }
  scarcity_.entered(shapes_.shape(id));
  slots_[state.slot].nodes.insert(node);
  slot_of_[node] = state.slot;
}

void Groups::leave(uint32_t node) {
  const uint32_t at = slot_of_[node];
  Slot& slot = slots_[at];
  scarcity_.left(shapes_.shape(slot.state));
  slot.nodes.erase(node);
  slot_of_[node] = kNone;
  if (!slot.nodes.empty()) return;
  CHECK(states_[slot.state].slot == at);
  states_[slot.state].slot = kNone;
  slot.state = kNone;
  free_slots_.push_back(at);
}

void Groups::set(uint32_t node, const NodeShape& shape) {
  if (const NodeShape* now = find(node); now != nullptr && *now == shape) return;
  CHECK(shape.model >= 0 && shape.model < kMaxModels);
  CHECK(shape.gpu_count >= 0 && shape.gpu_count <= kMaxGpusPerNode);
  remove(node);
  if (slot_of_.size() <= node) slot_of_.resize(node + size_t{1}, kNone);
  if (states_.size() >= bounds_.states) states_are_full();
  enter(node, state_of(shape));
}

void Groups::remove(uint32_t node) {
  if (find(node) != nullptr) leave(node);
}

const NodeShape* Groups::find(uint32_t node) const {
  if (node >= slot_of_.size() || slot_of_[node] == kNone) return nullptr;
  return &shapes_.shape(slots_[slot_of_[node]].state);
}

void Groups::reweigh(const Weights& weights) {
  value_ = Value(weights);
  gpu_arrivals_ = 0;  // prices may be old, if they had no weight
  learn_value();
}

void Groups::arrived(const TaskShape& task) {
  const uint64_t version = typical_.version();
  typical_.arrived(task);
  if (typical_.version() != version) learn_value();
  if (task.gpus == 0 || weights().reserve == 0) return;
  if (gpu_arrivals_++ % kLearnEvery == 0) learn_scarcity();
  if (!scarcity_.reprice(typical_.gpu_milli_seen())) return;
  priced_ = ++time_;
  for (Slot& slot : slots_) slot.score_time = priced_;
}

void Groups::learn_value() {
  value_.learn(typical_.tasks());
  learnt_ = ++time_;
  for (Slot& slot : slots_) slot.gain_time = slot.score_time = learnt_;
}

void Groups::learn_scarcity() {
  std::vector<Alike> nodes;
  for (const Slot& slot : slots_) {
    if (slot.state == kNone) continue;
    nodes.push_back({shapes_.shape(slot.state), static_cast<int64_t>(slot.nodes.size())});
  }
  scarcity_.learn(typical_, nodes);
}

Groups::Row& Groups::row_of(const TaskShape& task) {
  Row& row = rows_[task];
  if (row.cells.size() < slots_.size()) {
    cells_ += slots_.size() - row.cells.size();
    row.cells.resize(slots_.size());
  }
  if (cells_ <= bounds_.cells || rows_.size() == 1) return row;
  Row kept = std::move(row);
  rows_.clear();
  cells_ = kept.cells.size();
  return rows_[task] = std::move(kept);
}

void Groups::find_way(const TaskShape& task, const Slot& slot, Cell& cell) {
  if (cell.gain_time != slot.gain_time) {
    cell.gain_time = slot.gain_time;
    cell.after = kNone;
    const NodeShape before = shapes_.shape(slot.state);
    const double loss_before = fits(before, task) ? loss(slot.state) : 0;
    each_way(before, task, [&](const NodeShape& left) {
      const uint32_t id = state_of(left);
      const double gain = value_.gain(loss_before, loss(id), left);
      if (cell.after != kNone && gain < cell.gain) return;  // of equal ones the tightest
      cell.gain = gain;
      cell.after = id;
    });
  }
  cell.score_time = slot.score_time;
  if (cell.after == kNone) return;
  cell.score = cell.gain;
  if (weights().reserve != 0) {
    cell.score -= weights().reserve * (kept(slot.state) - kept(cell.after));
  }
}

std::optional<Pick> Groups::pick(const TaskShape& task) {
  return pick(task, nullptr);
}

std::optional<Pick> Groups::pick(const TaskShape& task,
                                 const std::function<bool(uint32_t)>& allowed) {
  if (states_.size() >= bounds_.states) states_are_full();
  Row& row = row_of(task);
  const Cell* best = nullptr;
  uint32_t node = kNone;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.state == kNone) continue;
    Cell& cell = row.cells[i];
    if (cell.score_time != slot.score_time) find_way(task, slot, cell);
    if (cell.after == kNone) continue;
    if (best != nullptr && cell.score < best->score) continue;
    auto first = slot.nodes.begin();
    if (allowed) first = std::find_if(first, slot.nodes.end(), allowed);
    if (first == slot.nodes.end()) continue;
    if (best != nullptr && cell.score == best->score && *first > node) continue;
    best = &cell;
    node = *first;
  }
  if (best == nullptr) return std::nullopt;
  return Pick{node, shapes_.shape(best->after), best->score};
}

}  // namespace hearth::sched
