// The way to the server: its Unix socket first, then its address, always with the shim's token.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "domain/wire/sync.h"
#include "domain/wire/task_spec.h"
#include "net/client.h"
#include "os/files.h"

namespace hearth::shim {

// Waits between two tries while the server is away.
constexpr Duration kFirstBackOff = Duration::millis(50);
constexpr Duration kLongestBackOff = Duration::seconds(2);

// Whether an error of the link may pass by itself (no server, busy, restart).
bool may_pass(const Error& error);

// Belongs to one thread; cancel() alone may come from another.
class ServerLink {
 public:
  explicit ServerLink(const TaskSpec& spec) : spec_(spec) {}

  // One sync. `gone`: the server wants nothing of this task any more.
  Result<SyncAnswer> sync(std::string body, Duration wait);

  // Objects. A digest that the server does not have: not_found.
  Result<bool> has_object(const std::string& digest);
  // Into the new file `to`, its digest checked. It may take hours: `keep_on` is asked meanwhile.
  Result<void> fetch_object(const std::string& digest, const std::string& to,
                            const std::function<bool()>& keep_on);
  // From the open file, resumed where an earlier try stopped. invalid: the bytes changed meanwhile.
  Result<void> send_object(const os::File& file, const std::string& digest, int64_t size);
  Result<void> send_object(std::string_view bytes, const std::string& digest);

  void cancel() { client_.cancel(); }

 private:
  Result<net::Answer> call(net::ClientRequest request, const std::string& path);
  Result<net::Answer> call_once(net::ClientRequest& request, const std::string& path);
  using Part = std::function<void(net::ClientRequest&, int64_t offset, int64_t length)>;
  Result<void> send_parts(const std::string& digest, int64_t size, const Part& part);
  const TaskSpec& spec_;
  net::Client client_;
  bool socket_failed_ = false;
};

// Runs `work` again with growing pauses while its error may pass and keep_on() says so.
Result<void> with_patience(const std::function<Result<void>()>& work,
                           const std::function<bool(Duration pause)>& keep_on);

}  // namespace hearth::shim
