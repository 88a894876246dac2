#include "track/line_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace hearth::track {
namespace {

constexpr size_t kMostNumberBytes = 40;
constexpr size_t kMostNameBytes = 128;
constexpr size_t kMostCountDigits = 9;  // products of two stay whole

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Behind the sequence that begins at `at`.
size_t after_escape(std::string_view text, size_t at) {
  if (at + 1 >= text.size() || text[at + 1] != '[') return at + 1;
  size_t end = at + 2;
  while (end < text.size() && !(text[end] >= '@' && text[end] <= '~')) ++end;
  return std::min(end + 1, text.size());
}

}  // namespace

std::optional<double> real_in(std::string_view text) {
  if (text.empty() || text.size() > kMostNumberBytes) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  // from_chars takes "nan(...)" and "infinity" too: what follows the sign must be plain.
  const std::string_view bare = text.starts_with('-') ? text.substr(1) : text;
  if (bare.empty()) return std::nullopt;
  if (!is_digit(bare.front()) && bare.front() != '.') {
    const auto same = [&](std::string_view word) {
      return std::ranges::equal(bare, word, {}, [](char c) { return static_cast<char>(c | 0x20); });
    };
    if (!same("nan") && !same("inf")) return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> count_in(std::string_view text) {
  int64_t value = 0;
  if (text.empty() || text.size() > kMostCountDigits || !is_digit(text.front()))
    return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view plain_text(std::string_view line, std::string& scratch) {
  if (std::memchr(line.data(), '\x1b', line.size()) == nullptr &&
      std::memchr(line.data(), '\b', line.size()) == nullptr)
    return trimmed(line);
  scratch.clear();
  for (size_t i = 0; i < line.size();) {
    if (line[i] == '\x1b') {
      i = after_escape(line, i);
      continue;
    }
    if (line[i] != '\b') scratch += line[i];
    ++i;
  }
  return trimmed(scratch);
}

std::string_view take_part(std::string_view& rest, std::string_view separator) {
  const size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + separator.size());
  return part;
}

std::optional<NamedReal> named_real(std::string_view text, char mark) {
  const size_t at = text.rfind(mark);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const auto value = real_in(trimmed(text.substr(at + 1)));
  if (!value) return std::nullopt;
  return NamedReal{trimmed(text.substr(0, at)), *value};
}

bool is_metric_name(std::string_view text) {
  if (text.empty() || text.size() > kMostNameBytes) return false;
  if (!is_letter(text.front()) && text.front() != '_') return false;
  return std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-' || c == '/' || c == '@';
  });
}

}  // namespace hearth::track
