#include "net/acceptor.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

namespace hearth::net {
namespace {

constexpr int kMostAtOnce = 64;  // connections taken before the others get their turn
constexpr Duration kPause = Duration::millis(100);  // when the system has no more descriptors

int peer_uid(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return -1;
  return static_cast<int>(credentials.uid);
}

}  // namespace

Acceptor::Acceptor(Core& core, std::vector<std::shared_ptr<IoThread>> threads, Listener& listener)
    : core_(core),
      threads_(std::move(threads)),
      is_unix_(listener.is_unix()),
      descriptor_(threads_.front()->executor(), listener.release()),
      pause_(threads_.front()->executor()) {}

void Acceptor::start() {
  asio::co_spawn(threads_.front()->executor(), run(shared_from_this()), asio::detached);
}

void Acceptor::stop() {
  stopped_ = true;
  Failed ignored;
  descriptor_.close(ignored);
  pause_.cancel();
}

Task<void> Acceptor::run(std::shared_ptr<Acceptor> self) {
  Failed failed;
  while (!self->stopped_) {
    auto token = into(failed);
    co_await self->descriptor_.async_wait(Descriptor::wait_read, std::move(token));
    if (failed) break;
    Accepted last = Accepted::one;
    for (int i = 0; i < kMostAtOnce && last == Accepted::one; ++i) last = self->accept_one();
    if (last == Accepted::pause) {
      self->pause_.expires_after(kPause.chrono());
      auto rest = into(failed);
      co_await self->pause_.async_wait(std::move(rest));
    }
  }
}

Acceptor::Accepted Acceptor::accept_one() {
  if (stopped_) return Accepted::stopped;
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  const int socket =
      ::accept4(descriptor_.native_handle(), address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Accepted::none;
    if (errno == ECONNABORTED || errno == EINTR) return Accepted::one;
    if (!std::exchange(short_, true))
      log_warning("connections cannot be accepted for now: {}", std::strerror(errno));
    return Accepted::pause;
  }
  short_ = false;
  Peer peer;
  if (is_unix_) {
    peer.uid = peer_uid(socket);
  } else {
    peer.address = Address::of(address);
    constexpr int kOn = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  }
  const auto bound = core_.admit(peer.address);
  if (bound) {
    refuse(socket, *bound);
  } else {
    hand_over(socket, std::move(peer));
  }
  return Accepted::one;
}

void Acceptor::hand_over(int socket, Peer peer) {
  const std::optional<Address> address = peer.address;
  const auto& home = threads_[next_++ % threads_.size()];
  std::shared_ptr<Connection> connection;
  try {
    std::unique_ptr<ByteStream> stream = is_unix_ || core_.tls == nullptr
                                             ? make_plain_stream(socket)
                                             : core_.tls->make_stream(socket);
    connection =
        std::make_shared<Connection>(core_, home, socket, std::move(peer), std::move(stream));
  } catch (const std::exception& error) {
    log_error("a connection cannot be taken: {}", error.what());
    ::close(socket);
    core_.leave(address);
    return;
  }
  if (home == threads_.front()) {
    connection->start();
  } else {
    home->post([connection] { connection->start(); });
  }
}

// A word of why where there is no TLS to shake hands for first, and the end.
void Acceptor::refuse(int socket, Bound bound) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
      "Content-Type: text/plain\r\n\r\nToo many connections; try again in a moment\n";
  core_.metrics.met(bound);
  if (is_unix_ || core_.tls == nullptr) {
    [[maybe_unused]] const ssize_t sent =
        ::send(socket, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::shutdown(socket, SHUT_WR);
  }
  ::close(socket);
}

}  // namespace hearth::net
