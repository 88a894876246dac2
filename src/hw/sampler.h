// What a task uses, read again and again: CPU, memory, I/O by its cgroup or, without one, by its
// process tree; and its GPUs. With a cgroup a sample costs well under a millisecond; a walk of the
// tree costs more, so walks take at most kTreeShare of one core and the sample repeats the last
// one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hw/gpu.h"
#include "os/cgroup.h"
#include "os/tree.h"

namespace hearth::hw {

enum class SampleSource {
  absent,  // neither a cgroup nor a tree could be read
  cgroup,  // counted by the kernel for the group; memory includes page cache
  tree,    // summed over the processes; memory is PSS
};

struct GpuSample {
  std::string uuid;
  int64_t memory_used = 0;         // bytes, of the whole GPU or MIG instance
  int64_t memory_total = 0;        // bytes
  std::optional<int> utilization;  // percent
  std::optional<int> temperature;  // degrees Celsius
  std::optional<double> power;     // watts
};

struct Sample {
  Time at;  // wall clock
  SampleSource source = SampleSource::absent;
  double cpu_seconds = 0;        // since the task began; never goes back
  double throttled_seconds = 0;  // held back by a CPU quota (cgroup alone)
  int64_t memory = 0;            // bytes, now
  int64_t memory_peak = 0;       // the kernel's own, else the largest `memory` so far
  std::optional<int64_t> cache;  // bytes of `memory` that the kernel may drop (cgroup alone)
  int64_t read_bytes = 0, write_bytes = 0;  // at the disks, since the task began
  int64_t oom_kills = 0;                    // (cgroup alone)
  int64_t processes = 0;
  std::vector<GpuSample> gpus;  // those that answered, in the order asked
};
// By the names that the shim reports: cpu_seconds, memory_bytes, memory_peak_bytes, io_read_bytes,
// io_write_bytes, processes, gpu.<n>.utilization_percent, gpu.<n>.memory_bytes, ... where <n> is
// the place among the GPUs granted to the task.
std::map<std::string, double> values(const Sample& sample, const std::vector<std::string>& gpus);

struct SampleTarget {
  std::optional<os::Cgroup> cgroup;  // counted by it where there is one
  os::TreeQuery tree;                // else by this
  std::vector<std::string> gpus;     // UUIDs granted
};

class Sampler {
 public:
  static constexpr double kTreeShare = 0.02;

  // `gpus` may be null; it and `clock` must outlive the sampler. Not thread-safe.
  Sampler(SampleTarget target, const Gpus* gpus, Clock& clock);
  Sample sample();
  const std::vector<std::string>& gpus() const { return target_.gpus; }

 private:
  bool read_group(Sample& sample) const;
  void read_tree(Sample& sample);
  void read_gpus(Sample& sample) const;
  const SampleTarget target_;
  const Gpus* const gpus_;
  Clock& clock_;
  os::TreeSampler tree_;
  os::TreeSample last_walk_;
  std::optional<Time> next_walk_;  // steady; none before the first
  int64_t memory_peak_ = 0;
};

}  // namespace hearth::hw
