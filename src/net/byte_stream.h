// A connection's bytes, plain or TLS behind one interface. Every call returns at once; who must
// wait learns for what. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace hearth::net {

enum class IoStatus { done, want_read, want_write, closed };
struct IoStep {
  IoStatus status = IoStatus::closed;
  size_t bytes = 0;  // with done
};

enum class MoreFollows { no, yes };

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual IoStep handshake() = 0;
  // done: at least one byte. closed: the end, or an error.
  virtual IoStep read(std::span<char> into) = 0;
  // True when a read is likely to give nothing before the socket becomes readable again.
  virtual bool drained() const = 0;
  // done: `bytes` of data, at least one, are on their way.
  virtual IoStep write(std::string_view data, MoreFollows more) = 0;
  // Not encrypted: files are sent without copying.
  virtual bool plain() const = 0;
  // Only where plain(). done with 0: the file ended.
  virtual IoStep send_file(int file, int64_t offset, size_t most) = 0;
  // No more will be written; reading goes on.
  virtual void end_writing() = 0;
};

// For each thread that writes to a stream: neither OpenSSL nor sendfile() knows MSG_NOSIGNAL.
void block_sigpipe();

// `socket` is non-blocking and stays the caller's.
std::unique_ptr<ByteStream> make_plain_stream(int socket);

}  // namespace hearth::net
