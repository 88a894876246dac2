#include "os/ignore.h"

#include "base/units.h"

namespace hearth::os {
namespace {

// Blanks at the end do not count unless a backslash stands before them.
std::string_view without_trailing_blanks(std::string_view line) {
  size_t end = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ') continue;
    if (line[i] == '\\') ++i;
    end = std::min(i + 1, line.size());
  }
  return line.substr(0, end);
}

}  // namespace

void IgnoreRules::add(std::string_view folder, std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::string below = folder.empty() ? "" : std::string(folder) + "/";
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line[0] == '#') continue;
    line = without_trailing_blanks(line);
    const bool negated = line.starts_with('!');
    if (negated) line.remove_prefix(1);
    const bool directory_only = line.ends_with('/');
    if (directory_only) line.remove_suffix(1);
    const bool name_only = line.find('/') == std::string_view::npos;
    if (line.starts_with('/')) line.remove_prefix(1);
    if (line.empty()) continue;
    rules_.push_back({below, Glob(line), negated, directory_only, name_only});
  }
}

bool IgnoreRules::ignored_itself(std::string_view path, bool directory) const {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->directory_only && !directory) continue;
    if (!path.starts_with(rule->folder)) continue;
    if (rule->glob.matches(rule->name_only ? name : path.substr(rule->folder.size())))
      return !rule->negated;
  }
  return false;
}

bool IgnoreRules::ignored(std::string_view path, bool directory) const {
  for (size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1))
    if (ignored_itself(path.substr(0, at), true)) return true;
  return ignored_itself(path, directory);
}

}  // namespace hearth::os
