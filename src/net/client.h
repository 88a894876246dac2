// An HTTP client: to this machine itself (plain HTTP over loopback or a Unix socket) by our own
// code, which starts at once, all else by libcurl. One Client keeps its connections and belongs to
// one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "net/http.h"

namespace hearth::net {

struct ClientRequest {
  std::string method = "GET";
  std::string url;        // "http://127.0.0.1:8470/api/v1/jobs"
  std::string unix_path;  // connect here instead of the URL's host
  Headers headers;
  std::string body;
  std::string body_file;  // send this file instead of `body`...
  int64_t body_offset = 0;
  int64_t body_length = -1;  // ...or this part of it; -1: to its end
  std::string ca_file;       // trust this certificate (PEM) besides the system's
  Duration connect_time = Duration::seconds(5);
  Duration total_time = Duration::seconds(60);  // 0: no limit
  int64_t most_answer_bytes = 64 << 20;         // of Answer::body; beyond: too_large
  // Instead of collecting Answer::body; returning false ends the transfer with Code::gone.
  // Only a 2xx answer's body goes there; what an error says is in Answer::body as ever.
  std::function<bool(std::string_view piece)> sink;
  // Of the body that is sent; returning false ends the transfer with Code::gone.
  std::function<bool(int64_t sent, int64_t total)> progress;
  // Asked about ten times a second while the request runs, also while nothing comes; returning
  // false ends it with Code::gone. For a caller with signals of its own to read.
  std::function<bool()> keep_on;
  // Refuses to connect to an address ("127.0.0.1", "::1") for which this returns a reason
  // (webhooks: no loopback); asked for each connection, after the name was resolved. No proxy and
  // no connection of an earlier request is used then.
  std::function<std::string(const std::string& address)> refuse_address;
};

struct Answer {
  int status = 0;
  Headers headers;
  std::string body;
};

class Client {
 public:
  enum class Way { best, libcurl };  // libcurl: also to this machine, for tests
  explicit Client(Way way = Way::best);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  // Any status is an answer; redirects are not followed; http and https alone. Errors: unreachable
  // (no connection, or it broke), timeout, too_large, gone (sink, cancel, keep_on), denied
  // (refuse_address), invalid (URL, header, file range), unsupported (no libcurl here).
  Result<Answer> send(const ClientRequest& request);
  // Ends the running send() from another thread, or the next one if none runs: it returns
  // Code::gone. So a cancel that comes just before a send is not lost.
  void cancel();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::net
