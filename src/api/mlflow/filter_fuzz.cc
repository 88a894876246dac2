// Any bytes as a filter and an order: no crash, and what is accepted holds to its own rules.
#include <cstdint>

#include "api/mlflow/filter.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  using namespace hearth::api::mlflow;
  if (size == 0) return 0;
  const Noun noun = static_cast<Noun>(data[0] % 5);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (const auto filter = parse_filter(text, noun); filter.ok()) {
    CHECK(filter->size() <= kMostComparisons);
    for (const control::Comparison& one : *filter) {
      CHECK(!one.column.key.empty());
      CHECK((one.op >= control::Compare::in) == !one.list.empty());
      CHECK(!holds(one, std::optional<std::string>()));
      CHECK(!holds(one, std::optional<double>()));
      (void)holds(one, std::optional(std::string(text)));
      // A pattern without wildcards matches itself.
      if (one.op == control::Compare::like && one.text.find_first_of("%_") == std::string::npos)
        CHECK(holds(one, std::optional(one.text)));
    }
  }
  const auto order = parse_order({std::string(text)}, noun);
  if (order.ok()) CHECK(order->size() == 1);
  return 0;
}
