// The server's side of TLS (1.2 and later) over OpenSSL.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/byte_stream.h"

namespace hearth::net {

// Certificate and key, shared by all connections. Thread-safe.
class TlsContext {
 public:
  // PEM files; the certificate's chain follows it. Errors: invalid, naming file and mend.
  static Result<std::unique_ptr<TlsContext>> create(const std::string& certificate,
                                                    const std::string& key);
  ~TlsContext();
  // Takes what the files hold now for the streams made from here on. Errors as create()'s: then all
  // stays as it was.
  Result<void> reload();
  // The stream of one accepted connection; `socket` is non-blocking and stays the caller's. The
  // calling threads have called block_sigpipe(). The context must outlive the stream.
  std::unique_ptr<ByteStream> make_stream(int socket) const;

 private:
  struct State;
  explicit TlsContext(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hearth::net
