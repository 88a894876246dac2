#include "app/logging.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/log.h"

namespace hearth::app {

void log_to_stderr() {
  auto logger = spdlog::stderr_color_mt("hearth");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  logger->flush_on(spdlog::level::info);
  set_log_sink([logger](Level level, std::string_view text) {
    switch (level) {
      case Level::debug:
        logger->debug(text);
        break;
      case Level::info:
        logger->info(text);
        break;
      case Level::warning:
        logger->warn(text);
        break;
      case Level::error:
        logger->error(text);
        break;
    }
  });
}

}  // namespace hearth::app
