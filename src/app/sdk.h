// The Python SDK, unpacked from the program so that tasks can import it.
#pragma once

#include <string>

#include "base/result.h"

namespace hearth::app {

// Makes `directory`/<digest>/hearth/*.py and returns `directory`/<digest>; quick when it is there.
Result<std::string> unpack_sdk(const std::string& directory);

}  // namespace hearth::app
