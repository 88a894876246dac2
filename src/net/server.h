// An HTTP/1.1 server: keep-alive, pipelining in order, chunked and sized bodies, TLS, Unix sockets,
// streams and waiting requests. I/O runs on `io_threads` threads as coroutines; handlers are plain
// blocking functions on a bounded pool.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/signals.h"
#include "net/http.h"

namespace hearth::net {

// How to take one request's body; asked once its head is there.
struct BodyRule {
  int64_t most_bytes = 1 << 20;
  bool to_file = false;            // spool to ServerOptions::temporary_directory, for large bodies
  bool on_io_thread = false;       // the handler never blocks: run it at once, without the pool
  std::optional<Response> refuse;  // answer this without reading the body
};

class Handler {
 public:
  virtual ~Handler() = default;
  virtual BodyRule rule(const RequestHead& head) = 0;  // on the I/O thread: must be quick
  virtual Response handle(Request& request) = 0;
  // What to send for a request that never became one: 400, 408, 413, 431, 501, 503.
  virtual Response malformed(int status, std::string_view detail,
                             const std::string& request_id) = 0;
};

struct ServerOptions {
  struct Listen {
    std::string address;  // "127.0.0.1", "::1", "0.0.0.0"
    int port = 0;         // 0: any free one
    // Instead of address and port; made with mode unix_mode. A socket file that nobody listens on
    // is replaced; ours is deleted at the end.
    std::string unix_path;
    int unix_mode = 0600;
  };
  std::vector<Listen> listen;
  std::string tls_certificate, tls_key;  // PEM files; for TCP listeners
  // CIDR blocks; X-Forwarded-For and X-Forwarded-Proto are believed from these.
  std::vector<std::string> trusted_proxies;
  std::string temporary_directory = "/tmp";
  int io_threads = 1;
  int workers = 8;
  // Bounds, each shown as a metric.
  int most_connections = 10'000;
  int most_connections_per_peer = 6'000;
  size_t most_queued = 4'096;            // requests waiting for a worker; beyond: 503
  int64_t most_body_memory = 512 << 20;  // request bodies in memory, all together; beyond: 503
  size_t most_head_bytes = 32 << 10;     // beyond: 431
  int most_headers = 100;
  Duration head_time = Duration::seconds(10);  // from the first byte to the end of the head; 408
  Duration idle_time = Duration::seconds(120);
  int64_t least_body_rate = 1'024;  // bytes/s over any body_rate_window of a body; slower: 408
  Duration body_rate_window = Duration::seconds(10);
  Duration write_time = Duration::seconds(30);  // without progress in writing: closed
  // bytes/s that a client takes of its answers while we wait for it to take some, over any
  // write_rate_window of such waiting; slower: closed. A stream with nothing to send waits for
  // none.
  int64_t least_write_rate = 1'024;
  Duration write_rate_window = Duration::seconds(60);
};

class Server {
 public:
  // Binds and listens; requests are taken once start() is called.
  // Errors: port taken (conflict, names the address and what to do), bad certificate (invalid).
  static Result<std::unique_ptr<Server>> create(ServerOptions options, Handler& handler,
                                                Signals& signals);
  virtual ~Server() = default;
  virtual void start() = 0;
  // Stops accepting, closes idle connections, ends streams and waits, lets handlers finish and
  // answers go out for at most `grace`, drops what is left and joins. A handler that is still
  // running holds it up: it cannot be ended from outside. Not to be called from a handler. The
  // destructor stops without grace.
  virtual void stop(Duration grace) = 0;
  virtual int port(size_t listener = 0) const = 0;  // 0 for a Unix socket
  // Reads certificate and key again: connections from now on get them, those that are open keep
  // theirs. Nothing to do without TLS. Errors as create()'s; then the old ones stay.
  virtual Result<void> reload_certificate() = 0;
};

}  // namespace hearth::net
