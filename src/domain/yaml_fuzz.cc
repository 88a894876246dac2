// Any bytes as a job file: no crash, no run-away; what is accepted survives JSON.
#include <cstdint>

#include "base/result.h"
#include "domain/job_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto node = parse_yaml(text);
  if (!node.ok()) return 0;
  const std::string json = to_json(*node);
  const auto again = parse_json(json, SIZE_MAX);
  CHECK(again.ok());
  CHECK(to_json(*again) == json);
  const auto spec = parse_job_node(*node);
  if (!spec.ok()) {
    CHECK(!spec.error().errors.empty());
    for (const FieldError& error : spec.error().errors)
      CHECK(!error.path.empty() && error.line > 0 && !error.found.empty() &&
            !error.allowed.empty() && !error.mend.empty());
    return 0;
  }
  const auto back = from_json<JobSpec>(to_json(*spec), Origin::client);
  CHECK(back.ok());
  return 0;
}
