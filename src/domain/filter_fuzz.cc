// Any bytes as a filter: no crash; what is accepted is written as text that parses to the same.
#include <cstdint>

#include "base/result.h"
#include "domain/filter.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ignore(parse_field_list(text, "fields"));
  ignore(parse_order(text, {"name", "metrics.*"}));
  const auto filter = parse_filter(text);
  if (!filter.ok()) return 0;
  const std::string written = to_text(*filter);
  if (written.size() > kMostFilterBytes) return 0;
  const auto again = parse_filter(written);
  CHECK(again.ok());
  CHECK(to_text(*again) == written);
  const auto look = [](const std::string& field) -> std::optional<std::string> {
    if (field.size() % 2 == 0) return std::nullopt;
    return field;
  };
  CHECK(matches(*filter, look) == matches(*again, look));
  return 0;
}
