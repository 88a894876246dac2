#include "base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/format.h"

namespace hearth {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array kSizes = {
    Unit{"B", 1},          Unit{"KB", 1e3},       Unit{"MB", 1e6},       Unit{"GB", 1e9},
    Unit{"TB", 1e12},      Unit{"PB", 1e15},      Unit{"KiB", 0x1.0p10}, Unit{"MiB", 0x1.0p20},
    Unit{"GiB", 0x1.0p30}, Unit{"TiB", 0x1.0p40}, Unit{"PiB", 0x1.0p50},
};
constexpr std::array kDurations = {
    Unit{"us", 1},   Unit{"ms", 1e3},   Unit{"s", 1e6},
    Unit{"m", 60e6}, Unit{"h", 3600e6}, Unit{"d", 86400e6},
};

template <size_t N>
Result<int64_t> parse(std::string_view text, const std::array<Unit, N>& units,
                      std::string_view what, std::string_view mend) {
  const auto wrong = [&] {
    return Error::invalid(format("'{}' is not {}", text, what), std::string(mend));
  };
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || !(number >= 0) || !std::isfinite(number)) return wrong();
  const std::string_view unit = trim(text.substr(static_cast<size_t>(end - text.data())));
  for (const Unit& u : units) {
    if (u.name != unit) continue;
    const double value = number * u.factor;
    if (value > 9e18) return wrong();
    return static_cast<int64_t>(std::llround(value));
  }
  return wrong();
}

}  // namespace

Result<int64_t> parse_size(std::string_view text) {
  return parse(text, kSizes, "a size", "write a number and a unit: 512MiB, 4GiB, 10GB");
}

Result<Duration> parse_duration(std::string_view text) {
  return Duration{
      TRY(parse(text, kDurations, "a duration", "write a number and a unit: 90s, 10m, 2h"))};
}

std::string format_size(int64_t bytes) {
  constexpr std::array<std::string_view, 6> names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t i = 0;
  for (; std::fabs(value) >= 1024 && i + 1 < names.size(); ++i) value /= 1024;
  if (value == std::floor(value)) return format("{:.0f} {}", value, names[i]);
  return format("{:.1f} {}", value, names[i]);
}

std::string format_duration(Duration duration) {
  const double s = duration.seconds();
  if (s < 1) return format("{:.0f} ms", s * 1000);
  if (s < 60) return format("{:.1f} s", s);
  const int64_t whole = static_cast<int64_t>(s);
  if (whole < 3600) return format("{} m {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return format("{} h {:02} m", whole / 3600, whole % 3600 / 60);
  return format("{} d {:02} h", whole / 86400, whole % 86400 / 3600);
}

namespace {

// Edit distance; two neighbours exchanged ("nmae") count as one edit.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> older, old(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j < old.size(); ++j) old[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({row[j - 1] + 1, old[j] + 1, old[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], older[j - 2] + 1);
    }
    older = old;
    std::swap(old, row);
  }
  return old.back();
}

}  // namespace

std::string plural(double count, std::string_view one) {
  const bool whole = count == std::floor(count) && std::abs(count) < 1e15;
  return format("{} {}{}", whole ? format("{:.0f}", count) : format("{:g}", count), one,
                count == 1 ? "" : "s");
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t longest = 128;  // nobody mistypes more
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  if (word.size() > longest) return best;
  for (const std::string& candidate : candidates) {
    const size_t d = distance(word, candidate);
    if (d >= best_distance) continue;
    best_distance = d;
    best = candidate;
  }
  constexpr size_t shortest_beginning = 3;
  if (!best.empty() || word.size() < shortest_beginning) return best;
  for (const std::string& candidate : candidates)
    if (candidate.starts_with(word)) return candidate;
  return best;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

}  // namespace hearth
