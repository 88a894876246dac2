// The environment of the user's process (face.md, sections 1 and 4).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/wire/task_spec.h"
#include "shim/layout.h"

namespace hearth::shim {

struct VariableParts {
  std::string checkpoint_directory, resume_from, sdk_directory;
  std::map<std::string, std::string> data;     // HEARTH_DATA_<NAME> -> directory
  std::map<std::string, std::string> command;  // of make_command
};
std::vector<std::string> variables(const TaskSpec& spec, const Layout& layout,
                                   const VariableParts& parts);
// By which all processes of the task are found again.
std::string marker_of(const TaskSpec& spec);

}  // namespace hearth::shim
