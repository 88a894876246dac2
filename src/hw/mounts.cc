#include "hw/mounts.h"

#include "base/units.h"

namespace hearth::hw {
namespace {

// The kernel writes blank, tab, newline and backslash as three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](size_t at) { return text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const auto row : split(mountinfo, '\n')) {
    const auto words = split(row, ' ');
    size_t dash = 6;  // the optional fields before it vary in number
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (words.size() < dash + 3) continue;
    mounts.push_back(
        {.device_number = std::string(words[2]),
         .root = unescape(words[3]),
         .point = unescape(words[4]),
         .options = std::string(words[5]),
         .filesystem = std::string(words[dash + 1]),
         .source = unescape(words[dash + 2]),
         .super_options = std::string(words.size() > dash + 3 ? words[dash + 3] : "")});
  }
  return mounts;
}

const Mount* mount_of(const std::vector<Mount>& mounts, std::string_view path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    const bool holds = mount.point == "/" || path == mount.point ||
                       (path.starts_with(mount.point) && path[mount.point.size()] == '/');
    if (holds && (best == nullptr || mount.point.size() >= best->point.size())) best = &mount;
  }
  return best;
}

bool has_option(std::string_view options, std::string_view option) {
  for (const auto one : split(options, ',')) {
    if (one == option) return true;
  }
  return false;
}

}  // namespace hearth::hw
