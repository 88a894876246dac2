#include "net/listener.h"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/format.h"

namespace hearth::net {
namespace {

constexpr int kBacklog = 4096;  // connections that wait to be accepted

struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Result<TcpAddress> tcp_address(const std::string& address, int port) {
  TcpAddress out;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (port < 0 || port > 65535)
    return Error::invalid(format("{} is no port", port),
                          "choose one from 1 to 65535, or 0 for any");
  if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<uint16_t>(port));
    out.size = sizeof *v4;
  } else if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<uint16_t>(port));
    out.size = sizeof *v6;
  } else {
    return Error::invalid(format("'{}' is no address to listen on", address),
                          "write 127.0.0.1, ::1, or 0.0.0.0 for all");
  }
  return out;
}

Error bind_error(const std::string& name, int port, int saved_errno) {
  switch (saved_errno) {
    case EADDRINUSE:
      return Error::conflict(
          format("{} is taken by another program", name),
          port > 0 ? format("stop that program (`ss -ltnp 'sport = :{}'` names it), or listen on "
                            "another port",
                            port)
                   : "stop that program, or listen elsewhere");
    case EADDRNOTAVAIL:
      return Error::invalid(format("no interface of this machine has the address of {}", name),
                            "`ip address` lists those it has");
    case EACCES:
      return Error::denied(format("{} may not be listened on", name),
                           "choose a port from 1024 on, or give the program CAP_NET_BIND_SERVICE");
    default:
      return Error::from_errno(format("cannot listen on {}", name), saved_errno);
  }
}

// Does anybody listen on this socket file?
bool answers(const sockaddr_un& address) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return true;
  const int failed = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const bool refused = failed != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return !refused;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(const ServerOptions::Listen& where) {
  std::unique_ptr<Listener> listener(new Listener());
  if (where.unix_path.empty()) {
    TRY(listener->open_tcp(where));
  } else {
    TRY(listener->open_unix(where));
  }
  return listener;
}

Listener::~Listener() {
  close();
}

void Listener::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (std::exchange(made_file_, false)) ::unlink(path_.c_str());
}

int Listener::release() {
  return std::exchange(socket_, -1);
}

std::string Listener::name() const {
  if (is_unix()) return "unix:" + path_;
  const bool six = address_.find(':') != std::string::npos;
  return six ? format("[{}]:{}", address_, port_) : format("{}:{}", address_, port_);
}

Result<void> Listener::open_tcp(const ServerOptions::Listen& where) {
  address_ = where.address;
  port_ = where.port;
  TcpAddress address = TRY(tcp_address(where.address, where.port));
  auto* generic = reinterpret_cast<sockaddr*>(&address.storage);
  socket_ = ::socket(generic->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return bind_error(name(), port_, errno);
  constexpr int kOn = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
  if (generic->sa_family == AF_INET6) {
    // "::" means every address of the machine, the IPv4 ones too.
    constexpr int kOff = 0;
    ::setsockopt(socket_, IPPROTO_IPV6, IPV6_V6ONLY, &kOff, sizeof kOff);
  }
  if (::bind(socket_, generic, address.size) != 0 || ::listen(socket_, kBacklog) != 0)
    return bind_error(name(), port_, errno);
  address.size = sizeof address.storage;
  if (::getsockname(socket_, generic, &address.size) != 0) return bind_error(name(), port_, errno);
  port_ = ntohs(generic->sa_family == AF_INET
                    ? reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port
                    : reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port);
  return {};
}

Result<void> Listener::open_unix(const ServerOptions::Listen& where) {
  path_ = where.unix_path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path)
    return Error::invalid(format("the socket path {} has {} characters, the system takes {}", path_,
                                 path_.size(), sizeof address.sun_path - 1),
                          "choose a shorter directory");
  std::memcpy(address.sun_path, path_.c_str(), path_.size());
  struct stat about{};
  if (::lstat(path_.c_str(), &about) == 0) {
    if (!S_ISSOCK(about.st_mode))
      return Error::conflict(format("{} is there, and is no socket", path_),
                             "move it away, or choose another path");
    if (answers(address)) return bind_error(name(), 0, EADDRINUSE);
    ::unlink(path_.c_str());  // left over from a server that was killed
  }
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return bind_error(name(), 0, errno);
  // The file is made with the socket's own mode, so that it is never open to more than that.
  ::fchmod(socket_, static_cast<mode_t>(where.unix_mode));
  if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return bind_error(name(), 0, errno);
  made_file_ = true;
  if (::chmod(path_.c_str(), static_cast<mode_t>(where.unix_mode)) != 0 ||
      ::listen(socket_, kBacklog) != 0)
    return bind_error(name(), 0, errno);
  return {};
}

}  // namespace hearth::net
