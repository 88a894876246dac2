#include "track/line_splitter.h"

#include <algorithm>
#include <array>

namespace hearth::track {
namespace {

// What a byte says about the text it stands in.
constexpr uint8_t kHigh = 1;      // part of a UTF-8 sequence, or not text
constexpr uint8_t kNoText = 2;    // a control character that no terminal program prints
constexpr uint8_t kReturn = 4;    // CR
constexpr uint8_t kTerminal = 8;  // BS, ESC

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (size_t c = 0; c < 32; ++c) classes[c] = kNoText;
  for (const char c : {'\t', '\n', '\a', '\f', '\v', '\x0e', '\x0f'})
    classes[static_cast<size_t>(c)] = 0;
  classes['\r'] = kReturn;
  classes['\b'] = classes['\x1b'] = kTerminal;
  for (size_t c = 128; c < 256; ++c) classes[c] = kHigh;
  return classes;
}
constexpr auto kClasses = make_classes();

uint8_t classes_of(std::string_view text) {
  uint8_t all = 0;
  for (const char c : text) all |= kClasses[static_cast<unsigned char>(c)];
  return all;
}

bool is_text(std::string_view text, uint8_t classes) {
  return !(classes & kNoText) && (!(classes & kHigh) || is_utf8(text));
}

bool blank(std::string_view text) {
  return text.find_first_not_of(" \t\f\v\a") == std::string_view::npos;
}

// Bytes of the escape sequence `ESC [ ... letter` at the start of text; 0 if it is none or not
// whole.
size_t sequence_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  size_t i = 2;
  while (i < text.size() && text[i] >= 0x20 && text[i] <= 0x3f) ++i;
  return i < text.size() && text[i] >= 0x40 && text[i] <= 0x7e ? i + 1 : 0;
}

// Where to cut text so that neither a character nor an escape sequence is torn: at most its size,
// and at most a few bytes less.
size_t cut_at(std::string_view text) {
  constexpr size_t kMostSequence = 32, kMostCharacter = 4;
  const size_t near = text.size() - std::min(text.size(), kMostSequence);
  const size_t escape = text.rfind('\x1b');
  if (escape != std::string_view::npos && escape >= near &&
      sequence_length(text.substr(escape)) == 0)
    return escape;
  for (size_t back = 1; back <= std::min(text.size(), kMostCharacter); ++back) {
    const auto c = static_cast<unsigned char>(text[text.size() - back]);
    if ((c & 0xc0) == 0x80) continue;
    const size_t wanted = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    return wanted > back ? text.size() - back : text.size();
  }
  return text.size();
}

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Two states are of one bar when the letters at their start agree: more than half of the shorter
// text's, at least a quarter of the longer's. `loss 0.5` and `loss 0.4 val_loss 0.6` are.
bool same_bar(std::string_view a, std::string_view b) {
  size_t common = 0;
  bool agree = true;
  size_t in_a = 0, in_b = 0;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    while (i < a.size() && !letter(a[i])) ++i;
    while (j < b.size() && !letter(b[j])) ++j;
    const bool has_a = i < a.size(), has_b = j < b.size();
    agree = agree && has_a && has_b && a[i] == b[j];
    common += agree;
    in_a += has_a;
    in_b += has_b;
    i += has_a;
    j += has_b;
  }
  if (in_a == 0 || in_b == 0) return in_a == in_b;
  return 2 * common > std::min(in_a, in_b) && 4 * common >= std::max(in_a, in_b);
}

}  // namespace

std::string_view LineSplitter::stripped(std::string_view text, bool keep_colours) {
  if (text.find_first_of("\b\x1b") == std::string_view::npos) return text;
  scratch_.clear();
  for (size_t i = 0; i < text.size();) {
    const size_t sequence = text[i] == '\x1b' ? sequence_length(text.substr(i)) : 0;
    if (sequence > 0) {
      if (keep_colours && text[i + sequence - 1] == 'm') scratch_ += text.substr(i, sequence);
      i += sequence;
    } else {
      if (text[i] != '\b') scratch_ += text[i];
      ++i;
    }
  }
  return scratch_;
}

