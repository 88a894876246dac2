// Requests to this machine itself: plain HTTP over loopback or a Unix socket, without libcurl,
// which takes as long to load as all the rest of a command line's start.
#pragma once

#include <atomic>
#include <string>

#include "net/transfer.h"

namespace hearth::net {

class LocalClient {
 public:
  LocalClient();
  ~LocalClient();
  LocalClient(const LocalClient&) = delete;
  LocalClient& operator=(const LocalClient&) = delete;

  // Names but `localhost`, TLS, proxies and refused addresses are libcurl's.
  static bool takes(const ClientRequest& request);
  // As Client::send; the transfer is checked and its file open. `cancelled` is looked at, and taken
  // back, at each wake().
  Result<void> send(Transfer& transfer, std::atomic<bool>& cancelled);
  void wake();  // from any thread

 private:
  class Exchange;
  Result<void> connect(const Transfer& transfer, Ends& ends, Time give_up);
  void close();

  int wake_ = -1;
  int socket_ = -1;
  std::string to_;  // whom the socket goes to; it is kept between requests
};

}  // namespace hearth::net
