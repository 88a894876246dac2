#include "sched/shape.h"

#include <functional>
#include <limits>

#include "base/result.h"

namespace hearth::sched {
namespace {

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

// Keeps free_milli in order after the GPUs [first, last) became less free.
void settle(NodeShape& node, int first, int last) {
  const auto begin = node.free_milli.begin();
  for (int i = last - 1; i >= first; --i) {
    for (int j = i; j + 1 < node.gpu_count && begin[j + 1] > begin[j]; ++j) {
      std::swap(begin[j], begin[j + 1]);
    }
  }
}

}  // namespace

int64_t NodeShape::free_gpu_milli() const {
  int64_t sum = 0;
  for (const int16_t milli : free_milli) sum += milli;
  return sum;
}

int NodeShape::whole_gpus() const {
  int count = 0;
  while (count < gpu_count && free_milli[static_cast<size_t>(count)] == kWholeGpu) ++count;
  return count;
}

int64_t NodeShape::slots(const TaskShape& task) const {
  if ((task.models >> model & 1) == 0) return 0;
  int64_t count = std::numeric_limits<int64_t>::max();
  if (task.gpus > 0) {
    count = 0;
    if (task.milli_per_gpu == kWholeGpu) {
      count = whole_gpus();  // without a division, since this is asked very often
    } else {
      for (const int16_t milli : free_milli) count += milli / task.milli_per_gpu;
    }
    count /= task.gpus;
    if (count == 0) return 0;
  }
  count = times(milli_cpus, task.milli_cpus, count);
  return times(memory_bytes, task.memory_bytes, count);
}

NodeShape empty_of(const NodeShape& node) {
  NodeShape empty = node;
  empty.milli_cpus = node.total_milli_cpus;
  empty.memory_bytes = node.total_memory_bytes;
  std::fill_n(empty.free_milli.begin(), node.gpu_count, int16_t{kWholeGpu});
  return empty;
}

bool fits(const NodeShape& node, const TaskShape& task) {
  if (task.milli_cpus > node.milli_cpus || task.memory_bytes > node.memory_bytes) return false;
  if ((task.models >> node.model & 1) == 0 || task.gpus > node.gpu_count) return false;
  return task.gpus == 0 ||
         node.free_milli[static_cast<size_t>(task.gpus - 1)] >= task.milli_per_gpu;
}

int tightest(const NodeShape& node, const TaskShape& task) {
  if (task.gpus == 0) return 0;
  int count = task.gpus;
  while (count < node.gpu_count &&
         node.free_milli[static_cast<size_t>(count)] >= task.milli_per_gpu) {
    ++count;
  }
  return count - task.gpus;
}

NodeShape after(const NodeShape& node, const TaskShape& task, int first) {
  NodeShape left = node;
  left.milli_cpus -= task.milli_cpus;
  left.memory_bytes -= task.memory_bytes;
  const int last = first + task.gpus;
  for (int i = first; i < last; ++i) {
    int16_t& milli = left.free_milli[static_cast<size_t>(i)];
    CHECK(milli >= task.milli_per_gpu);
    milli = static_cast<int16_t>(milli - task.milli_per_gpu);
  }
  settle(left, first, last);
  return left;
}

size_t ShapeHash::operator()(const NodeShape& shape) const {
  uint64_t hash =
      mix(static_cast<uint64_t>(shape.milli_cpus), static_cast<uint64_t>(shape.memory_bytes));
  hash = mix(hash, static_cast<uint64_t>(shape.total_milli_cpus));
  hash = mix(hash, static_cast<uint64_t>(shape.total_memory_bytes));
  hash =
      mix(hash, static_cast<uint64_t>(shape.model) << 16 | static_cast<uint64_t>(shape.gpu_count));
  for (size_t i = 0; i < shape.free_milli.size(); i += 4) {
    uint64_t word = 0;
    for (size_t j = i; j < i + 4; ++j) {
      word = word << 16 | static_cast<uint16_t>(shape.free_milli[j]);
    }
    if (word != 0) hash = mix(hash, word);
  }
  return hash;
}

size_t ShapeHash::operator()(const TaskShape& shape) const {
  uint64_t hash =
      mix(static_cast<uint64_t>(shape.milli_cpus), static_cast<uint64_t>(shape.memory_bytes));
  hash = mix(hash, shape.models);
  return mix(hash,
             static_cast<uint64_t>(shape.gpus) << 16 | static_cast<uint64_t>(shape.milli_per_gpu));
}

}  // namespace hearth::sched
