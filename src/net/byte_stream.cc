#include "net/byte_stream.h"

#include <cerrno>

#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

namespace hearth::net {
namespace {

// sendfile() knows no MSG_NOSIGNAL: keeps a SIGPIPE that it raises in this thread from anybody.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const int saved = errno;
    if (sigismember(&before_, SIGPIPE) == 0) {
      constexpr timespec kNow{};
      while (sigtimedwait(&pipe_, nullptr, &kNow) < 0 && errno == EINTR) continue;
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    errno = saved;
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

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
    const WithoutSigpipe guard;
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

std::unique_ptr<ByteStream> make_plain_stream(int socket) {
  return std::make_unique<PlainStream>(socket);
}

}  // namespace hearth::net
