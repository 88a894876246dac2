#include "net/local_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/format.h"
#include "net/response_decoder.h"

namespace hearth::net {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr Duration kBacklogPause = Duration::millis(5);  // a Unix socket whose queue is full
constexpr std::string_view kScheme = "http://";
constexpr uint16_t kHttpPort = 80;

struct Url {
  std::string_view authority;  // "127.0.0.1:8470"
  std::string_view target;     // "/x?y"; may be empty or begin with '?'
};

Url split_url(std::string_view url) {
  url.remove_prefix(kScheme.size());
  url = url.substr(0, url.find('#'));
  const size_t end = std::min(url.find_first_of("/?"), url.size());
  return {url.substr(0, end), url.substr(end)};
}

// What stands behind the host; nothing where it is no port.
std::optional<uint16_t> port_of(std::string_view authority) {
  const size_t host_end = authority.starts_with('[') ? authority.find(']') : 0;
  if (host_end == std::string_view::npos) return std::nullopt;
  const size_t colon = authority.find(':', host_end);
  if (colon == std::string_view::npos) return kHttpPort;
  const std::string_view digits = authority.substr(colon + 1);
  uint16_t port = 0;
  const auto [rest, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (failed != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
  return port;
}

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

SocketAddress ipv4(const in_addr& host, uint16_t port) {
  SocketAddress made;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = host;
  address.sin_port = htons(port);
  std::memcpy(&made.bytes, &address, sizeof address);
  made.size = sizeof address;
  return made;
}

SocketAddress ipv6_loopback(uint16_t port) {
  SocketAddress made;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(port);
  std::memcpy(&made.bytes, &address, sizeof address);
  made.size = sizeof address;
  return made;
}

// To be tried in their order; none where libcurl must look.
std::vector<SocketAddress> addresses_of(const ClientRequest& request) {
  if (!request.unix_path.empty()) {
    sockaddr_un address{};
    if (request.unix_path.size() >= sizeof address.sun_path) return {};
    address.sun_family = AF_UNIX;
    request.unix_path.copy(address.sun_path, request.unix_path.size());
    SocketAddress made;
    std::memcpy(&made.bytes, &address, sizeof address);
    made.size = sizeof address;
    return {made};
  }
  const auto port = port_of(split_url(request.url).authority);
  const std::string host(host_of(request.url));
  if (!port || !loopback(host)) return {};
  in_addr number{};
  if (host == "::1") return {ipv6_loopback(*port)};
  if (inet_pton(AF_INET, host.c_str(), &number) == 1) return {ipv4(number, *port)};
  if (host != "localhost") return {};
  number.s_addr = htonl(INADDR_LOOPBACK);
  return {ipv6_loopback(*port), ipv4(number, *port)};
}

int millis_until(Time when) {
  const int64_t left = (when - system_clock().steady()).micros;
  return static_cast<int>(std::clamp<int64_t>((left + 999) / 1000, 0, INT32_MAX));
}

bool sends_body(const ClientRequest& request) {
  return !request.body_file.empty() || !request.body.empty() || request.method == "POST" ||
         request.method == "PUT" || request.method == "PATCH";
}

std::string head_of(const Transfer& transfer) {
  const ClientRequest& request = transfer.request;
  const Url url = split_url(request.url);
  std::string head = request.method + (url.target.starts_with('/') ? " " : " /");
  head += url.target;
  head += " HTTP/1.1\r\n";
  if (!request.headers.get("host")) head += format("Host: {}\r\n", url.authority);
  if (!request.headers.get("accept")) head += "Accept: */*\r\n";
  for (const auto& [name, value] : request.headers.all()) head += name + ": " + value + "\r\n";
  if (sends_body(request)) {
    const auto bytes = request.body_file.empty() ? static_cast<int64_t>(request.body.size())
                                                 : transfer.file.length();
    head += format("Content-Length: {}\r\n", bytes);
  }
  return head + "\r\n";
}

// Empty when the connection goes on, else why it does not.
std::string connect_failure(int socket, Time give_up) {
  for (;;) {
    pollfd one{.fd = socket, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&one, 1, millis_until(give_up));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return "the connection is not taken";
    int failed = 0;
    socklen_t size = sizeof failed;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &failed, &size);
    return failed == 0 ? "" : std::strerror(failed);
  }
}

// Connected, or -1 and why it is not.
int connected_socket(const SocketAddress& address, Time give_up, std::string& why) {
  const int socket =
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) {
    why = std::strerror(errno);
    return -1;
  }
  for (;;) {
    const int done =
        ::connect(socket, reinterpret_cast<const sockaddr*>(&address.bytes), address.size);
    if (done == 0) {
      why.clear();
    } else if (errno == EINPROGRESS || errno == EINTR) {
      why = connect_failure(socket, give_up);
    } else if (errno == EAGAIN && system_clock().steady() < give_up) {
      ::poll(nullptr, 0, static_cast<int>(kBacklogPause.micros / 1000));
      continue;
    } else {
      why = std::strerror(errno);
    }
    break;
  }
  if (!why.empty()) {
    ::close(socket);
    return -1;
  }
  const int on = 1;  // of no use to a Unix socket, and refused there
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace

// One request and its answer over an open connection.
class LocalClient::Exchange {
 public:
  Exchange(Transfer& transfer, int socket, int wake, Time give_up, std::atomic<bool>& cancelled)
      : transfer_(transfer),
        socket_(socket),
        wake_(wake),
        give_up_(give_up),
        cancelled_(cancelled),
        out_(head_of(transfer)),
        decoder_({.to_head = transfer.request.method == "HEAD",
                  .most_head_bytes = kMostAnswerHeaderBytes,
                  .on_status = [this](int status) { transfer_.succeeds = status / 100 == 2; },
                  .on_body = [this](std::string_view p) { return transfer_.take_body(p); }}) {
    const ClientRequest& request = transfer.request;
    from_file_ = !request.body_file.empty();
    total_ = from_file_ ? transfer.file.length() : static_cast<int64_t>(request.body.size());
    if (!from_file_) out_ += request.body;
    head_bytes_ = out_.size() - (from_file_ ? 0 : request.body.size());
  }

  Result<void> run() {
    Time ask_at = system_clock().steady();
    while (decoder_.state() != ResponseDecoder::State::done) {
      TRY(keep_on(transfer_.request, ask_at));
      if (cancelled_.exchange(false)) return Error::of(Code::gone, "the request was cancelled");
      if (system_clock().steady() >= give_up_)
        return not_answered(transfer_, "it has not answered in time", true);
      if (!sent_) TRY(write());
      TRY(wait());
      TRY(read());
    }
    transfer_.answer.status = decoder_.status();
    transfer_.answer.headers = std::move(decoder_.headers());
    return {};
  }
  bool begun() const { return decoder_.started(); }  // a byte of the answer was seen
  bool reusable() const { return sent_ && !broken_ && decoder_.keep_alive(); }

 private:
  // As much as goes; the rest when the other side has taken some.
  Result<void> write() {
    while (!broken_) {
      if (at_ == out_.size() && !more()) {
        if (transfer_.refused) return *transfer_.refused;
        sent_ = true;
        return {};
      }
      const ssize_t n = ::send(socket_, out_.data() + at_, out_.size() - at_, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
      // It may have answered before it had all, and closed: that is read first.
      if (n < 0) broken_ = true;
      if (n < 0) break;
      at_ += static_cast<size_t>(n);
      written_ += n;
      const int64_t of_body = written_ - static_cast<int64_t>(head_bytes_);
      if (of_body > 0 && !transfer_.tell_progress(of_body, total_)) return *transfer_.refused;
    }
    return {};
  }

  // The next piece of the file.
  bool more() {
    if (!from_file_) return false;
    out_.resize(kPieceBytes);
    at_ = 0;
    const ssize_t n = transfer_.file.read(out_.data(), out_.size());
    if (n < 0) transfer_.file_cut_short();
    out_.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return n > 0;
  }

  Result<void> wait() {
    const Duration most = transfer_.request.keep_on ? kKeepOn : kMostPoll;
    const int millis = std::min(millis_until(give_up_), static_cast<int>(most.micros / 1000));
    const bool writes = !sent_ && !broken_;
    const auto events = static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN);
    pollfd both[2] = {{socket_, events, 0}, {wake_, POLLIN, 0}};
    if (::poll(both, 2, millis) < 0 && errno != EINTR)
      return Error::from_errno("waiting for an answer", errno);
    uint64_t count = 0;
    if (both[1].revents != 0) (void)!::read(wake_, &count, sizeof count);
    return {};
  }

  Result<void> read() {
    while (decoder_.state() != ResponseDecoder::State::done) {
      const ssize_t n = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
      if (n < 0) return broken(std::strerror(errno));
      if (n == 0) decoder_.end();
      const std::string_view bytes(buffer_.data(), static_cast<size_t>(n));
      // What comes behind the answer was not asked for.
      if (n > 0 && decoder_.feed(bytes) < bytes.size()) broken_ = true;
      if (decoder_.state() != ResponseDecoder::State::failed) continue;
      if (decoder_.head_too_large()) transfer_.head_too_large();
      if (transfer_.refused) return *transfer_.refused;
      return broken(decoder_.failure());
    }
    return {};
  }

  Error broken(std::string_view why) const {
    return Error::of(Code::unreachable, format("{}: {}", transfer_.where(), why));
  }

  Transfer& transfer_;
  const int socket_, wake_;
  const Time give_up_;
  std::atomic<bool>& cancelled_;
  std::string out_;  // head and body, or the piece of the file that is being sent
  size_t at_ = 0;
  size_t head_bytes_ = 0;
  int64_t written_ = 0, total_ = 0;
  bool from_file_ = false, sent_ = false, broken_ = false;
  ResponseDecoder decoder_;
  std::array<char, kPieceBytes> buffer_;
};

LocalClient::LocalClient() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(wake_ >= 0);
}

LocalClient::~LocalClient() {
  close();
  ::close(wake_);
}

void LocalClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void LocalClient::wake() {
  const uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

bool LocalClient::takes(const ClientRequest& request) {
  const std::string_view url = request.url;
  if (!url.starts_with(kScheme) || request.refuse_address) return false;
  if (std::any_of(url.begin(), url.end(), [](char c) { return c <= ' ' || c >= 0x7f; }))
    return false;
  const std::string_view authority = split_url(url).authority;
  if (authority.empty() || authority.find('@') != std::string_view::npos) return false;
  return !addresses_of(request).empty();
}

Result<void> LocalClient::connect(const Transfer& transfer) {
  const Time give_up = system_clock().steady() + transfer.request.connect_time;
  std::string why;
  for (const SocketAddress& address : addresses_of(transfer.request)) {
    socket_ = connected_socket(address, give_up, why);
    if (socket_ >= 0) return {};
  }
  return not_reached(transfer, why);
}

Result<void> LocalClient::send(Transfer& transfer, std::atomic<bool>& cancelled) {
  const ClientRequest& request = transfer.request;
  std::string to = request.unix_path.empty() ? std::string(split_url(request.url).authority)
                                             : "unix:" + request.unix_path;
  if (to != to_) close();
  to_ = std::move(to);
  const Time give_up = request.total_time.micros == 0
                           ? Time{INT64_MAX}
                           : system_clock().steady() + request.total_time;
  for (;;) {
    const bool kept = socket_ >= 0;
    if (!kept) TRY(connect(transfer));
    Exchange exchange(transfer, socket_, wake_, give_up, cancelled);
    auto done = exchange.run();
    if (!exchange.reusable() || !done.ok()) close();
    // The other side may have closed a kept connection just before: nobody has read this request.
    const bool again = !done.ok() && done.error().code == Code::unreachable && kept &&
                       !exchange.begun() && transfer.file.seek(0);
    if (!again) return done;
    transfer.sent = -1;
  }
}

}  // namespace hearth::net
