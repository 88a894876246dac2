// A user's pipe: any bytes, any cuts, any pauses. Records stay in bounds, nothing crashes.
#include <cstddef>
#include <cstdint>

#include "track/line_splitter.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  using namespace hearth::track;
  LineSplitter splitter;
  Time now{1'000'000};
  size_t given = 0;
  const auto emit = [&](const SplitLine& line) {
    CHECK(line.bytes.size() <= kMostRecordBytes);
    given += line.bytes.size();
  };
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const auto control = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    const size_t n = std::min<size_t>(control & 63, rest.size());
    splitter.feed(rest.substr(0, n), now, emit);
    rest.remove_prefix(n);
    if (control & 64) now.micros += 1'100'000;
    if (control & 128) splitter.tick(now, emit);
  }
  splitter.finish(now, emit);
  CHECK(splitter.idle());
  CHECK(given <= size);
  return 0;
}
