// What the server counts, looked up once.
#pragma once

#include <array>

#include "base/metrics.h"
#include "net/server.h"

namespace hearth::net {

// Which bound ended a request or a connection.
enum class Bound {
  connections,
  peer_connections,
  queue,
  body_memory,
  head_size,
  head_time,
  body_size,
  body_rate,
  idle_time,
  write_time,
  write_rate,
  malformed,
  count_,
};

struct NetMetrics {
  explicit NetMetrics(const ServerOptions& options);
  void met(Bound bound) { refused[static_cast<size_t>(bound)]->add(); }
  void answered(int status);

  Gauge& connections;
  Gauge& waiting;  // requests that wait for a topic, and streams
  Gauge& queued;
  Gauge& body_memory;
  Counter& accepted;
  std::array<Counter*, 6> answers{};  // by hundreds of the status; 0: client gone
  std::array<Counter*, static_cast<size_t>(Bound::count_)> refused{};
};

}  // namespace hearth::net
