#include "cli/output.h"
#include "cli/tree.h"

namespace hearth::cli {

void add_server_commands(Tree& tree) {
  Group top = tree.top();
  top.command("version", "Prints the version of this program").does([]() -> Result<int> {
    put("hearth " HEARTH_VERSION "\n");
    return kExitOk;
  });
}

void add_run_commands(Tree&) {}
void add_model_commands(Tree&) {}
void add_dataset_commands(Tree&) {}

}  // namespace hearth::cli
