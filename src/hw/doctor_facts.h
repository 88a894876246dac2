// The facts one by one. Inside hw alone; see doctor.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hw/doctor.h"
#include "hw/gpu.h"
#include "hw/machine.h"

namespace hearth::hw {

// What is not there, and what cannot be found out; with what that means and the mend, if there is
// any.
inline Fact lacking(std::string name, std::string found, std::string means, std::string mend = "") {
  return {std::move(name), FactState::missing, std::move(found), std::move(means), std::move(mend)};
}
inline Fact unsure(std::string name, std::string found, std::string means, std::string mend = "") {
  return {std::move(name), FactState::warning, std::move(found), std::move(means), std::move(mend)};
}

// doctor_machine.cc
Fact kernel_fact(const Root& root);
Fact cpu_fact(const Root& root);
Fact memory_fact(const Root& root);
Fact pressure_fact(const Root& root);
Fact gpu_fact(const Root& root, const std::string& nvml, bool& has_gpus);
Fact cgroup_fact(const Root& root, int64_t server_pid = 0);
Fact clock_fact(const Root& root);

// doctor_disk.cc
Fact disk_fact(const Root& root, const std::string& data_directory);
Fact sync_fact(const DoctorOptions& options, Clock& clock);

// doctor_software.cc
std::vector<Fact> python_facts(const std::string& path, bool has_gpus);  // python3, torch
Fact git_fact(const std::string& path);
Fact container_fact(const Root& root);
Fact fuse_fact(const Root& root);
Fact user_namespace_fact(const Root& root);
Fact port_fact(const DoctorOptions& options);
Fact ipv6_fact(const Root& root);
Fact limit_fact(const Root& root);
Fact pidfd_fact();

}  // namespace hearth::hw
