// Changes of what the caller has seen: another's change in between is not overwritten.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace hearth::control {

// Errors: conflict, when the row is not of the version that the caller saw. `what`: for the words.
template <typename T>
Result<void> check_version(const std::optional<T>& row, std::optional<int64_t> seen,
                           const std::string& what) {
  if (!seen || (row && row->version == *seen)) return {};
  return Error::conflict(what + " has changed since", "look at it again and repeat the change");
}

}  // namespace hearth::control
