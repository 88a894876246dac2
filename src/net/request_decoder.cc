#include "net/request_decoder.h"

#include <algorithm>
#include <charconv>

#include <boost/beast/http/basic_parser.hpp>

#include "base/format.h"
#include "base/units.h"

namespace hearth::net {
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

// Empty lines that some clients send behind a body; more are not a request.
constexpr int kMostBlankLines = 4;
constexpr size_t kMostReserved = 128 << 10;  // of a body whose length was only announced
constexpr size_t kReservedAhead = 4;         // times what has come

bool control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool method_start(char c) {
  return c >= 'A' && c <= 'Z';
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return control(c) && c != '\t'; });
}

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool host_text(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return control(c) || std::string_view(" \t,/?#@\\<>\"").find(c) != std::string_view::npos;
  });
}

}  // namespace

// The parser's events, written into the decoder. It reads heads alone: its chunk reader waits for
// more input before it refuses some malformed sizes, and asserts on others (Boost 1.81).
struct RequestDecoder::HeadParser final : http::basic_parser<true> {
  explicit HeadParser(RequestDecoder& owner) : owner_(owner) {}
  std::string target;

 private:
  using Text = beast::string_view;
  using Failed = beast::error_code;

  void on_request_impl(http::verb, Text method, Text the_target, int version, Failed&) override {
    owner_.head_.method.assign(method.data(), method.size());
    target.assign(the_target.data(), the_target.size());
    owner_.http11_ = version == 11;
  }
  void on_response_impl(int, Text, int, Failed&) override {}
  void on_field_impl(http::field, Text name, Text value, Failed&) override {
    owner_.head_.headers.add(std::string(name.data(), name.size()),
                             std::string(value.data(), value.size()));
  }
  void on_header_impl(Failed&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Failed&) override {}
  std::size_t on_body_impl(Text, Failed&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, Text, Failed&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text, Failed&) override { return 0; }
  void on_finish_impl(Failed&) override {}

  RequestDecoder& owner_;
};

RequestDecoder::RequestDecoder(DecoderLimits limits) : limits_(limits) {}

void RequestDecoder::fail(int status, std::string detail) {
  state_ = State::failed;
  failure_ = Failure{status, std::move(detail)};
}

size_t RequestDecoder::feed(std::string_view input) {
  switch (state_) {
    case State::head:
      return feed_head(input);
    case State::body:
      return feed_body(input);
    case State::done:
    case State::failed:
      break;
  }
  return 0;
}

size_t RequestDecoder::feed_head(std::string_view input) {
  if (input.empty()) return 0;
  started_ = true;
  const size_t before = pending_.size();
  // The usual head comes in one piece and is read where it lies.
  if (before > 0) pending_.append(input);
  const std::string_view text = before > 0 ? std::string_view(pending_) : input;
  while (state_ == State::head) {
    const size_t end = text.find('\n', searched_);
    if (std::min(end, text.size()) >= limits_.most_head_bytes) {
      fail(431, format("the head is longer than {} bytes", limits_.most_head_bytes));
      break;
    }
    if (end == std::string_view::npos) {
      // Not to wait for an end of line that something else than HTTP may never send.
      if (lines_ == 0 && !check_first(text.substr(line_start_))) break;
      searched_ = text.size();
      if (before == 0) pending_.assign(input);
      return input.size();
    }
    const bool last = take_line(text.substr(line_start_, end - line_start_));
    searched_ = line_start_ = end + 1;
    if (last && state_ == State::head) {
      finish_head(text.substr(0, end + 1));
      pending_ = std::string();
      return end + 1 - before;
    }
  }
  return 0;
}

// How a request line begins.
bool RequestDecoder::check_first(std::string_view line) {
  if (line.empty() || line.front() == '\r' || method_start(line.front())) return true;
  constexpr char kTlsHandshake = 0x16;
  fail(400, line.front() == kTlsHandshake ? "this is TLS, and here plain HTTP is spoken"
                                          : "this does not begin as an HTTP request");
  return false;
}

// One line of the head without its LF; true at the empty line that ends the head.
bool RequestDecoder::take_line(std::string_view line) {
  if (line.empty() || line.back() != '\r') {
    fail(400, "a line of the head ends in LF without CR");
    return false;
  }
  line.remove_suffix(1);
  if (line.empty()) {
    if (lines_ > 0) return true;
    if (++blank_lines_ > kMostBlankLines) fail(400, "empty lines in place of a request");
    return false;
  }
  if (lines_ == 0 && !check_first(line)) return false;
  const auto bad =
      std::find_if(line.begin(), line.end(), [](char c) { return control(c) && c != '\t'; });
  if (bad != line.end()) {
    fail(400, format("the head holds the control character 0x{:02x}",
                     static_cast<unsigned>(static_cast<unsigned char>(*bad))));
    return false;
  }
  if (lines_++ == 0) return false;
  if (lines_ - 1 > limits_.most_headers) {
    fail(431, format("there are more than {} headers", limits_.most_headers));
    return false;
  }
  check_header_line(line);
  return false;
}

