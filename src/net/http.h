// The messages of HTTP as plain values, shared by server and client.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/signals.h"

namespace hearth::net {

// In order, names compared without case.
class Headers {
 public:
  std::optional<std::string_view> get(std::string_view name) const;  // the first one
  void add(std::string name, std::string value);
  void set(std::string name, std::string value);  // in place of all of this name
  void remove(std::string_view name);
  const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

// What is known before the body is read.
struct RequestHead {
  std::string method;
  std::string path;   // as sent, before '?', still percent-encoded
  std::string query;  // after '?', still percent-encoded
  Headers headers;
  std::string peer;   // "127.0.0.1"; behind a trusted proxy what it forwarded; "unix" for a socket
  int peer_uid = -1;  // the other side's uid on a Unix socket, else -1
  bool tls = false;
  std::string id;  // request id: the client's X-Request-Id if it is 1-64 of [A-Za-z0-9._-]
};

// Lives until the handler returns: what a Wait or a StreamBody needs of it, it must own.
struct Request : RequestHead {
  std::string body;  // empty when it went to a file
  // Temporary file (0600) holding the body where the rule said so and there is one; deleted after
  // the handler, unless it was renamed.
  std::string body_file;
  // The value of a query parameter, decoded; the first if it stands twice. A broken escape stays as
  // it was sent.
  std::optional<std::string> query_value(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> query_values() const;
};

struct Response;

// Part of a file; sent with Content-Length `length`.
struct FileBody {
  std::string path;
  int64_t offset = 0;
  int64_t length = 0;
  std::shared_ptr<const void> owner;  // of a file that goes once it was sent, or was not wanted
};

// One piece of a streamed answer.
struct Chunk {
  std::string data;   // may be empty
  bool more = false;  // there is more right now: call next() again without waiting
  bool end = false;   // close the stream after this piece
};

// A streamed answer (SSE, followed logs). next() runs on a worker; after a piece without `more` it
// is called again when one of the topics is notified or `heartbeat` has gone by. No worker is held
// between the calls. The topic versions are read by the server before each call of next(). The
// server ends the stream when it stops, and drops it (destroys `next`) when the client has gone.
// It costs no thread, and a client that does not read holds up its own stream alone.
struct StreamBody {
  std::vector<std::string> topics;
  Duration heartbeat = Duration::seconds(15);
  std::function<Chunk()> next;
};

// A request that waits holds no worker: `then` runs on one when `topic` is newer than `since`, or
// at the end of `wait`. It may answer with another Wait.
struct Wait {
  std::string topic;
  uint64_t since = 0;
  Duration wait;
  std::function<Response()> then;
};

struct Response {
  int status = 200;
  Headers headers;
  std::variant<std::string, std::shared_ptr<const std::string>, FileBody, StreamBody, Wait> body;

  static Response text(int status, std::string type, std::string body);
};

// "Not Found"; "Unknown" for one without a name.
std::string_view reason_phrase(int status);

bool equal_without_case(std::string_view a, std::string_view b);  // ASCII letters

// "%2F" and "+" decoded; nothing when an escape is broken.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);
std::string percent_encode(std::string_view text);

}  // namespace hearth::net
