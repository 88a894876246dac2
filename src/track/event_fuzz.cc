// Event files from anybody: as they are, and the same bytes as one record with right checksums.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "track/event_file.h"

namespace {
using namespace hearth::track;

void read(std::string_view bytes, size_t piece) {
  EventReader reader("fuzz");
  int64_t before = 0;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    const auto read = reader.feed(part, [](EventValue&& value) {
      // What was read can be written, and read again.
      EventReader again("written");
      if (!again.feed(event_record_of({value}), [](EventValue&&) {}).ok()) std::abort();
    });
    if (reader.offset() < before) std::abort();
    before = reader.offset();
    if (!read.ok()) return;
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  read(input, input.size());
  read(input, 7);
  read(event_record(input), size + 16);
  return 0;
}
