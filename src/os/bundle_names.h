// What a bundle takes of a directory, for archive.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/archive.h"
#include "os/files.h"

namespace hearth::os {

struct BundleEntry {
  std::string path;    // relative
  EntryKind kind{};    // file, directory or symlink
  std::string target;  // of a link
};
struct BundlePlan {
  std::vector<BundleEntry> entries;  // sorted, parents first
  std::vector<std::string> left_out_links;
  BundleContents contents;
};
Result<BundlePlan> plan_bundle(const std::string& directory, const BundleBounds& bounds);

}  // namespace hearth::os
