// Paths below a root that strangers name, and glob patterns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "os/files.h"

namespace hearth::os {

// root + "/" + relative. invalid for an absolute path, "..", a NUL, or an empty path; looks at the
// text alone. "." and double slashes are taken out.
Result<std::string> safe_join(std::string_view root, std::string_view relative);
// The same, and every link on the way is followed and must stay below root; the last name may be
// missing. The answer has no links in it below root.
Result<std::string> safe_join_resolved(const std::string& root, std::string_view relative);

enum class Links { follow_inside, refuse };
// Opens below `root` so that nothing on the way leads out of it, however links are moved meanwhile:
// openat2(RESOLVE_BENEATH), or, where that is not to be had, step by step without following links.
// `flags` as for open(2). denied for an escape.
Result<Fd> open_beneath(const std::string& root, std::string_view relative, int flags,
                        mode_t mode = 0600, Links links = Links::follow_inside);
Result<Fd> open_beneath(int root, std::string_view relative, int flags, mode_t mode = 0600,
                        Links links = Links::follow_inside);
// Makes the folders of `relative` below root (0755) without following a link.
Result<void> make_directories_beneath(const std::string& root, std::string_view relative);

// A glob over paths with '/': "?" and "*" stay within a component, "**/", "/**/" and "/**" cross
// them, [a-z] [!a-z] [[:alpha:]] classes, "\" takes away a meaning. Matching takes time of at most
// pattern x path.
class Glob {
 public:
  // A pattern that cannot match (an open class, a lone "\" at the end) matches nothing.
  explicit Glob(std::string_view pattern);
  bool matches(std::string_view path) const;
  const std::string& pattern() const { return pattern_; }

 private:
  enum class Kind : uint8_t { literal, any, star, deep_star, deep_folders, set };
  struct Piece {
    Kind kind{};
    char character = 0;  // literal
    uint32_t set = 0;    // index into sets_
  };
  bool parse_set(std::string_view pattern, size_t& at);
  std::string pattern_;
  std::vector<Piece> pieces_;
  std::vector<std::vector<bool>> sets_;  // 256 each
  bool impossible_ = false;
};

struct Found {
  std::string path;  // relative to the root
  EntryKind kind{};
};
constexpr size_t kMostWalked = 1'000'000;
// Whether a link that lies at `path` (relative to a root, below real folders) and says `target` can
// never lead out of that root: it is relative, and ".." stands only at its front, not too often.
bool link_stays_inside(std::string_view path, std::string_view target);

// Every name below root, parents before children, sorted within a folder. Links are not followed,
// also not such as are put in place of a folder meanwhile; a folder that vanishes is passed over.
// `each` answers whether to go into the folder it was given. too_large over `bound` names.
Result<void> walk(const std::string& root, const std::function<Result<bool>(const Found&)>& each,
                  size_t bound = kMostWalked);
// The regular files below root that match one of the patterns, sorted.
Result<std::vector<std::string>> glob_files(const std::string& root,
                                            const std::vector<std::string>& patterns,
                                            size_t bound = kMostWalked);

}  // namespace hearth::os
