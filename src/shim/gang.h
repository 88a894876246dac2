// How the tasks of an attempt find each other: the variables of its launch contract, and for
// `launch: mpi` the means by which mpirun starts its ranks inside the other tasks without ssh.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "domain/wire/task_spec.h"
#include "shim/layout.h"

namespace hearth::shim {

// Hearth's own words, the same under every contract, and the contract's. Empty for a process that
// is alone.
std::map<std::string, std::string> gang_variables(const TaskSpec& spec, const Layout& layout);
// Of the contract, too, but the job file may say otherwise.
std::map<std::string, std::string> gang_defaults(const TaskSpec& spec);

// A port of the task's own that another program listens on.
std::optional<int64_t> taken_port(const TaskSpec& spec);

// `launch: mpi`. Rank 0 runs the job's command. Every other task runs `mpi_command`, which waits at
// its pipe for what mpirun wants to be run there: mpirun calls the agent as it would call ssh, the
// agent writes the command to a file and the file's name to the pipe.
bool is_mpi(const TaskSpec& spec);
std::vector<std::string> mpi_command();
// Rank 0, before its process: the agent and the list of hosts.
Result<void> prepare_mpi(const TaskSpec& spec, const Layout& layout);
// Rank 0, after its process: the others need not wait any longer.
void end_mpi(const TaskSpec& spec, const Layout& layout);

}  // namespace hearth::shim
