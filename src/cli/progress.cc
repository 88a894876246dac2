#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/format.h"
#include "base/units.h"
#include "cli/output.h"

namespace hearth::cli {
namespace {

constexpr Duration kDrawEvery = Duration::millis(100);
constexpr Duration kSilentFor = Duration::millis(400);  // what is quick needs no bar
constexpr Duration kWordEvery = Duration::seconds(15);  // where no bar is drawn
constexpr int kBarWidth = 24;
constexpr size_t kNoteWidth = 30;

}  // namespace

std::string bar(double part, int width) {
  const double inside = std::clamp(part, 0.0, 1.0);
  const int filled = static_cast<int>(inside * width + 0.5);
  return format("[{}{}]", std::string(static_cast<size_t>(filled), '#'),
                std::string(static_cast<size_t>(width - filled), '.'));
}

Progress::Progress(std::string label, int64_t total, Unit unit)
    : label_(std::move(label)),
      total_(total),
      unit_(unit),
      started_(system_clock().steady()),
      last_(started_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::set(int64_t done) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  draw();
}

void Progress::add(int64_t more) {
  const std::lock_guard lock(mutex_);
  done_ += more;
  draw();
}

void Progress::note(std::string text) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(text);
  draw();
}

std::string Progress::text(Time now) const {
  const auto amount = [&](int64_t value) {
    return unit_ == Unit::bytes ? format_size(value) : std::to_string(value);
  };
  const double seconds = std::max((now - started_).seconds(), 1e-6);
  const double rate = static_cast<double>(done_) / seconds;
  std::string text = label_;
  if (total_ > 0 && screen().error_is_terminal)
    text += "  " + bar(static_cast<double>(done_) / static_cast<double>(total_), kBarWidth);
  text += total_ > 0 ? format("  {} of {}", amount(done_), amount(total_)) : "  " + amount(done_);
  text += unit_ == Unit::bytes ? format("  {}/s", format_size(static_cast<int64_t>(rate)))
                               : format("  {:.3g}/s", rate);
  if (total_ > done_ && done_ > 0)
    text += format(
        "  {} left",
        format_duration(Duration::seconds(std::ceil(static_cast<double>(total_ - done_) / rate))));
  if (!note_.empty()) text += "  " + printable(note_.substr(0, kNoteWidth));
  return text;
}

void Progress::draw() {
  const Time now = system_clock().steady();
  if (!screen().error_is_terminal) {
    if (unit_ == Unit::bytes || now - last_ < kWordEvery) return;
    last_ = now;
    std::fprintf(stderr, "%s\n", text(now).c_str());
    return;
  }
  if (now - started_ < kSilentFor || now - last_ < kDrawEvery) return;
  last_ = now;
  drawn_ = true;
  std::fprintf(stderr, "\r\033[K%s", text(now).c_str());
  std::fflush(stderr);
}

}  // namespace hearth::cli
