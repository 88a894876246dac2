// The log facade: rooms say what happened, src/app decides where it goes.
//
//   log_info("listening on {}", address);
//
// Without a sink (tests, tools) warnings and errors go to stderr.
#pragma once

#include <functional>
#include <string_view>

#include "base/format.h"

namespace hearth {

enum class Level { debug, info, warning, error };
using LogSink = std::function<void(Level, std::string_view)>;

void set_log_sink(LogSink sink);  // before threads start
void set_log_level(Level lowest);
bool log_enabled(Level level);
void log_write(Level level, std::string_view text);

template <typename... Args>
void log_debug(fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(Level::debug)) log_write(Level::debug, format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(Level::info)) log_write(Level::info, format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(Level::warning))
    log_write(Level::warning, format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> text, Args&&... args) {
  if (log_enabled(Level::error)) log_write(Level::error, format(text, std::forward<Args>(args)...));
}

}  // namespace hearth
