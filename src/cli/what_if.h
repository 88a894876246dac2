// `hearth simulate --what-if`.
#pragma once

#include "cli/tree.h"

namespace hearth::cli {

Result<int> ask_what_if(const Globals& globals, const SimulateArgs& args);

}  // namespace hearth::cli
