#include "hw/sampler.h"

#include <algorithm>
#include <string_view>

#include "base/format.h"
#include "hw/root.h"

namespace hearth::hw {
namespace {

// Page cache that the kernel would drop before it ends a process of the group.
std::optional<int64_t> droppable(const os::Cgroup& group) {
  const auto& folders = group.folders();
  auto folder = folders.find("memory");  // v1
  if (folder == folders.end()) folder = folders.find("");
  if (folder == folders.end()) return std::nullopt;
  const auto stat = Root().read(folder->second + "/memory.stat");
  if (!stat) return std::nullopt;
  auto text = field(*stat, "total_inactive_file");  // v1, with the groups below
  if (!text) text = field(*stat, "inactive_file");
  return text ? leading_number(*text) : std::nullopt;
}

}  // namespace

std::map<std::string, double> values(const Sample& sample, const std::vector<std::string>& gpus) {
  std::map<std::string, double> found;
  if (sample.source != SampleSource::absent) {
    found["cpu_seconds"] = sample.cpu_seconds;
    found["memory_bytes"] = static_cast<double>(sample.memory);
    found["memory_peak_bytes"] = static_cast<double>(sample.memory_peak);
    found["io_read_bytes"] = static_cast<double>(sample.read_bytes);
    found["io_write_bytes"] = static_cast<double>(sample.write_bytes);
    found["processes"] = static_cast<double>(sample.processes);
    if (sample.cache) found["memory_cache_bytes"] = static_cast<double>(*sample.cache);
    if (sample.throttled_seconds > 0) found["cpu_throttled_seconds"] = sample.throttled_seconds;
  }
  for (const auto& gpu : sample.gpus) {
    const auto place = std::find(gpus.begin(), gpus.end(), gpu.uuid) - gpus.begin();
    const auto key = [&](std::string_view what) { return format("gpu.{}.{}", place, what); };
    found[key("memory_bytes")] = static_cast<double>(gpu.memory_used);
    found[key("memory_total_bytes")] = static_cast<double>(gpu.memory_total);
    if (gpu.utilization) found[key("utilization_percent")] = *gpu.utilization;
    if (gpu.temperature) found[key("temperature_celsius")] = *gpu.temperature;
    if (gpu.power) found[key("power_watts")] = *gpu.power;
  }
  return found;
}

Sampler::Sampler(SampleTarget target, const Gpus* gpus, Clock& clock)
    : target_(std::move(target)), gpus_(gpus), clock_(clock), tree_(target_.tree) {}

Sample Sampler::sample() {
  Sample sample{.at = clock_.now()};
  if (!read_group(sample)) read_tree(sample);
  memory_peak_ = std::max({memory_peak_, sample.memory, sample.memory_peak});
  sample.memory_peak = memory_peak_;
  read_gpus(sample);
  return sample;
}

bool Sampler::read_group(Sample& sample) const {
  if (!target_.cgroup) return false;
  const auto stats = target_.cgroup->stats();
  if (!stats) return false;
  sample.source = SampleSource::cgroup;
  sample.cpu_seconds = stats->cpu.seconds();
  sample.throttled_seconds = stats->throttled.seconds();
  sample.memory = stats->memory_bytes;
  sample.memory_peak = stats->memory_peak_bytes;
  sample.read_bytes = stats->read_bytes;
  sample.write_bytes = stats->write_bytes;
  sample.oom_kills = stats->oom_kills;
  sample.processes = stats->pids;
  sample.cache = droppable(*target_.cgroup);
  return true;
}

void Sampler::read_tree(Sample& sample) {
  const auto& query = target_.tree;
  if (query.roots.empty() && query.sessions.empty() && query.cgroup_procs.empty() &&
      query.marker.empty()) {
    return;
  }
  const Time start = clock_.steady();
  if (!next_walk_ || start >= *next_walk_) {
    last_walk_ = tree_.sample();
    const Time end = clock_.steady();
    next_walk_ = end + Duration::seconds((end - start).seconds() / kTreeShare);
  }
  sample.source = SampleSource::tree;
  sample.cpu_seconds = last_walk_.cpu.seconds();
  sample.memory = last_walk_.pss_bytes;
  sample.read_bytes = last_walk_.read_bytes;
  sample.write_bytes = last_walk_.write_bytes;
  sample.processes = last_walk_.processes;
}

void Sampler::read_gpus(Sample& sample) const {
  if (gpus_ == nullptr) return;
  for (const auto& uuid : target_.gpus) {
    const auto state = gpus_->state(uuid);
    if (!state) continue;
    sample.gpus.push_back({.uuid = uuid,
                           .memory_used = state->memory_used,
                           .memory_total = state->memory_total,
                           .utilization = state->utilization,
                           .temperature = state->temperature,
                           .power = state->power});
  }
}

}  // namespace hearth::hw
