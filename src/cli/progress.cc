#include "cli/progress.h"

#include <algorithm>
#include <cstdio>

#include "base/format.h"
#include "base/units.h"
#include "cli/output.h"

namespace hearth::cli {
namespace {

constexpr Duration kDrawEvery = Duration::millis(100);
constexpr Duration kSilentFor = Duration::millis(400);  // what is quick needs no bar
constexpr int kBarWidth = 24;

}  // namespace

std::string bar(double part, int width) {
  const double inside = std::clamp(part, 0.0, 1.0);
  const int filled = static_cast<int>(inside * width + 0.5);
  return format("[{}{}]", std::string(static_cast<size_t>(filled), '#'),
                std::string(static_cast<size_t>(width - filled), '.'));
}

Progress::Progress(std::string label, int64_t total_bytes)
    : label_(std::move(label)), total_(total_bytes), started_(system_clock().steady()) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::set(int64_t done_bytes) {
  const std::lock_guard lock(mutex_);
  done_ = done_bytes;
  draw();
}

void Progress::add(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  done_ += bytes;
  draw();
}

void Progress::draw() {
  if (!screen().error_is_terminal) return;
  const Time now = system_clock().steady();
  if (now - started_ < kSilentFor || now - last_ < kDrawEvery) return;
  last_ = now;
  drawn_ = true;
  const double seconds = (now - started_).seconds();
  const double rate = static_cast<double>(done_) / seconds;
  std::string text = label_;
  if (total_ > 0)
    text += format("  {} {} of {}",
                   bar(static_cast<double>(done_) / static_cast<double>(total_), kBarWidth),
                   format_size(done_), format_size(total_));
  else
    text += "  " + format_size(done_);
  text += format("  {}/s", format_size(static_cast<int64_t>(rate)));
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace hearth::cli
