#include "net/core.h"

#include <utility>

namespace hearth::net {

Core::Core(ServerOptions the_options, Handler& the_handler, Signals& the_signals,
           Networks the_trusted, std::unique_ptr<TlsContext> the_tls)
    : options(std::move(the_options)),
      handler(the_handler),
      signals(the_signals),
      trusted(std::move(the_trusted)),
      tls(std::move(the_tls)),
      metrics(options) {}

std::optional<Bound> Core::admit(const std::optional<Address>& peer) {
  const std::lock_guard lock(mutex_);
  if (connections_ >= options.most_connections) return Bound::connections;
  if (peer) {
    int& of_peer = by_peer_[peer->text()];
    if (of_peer >= options.most_connections_per_peer) return Bound::peer_connections;
    ++of_peer;
  }
  ++connections_;
  metrics.accepted.add();
  metrics.connections.set(connections_);
  return std::nullopt;
}

void Core::leave(const std::optional<Address>& peer) {
  const std::lock_guard lock(mutex_);
  if (peer) {
    const auto found = by_peer_.find(peer->text());
    if (found != by_peer_.end() && --found->second == 0) by_peer_.erase(found);
  }
  --connections_;
  metrics.connections.set(connections_);
  // Under the lock: whoever waits may destroy this as soon as it is let go.
  if (connections_ == 0) emptied_.notify_all();
}

bool Core::wait_until_empty(Duration limit) {
  std::unique_lock lock(mutex_);
  return emptied_.wait_for(lock, limit.chrono(), [&] { return connections_ == 0; });
}

void Core::wait_until_empty() {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [&] { return connections_ == 0; });
}

bool Core::reserve_body(int64_t bytes) {
  const int64_t before = body_memory_.fetch_add(bytes);
  if (before + bytes > options.most_body_memory) {
    body_memory_.fetch_sub(bytes);
    return false;
  }
  metrics.body_memory.add(static_cast<double>(bytes));
  return true;
}

void Core::release_body(int64_t bytes) {
  if (bytes == 0) return;
  body_memory_.fetch_sub(bytes);
  metrics.body_memory.add(-static_cast<double>(bytes));
}

}  // namespace hearth::net
