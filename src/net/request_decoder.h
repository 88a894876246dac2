// Bytes to a request: head and body of one HTTP/1.x message, without any I/O.
//
//   RequestDecoder decoder(limits);
//   while (decoder.state() == State::head) used = decoder.feed(bytes);   // stops behind the head
//   decoder.limit_body(most);
//   while (decoder.state() == State::body) used = decoder.feed(bytes);   // stops behind the body
//
// The request line and the headers are read by Boost.Beast's parser, framing and bodies here.
// Stricter than the standard asks, so that no proxy before us can read a message otherwise than
// we do: every line ends in CRLF, no control characters, no folded lines, one Content-Length of
// digits alone, or "chunked" alone, never both, one Host. Trailers are checked and read over.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace hearth::net {

struct DecoderLimits {
  size_t most_head_bytes =
      32 << 10;  // request line and headers; also one chunk header, or all trailers
  int most_headers = 100;
};

class RequestDecoder {
 public:
  enum class State { head, body, done, failed };
  struct Failure {
    int status = 0;  // 400, 413, 431 or 501
    std::string detail;
  };

  explicit RequestDecoder(DecoderLimits limits);
  RequestDecoder(const RequestDecoder&) = delete;
  RequestDecoder& operator=(const RequestDecoder&) = delete;

  // Takes bytes from the front of `input` and returns how many; the rest belongs to the next state
  // or the next message. Takes nothing once done or failed.
  size_t feed(std::string_view input);

  State state() const { return state_; }
  bool started() const { return started_; }  // a byte of this message was seen
  const Failure& failure() const { return failure_; }

  // From here on: once the head is there.
  RequestHead& head() { return head_; }
  bool chunked() const { return chunked_; }
  std::optional<int64_t> content_length() const { return content_length_; }
  bool http11() const { return http11_; }
  bool keep_alive() const { return keep_alive_; }
  bool expects_continue() const { return expects_continue_; }
  // A longer body fails with 413; at once if Content-Length says so.
  void limit_body(int64_t most_bytes);
  // What was decoded since the last call.
  std::string take_body();
  size_t body_held() const { return body_.size(); }
  int64_t body_bytes() const { return body_bytes_; }  // decoded so far

 private:
  struct HeadParser;
  enum class ChunkPart { size, end, trailer };  // which line of a chunked body comes next
  // What the line check saw of the headers that frame the message.
  struct Framing {
    int hosts = 0, lengths = 0, codings = 0;
    std::string host, length, coding;
    bool operator==(const Framing&) const = default;
  };

  size_t feed_head(std::string_view input);
  size_t feed_body(std::string_view input);
  size_t take_body_bytes(std::string_view input, int64_t most);
  size_t take_chunk_line(std::string_view input);
  void take_chunk_size(std::string_view line);
  void take_trailer(std::string_view line);
  bool check_first(std::string_view line);
  bool take_line(std::string_view line);
  bool check_header_line(std::string_view line);
  bool check_framing();
  bool check_length();
  bool check_coding();
  void finish_head(std::string_view text);
  bool read_target(std::string_view target);
  void fail(int status, std::string detail);

  DecoderLimits limits_;
  State state_ = State::head;
  bool started_ = false;
  Failure failure_;
  std::string pending_;    // a head or a line between chunks of which the end is still missing
  size_t line_start_ = 0;  // in the head
  size_t searched_ = 0;    // up to here there is no end of line
  int lines_ = 0;          // of the head, the request line included
  int blank_lines_ = 0;    // before the request line
  Framing framing_;
  RequestHead head_;
  bool chunked_ = false, http11_ = false, keep_alive_ = false, expects_continue_ = false;
  std::optional<int64_t> content_length_;
  int64_t most_body_ = INT64_MAX;
  int64_t body_bytes_ = 0;
  std::string body_;
  ChunkPart chunk_part_ = ChunkPart::size;
  int64_t chunk_left_ = 0;    // of the data of this chunk
  size_t trailer_bytes_ = 0;  // of this chunk header, or of all trailers
};

}  // namespace hearth::net
