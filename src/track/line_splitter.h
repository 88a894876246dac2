// The bytes of a pipe as lines: what the shim puts into log frames. One splitter per stream.
//
// A line ends at LF; a CR before it belongs to the line end. Text ended by a lone CR, or begun by
// one, is a state of a progress bar. Bars are folded: of the states of one bar at most one per
// second is given, and its last one, flagged kFolded; escape sequences and backspaces are dropped
// from them, states without a visible character are left out. Two states are of the same bar when
// their letters agree (numbers and drawing characters do not count). In other lines of text
// backspaces and sequences `ESC [ ... letter` are dropped, but colours (SGR, letter `m`) stay.
//
// What is not text (invalid UTF-8, or control characters that terminals have no use for) is left
// untouched byte by byte, CR included, and flagged kBinary; so are, without the flag, the
// kCalmBytes behind it, as binary data holds stretches that look like text.
//
// A line of more than kMostRecordBytes comes in parts, all but the last flagged kPartial; a line
// without an end for kIdleFlush is given as a part, so that a prompt can be seen.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "track/log_frame.h"

namespace hearth::track {

constexpr Duration kBarInterval = Duration::millis(1000);
constexpr Duration kIdleFlush = Duration::millis(1000);
constexpr size_t kCalmBytes = 4096;

struct SplitLine {
  Time time;
  uint8_t flags = 0;       // of log_frame.h
  std::string_view bytes;  // valid during the call; at most kMostRecordBytes
};

// Not thread-safe. Holds at most a read's bytes and two lines. ~100 ns a line of 80 bytes.
class LineSplitter {
 public:
  using Emit = std::function<void(const SplitLine&)>;

  // Bytes as read from the pipe; `now` becomes the lines' time.
  void feed(std::string_view bytes, Time now, const Emit& emit);
  // Gives what has waited long enough; call about once a second.
  void tick(Time now, const Emit& emit);
  // The pipe is closed: gives all that is left.
  void finish(Time now, const Emit& emit);
  // True when nothing is held back, so tick() has nothing to do.
  bool idle() const { return buffer_.empty() && !bar_.waiting; }

 private:
  struct Bar {
    bool active = false;   // a state of it was given or waits
    bool waiting = false;  // `text` is not given yet
    std::string text;      // its last state
    Time time;             // of `text`
    Time given;            // when a state was last given
  };
  void line(std::string_view text, Time now, const Emit& emit);
  void text_line(std::string_view text, Time now, const Emit& emit);
  void last_segment(std::string_view text, Time now, const Emit& emit);
  void segment_before_cr(std::string_view text, Time now, const Emit& emit);
  void bar_state(std::string_view text, Time now, const Emit& emit);
  void give_waiting(const Emit& emit);
  void give(std::string_view text, uint8_t flags, Time now, const Emit& emit);
  void give_part(std::string_view text, uint8_t flags, Time now, const Emit& emit);
  size_t take_states(std::string_view text, Time now, const Emit& emit);
  size_t take_parts(std::string_view text, Time now, const Emit& emit);
  void flush_buffer(Time now, const Emit& emit);
  std::string_view stripped(std::string_view text, bool keep_colours);
  void begin_line();

  std::string buffer_;      // of the line that has no end yet
  std::string scratch_;     // what stripped() points to
  bool after_cr_ = false;   // this line's rest stands behind a lone CR
  bool in_parts_ = false;   // a part of this line was given
  bool raw_parts_ = false;  // ... untouched, so the rest is too
  size_t calm_left_ = 0;    // bytes for which folding stays off
  Time fed_;                // last feed
  Bar bar_;
};

}  // namespace hearth::track
