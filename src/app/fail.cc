#include <cstdio>

#include "app/commands.h"

namespace hearth::app {

int fail(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.detail.c_str());
  if (!error.mend.empty()) std::fprintf(stderr, "  %s\n", error.mend.c_str());
  return info(error.code).exit_code;
}

}  // namespace hearth::app
