// What all connections of one server share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "net/net_metrics.h"
#include "net/peer.h"
#include "net/server.h"
#include "net/tls.h"
#include "net/worker_pool.h"

namespace hearth::net {

struct Core {
  Core(ServerOptions the_options, Handler& the_handler, Signals& the_signals, Networks the_trusted,
       std::unique_ptr<TlsContext> the_tls);

  // Counts a connection in; the bound that forbids it, if one does. Unix sockets have no address.
  std::optional<Bound> admit(const std::optional<Address>& peer);
  // Counts it out. The last thing that a connection does with its Core.
  void leave(const std::optional<Address>& peer);
  // True once no connection is left.
  bool wait_until_empty(Duration limit);
  void wait_until_empty();

  // Memory for request bodies; false where the bound forbids it.
  bool reserve_body(int64_t bytes);
  void release_body(int64_t bytes);

  const ServerOptions options;
  Handler& handler;
  Signals& signals;
  const Networks trusted;
  const std::unique_ptr<TlsContext> tls;  // null: plain
  NetMetrics metrics;
  std::unique_ptr<WorkerPool> pool;     // from start() to the end
  std::atomic<bool> stopping = false;   // take no more requests, end what waits
  std::atomic<bool> abandoned = false;  // the grace is over: leave everything

 private:
  std::atomic<int64_t> body_memory_ = 0;
  std::mutex mutex_;
  std::condition_variable emptied_;
  int connections_ = 0;
  std::unordered_map<std::string, int> by_peer_;
};

}  // namespace hearth::net
