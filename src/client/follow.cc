#include "client/follow.h"

#include <poll.h>

#include "net/sse.h"

namespace hearth::client {
namespace {

// Nothing tells when a server is back, so it is asked now and then. A signal ends the pause.
void pause_before_next_try() {
  poll(nullptr, 0, static_cast<int>(kFollowPause.micros / 1000));
}

bool gone_for_now(const Error& error) {
  return error.code == Code::unreachable || error.code == Code::timeout ||
         error.code == Code::unavailable || error.code == Code::busy;
}

}  // namespace

Result<void> follow(Client& client, const std::string& path, const Query& query,
                    const FollowOptions& options) {
  std::string last_id = options.after;
  bool ended = false, reached = false;
  int tries = 0;
  for (;;) {
    net::SseParser parser;
    Result<void> parsed;
    const auto sink = [&](std::string_view piece) {
      reached = true;
      tries = 0;
      parsed = parser.feed(piece, [&](const net::SseEvent& event) {
        if (ended) return;
        if (event.event == "end" || !options.take({event.event, event.data, event.id}))
          ended = true;
      });
      if (!parser.last_id().empty()) last_id = parser.last_id();
      return parsed.ok() && !ended;
    };
    net::Headers extra;
    if (!last_id.empty()) extra.set("Last-Event-ID", last_id);
    const auto streamed = client.stream(path, query, "text/event-stream", sink, extra);
    if (ended) return {};
    TRY(parsed);
    if (!streamed.ok() && (!reached || !gone_for_now(streamed.error()))) return streamed;
    if (++tries > kFollowTries)
      return Error::of(Code::unreachable, "the server has been away for too long");
    if (options.go_on && !options.go_on()) return {};
    if (options.lost) options.lost(tries);
    pause_before_next_try();
  }
}

}  // namespace hearth::client
