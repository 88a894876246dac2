// For tests of this room: a server on port 0 with a handler made of functions, and a raw socket.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "net/server.h"

namespace hearth::net {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "hearth-net-XXXXXX").string();
    path_ = mkdtemp(path.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

// Answers "METHOD PATH" unless told otherwise.
struct TestHandler : Handler {
  std::function<BodyRule(const RequestHead&)> on_rule = [](const RequestHead&) {
    return BodyRule();
  };
  std::function<Response(Request&)> on_request = [](Request& request) {
    return Response::text(200, "text/plain", request.method + " " + request.path);
  };
  BodyRule rule(const RequestHead& head) override { return on_rule(head); }
  Response handle(Request& request) override { return on_request(request); }
  Response malformed(int status, std::string_view detail, const std::string& id) override {
    return Response::text(status, "text/plain", format("malformed: {} [{}]", detail, id));
  }
};

struct TestServer {
  explicit TestServer(ServerOptions the_options = {}) : options(std::move(the_options)) {
    if (options.listen.empty()) options.listen.push_back({.address = "127.0.0.1"});
    options.temporary_directory = directory.path();
    options.workers = std::min(options.workers, 4);
  }
  // Set the handler's functions first.
  void start() {
    auto made = Server::create(options, handler, signals);
    ASSERT_TRUE(made.ok()) << made.error().text();
    server = std::move(*made);
    server->start();
  }
  int port() const { return server->port(); }
  std::string url(const std::string& path) const {
    return format("http://127.0.0.1:{}{}", port(), path);
  }

  TemporaryDirectory directory;
  ServerOptions options;
  TestHandler handler;
  Signals signals;
  std::unique_ptr<Server> server;
};

struct RawAnswer {
  int status = 0;
  Headers headers;
  std::string body;
};

// A TCP client that sends exactly what it is told.
class RawClient {
 public:
  explicit RawClient(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  explicit RawClient(const std::string& unix_path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    unix_path.copy(address.sun_path, sizeof address.sun_path - 1);
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { close(); }
  RawClient(RawClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}
  RawClient& operator=(RawClient&&) = delete;

  bool connected() const { return connected_; }
  int socket() const { return socket_; }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  void get(const std::string& path, const std::string& headers = "") {
    send(format("GET {} HTTP/1.1\r\nHost: h\r\n{}\r\n", path, headers));
  }
  // More bytes; false at the end of the connection or after `limit` of silence.
  bool receive(Duration limit = Duration::seconds(10)) {
    pollfd waiting{socket_, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(limit.micros / 1000)) <= 0) return false;
    char piece[16384];
    const ssize_t n = recv(socket_, piece, sizeof piece, 0);
    if (n <= 0) {
      ended_ = true;
      return false;
    }
    held_.append(piece, static_cast<size_t>(n));
    return true;
  }
  // True once the server has closed.
  bool ended(Duration limit = Duration::seconds(10)) {
    while (receive(limit)) continue;
    return ended_;
  }
  bool receive_until(std::string_view text) {
    while (held_.find(text) == std::string::npos)
      if (!receive()) return false;
    return true;
  }
  // The next whole answer; status 0 if there is none. Interim answers (1xx) count as answers.
  RawAnswer answer(bool has_body = true) {
    RawAnswer out;
    if (!receive_until("\r\n\r\n")) return out;
    const size_t end = held_.find("\r\n\r\n");
    const std::string head = held_.substr(0, end);
    held_.erase(0, end + 4);
    for (const std::string_view line : split(head, '\n')) {
      const size_t colon = line.find(':');
      if (out.status == 0) {
        out.status = std::stoi(std::string(line.substr(9, 3)));
      } else if (colon != std::string_view::npos) {
        out.headers.add(std::string(line.substr(0, colon)),
                        std::string(trim(line.substr(colon + 1))));
      }
    }
    if (has_body && out.status >= 200 && out.status != 204) out.body = body(out.headers);
    return out;
  }
  std::string& held() { return held_; }

 private:
  std::string body(const Headers& headers) {
    std::string out;
    if (headers.get("transfer-encoding")) {
      for (;;) {
        if (!receive_until("\r\n")) return out + "<cut>";
        const size_t size = std::stoul(held_, nullptr, 16);
        held_.erase(0, held_.find("\r\n") + 2);
        while (held_.size() < size + 2)
          if (!receive()) return out + "<cut>";
        out += held_.substr(0, size);
        held_.erase(0, size + 2);
        if (size == 0) return out;
      }
    }
    const auto length = headers.get("content-length");
    if (!length) {
      ended();
      return std::exchange(held_, std::string());
    }
    const size_t size = std::stoul(std::string(*length));
    while (held_.size() < size)
      if (!receive()) return std::exchange(held_, std::string()) + "<cut>";
    out = held_.substr(0, size);
    held_.erase(0, size);
    return out;
  }

  int socket_ = -1;
  bool connected_ = false;
  bool ended_ = false;
  std::string held_;
};

// Waits for what another thread brings about; false after ten seconds.
inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace hearth::net
