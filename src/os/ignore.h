// The rules of .gitignore files (see gitignore(5)): negation, "**", anchoring, directories only,
// escapes, trailing blanks. A file below an ignored folder cannot be brought back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/paths.h"

namespace hearth::os {

class IgnoreRules {
 public:
  // Adds the text of an ignore file that lies in `folder` ("" = the top, else "a/b"). Deeper
  // folders are added after higher ones; what is added later wins.
  void add(std::string_view folder, std::string_view text);
  // Forgets all that was added after the first `count` rules (leaving a folder on the way out).
  size_t count() const { return rules_.size(); }
  void shrink(size_t count) {
    rules_.erase(rules_.begin() + static_cast<ptrdiff_t>(count), rules_.end());
  }

  // Whether this one name is ignored, its parents not looked at (a walk has done so already).
  bool ignored_itself(std::string_view path, bool directory) const;
  // Whether it or a parent is ignored.
  bool ignored(std::string_view path, bool directory) const;

 private:
  struct Rule {
    std::string folder;  // "" or "a/b/"
    Glob glob;
    bool negated = false;
    bool directory_only = false;
    bool name_only = false;  // compared with the last component
  };
  std::vector<Rule> rules_;
};

}  // namespace hearth::os
