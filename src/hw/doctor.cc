#include "hw/doctor.h"

#include <iterator>

#include "hw/doctor_facts.h"

namespace hearth::hw {

std::string_view name(FactState state) {
  switch (state) {
    case FactState::ok:
      return "ok";
    case FactState::warning:
      return "warning";
    case FactState::missing:
      return "missing";
  }
  return "";
}

std::vector<Fact> doctor(const DoctorOptions& options, Clock& clock) {
  const Root& root = options.root;
  const std::string path = options.path.empty() ? std::string(kSystemPath) : options.path;
  bool has_gpus = false;
  std::vector<Fact> facts;
  facts.push_back(kernel_fact(root));
  facts.push_back(cpu_fact(root));
  facts.push_back(memory_fact(root));
  facts.push_back(pressure_fact(root));
  facts.push_back(gpu_fact(root, options.nvml, has_gpus));
  facts.push_back(cgroup_fact(root, options.server_pid));
  facts.push_back(pidfd_fact());
  facts.push_back(disk_fact(root, options.data_directory));
  if (options.syncs > 0) facts.push_back(sync_fact(options, clock));
  facts.push_back(clock_fact(root));
  auto python = python_facts(path, has_gpus);
  std::move(python.begin(), python.end(), std::back_inserter(facts));
  facts.push_back(git_fact(path));
  facts.push_back(container_fact(root));
  facts.push_back(fuse_fact(root));
  facts.push_back(user_namespace_fact(root));
  facts.push_back(port_fact(options));
  facts.push_back(ipv6_fact(root));
  facts.push_back(limit_fact(root));
  return facts;
}

}  // namespace hearth::hw