void LineSplitter::give(std::string_view text, uint8_t flags, Time now, const Emit& emit) {
  const auto partial = static_cast<uint8_t>(flags | kPartial);
  for (; text.size() > kMostRecordBytes; text.remove_prefix(kMostRecordBytes))
    emit({now, partial, text.substr(0, kMostRecordBytes)});
  emit({now, flags, text});
}

void LineSplitter::give_part(std::string_view text, uint8_t flags, Time now, const Emit& emit) {
  give_waiting(emit);
  give(text, static_cast<uint8_t>(flags | kPartial), now, emit);
  in_parts_ = true;
  raw_parts_ = raw_parts_ || (flags & kBinary) != 0;
}

void LineSplitter::give_waiting(const Emit& emit) {
  if (!bar_.waiting) return;
  bar_.waiting = false;
  bar_.given = bar_.time;
  give(bar_.text, kFolded, bar_.time, emit);
}

void LineSplitter::begin_line() {
  after_cr_ = in_parts_ = raw_parts_ = false;
}

void LineSplitter::bar_state(std::string_view text, Time now, const Emit& emit) {
  const std::string_view plain = stripped(text, false);
  if (blank(plain)) return;
  if (bar_.active && !same_bar(bar_.text, plain)) {
    give_waiting(emit);
    bar_.active = false;
  }
  const Duration since = now - bar_.given;
  const bool give_now = !bar_.active || since >= kBarInterval || since < Duration{};
  bar_.active = true;
  bar_.waiting = !give_now;
  bar_.text = plain;
  bar_.time = now;
  if (!give_now) return;
  bar_.given = now;
  give(bar_.text, kFolded, now, emit);
}

void LineSplitter::segment_before_cr(std::string_view text, Time now, const Emit& emit) {
  if (in_parts_)
    give(stripped(text, false), 0, now, emit);
  else
    bar_state(text, now, emit);
  in_parts_ = false;
  after_cr_ = true;
}

// The last piece of a line of text, behind its last lone CR if it has one.
void LineSplitter::last_segment(std::string_view text, Time now, const Emit& emit) {
  if (in_parts_ || !after_cr_) {
    if (!in_parts_) give_waiting(emit);
    give(stripped(text, true), 0, now, emit);
    return;
  }
  const std::string_view plain = stripped(text, false);
  if (blank(plain)) {
    give_waiting(emit);
    bar_.active = false;
  } else if (bar_.active && same_bar(bar_.text, plain)) {
    if (bar_.waiting || plain != bar_.text) give(plain, kFolded, now, emit);
    bar_.active = bar_.waiting = false;
  } else {
    give_waiting(emit);
    give(stripped(text, true), 0, now, emit);
  }
}

void LineSplitter::text_line(std::string_view text, Time now, const Emit& emit) {
  while (text.ends_with('\r')) text.remove_suffix(1);
  for (size_t cr = text.find('\r'); cr != std::string_view::npos; cr = text.find('\r')) {
    segment_before_cr(text.substr(0, cr), now, emit);
    text.remove_prefix(cr + 1);
  }
  last_segment(text, now, emit);
}

void LineSplitter::line(std::string_view text, Time now, const Emit& emit) {
  const uint8_t classes = classes_of(text);
  const bool calm = calm_left_ > 0;
  calm_left_ -= std::min(calm_left_, text.size() + 1);
  if (!is_text(text, classes)) {
    if (!in_parts_) give_waiting(emit);
    give(text, kBinary, now, emit);
    calm_left_ = kCalmBytes;
  } else if (raw_parts_ || calm) {
    if (!in_parts_) give_waiting(emit);
    give(text, raw_parts_ ? kBinary : 0, now, emit);
  } else if ((classes & (kReturn | kTerminal)) == 0) {
    last_segment(text, now, emit);
  } else {
    text_line(text, now, emit);
  }
  begin_line();
}

