#include "net/byte_stream.h"

#include <cerrno>

#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

namespace hearth::net {
namespace {

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(int socket) : socket_(socket) {}

  IoStep handshake() override { return {IoStatus::done, 0}; }

  IoStep read(std::span<char> into) override {
    const ssize_t n = recv(socket_, into.data(), into.size(), 0);
    drained_ = n < static_cast<ssize_t>(into.size());
    if (n > 0) return {IoStatus::done, static_cast<size_t>(n)};
    if (n < 0 && again()) return {IoStatus::want_read, 0};
    return {IoStatus::closed, 0};
  }

  bool drained() const override { return drained_; }

  IoStep write(std::string_view data, MoreFollows more) override {
    const int flags = MSG_NOSIGNAL | (more == MoreFollows::yes ? MSG_MORE : 0);
    return sent(send(socket_, data.data(), data.size(), flags));
  }

  bool plain() const override { return true; }

  IoStep send_file(int file, int64_t offset, size_t most) override {
    off_t at = offset;
    return sent(sendfile(socket_, file, &at, most));
  }

  void end_writing() override { shutdown(socket_, SHUT_WR); }

 private:
  static bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }
  static IoStep sent(ssize_t n) {
    if (n >= 0) return {IoStatus::done, static_cast<size_t>(n)};
    if (again()) return {IoStatus::want_write, 0};
    return {IoStatus::closed, 0};
  }

  const int socket_;
  bool drained_ = true;
};

}  // namespace

void block_sigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

std::unique_ptr<ByteStream> make_plain_stream(int socket) {
  return std::make_unique<PlainStream>(socket);
}

}  // namespace hearth::net
