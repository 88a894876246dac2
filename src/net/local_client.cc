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
constexpr Time kNever{INT64_MAX};

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

template <typename Address>
SocketAddress packed(const Address& address) {
  SocketAddress made;
  std::memcpy(&made.bytes, &address, sizeof address);
  made.size = sizeof address;
  return made;
}

SocketAddress ipv4(const in_addr& host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = host;
  address.sin_port = htons(port);
  return packed(address);
}

SocketAddress ipv6_loopback(uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(port);
  return packed(address);
}

// To be tried in their order; none where libcurl must look.
std::vector<SocketAddress> addresses_of(const ClientRequest& request) {
  if (!request.unix_path.empty()) {
    sockaddr_un address{};
    if (request.unix_path.size() >= sizeof address.sun_path) return {};
    address.sun_family = AF_UNIX;
    request.unix_path.copy(address.sun_path, request.unix_path.size());
    return {packed(address)};
  }
  const auto port = port_of(split_url(request.url).authority);
  const std::string host(host_of(request.url));
  if (!port || !loopback(host)) return {};
  in_addr number{};
  if (host == "::1") return {ipv6_loopback(*port)};
  if (inet_pton(AF_INET, host.c_str(), &number) == 1) return {ipv4(number, *port)};
  if (host != "localhost") return {};
  number.s_addr = htonl(INADDR_LOOPBACK);
  return {ipv4(number, *port), ipv6_loopback(*port)};
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

// Waits for the socket (or for nothing but time, -1), but not long, and less when it is woken.
void wait_for(int socket, int16_t events, int wake, Duration most) {
  pollfd both[2] = {{wake, POLLIN, 0}, {socket, events, 0}};
  if (::poll(both, socket < 0 ? 1 : 2, static_cast<int>((most.micros + 999) / 1000)) < 0) return;
  uint64_t count = 0;
  if (both[0].revents != 0) (void)!::read(wake, &count, sizeof count);
}

// Connected, or -1 and why it is not.
Result<int> connected_socket(const SocketAddress& address, Time give_up, int wake, Ends& ends,
                             std::string& why) {
  const int socket =
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) {
    why = std::strerror(errno);
    return -1;
  }
  Result<void> goes_on;
  why = "the connection is not taken";
  while (goes_on.ok() && system_clock().steady() < give_up) {
    const int done =
        ::connect(socket, reinterpret_cast<const sockaddr*>(&address.bytes), address.size);
    const int error = done == 0 ? EISCONN : errno;
    if (error == EISCONN) {
      const int on = 1;  // of no use to a Unix socket, and refused there
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return socket;
    }
    const bool full = error == EAGAIN;  // the queue of a Unix socket
    if (!full && error != EINPROGRESS && error != EALREADY && error != EINTR) {
      why = std::strerror(error);
      break;
    }
    wait_for(full ? -1 : socket, POLLOUT, wake, full ? kBacklogPause : kKeepOn);
    goes_on = ends.look();
  }
  ::close(socket);
  TRY(std::move(goes_on));
  return -1;
}

