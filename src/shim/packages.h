// What the task's Python is: version and installed packages, for the record of the run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hearth::shim {

// Runs the python3 of that environment for a moment, as the task's user. Empty if there is none.
std::map<std::string, std::string> packages_of(const std::vector<std::string>& environment,
                                               const std::string& directory, int64_t uid,
                                               int64_t gid);

}  // namespace hearth::shim
