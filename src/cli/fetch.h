// Stored files and trees of files, by digest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/connect.h"
#include "cli/progress.h"
#include "domain/dataset.h"

namespace hearth::cli {

struct Hashed {
  std::string digest;
  int64_t bytes = 0;
};
Result<Hashed> hash_file(const std::string& path, Progress& progress);

// What a fetch does where something is already.
enum class Present { kept, written_over };

// Fetches one file; its size. One that is there with the digest asked for stays as it is: nothing.
// Over any other nothing is written unless `present` says so: exists, with what to do.
Result<std::optional<int64_t>> fetch_file(Server& server, const Download& what, Present present);

// Of what a fetch brought: its size, or that all was there.
std::string fetched_words(std::optional<int64_t> bytes);

// The manifest that an object holds.
Result<Manifest> fetch_manifest(Server& server, const std::string& digest);

// All files of a manifest into the directory `into`; every digest is checked. Paths that would
// leave it are refused. A directory that is there may hold files of the manifest as they are (of a
// fetch that broke off) and nothing else, unless `present` says so; then what else it holds stays.
Result<std::optional<int64_t>> fetch_tree(Server& server, const Manifest& manifest,
                                          const std::string& into, Present present);

}  // namespace hearth::cli
