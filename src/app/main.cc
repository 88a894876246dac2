// One program: the server, its shims, and the client.
#include <cstdio>

#include "app/commands.h"
#include "base/result.h"
#include "cli/local.h"

namespace hearth::app {

int fail(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.detail.c_str());
  if (!error.mend.empty()) std::fprintf(stderr, "  %s\n", error.mend.c_str());
  return info(error.code).exit_code;
}

}  // namespace hearth::app

int main(int argc, char** argv) {
  using namespace hearth;
  cli::LocalCommands local;
  local.up = app::up;
  local.down = app::down;
  local.shim = app::shim;
  local.restore = app::restore;
  local.salvage = app::salvage;
  local.token_add_data = app::token_add_data;
  local.doctor = app::doctor;
  local.openapi = app::openapi;
  return cli::run(argc, argv, local);
}
