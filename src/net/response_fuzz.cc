// libFuzzer entry for the response decoder: any bytes, cut anywhere, give the same answer or the
// same failure as in one piece, and no header is held beyond its bound.
#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/response_decoder.h"

namespace hearth::net {
namespace {

struct Outcome {
  ResponseDecoder::State state;
  int status = 0;
  std::string body, failure;
  size_t used = 0, headers = 0;
  bool keep_alive = false;
  bool operator==(const Outcome&) const = default;
};

// `piece`: 0: in one.
Outcome decode(std::string_view input, size_t piece, bool to_head) {
  constexpr size_t kMostHead = 512;
  Outcome outcome{};
  ResponseDecoder decoder({.to_head = to_head,
                           .most_head_bytes = kMostHead,
                           .on_status = [&](int status) { outcome.status = status; },
                           .on_body =
                               [&](std::string_view bytes) {
                                 outcome.body += bytes;
                                 return true;
                               }});
  while (outcome.used < input.size()) {
    const auto part = input.substr(outcome.used, piece == 0 ? input.size() : piece);
    const size_t used = decoder.feed(part);
    CHECK(used <= part.size());
    outcome.used += used;
    if (used < part.size()) break;
  }
  decoder.end();
  outcome.state = decoder.state();
  CHECK(outcome.state == ResponseDecoder::State::done ||
        outcome.state == ResponseDecoder::State::failed);
  outcome.failure = decoder.failure();
  outcome.keep_alive = decoder.keep_alive();
  for (const auto& [name, value] : decoder.headers().all())
    outcome.headers += name.size() + value.size();
  CHECK(outcome.headers <= kMostHead);
  // How much was read of what failed depends on the pieces.
  if (outcome.state == ResponseDecoder::State::failed) return {.state = outcome.state};
  return outcome;
}

}  // namespace
}  // namespace hearth::net

// The first byte of the input says how it is cut, and whether it answers HEAD.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool to_head = data[0] >= 128;
  const auto whole = hearth::net::decode(input, 0, to_head);
  const auto cut = hearth::net::decode(input, 1 + data[0] % 64, to_head);
  CHECK(whole == cut);
  return 0;
}
