#include "base/log.h"

#include <atomic>
#include <cstdio>

namespace hearth {
namespace {
LogSink& sink() {
  static LogSink the_sink;
  return the_sink;
}
std::atomic<Level> lowest_level{Level::info};
}  // namespace

void set_log_sink(LogSink s) {
  sink() = std::move(s);
}
void set_log_level(Level lowest) {
  lowest_level = lowest;
}
bool log_enabled(Level level) {
  return level >= lowest_level.load(std::memory_order_relaxed);
}

void log_write(Level level, std::string_view text) {
  if (sink()) return sink()(level, text);
  if (level >= Level::warning)
    std::fprintf(stderr, "hearth: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace hearth
