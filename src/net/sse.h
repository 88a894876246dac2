// Server-sent events (text/event-stream, as WHATWG HTML section 9.2 has it): encoder and parser.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace hearth::net {

struct SseEvent {
  std::string event;  // empty: "message"
  std::string data;   // may have several lines
  std::string id;     // as it stands after this event: what Last-Event-ID would say
};

// "event: ...", "id: ...", a "data: " for each line, and an empty line. Fields that are empty are
// left out, data excepted; line breaks in event and id become spaces.
std::string encode_sse(const SseEvent& event);
// ": text", for heartbeats; a reader ignores it.
std::string encode_sse_comment(std::string_view text);
std::string encode_sse_retry(Duration wait);

// Takes the bytes of a stream as they come, cut anywhere.
class SseParser {
 public:
  // An event whose lines are longer than this together is an error (too_large).
  explicit SseParser(size_t most_event_bytes = 4 << 20) : most_bytes_(most_event_bytes) {}
  // Calls `take` for each event that `bytes` completes. After an error the parser is of no use.
  Result<void> feed(std::string_view bytes, const std::function<void(const SseEvent&)>& take);
  const std::string& last_id() const { return last_id_; }
  // The wait before a reconnect that the server asked for.
  std::optional<Duration> retry() const { return retry_; }

 private:
  void take_line(std::string_view line, const std::function<void(const SseEvent&)>& take);
  void take_field(std::string_view name, std::string_view value);

  size_t most_bytes_;
  std::string line_;  // without its end, which has not come yet
  bool after_cr_ = false;
  bool first_line_ = true;
  bool has_data_ = false;
  SseEvent event_;
  std::string last_id_;
  std::optional<Duration> retry_;
};

}  // namespace hearth::net
