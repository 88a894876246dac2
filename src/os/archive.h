// Code bundles: a directory as one deterministic tar file packed by zstd.
//
// The same files give the same bytes: names sorted, times and owners zero, modes 0644 or 0755.
// Left out: what .gitignore and .hearthignore say, at every level (git's rules; within one folder
// .hearthignore has the last word), and everything named .git. Links are kept only when they stay
// inside; sockets, pipes and devices are left out. Both ways stream: memory does not grow with
// size.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace hearth::os {

constexpr int64_t kMostBundleFiles = 100'000;
constexpr int64_t kMostBundleBytes = int64_t{2} << 30;

struct BundleBounds {
  int64_t files = kMostBundleFiles;  // files, folders and links
  int64_t bytes = kMostBundleBytes;  // of content, unpacked
};

struct BundleInfo {
  std::string digest;  // "sha256:..." of the packed file
  int64_t packed_bytes = 0;
  int64_t content_bytes = 0;                // of all files together
  int64_t files = 0;                        // files, folders and links
  std::vector<std::string> left_out_links;  // led outside; at most 20 are named
};

// What a bundle takes, as it was counted before packing.
struct BundleContents {
  struct Part {
    int64_t files = 0;  // files, folders and links
    int64_t bytes = 0;
  };
  Part all;
  std::map<std::string, Part> folders;  // those at the top, each with what lies in it
  // The folder with the most bytes or files; nullptr where there is none.
  const std::pair<const std::string, Part>* largest(int64_t Part::* by) const;
};

// Packs `directory` into the new file `to` (mode 0600; removed again on error). too_large names the
// bound and the largest folder, so that the reader knows what to put into .hearthignore. `counted`
// is called before a byte is packed.
Result<BundleInfo> bundle_directory(const std::string& directory, const std::string& to,
                                    const BundleBounds& bounds = {},
                                    const std::function<void(const BundleContents&)>& counted = {});
// The names that bundle_directory would take, sorted; folders end in '/'.
Result<std::vector<std::string>> bundle_names(const std::string& directory,
                                              const BundleBounds& bounds = {});

// Unpacks into the directory `into` (made if it is not there). invalid for an absolute name, "..",
// a link that leads outside, a name below a link, a device, or what is no archive; too_large over
// the bounds. On an error what was unpacked so far stays: the caller removes the tree.
Result<BundleInfo> extract_bundle(const std::string& archive, const std::string& into,
                                  const BundleBounds& bounds = {});

}  // namespace hearth::os
