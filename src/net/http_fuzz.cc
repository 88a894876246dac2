// libFuzzer entry for the request decoder: any bytes, cut anywhere, give the same request or the
// same failure as in one piece, and nothing is held beyond the bounds.
#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/request_decoder.h"

namespace hearth::net {
namespace {

struct Outcome {
  RequestDecoder::State state;
  int status;
  std::string path, body;
  size_t used;
  bool operator==(const Outcome&) const = default;
};

// The first byte of the input says how it is cut; 0: not at all.
Outcome decode(std::string_view input, size_t piece) {
  constexpr int64_t kMostBody = 512;
  RequestDecoder decoder({.most_head_bytes = 1024, .most_headers = 16});
  Outcome outcome{};
  bool limited = false;
  while (outcome.used < input.size()) {
    const size_t size = piece == 0 ? input.size() : piece;
    const std::string_view part = input.substr(outcome.used, size);
    const size_t used = decoder.feed(part);
    CHECK(used <= part.size());
    outcome.used += used;
    if (decoder.state() != RequestDecoder::State::head && !limited) {
      limited = true;
      if (decoder.state() == RequestDecoder::State::body) decoder.limit_body(kMostBody);
    }
    if (decoder.state() == RequestDecoder::State::failed ||
        decoder.state() == RequestDecoder::State::done)
      break;
    CHECK(used > 0);
  }
  CHECK(decoder.body_bytes() <= kMostBody);
  outcome.state = decoder.state();
  outcome.status = decoder.failure().status;
  outcome.path = decoder.head().path;
  outcome.body = decoder.take_body();
  if (outcome.state == RequestDecoder::State::failed) {
    outcome = {outcome.state, outcome.status, "", "", 0};
  }
  return outcome;
}

}  // namespace
}  // namespace hearth::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = hearth::net::decode(input, 0);
  const auto cut = hearth::net::decode(input, data[0] % 64);
  CHECK(whole == cut);
  return 0;
}
