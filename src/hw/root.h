// The door to the texts of /proc, /sys and /etc. Tests give it the root of a tree of captured
// files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/probe.h"

namespace hearth::hw {

class Root {
 public:
  // A file longer than this is cut here: the texts of the kernel are far shorter.
  static constexpr size_t kMostBytes = 4 << 20;

  Root() = default;
  explicit Root(std::string prefix) : prefix_(std::move(prefix)) {}  // "" is the machine itself
  bool is_real() const { return prefix_.empty(); }
  // Where an absolute path of the machine lies on this disk.
  std::string at(std::string_view path) const { return prefix_ + std::string(path); }

  Probe<std::string> read(std::string_view path) const;
  std::optional<std::string> line(std::string_view path) const;     // trimmed first line
  std::optional<int64_t> number(std::string_view path) const;       // a file that holds one number
  std::vector<std::string> list(std::string_view directory) const;  // names, sorted; none = empty
  bool exists(std::string_view path) const;
  bool writable(std::string_view path) const;  // may this process write there

 private:
  std::string prefix_;
};

// "0-3,8,10-11" -> 0 1 2 3 8 10 11, as the kernel writes lists of CPUs. Ill-formed pieces are
// skipped; at most 65536 numbers.
std::vector<int> parse_cpu_list(std::string_view text);
std::string format_cpu_list(const std::vector<int>& cpus);
// A whole decimal number at the start of `text` (blanks before it are skipped).
std::optional<int64_t> leading_number(std::string_view text);
// The value after "key" and blanks or a colon on its own line: "MemTotal:  123 kB" -> "123 kB".
std::optional<std::string> field(std::string_view text, std::string_view key);

}  // namespace hearth::hw
