// `hearth shim DIR`: the supervisor of one task, started by an executor.
#include "shim/shim.h"

#include "app/commands.h"
#include "app/logging.h"
#include "app/sdk.h"
#include "base/log.h"
#include "os/files.h"

namespace hearth::app {

int shim(const cli::ShimArgs& args) {
  log_to_stderr();
  // DIR is ROOT/work/ATTEMPT/TASK of a server on this machine, which has unpacked the SDK; any
  // other executor's shim unpacks its own.
  const std::string root = os::parent_of(os::parent_of(os::parent_of(args.directory)));
  const bool shared = os::exists(root + "/sdk");
  const auto sdk = unpack_sdk(shared ? root + "/sdk" : args.directory + "/sdk");
  if (!sdk.ok()) log_warning("the Python SDK could not be unpacked: {}", sdk.error().text());
  shim::ShimOptions options;
  options.directory = args.directory;
  options.drain = args.drain;
  if (sdk.ok()) options.sdk_directory = *sdk;
  return shim::run_shim(options);
}

}  // namespace hearth::app
