#include "net/response_encoder.h"

#include <algorithm>
#include <iterator>

#include "base/format.h"

namespace hearth::net {
namespace {

bool token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool framed_by_us(std::string_view name) {
  for (const std::string_view own :
       {"content-length", "transfer-encoding", "connection", "date", "x-request-id"})
    if (equal_without_case(name, own)) return true;
  return false;
}

void add_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
    out += control ? ' ' : c;
  }
}

void add_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  add_value(out, value);
  out += "\r\n";
}

}  // namespace

bool status_without_body(int status) {
  return status / 100 == 1 || status == 204 || status == 304;
}

std::string encode_head(const Response& response, const Framing& framing) {
  constexpr size_t kUsualHead = 512;
  std::string out;
  out.reserve(kUsualHead);
  // An HTTP/1.0 client is answered as HTTP/1.1 too: the version says what we can (RFC 9110, 2.5).
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", response.status,
                 reason_phrase(response.status));
  add_header(out, "Date", framing.date);
  for (const auto& [name, value] : response.headers.all())
    if (token(name) && !framed_by_us(name)) add_header(out, name, value);
  add_header(out, "X-Request-Id", framing.request_id);
  if (framing.chunked) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (framing.content_length) {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", *framing.content_length);
  }
  if (!framing.keep_alive) {
    out += "Connection: close\r\n";
  } else if (!framing.http11) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  return out;
}

std::string chunk_header(size_t size) {
  return format("{:x}\r\n", size);
}

}  // namespace hearth::net