bool RequestDecoder::check_header_line(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') {
    fail(400, "a header is folded over two lines");
    return false;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    fail(400, "a header has no colon");
    return false;
  }
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trim_blanks(line.substr(colon + 1));
  if (equal_without_case(name, "content-length")) {
    ++framing_.lengths;
    framing_.length = value;
  } else if (equal_without_case(name, "transfer-encoding")) {
    ++framing_.codings;
    framing_.coding = value;
  } else if (equal_without_case(name, "host")) {
    ++framing_.hosts;
    framing_.host = value;
  }
  return true;
}

bool RequestDecoder::check_length() {
  if (framing_.lengths == 0) return true;
  if (framing_.lengths > 1 || !all_digits(framing_.length)) {
    fail(400, "Content-Length must stand once and be a number");
    return false;
  }
  int64_t length = 0;
  const char* end = framing_.length.data() + framing_.length.size();
  if (std::from_chars(framing_.length.data(), end, length).ec != std::errc()) {
    fail(413, "Content-Length is beyond any bound");
    return false;
  }
  content_length_ = length;
  return true;
}

bool RequestDecoder::check_coding() {
  if (framing_.codings == 0) return true;
  if (framing_.codings > 1) {
    fail(400, "Transfer-Encoding stands twice");
    return false;
  }
  if (framing_.lengths > 0) {
    fail(400, "both Content-Length and Transfer-Encoding");
    return false;
  }
  if (equal_without_case(framing_.coding, "chunked")) {
    chunked_ = true;
    return true;
  }
  int chunked = 0;
  const auto codings = split(framing_.coding, ',');
  for (const std::string_view one : codings)
    if (equal_without_case(trim_blanks(one), "chunked")) ++chunked;
  const bool chunked_last = equal_without_case(trim_blanks(codings.back()), "chunked");
  if (chunked > 1 || (chunked == 1 && !chunked_last)) {
    fail(400, "chunked must be the last transfer coding, once");
  } else {
    fail(501, format("transfer coding '{}' is not known; chunked is", framing_.coding));
  }
  return false;
}

bool RequestDecoder::check_framing() {
  if (framing_.hosts > 1 || !host_text(framing_.host)) {
    fail(400, "Host must stand once and be a host");
    return false;
  }
  if (!check_length()) return false;
  return check_coding();
}

// Splits the target. "http://host/path" is as good as "/path" with that Host (RFC 9112, 3.2.2).
bool RequestDecoder::read_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_without_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const size_t end = std::min(target.find_first_of("/?"), target.size());
    if (end == 0 || !host_text(target.substr(0, end))) return false;
    head_.headers.set("Host", std::string(target.substr(0, end)));
    target.remove_prefix(end);
    if (target.empty() || target.front() != '/') head_.path = "/";
    break;
  }
  const bool whole_server = target == "*" && head_.method == "OPTIONS";
  if (head_.path.empty() && !target.starts_with('/') && !whole_server) return false;
  if (target.find('#') != std::string_view::npos) return false;
  const size_t mark = std::min(target.find('?'), target.size());
  head_.path += target.substr(0, mark);
  head_.query = target.substr(std::min(mark + 1, target.size()));
  return true;
}

void RequestDecoder::finish_head(std::string_view text) {
  while (text.starts_with("\r\n")) text.remove_prefix(2);
  if (!check_framing()) return;
  HeadParser parser(*this);
  parser.header_limit(static_cast<std::uint32_t>(limits_.most_head_bytes + 1));
  parser.body_limit(boost::none);
  beast::error_code failed;
  parser.put(boost::asio::const_buffer(text.data(), text.size()), failed);
  if (failed) return fail(400, format("the head is not HTTP/1.1: {}", failed.message()));
  if (!parser.is_header_done()) return fail(400, "the head is not HTTP/1.1");
  if (http11_ && framing_.hosts == 0) return fail(400, "there is no Host header");
  if (!http11_ && chunked_) return fail(400, "HTTP/1.0 knows no transfer codings");
  if (!read_target(parser.target)) return fail(400, "the request target is not a path");
  keep_alive_ = parser.keep_alive();
  const auto expect = head_.headers.get("expect");
  expects_continue_ = http11_ && expect && equal_without_case(*expect, "100-continue");
  state_ = chunked_ || content_length_.value_or(0) > 0 ? State::body : State::done;
}

