// The whole server, put together: what `hearth up` runs.
#pragma once

#include <memory>
#include <string>

#include "app/paths.h"
#include "base/result.h"
#include "cli/local.h"

namespace hearth::app {

// Who runs on a data directory; written to DIR/server.json once it answers.
struct ServerFile {
  int64_t pid = 0;
  std::string url, server_id, version;
  std::string lent;  // nodes that a topology file lends, in words
  bool operator==(const ServerFile&) const = default;
};
std::string to_text(const ServerFile& file);
Result<ServerFile> read_server_file(const std::string& path);

class HearthServer {
 public:
  // Opens everything and begins to answer; on a first start makes the admin and his context.
  static Result<std::unique_ptr<HearthServer>> start(const cli::UpArgs& args);
  virtual ~HearthServer() = default;
  virtual const std::string& url() const = 0;
  // A sign-in link for the first admin: URL/sign-in#CODE.
  virtual Result<std::string> sign_in_link() = 0;
  // Reads the files of TLS again. Without TLS nothing; on an error all stays as it was.
  virtual Result<void> reload() = 0;
  // Starts no job from now on, until release().
  virtual void hold() = 0;
  virtual bool held() const = 0;
  virtual void release() = 0;
  // No task runs.
  virtual bool idle() = 0;
  // Stops answering; tasks go on. Returns how many do.
  virtual int64_t stop() = 0;
};

}  // namespace hearth::app
