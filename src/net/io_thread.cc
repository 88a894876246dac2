#include "net/io_thread.h"

#include "base/id.h"
#include "base/log.h"
#include "net/byte_stream.h"
#include "net/connection.h"

namespace hearth::net {

IoThread::IoThread(Duration tick)
    : tick_(tick),
      work_(context_.get_executor()),
      timer_(context_),
      scratch_(std::make_unique<std::array<char, kReadBytes>>()),
      random_(system_random().u64()) {}

void IoThread::start() {
  thread_ = std::thread([this] {
    block_sigpipe();
    context_.run();
  });
}

void IoThread::join() {
  post([this] { timer_.cancel(); });
  work_.reset();
  if (thread_.joinable()) thread_.join();
}

void IoThread::add(Connection& connection) {
  connections_.insert(&connection);
  if (!armed_) arm();
}

void IoThread::remove(Connection& connection) {
  connections_.erase(&connection);
  if (connections_.empty()) timer_.cancel();
}

void IoThread::for_each(const std::function<void(Connection&)>& visit) {
  for (Connection* connection : connections_) visit(*connection);
}

void IoThread::arm() {
  armed_ = true;
  timer_.expires_after(tick_.chrono());
  timer_.async_wait([this](const Failed&) {
    armed_ = false;
    sweep();
  });
}

// Time-outs are looked for in ticks: cheaper than a timer each, and nobody counts their fractions.
void IoThread::sweep() {
  if (connections_.empty()) return;
  const Time now = system_clock().steady();
  for (Connection* connection : connections_) connection->look_at_deadline(now);
  arm();
}

std::string IoThread::new_request_id() {
  return new_id(system_clock(), random_);
}

}  // namespace hearth::net
