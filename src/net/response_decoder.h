// Bytes to an answer: status, headers and body of one HTTP/1.x response, without any I/O.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace hearth::net {

class ResponseDecoder {
 public:
  enum class State { head, body, done, failed };
  struct Options {
    bool to_head = false;  // of the method HEAD: no body follows, whatever is announced
    size_t most_head_bytes = 256 << 10;  // status, headers and trailers; also one chunk header
    // Called once, before the first piece of the body.
    std::function<void(int status)> on_status;
    // A piece of the body, valid during the call; false ends the reading: failed.
    std::function<bool(std::string_view piece)> on_body;
  };

  explicit ResponseDecoder(Options options) : options_(std::move(options)) {}

  // Takes bytes from the front of `input` and returns how many: all, but for what comes behind the
  // answer. Answers of 1xx are read over. Takes nothing once done or failed.
  size_t feed(std::string_view input);
  // The other side has closed: the end of a body without a length, else failed.
  void end();

  State state() const { return state_; }
  bool started() const { return started_; }  // a byte was seen
  const std::string& failure() const { return failure_; }
  bool head_too_large() const { return head_too_large_; }
  int status() const { return status_; }
  Headers& headers() { return headers_; }
  bool keep_alive() const { return keep_alive_; }  // another request may follow; once done

 private:
  enum class Part { status, header, data, chunk_size, chunk_end, trailer };

  size_t feed_line(std::string_view input);
  size_t feed_data(std::string_view input);
  void take_line(std::string_view line);
  void take_status(std::string_view line);
  void take_header(std::string_view line);
  void take_chunk_size(std::string_view line);
  void finish_head();
  void fail(std::string why);

  Options options_;
  State state_ = State::head;
  Part part_ = Part::status;
  bool started_ = false, http11_ = true, keep_alive_ = true, chunked_ = false;
  bool head_too_large_ = false;
  int status_ = 0;
  Headers headers_;
  std::string line_;       // one of which the end is still missing
  size_t head_bytes_ = 0;  // of lines since the status or the last chunk
  int64_t left_ = 0;       // of the data of this body or chunk; -1: up to the end of the connection
  std::string failure_;
};

}  // namespace hearth::net
