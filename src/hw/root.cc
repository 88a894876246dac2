#include "hw/root.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"

namespace hearth::hw {

Probe<std::string> Root::read(std::string_view path) const {
  const int fd = ::open(at(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Absent{format("{}: {}", path, std::strerror(errno))};
  std::string text;
  char buffer[16384];
  ssize_t got = 0;
  int failed = 0;
  while (text.size() < kMostBytes) {
    got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  if (got < 0) failed = errno;
  ::close(fd);
  if (failed != 0) return Absent{format("{}: {}", path, std::strerror(failed))};
  return text;
}

std::optional<std::string> Root::line(std::string_view path) const {
  const auto text = read(path);
  if (!text) return std::nullopt;
  return std::string(trim(split(*text, '\n').front()));
}

std::optional<int64_t> Root::number(std::string_view path) const {
  const auto text = line(path);
  return text ? leading_number(*text) : std::nullopt;
}

std::vector<std::string> Root::list(std::string_view directory) const {
  std::vector<std::string> names;
  DIR* dir = ::opendir(at(directory).c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

bool Root::exists(std::string_view path) const {
  return ::access(at(path).c_str(), F_OK) == 0;
}

bool Root::writable(std::string_view path) const {
  return ::access(at(path).c_str(), W_OK) == 0;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr int kMost = 65536;
  std::vector<int> cpus;
  for (const auto piece : split(trim(text), ',')) {
    const size_t dash = piece.find('-');
    const auto first = leading_number(piece.substr(0, dash));
    const auto last = dash == piece.npos ? first : leading_number(piece.substr(dash + 1));
    if (!first || !last || *first < 0 || *last >= kMost) continue;
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += j == i ? format("{}", cpus[i]) : format("{}-{}", cpus[i], cpus[j]);
    i = j + 1;
  }
  return text;
}

std::optional<int64_t> leading_number(std::string_view text) {
  text = trim(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::string> field(std::string_view text, std::string_view key) {
  for (const auto row : split(text, '\n')) {
    if (!row.starts_with(key)) continue;
    std::string_view rest = row.substr(key.size());
    const size_t at = rest.find_first_not_of(" \t");
    if (rest.empty() || (rest[0] != ' ' && rest[0] != '\t' && rest[0] != ':')) continue;
    if (at != rest.npos && rest[at] == ':') rest = rest.substr(at + 1);
    return std::string(trim(rest));
  }
  return std::nullopt;
}

}  // namespace hearth::hw