// Takes the bar states at the start of text, which has no LF: all that ends in a CR with something
// behind it. A CR at the very end may belong to a line end, so it waits.
size_t LineSplitter::take_states(std::string_view text, Time now, const Emit& emit) {
  if (raw_parts_ || calm_left_ > 0) return 0;
  const size_t last = text.find_last_not_of('\r');
  if (last == std::string_view::npos) return 0;
  const size_t cr = text.rfind('\r', last);
  if (cr == std::string_view::npos) return 0;
  std::string_view states = text.substr(0, cr + 1);
  if (!is_text(states, classes_of(states))) return 0;
  while (!states.empty()) {
    const size_t end = states.find('\r');
    segment_before_cr(states.substr(0, end), now, emit);
    states.remove_prefix(end + 1);
  }
  return cr + 1;
}

// Takes parts from a line that is longer than a record and has no end yet.
size_t LineSplitter::take_parts(std::string_view text, Time now, const Emit& emit) {
  size_t taken = 0;
  while (text.size() - taken > kMostRecordBytes) {
    std::string_view part = text.substr(taken, kMostRecordBytes);
    if (!raw_parts_ && calm_left_ == 0) part = part.substr(0, cut_at(part));
    if (raw_parts_ || !is_text(part, classes_of(part))) {
      give_part(part, kBinary, now, emit);
      calm_left_ = kCalmBytes;
    } else if (calm_left_ > 0) {
      give_part(part, 0, now, emit);
      calm_left_ -= std::min(calm_left_, part.size());
    } else {
      give_part(stripped(part, true), 0, now, emit);
    }
    taken += part.size();
  }
  return taken;
}

void LineSplitter::feed(std::string_view bytes, Time now, const Emit& emit) {
  if (bytes.empty()) return;
  fed_ = now;
  size_t searched = buffer_.size();  // there is no LF before it
  const bool return_ahead = bytes.find('\r') != std::string_view::npos || buffer_.ends_with('\r');
  std::string_view text = bytes;
  if (!buffer_.empty()) {
    buffer_ += bytes;
    text = buffer_;
  }
  for (size_t end = text.find('\n', searched); end != std::string_view::npos;
       end = text.find('\n')) {
    line(text.substr(0, end), now, emit);
    text.remove_prefix(end + 1);
  }
  if (return_ahead) text.remove_prefix(take_states(text, now, emit));
  text.remove_prefix(take_parts(text, now, emit));
  if (buffer_.empty())
    buffer_ = text;
  else
    buffer_.erase(0, buffer_.size() - text.size());
}

void LineSplitter::flush_buffer(Time now, const Emit& emit) {
  std::string_view text = buffer_;
  const size_t whole = cut_at(text);
  if (raw_parts_ || calm_left_ > 0 || !is_text(text.substr(0, whole), classes_of(text))) {
    const bool binary = raw_parts_ || !is_text(text, classes_of(text));
    give_part(text, binary ? kBinary : 0, now, emit);
    raw_parts_ = true;  // nothing of this line is folded any more
    buffer_.clear();
    return;
  }
  if (text.ends_with('\r') || after_cr_) {
    while (text.ends_with('\r')) text.remove_suffix(1);
    if (!in_parts_ || buffer_.ends_with('\r')) {
      segment_before_cr(text, now, emit);
      buffer_.clear();
      return;
    }
  }
  if (whole == 0) return;
  give_part(stripped(text.substr(0, whole), true), 0, now, emit);
  buffer_.erase(0, whole);
}

void LineSplitter::tick(Time now, const Emit& emit) {
  if (!buffer_.empty() && now - fed_ >= kIdleFlush) flush_buffer(now, emit);
  if (bar_.waiting && now - bar_.given >= kBarInterval) give_waiting(emit);
}

void LineSplitter::finish(Time now, const Emit& emit) {
  if (!buffer_.empty() || in_parts_) line(buffer_, now, emit);
  buffer_.clear();
  give_waiting(emit);
  bar_ = {};
  begin_line();
}

}  // namespace hearth::track
