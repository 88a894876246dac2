// Any bytes as JSON: no crash; what is accepted is written again as the same tree.
#include <cstdint>

#include "base/result.h"
#include "domain/job.h"
#include "domain/wire/sync.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto node = parse_json(text);
  if (!node.ok()) return 0;
  const std::string json = to_json(*node);
  const auto again = parse_json(json, SIZE_MAX);
  CHECK(again.ok());
  CHECK(to_json(*again) == json);
  const auto job = from_node<Job>(*node);
  if (job.ok()) CHECK(from_json<Job>(to_json(*job)).ok());
  const auto answer = from_node<SyncAnswer>(*node, Origin::client);
  if (answer.ok()) CHECK(from_json<SyncAnswer>(to_json(*answer)).ok());
  ignore(parse_job_node(*node));
  return 0;
}
