// What the task's Python is: version and installed packages, for the record of the run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "os/tree.h"

namespace hearth::shim {

// As the first of them that is a Python was called, so that a venv's is told from the one that it
// was made of; none: python3.
std::string python_among(const std::vector<os::ProcessInfo>& processes);

// Runs that Python for a moment in the task's environment, as its user. Empty if there is none.
std::map<std::string, std::string> packages_of(const std::string& python,
                                               const std::vector<std::string>& environment,
                                               const std::string& directory, int64_t uid,
                                               int64_t gid);

}  // namespace hearth::shim
