// One program: the server, its shims, and the client.
#include "app/commands.h"
#include "cli/local.h"

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
  local.import_mlflow = app::import_mlflow;
  local.simulate = app::simulate;
  return cli::run(argc, argv, local);
}
