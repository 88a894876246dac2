// Calls to the server of a data directory over its Unix socket, as its owner: no token needed.
#pragma once

#include <string>

#include "app/paths.h"
#include "domain/codec.h"

namespace hearth::app {

Result<Node> local_call(const DataPaths& paths, const std::string& method, const std::string& path,
                        const std::string& body = "");
Result<std::string> local_sign_in_link(const DataPaths& paths);

}  // namespace hearth::app
