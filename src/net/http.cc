#include "net/http.h"

#include <algorithm>
#include <array>

namespace hearth::net {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// A broken escape in a query stays as it was sent: a value with a lone '%' is more often meant so.
std::string query_text(std::string_view text) {
  auto decoded = percent_decode(text, true);
  return decoded ? std::move(*decoded) : std::string(text);
}

struct Phrase {
  int status;
  std::string_view text;
};
constexpr std::array kPhrases = {
    Phrase{100, "Continue"},
    Phrase{200, "OK"},
    Phrase{201, "Created"},
    Phrase{202, "Accepted"},
    Phrase{204, "No Content"},
    Phrase{206, "Partial Content"},
    Phrase{301, "Moved Permanently"},
    Phrase{302, "Found"},
    Phrase{303, "See Other"},
    Phrase{304, "Not Modified"},
    Phrase{307, "Temporary Redirect"},
    Phrase{308, "Permanent Redirect"},
    Phrase{400, "Bad Request"},
    Phrase{401, "Unauthorized"},
    Phrase{403, "Forbidden"},
    Phrase{404, "Not Found"},
    Phrase{405, "Method Not Allowed"},
    Phrase{406, "Not Acceptable"},
    Phrase{408, "Request Timeout"},
    Phrase{409, "Conflict"},
    Phrase{410, "Gone"},
    Phrase{411, "Length Required"},
    Phrase{412, "Precondition Failed"},
    Phrase{413, "Content Too Large"},
    Phrase{415, "Unsupported Media Type"},
    Phrase{416, "Range Not Satisfiable"},
    Phrase{421, "Misdirected Request"},
    Phrase{422, "Unprocessable Content"},
    Phrase{428, "Precondition Required"},
    Phrase{429, "Too Many Requests"},
    Phrase{431, "Request Header Fields Too Large"},
    Phrase{500, "Internal Server Error"},
    Phrase{501, "Not Implemented"},
    Phrase{502, "Bad Gateway"},
    Phrase{503, "Service Unavailable"},
    Phrase{504, "Gateway Timeout"},
};

}  // namespace

bool equal_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
  for (const auto& [key, value] : all_)
    if (equal_without_case(key, name)) return value;
  return std::nullopt;
}

void Headers::add(std::string name, std::string value) {
  all_.emplace_back(std::move(name), std::move(value));
}

void Headers::set(std::string name, std::string value) {
  remove(name);
  add(std::move(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(all_, [&](const auto& one) { return equal_without_case(one.first, name); });
}

std::optional<std::string> Request::query_value(std::string_view name) const {
  for (auto& [key, value] : query_values())
    if (key == name) return std::move(value);
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> Request::query_values() const {
  std::vector<std::pair<std::string, std::string>> values;
  std::string_view rest = query;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    values.emplace_back(query_text(pair.substr(0, equals)),
                        query_text(pair.substr(std::min(equals + 1, pair.size()))));
  }
  return values;
}

Response Response::text(int status, std::string type, std::string body) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", std::move(type));
  response.body = std::move(body);
  return response;
}

std::string_view reason_phrase(int status) {
  for (const Phrase& phrase : kPhrases)
    if (phrase.status == status) return phrase.text;
  return "Unknown";
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace hearth::net
