#include "shim/redact.h"

#include <algorithm>

#include "base/units.h"

namespace hearth::shim {

Redactor::Redactor(const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets)
    for (const std::string_view line : split(secret, '\n'))
      if (const std::string_view word = trim(line); word.size() >= kLeastSecret)
        secrets_.emplace_back(word);
  std::sort(secrets_.begin(), secrets_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  secrets_.erase(std::unique(secrets_.begin(), secrets_.end()), secrets_.end());
}

// How many bytes at the end of `text` may begin a secret.
size_t Redactor::held_tail(std::string_view text) const {
  size_t most = 0;
  for (const std::string& secret : secrets_)
    for (size_t length = std::min(secret.size() - 1, text.size()); length > most; --length)
      if (std::string_view(secret).starts_with(text.substr(text.size() - length))) {
        most = length;
        break;
      }
  return most;
}

// Everything of `text` up to `used`, which stands before a tail that waits.
std::string Redactor::replaced(std::string_view text, size_t& used, bool last) const {
  std::string out;
  size_t at = 0;
  for (;;) {
    size_t first = std::string_view::npos, length = 0;
    for (const std::string& secret : secrets_)
      if (const size_t found = text.find(secret, at); found < first) {
        first = found;
        length = secret.size();
      }
    if (first == std::string_view::npos) break;
    out.append(text.substr(at, first - at));
    out += "***";
    at = first + length;
  }
  const std::string_view rest = text.substr(at);
  const size_t wait = last ? 0 : held_tail(rest);
  out.append(rest.substr(0, rest.size() - wait));
  used = text.size() - wait;
  return out;
}

std::string_view Redactor::feed(std::string_view bytes) {
  if (secrets_.empty()) return bytes;
  held_.append(bytes);
  size_t used = 0;
  out_ = replaced(held_, used, false);
  held_.erase(0, used);
  return out_;
}

std::string_view Redactor::finish() {
  size_t used = 0;
  out_ = replaced(held_, used, true);
  held_.clear();
  return out_;
}

std::string Redactor::clean(std::string_view text) const {
  size_t used = 0;
  return replaced(text, used, true);
}

}  // namespace hearth::shim
