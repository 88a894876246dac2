// A bound and listening socket, TCP or Unix.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/server.h"

namespace hearth::net {

class Listener {
 public:
  // Errors: conflict (taken), invalid (no such address, path too long), denied (port below 1024).
  static Result<std::unique_ptr<Listener>> open(const ServerOptions::Listen& where);
  ~Listener();  // close()
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int socket() const { return socket_; }
  // The caller closes it from now on; the file of a Unix socket stays this one's.
  int release();
  // Deletes the file of a Unix socket, and closes what was not released. Name and port stay.
  void close();
  bool is_unix() const { return !path_.empty(); }
  int port() const { return port_; }  // 0 for a Unix socket
  std::string name() const;           // "127.0.0.1:8470" or "unix:/run/hearth.sock", for messages

 private:
  Listener() = default;
  Result<void> open_tcp(const ServerOptions::Listen& where);
  Result<void> open_unix(const ServerOptions::Listen& where);

  int socket_ = -1;
  int port_ = 0;
  std::string address_;
  std::string path_;
  bool made_file_ = false;
};

}  // namespace hearth::net
