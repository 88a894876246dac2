#include "app/commands.h"
#include "cli/output.h"

namespace hearth::app {

int fail(const Error& error) {
  return cli::fail(error);
}

}  // namespace hearth::app
