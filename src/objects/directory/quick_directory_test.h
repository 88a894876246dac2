// For tests of this folder.
#pragma once

#include "os/files.h"

namespace hearth::objects {

// In memory where that can be: these tests sync thousands of times.
inline os::TemporaryDirectory quick_directory() {
  auto in_memory = os::TemporaryDirectory::make("hearth", "/dev/shm");
  if (in_memory.ok()) return std::move(in_memory).value();
  return std::move(os::TemporaryDirectory::make()).value();
}

}  // namespace hearth::objects
