#include "api/mlflow/limits.h"

#include <algorithm>
#include <cctype>

#include "api/mlflow/arguments.h"
#include "base/bytes.h"
#include "base/format.h"
#include "base/units.h"
#include "net/http.h"

namespace hearth::api::mlflow {
namespace {

constexpr int kMostDecodes = 10;  // of a path that was encoded again and again

constexpr bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;  // letters of any language
}
constexpr bool is_key(char c) {
  return is_word(c) || c == '/' || c == '.' || c == '-' || c == ' ' || c == ':';
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// "a//b/./c" -> "a/b/c", "a/../b" -> "b".
std::string normal(std::string_view path) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else
      parts.push_back(part);
  }
  return parts.empty() ? "." : format("{}", join(parts, "/"));
}

}  // namespace

Result<void> check_key(std::string_view name, std::string_view path) {
  if (!std::all_of(name.begin(), name.end(), is_key))
    return invalid_value(path, json_quote(name),
                         "Names may only contain alphanumerics, underscores (_), dashes (-), "
                         "periods (.), spaces ( ), colon(:) and slashes (/).");
  // Most names are no path.
  if (name.find('/') == std::string_view::npos && !name.starts_with('.'))
    return check_length(path, name, kMostKey);
  const std::string norm = normal(name);
  if (norm != name || norm == "." || norm.starts_with(".."))
    return invalid_value(path, json_quote(name),
                         format("Names may be treated as files in certain cases, and must not "
                                "resolve to other names when treated as such. This name would "
                                "resolve to '{}'",
                                norm));
  return check_length(path, name, kMostKey);
}

Result<void> check_length(std::string_view what, std::string_view value, size_t most) {
  if (value.size() <= most || characters(value) <= most) return {};
  return Error::invalid(format("'{}' exceeds the maximum length of {} characters", what, most));
}

std::string cut(std::string value, size_t most) {
  if (value.size() <= most) return value;
  size_t seen = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    if ((static_cast<unsigned char>(value[i]) & 0xC0) == 0x80) continue;
    if (++seen > most) {
      value.resize(i);
      break;
    }
  }
  return value;
}

Result<void> check_alias(std::string_view alias) {
  if (alias.empty()) return Error::invalid("Registered model alias name cannot be empty.");
  if (!std::all_of(alias.begin(), alias.end(), [](char c) { return is_word(c) || c == '-'; }))
    return Error::invalid(
        format("Invalid alias name: '{}'. Names may only contain alphanumerics, "
               "underscores (_), and dashes (-).",
               alias));
  TRY(check_length("Registered model alias name", alias, kMostAlias));
  std::string lower(alias);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "latest")
    return Error::invalid("'latest' alias name (case insensitive) is reserved.");
  if (lower.size() > 1 && lower[0] == 'v' &&
      lower.find_first_not_of("0123456789", 1) == std::string::npos)
    return Error::invalid(format("Version alias name '{}' is reserved.", alias));
  return {};
}

Result<void> check_model_name(std::string_view name) {
  if (name.empty()) return Error::invalid("Registered model name cannot be empty.");
  if (name.find_first_of("/:@") != std::string_view::npos || name == "." || name == "..")
    return Error::invalid(
        format("Invalid Registered Model name: '{}'. Names cannot contain '/', "
               "':' or '@'.",
               name));
  if (std::any_of(name.begin(), name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
    return Error::invalid("a registered model's name has no control characters");
  return check_length("Registered model name", name, kMostModelName);
}

Result<std::string> safe_path(std::string path) {
  const Error bad = Error::invalid("Invalid path");
  for (int i = 0; path.find('%') != std::string::npos; ++i) {
    auto decoded = net::percent_decode(path, false);
    if (!decoded || *decoded == path) break;  // a lone '%' is a letter of the name
    if (i == kMostDecodes) return bad;
    path = std::move(*decoded);
  }
  if (path.starts_with("file:")) return bad;
  if (path.find_first_of("\\#") != std::string::npos || path.starts_with('/')) return bad;
  if (path.size() > 1 && path[1] == ':' && std::isalpha(static_cast<unsigned char>(path[0])) != 0)
    return bad;  // C:\ of Windows
  if (!is_utf8(path) || path.size() > 4096) return bad;
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return bad;
    parts.push_back(part);
  }
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return bad;
  return format("{}", join(parts, "/"));
}

}  // namespace hearth::api::mlflow
