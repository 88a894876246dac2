// Lines of a task through all patterns, own ones included.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "track/line_metrics.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth::track;
  auto metrics = LineMetrics::make(
      {R"(at (?P<step>\d+): (?P<reward>\S+))", R"(metric (?P<name>\S+) is (?P<value>\S+))"});
  if (!metrics.ok()) std::abort();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    for (const LinePoint& point : metrics->read(rest.substr(0, end)))
      if (point.key.empty() || point.key.size() > kMostMetricLineBytes) std::abort();
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return 0;
}
