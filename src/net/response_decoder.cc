#include "net/response_decoder.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"
#include "base/units.h"
#include "net/response_encoder.h"

namespace hearth::net {
namespace {

// All of `text` as a number, nothing else.
bool read_number(std::string_view text, int base, int64_t& into) {
  const bool digit = !text.empty() && text.front() != '-';
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, into, base);
  return digit && failed == std::errc() && rest == end;
}

bool holds_word(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view one) { return equal_without_case(trim(one), word); });
}

}  // namespace

void ResponseDecoder::fail(std::string why) {
  state_ = State::failed;
  keep_alive_ = false;
  failure_ = std::move(why);
}

size_t ResponseDecoder::feed(std::string_view input) {
  size_t used = 0;
  while (used < input.size() && (state_ == State::head || state_ == State::body)) {
    started_ = true;
    const std::string_view rest = input.substr(used);
    used += part_ == Part::data ? feed_data(rest) : feed_line(rest);
  }
  return used;
}

void ResponseDecoder::end() {
  if (state_ == State::done || state_ == State::failed) return;
  if (state_ == State::body && part_ == Part::data && left_ < 0)
    state_ = State::done;
  else
    fail(started_ ? "the connection ended within the answer" : "it was closed without an answer");
}

size_t ResponseDecoder::feed_line(std::string_view input) {
  const size_t end = input.find('\n');
  const size_t used = end == std::string_view::npos ? input.size() : end + 1;
  head_bytes_ += used;
  if (head_bytes_ > options_.most_head_bytes) {
    head_too_large_ = true;
    fail(format("the answer's headers are longer than {} bytes", options_.most_head_bytes));
    return used;
  }
  line_.append(input.substr(0, used));
  if (end == std::string_view::npos) return used;
  std::string_view line = line_;
  line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  take_line(line);
  line_.clear();
  return used;
}

size_t ResponseDecoder::feed_data(std::string_view input) {
  const std::string_view piece =
      left_ < 0 ? input : input.substr(0, static_cast<size_t>(std::min<int64_t>(left_, INT32_MAX)));
  if (!options_.on_body(piece)) {
    fail("whoever reads the answer wants no more of it");
    return piece.size();
  }
  if (left_ < 0) return piece.size();
  left_ -= static_cast<int64_t>(piece.size());
  if (left_ == 0 && chunked_) part_ = Part::chunk_end;
  if (left_ == 0 && !chunked_) state_ = State::done;
  return piece.size();
}

void ResponseDecoder::take_line(std::string_view line) {
  switch (part_) {
    case Part::status:
      return take_status(line);
    case Part::header:
      return line.empty() ? finish_head() : take_header(line);
    case Part::chunk_size:
      return take_chunk_size(line);
    case Part::chunk_end:
      if (!line.empty()) return fail("a chunk is longer than its size");
      part_ = Part::chunk_size;
      head_bytes_ = 0;
      return;
    case Part::trailer:
      if (line.empty()) state_ = State::done;
      return;
    case Part::data:
      break;
  }
}

// "HTTP/1.1 200 OK"; the words may be missing.
void ResponseDecoder::take_status(std::string_view line) {
  constexpr std::string_view kVersion = "HTTP/1.";
  constexpr size_t kCodeAt = kVersion.size() + 2, kCodeDigits = 3;
  int64_t code = 0;
  const bool right = line.starts_with(kVersion) && line.size() >= kCodeAt + kCodeDigits &&
                     line[kVersion.size() + 1] == ' ' &&
                     read_number(line.substr(kCodeAt, kCodeDigits), 10, code) && code >= 100;
  if (!right) return fail("the answer is not HTTP/1.1");
  http11_ = line[kVersion.size()] != '0';
  status_ = static_cast<int>(code);
  part_ = Part::header;
}

void ResponseDecoder::take_header(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return fail("a header has no name");
  headers_.add(std::string(trim(line.substr(0, colon))), std::string(trim(line.substr(colon + 1))));
}

void ResponseDecoder::finish_head() {
  head_bytes_ = 0;
  if (status_ < 200) {  // one that says that the answer will follow
    headers_ = Headers();
    part_ = Part::status;
    return;
  }
  const std::string_view connection = headers_.get("connection").value_or("");
  keep_alive_ = http11_ ? !holds_word(connection, "close") : holds_word(connection, "keep-alive");
  const auto coding = headers_.get("transfer-encoding");
  const auto length = headers_.get("content-length");
  left_ = -1;
  if (coding && !equal_without_case(trim(*coding), "chunked"))
    return fail(format("transfer coding '{}' is not known; chunked is", *coding));
  if (length && !coding && !read_number(*length, 10, left_))
    return fail("the answer's Content-Length is not a number");
  chunked_ = coding.has_value();
  if (chunked_ ? length.has_value() : left_ < 0) keep_alive_ = false;
  if (options_.on_status) options_.on_status(status_);
  if (options_.to_head || status_without_body(status_) || (left_ == 0 && !chunked_)) {
    // Its end is known, whatever was announced.
    if (left_ < 0 && !chunked_) keep_alive_ = http11_ && !holds_word(connection, "close");
    state_ = State::done;
    return;
  }
  state_ = State::body;
  part_ = chunked_ ? Part::chunk_size : Part::data;
}

// chunk-size [ BWS ";" extensions ]; the extensions are read over.
void ResponseDecoder::take_chunk_size(std::string_view line) {
  if (!read_number(trim(line.substr(0, line.find(';'))), 16, left_))
    return fail("a chunk size is not a hexadecimal number");
  part_ = left_ == 0 ? Part::trailer : Part::data;
}

}  // namespace hearth::net
