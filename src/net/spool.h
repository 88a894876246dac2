// A request's body on its way into a temporary file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::net {

// Deletes its file when it is destroyed, unless somebody renamed it.
class Spool {
 public:
  Spool() = default;
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Appends; makes the file (mode 0600) at the first call. Blocks: on a worker.
  Result<void> write(const std::string& directory, std::string_view data);
  // All is written. Empty if write() was never called.
  Result<std::string> finish();
  void remove();

 private:
  int file_ = -1;
  std::string path_;
};

}  // namespace hearth::net
