#include "net/sse.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"

namespace hearth::net {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

void add_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  for (const char c : value) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  out += '\n';
}

}  // namespace

std::string encode_sse(const SseEvent& event) {
  std::string out;
  out.reserve(event.data.size() + event.event.size() + event.id.size() + 32);
  if (!event.event.empty()) add_field(out, "event: ", event.event);
  if (!event.id.empty()) add_field(out, "id: ", event.id);
  std::string_view rest = event.data;
  for (;;) {
    const size_t end = rest.find_first_of("\r\n");
    add_field(out, "data: ", rest.substr(0, end));
    if (end == std::string_view::npos) break;
    const bool pair = rest[end] == '\r' && end + 1 < rest.size() && rest[end + 1] == '\n';
    rest.remove_prefix(end + (pair ? 2 : 1));
  }
  out += '\n';
  return out;
}

std::string encode_sse_comment(std::string_view text) {
  std::string out;
  add_field(out, ": ", text);
  out += '\n';
  return out;
}

std::string encode_sse_retry(Duration wait) {
  return format("retry: {}\n\n", wait.micros / 1000);
}

Result<void> SseParser::feed(std::string_view bytes,
                             const std::function<void(const SseEvent&)>& take) {
  while (!bytes.empty()) {
    if (after_cr_ && bytes.front() == '\n') bytes.remove_prefix(1);  // the LF of CR LF
    after_cr_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() + event_.data.size() > most_bytes_)
      return Error::of(Code::too_large,
                       format("an event of the stream is longer than {} bytes", most_bytes_));
    if (end == std::string_view::npos) {
      line_ += part;
      break;
    }
    if (line_.empty()) {
      take_line(part, take);
    } else {
      line_ += part;
      take_line(line_, take);
      line_.clear();
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
  }
  return {};
}

void SseParser::take_line(std::string_view line, const std::function<void(const SseEvent&)>& take) {
  if (first_line_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  first_line_ = false;
  if (line.empty()) {
    if (has_data_) {
      event_.data.pop_back();  // the line break behind the last line
      event_.id = last_id_;
      take(event_);
    }
    event_ = SseEvent();
    has_data_ = false;
    return;
  }
  const size_t colon = std::min(line.find(':'), line.size());
  if (colon == 0) return;  // a comment
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
}

void SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    has_data_ = true;
    event_.data += value;
    event_.data += '\n';
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) last_id_ = value;
  } else if (name == "retry") {
    constexpr int64_t kMostMillis = 24 * 3600 * 1000;
    int64_t millis = 0;
    const char* end = value.data() + value.size();
    const auto [rest, failed] = std::from_chars(value.data(), end, millis);
    if (failed == std::errc() && rest == end && millis >= 0)
      retry_ = Duration::millis(std::min(millis, kMostMillis));
  }
}

}  // namespace hearth::net
