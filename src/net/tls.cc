#include "net/tls.h"

#include <algorithm>
#include <climits>
#include <mutex>
#include <new>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "base/format.h"

namespace hearth::net {
namespace {

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

std::string last_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "unknown reason" : reason;
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(SSL* ssl, int socket) : ssl_(ssl), socket_(socket) {}

  IoStep handshake() override {
    ERR_clear_error();
    const int n = SSL_accept(ssl_.get());
    if (n == 1) return {IoStatus::done, 0};
    const IoStep step = stepped(n);
    if (step.status == IoStatus::closed && spoke_http_) say_that_it_is_tls();
    return step;
  }

  IoStep read(std::span<char> into) override {
    ERR_clear_error();
    const int n = SSL_read(ssl_.get(), into.data(), length(into.size()));
    drained_ = n <= 0;
    return stepped(n);
  }

  bool drained() const override { return drained_; }

  IoStep write(std::string_view data, MoreFollows) override {
    ERR_clear_error();
    return stepped(SSL_write(ssl_.get(), data.data(), length(data.size())));
  }

  bool plain() const override { return false; }
  IoStep send_file(int, int64_t, size_t) override { return {IoStatus::closed, 0}; }

  void end_writing() override {
    ERR_clear_error();
    if (!broken_ && SSL_is_init_finished(ssl_.get()) != 0) SSL_shutdown(ssl_.get());
    shutdown(socket_, SHUT_WR);
  }

 private:
  static int length(size_t size) { return static_cast<int>(std::min<size_t>(size, INT_MAX)); }

  IoStep stepped(int n) {
    if (n > 0) return {IoStatus::done, static_cast<size_t>(n)};
    switch (SSL_get_error(ssl_.get(), n)) {
      case SSL_ERROR_WANT_READ:
        return {IoStatus::want_read, 0};
      case SSL_ERROR_WANT_WRITE:
        return {IoStatus::want_write, 0};
      case SSL_ERROR_ZERO_RETURN:
        return {IoStatus::closed, 0};
      default:
        break;
    }
    broken_ = true;  // nothing may be sent on it any more, not even the end
    spoke_http_ = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_HTTP_REQUEST;
    ERR_clear_error();
    return {IoStatus::closed, 0};
  }

  void say_that_it_is_tls() const {
    constexpr std::string_view kAnswer =
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n"
        "This port speaks TLS: write https:// in place of http://\n";
    [[maybe_unused]] const ssize_t sent =
        send(socket_, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  std::unique_ptr<SSL, FreeSsl> ssl_;
  const int socket_;
  bool drained_ = false;
  bool broken_ = false;
  bool spoke_http_ = false;
};

using OwnedContext = std::unique_ptr<SSL_CTX, FreeContext>;

Result<OwnedContext> load(const std::string& certificate, const std::string& key) {
  OwnedContext made(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = made.get();
  if (context == nullptr) return Error::internal(format("no TLS context: {}", last_reason()));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  // Resumption by tickets alone: a cache in the server would be one more thing to bound.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
    return Error::invalid(
        format("the certificate {} cannot be used: {}", certificate, last_reason()),
        "give a readable PEM file with the certificate and its chain");
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1)
    return Error::invalid(
        format("the key {} cannot be used: {}", key, last_reason()),
        "give a readable PEM file with the key of the certificate, not encrypted");
  if (SSL_CTX_check_private_key(context) != 1)
    return Error::invalid(format("the key {} is not that of {}", key, certificate),
                          "give certificate and key of one pair");
  return Result<OwnedContext>(std::move(made));
}

}  // namespace

struct TlsContext::State {
  const std::string certificate, key;
  std::mutex mutex;  // guards the context; a stream holds on to the one that it was made from
  OwnedContext context;
};

TlsContext::TlsContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::create(const std::string& certificate,
                                                       const std::string& key) {
  OwnedContext context = TRY(load(certificate, key));
  std::unique_ptr<State> state(new State{certificate, key, {}, std::move(context)});
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(state)));
}

Result<void> TlsContext::reload() {
  OwnedContext fresh = TRY(load(state_->certificate, state_->key));
  const std::lock_guard lock(state_->mutex);
  std::swap(state_->context, fresh);
  return {};
}

std::unique_ptr<ByteStream> TlsContext::make_stream(int socket) const {
  SSL* ssl = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    ssl = SSL_new(state_->context.get());
  }
  if (ssl == nullptr || SSL_set_fd(ssl, socket) != 1) {
    SSL_free(ssl);
    throw std::bad_alloc();
  }
  return std::make_unique<TlsStream>(ssl, socket);
}

}  // namespace hearth::net
