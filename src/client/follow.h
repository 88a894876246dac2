// Streams of server-sent events that survive a server's restart.
#pragma once

#include <functional>
#include <string>

#include "client/client.h"

namespace hearth::client {

struct StreamEvent {
  std::string event;  // "message" unless the server named it
  std::string data, id;
};

struct FollowOptions {
  std::string after;  // id of the last event that is here already
  // False ends the stream.
  std::function<bool(const StreamEvent&)> take;
  // The connection is lost and is tried again; for a word to the user. `tries` counts from 1.
  std::function<void(int tries)> lost;
  // Between two tries; false gives up. Absent: always go on.
  std::function<bool()> go_on;
};

// Calls take for each event of GET `path`, over lost connections: asks again behind the last id.
// Ends when take returns false, when an event named "end" comes, or with an error that another try
// does not change. A server that is not there at first is such an error; one that goes away later
// is asked again kFollowTries times.
Result<void> follow(Client& client, const std::string& path, const Query& query,
                    const FollowOptions& options);

constexpr int kFollowTries = 600;
constexpr Duration kFollowPause = Duration::millis(500);

}  // namespace hearth::client