void RequestDecoder::limit_body(int64_t most_bytes) {
  most_body_ = most_bytes;
  if (content_length_.value_or(0) > most_bytes) {
    fail(413,
         format("the body has {} bytes, at most {} are taken here", *content_length_, most_bytes));
  } else if (content_length_) {
    body_.reserve(std::min<size_t>(static_cast<size_t>(*content_length_), kMostReserved));
  }
}

std::string RequestDecoder::take_body() {
  std::string taken = std::move(body_);
  body_ = std::string();
  return taken;
}

size_t RequestDecoder::feed_body(std::string_view input) {
  if (!chunked_) {
    const size_t used = take_body_bytes(input, *content_length_ - body_bytes_);
    if (body_bytes_ == *content_length_) state_ = State::done;
    return used;
  }
  size_t used = 0;
  while (used < input.size() && state_ == State::body) {
    const std::string_view rest = input.substr(used);
    if (chunk_left_ > 0) {
      const size_t taken = take_body_bytes(rest, chunk_left_);
      chunk_left_ -= static_cast<int64_t>(taken);
      used += taken;
      if (chunk_left_ == 0) chunk_part_ = ChunkPart::end;
    } else {
      used += take_chunk_line(rest);
    }
  }
  return used;
}

size_t RequestDecoder::take_body_bytes(std::string_view input, int64_t most) {
  const std::string_view taken = input.substr(0, static_cast<size_t>(most));
  // What has come is good for as much again: a long body that really comes is moved once or twice.
  if (const size_t size = body_.size() + taken.size(); content_length_ && size > body_.capacity())
    body_.reserve(std::min(static_cast<size_t>(*content_length_), size * kReservedAhead));
  body_ += taken;
  body_bytes_ += static_cast<int64_t>(taken.size());
  return taken.size();
}

// The lines between the data of chunks: sizes, the end of each chunk's data, the trailers.
size_t RequestDecoder::take_chunk_line(std::string_view input) {
  const size_t end = input.find('\n');
  const size_t used = end == std::string_view::npos ? input.size() : end + 1;
  trailer_bytes_ += used;
  if (trailer_bytes_ > limits_.most_head_bytes) {
    fail(400, format("a chunk header or the trailers are longer than {} bytes",
                     limits_.most_head_bytes));
    return 0;
  }
  pending_.append(input.substr(0, used));
  if (end == std::string_view::npos) return used;
  std::string_view line = pending_;
  line.remove_suffix(1);
  if (!line.ends_with('\r')) {
    fail(400, "a line of the chunked body ends in LF without CR");
    return 0;
  }
  line.remove_suffix(1);
  if (has_control(line)) {
    fail(400, "a line of the chunked body holds a control character");
    return 0;
  }
  switch (chunk_part_) {
    case ChunkPart::size:
      take_chunk_size(line);
      break;
    case ChunkPart::end:
      if (!line.empty()) fail(400, "a chunk is longer than its size");
      chunk_part_ = ChunkPart::size;
      break;
    case ChunkPart::trailer:
      take_trailer(line);
      break;
  }
  pending_.clear();
  if (chunk_part_ != ChunkPart::trailer) trailer_bytes_ = 0;
  return used;
}

// chunk-size [ BWS ";" extensions ]; the extensions are read over.
void RequestDecoder::take_chunk_size(std::string_view line) {
  constexpr size_t kMostDigits = 16;
  uint64_t size = 0;
  const auto [rest, failed] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  const auto digits = static_cast<size_t>(rest - line.data());
  const std::string_view extension = trim_blanks(line.substr(digits));
  if (failed != std::errc() || digits > kMostDigits ||
      (!extension.empty() && !extension.starts_with(';')) ||
      (extension.empty() && digits != line.size()))
    return fail(400, "a chunk size is not a hexadecimal number");
  if (size > static_cast<uint64_t>(most_body_ - body_bytes_))
    return fail(413,
                format("the body is longer than the {} bytes that are taken here", most_body_));
  chunk_left_ = static_cast<int64_t>(size);
  chunk_part_ = size == 0 ? ChunkPart::trailer : ChunkPart::end;
}

// Trailers are checked and read over; none of them may frame the message after the fact.
void RequestDecoder::take_trailer(std::string_view line) {
  if (line.empty()) {
    state_ = State::done;
    return;
  }
  const Framing before = framing_;
  if (++lines_ - 1 > limits_.most_headers) {
    fail(431, format("there are more than {} headers and trailers", limits_.most_headers));
  } else if (check_header_line(line) && framing_ != before) {
    fail(400, "a trailer frames the message");
  }
}

}  // namespace hearth::net