// Nothing has come since the last answer, and the other side has not closed.
bool still_quiet(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

// One request and its answer over an open connection.
class LocalClient::Exchange {
 public:
  Exchange(Transfer& transfer, int socket, int wake, Time give_up, Ends& ends)
      : transfer_(transfer),
        socket_(socket),
        wake_(wake),
        give_up_(give_up),
        ends_(ends),
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
    // A piece each way at most between two looks: also a transfer that never pauses can be ended.
    while (decoder_.state() != ResponseDecoder::State::done) {
      TRY(ends_.look());
      if (system_clock().steady() >= give_up_)
        return not_answered(transfer_, "it has not answered in time", true);
      if (!sent_ && !broken_) TRY(write());
      wait();
      TRY(read());
    }
    transfer_.answer.status = decoder_.status();
    transfer_.answer.headers = std::move(decoder_.headers());
    return {};
  }
  bool begun() const { return decoder_.started(); }  // a byte of the answer was seen
  bool reusable() const { return sent_ && !broken_ && decoder_.keep_alive(); }

 private:
  Result<void> write() {
    if (at_ == out_.size() && !more()) {
      if (transfer_.refused) return *transfer_.refused;
      sent_ = true;
      return {};
    }
    const ssize_t n = ::send(socket_, out_.data() + at_, out_.size() - at_, MSG_NOSIGNAL);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    // It may have answered before it had all, and closed: that is read first.
    if (n < 0) broken_ = true;
    if (n < 0) return {};
    at_ += static_cast<size_t>(n);
    written_ += n;
    sent_ = at_ == out_.size() && !from_file_;
    const int64_t of_body = written_ - static_cast<int64_t>(head_bytes_);
    if (of_body > 0 && !transfer_.tell_progress(of_body, total_)) return *transfer_.refused;
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

  void wait() const {
    const Duration most = transfer_.request.keep_on ? kKeepOn : kMostPoll;
    const Duration left = std::max(Duration{0}, give_up_ - system_clock().steady());
    const auto events = static_cast<int16_t>(!sent_ && !broken_ ? POLLIN | POLLOUT : POLLIN);
    wait_for(socket_, events, wake_, std::min(most, left));
  }

  Result<void> read() {
    const ssize_t n = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (n < 0) return broken(std::strerror(errno));
    if (n == 0) decoder_.end();
    const std::string_view bytes(buffer_.data(), static_cast<size_t>(n));
    // What comes behind the answer was not asked for.
    if (decoder_.feed(bytes) < bytes.size()) broken_ = true;
    if (decoder_.state() != ResponseDecoder::State::failed) return {};
    if (decoder_.head_too_large()) transfer_.head_too_large();
    if (transfer_.refused) return *transfer_.refused;
    return broken(decoder_.failure());
  }

  Error broken(std::string_view why) const {
    return Error::of(Code::unreachable, format("{}: {}", transfer_.where(), why));
  }

  Transfer& transfer_;
  const int socket_, wake_;
  const Time give_up_;
  Ends& ends_;
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

Result<void> LocalClient::connect(const Transfer& transfer, Ends& ends, Time give_up) {
  const std::vector<SocketAddress> addresses = addresses_of(transfer.request);
  give_up = std::min(give_up, system_clock().steady() + transfer.request.connect_time);
  std::string why;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Time now = system_clock().steady();
    const Duration share{(give_up - now).micros / static_cast<int64_t>(addresses.size() - i)};
    socket_ = TRY(connected_socket(addresses[i], now + share, wake_, ends, why));
    if (socket_ >= 0) return {};
  }
  return not_reached(transfer, why);
}

Result<void> LocalClient::send(Transfer& transfer, std::atomic<bool>& cancelled) {
  const ClientRequest& request = transfer.request;
  std::string to = request.unix_path.empty() ? std::string(split_url(request.url).authority)
                                             : "unix:" + request.unix_path;
  if (to != to_ || (socket_ >= 0 && !still_quiet(socket_))) close();
  to_ = std::move(to);
  const Time now = system_clock().steady();
  const Time give_up = request.total_time.micros == 0 ? kNever : now + request.total_time;
  Ends ends(request, cancelled);
  for (;;) {
    const bool kept = socket_ >= 0;
    if (!kept) TRY(connect(transfer, ends, give_up));
    Exchange exchange(transfer, socket_, wake_, give_up, ends);
    auto done = exchange.run();
    if (!exchange.reusable() || !done.ok()) close();
    // A kept connection that broke before a byte came was most likely closed as idle before the
    // request arrived (libcurl holds it so, too).
    const bool again = !done.ok() && done.error().code == Code::unreachable && kept &&
                       !exchange.begun() && transfer.file.seek(0);
    if (!again) return done;
    transfer.sent = -1;
  }
}

}  // namespace hearth::net
