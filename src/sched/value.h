// What the free part of a node is worth, as the GPU of it that will stay unused: less is better.
//
// Two measures, both in GPUs, over the typical tasks t with their shares w_t of the arrivals:
//
//   fragmentation(n) = sum over t of w_t * unusable(n, t)
//     unusable = all that is free if t asks no GPU or does not fit n, else what is free on the GPUs
//     with less free than t needs. This is the expected fragmentation of FGD (Weng et al., "Beware
//     of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent",
//     USENIX ATC 2023).
//
//   fill(n) = mean over kSequences of what is free after kDraws typical tasks were offered to n one
//     by one, each placed on the tightest GPUs if it fits. The sequences are drawn anew, from a
//     fixed seed, when the typical tasks change, and are the same for all nodes; draw i is
//     stratified over the sequences. First the node's CPUs are rounded down to quarters of the
//     median task's, and what is free on a GPU to a sum of typical shares: the rest serves nobody,
//     and nodes that differ by it alone share one answer.
//
//   loss = weights.fragmentation * fragmentation + weights.fill * fill
//   gain of a step = loss(before) - loss(after), rounded down to multiples of weights.grain,
//     + weights.fit * (share of the node's CPUs + share of its GPUs in use after it) / 2
//
// Pure: the same typical tasks, weights and shapes give the same bits, whatever was asked before.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/shape.h"
#include "sched/shape_table.h"
#include "sched/typical.h"

namespace hearth::sched {

struct Weights {
  double fragmentation = 0;
  double fill = 1;
  double grain = 0;    // GPUs; 0: no rounding
  double fit = 0.02;   // GPUs: decides between places of nearly equal loss
  double reserve = 1;  // of what Scarcity keeps back
  // FGD alone, with its rounding (100 steps of a logistic function, 0.04 GPU each around zero).
  static Weights fragmentation_only() { return {1, 0, 0.04, 0.02, 0}; }
  bool operator==(const Weights&) const = default;
};

class Value {
 public:
  static constexpr size_t kSequences = 48, kDraws = 32;
  static constexpr size_t kMaxFills = size_t{1} << 17;  // answers kept, about 15 MB

  explicit Value(const Weights& weights = {}) : weights_(weights) {}
  void learn(const std::vector<TypicalTask>& tasks);

  double fragmentation(const NodeShape& node) const;
  double fill(const NodeShape& node);
  double loss(const NodeShape& node);
  // Of a step between nodes whose losses are known.
  double gain(double loss_before, double loss_after, const NodeShape& after) const;

  const Weights& weights() const { return weights_; }

 private:
  struct Task {
    int32_t milli_cpus = 0;
    int16_t gpus = 0, milli = 0;
    Models models = 0;
    double weight = 0;
  };
  using Draws = uint32_t;  // of one sequence, bit i for draw i
  struct Sequence {
    std::array<uint8_t, kDraws> task{};  // which one, by draw
    Draws asks_gpu = 0;
    std::array<Draws, kMaxModels> may_use{};  // by model
    // By steps of what is free: which may fit. What is missing there does not.
    std::vector<Draws> within_cpus, within_gpus;
  };
  struct Room;  // the node while it is filled
  void draw();
  void find_steps();
  void sort_out(Sequence& sequence) const;
  size_t gpu_step(const Room& room) const;
  void forget();
  // Milli-GPU left, summed over the sequences.
  int64_t fill_of(const NodeShape& rounded) const;

  Weights weights_;
  std::vector<Task> tasks_;
  int64_t cpu_step_ = 1;
  std::array<int16_t, kWholeGpu + 1> usable_{};  // of what is free on a GPU
  std::vector<Sequence> sequences_;
  // Steps of free CPUs: those that tasks ask, ascending. Steps of free GPUs: the shares that tasks
  // ask, while none is whole, then one for each whole GPU.
  std::vector<int32_t> cpu_steps_;
  size_t shares_ = 0;
  std::array<uint8_t, kWholeGpu + 1> shares_within_{};  // by what is free on a GPU
  ShapeTable rounded_;
  std::vector<int64_t> fills_;  // by number of the rounded shape
};

}  // namespace hearth::sched
