// Stored files and trees of files, by digest.
#pragma once

#include <string>

#include "cli/connect.h"
#include "domain/dataset.h"

namespace hearth::cli {

// The manifest that an object holds.
Result<Manifest> fetch_manifest(Server& server, const std::string& digest);

// All files of a manifest into the new directory `into`; every digest is checked. Paths that would
// leave it are refused.
Result<int64_t> fetch_tree(Server& server, const Manifest& manifest, const std::string& into);

}  // namespace hearth::cli
