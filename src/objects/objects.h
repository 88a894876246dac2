// The Objects interface: immutable bytes by their SHA-256 ("sha256:<hex>").
//
// "Have it" is true only of what is wholly there and synced. What is not pinned may be collected:
// the database holds the pins (table `pins`), collection is in two steps (first `dying` is
// committed, then the bytes go), and belongs to src/control. Implementations are thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace hearth::objects {

constexpr int64_t kMostGetBytes = int64_t{256} << 20;  // of one get()

struct Stored {
  std::string digest;
  int64_t size_bytes = 0;
};

// An upload that can be resumed after a lost connection or a restart of the server.
struct Upload {
  std::string id;
  int64_t received_bytes = 0;
};

class Objects {
 public:
  virtual ~Objects() = default;
  virtual Result<Stored> put(std::string_view bytes) = 0;
  // Takes the file by reflink or copy (never by hard link); with `move` it may be renamed in. When
  // `digest` is given and the bytes do not match it: invalid, and nothing is kept.
  virtual Result<Stored> put_file(const std::string& path, const std::string& digest,
                                  bool move) = 0;
  // The size, or nothing if it is not here.
  virtual Result<std::optional<int64_t>> have(const std::string& digest) = 0;
  // Bytes from `offset` on; a length below 0 means to the end, one that reaches beyond it is cut.
  // Every byte is checked against the digest before it is given out. Damage: internal, "damaged",
  // the object is set aside and never served. too_large over kMostGetBytes: take local_path.
  virtual Result<std::string> get(const std::string& digest, int64_t offset, int64_t length) = 0;
  // A verified path for sendfile or a task's copy; read-only. Reads the whole object to verify it.
  virtual Result<std::string> local_path(const std::string& digest) = 0;
  virtual Result<void> list(const std::function<Result<void>(const Stored&)>& each) = 0;
  // Fine if it is not there.
  virtual Result<void> remove(const std::string& digest) = 0;

  // Uploads: busy when too many are open; unavailable when the disk has no room.
  virtual Result<Upload> begin_upload(const std::string& digest, int64_t size_bytes) = 0;
  virtual Result<Upload> upload_state(const std::string& id) = 0;
  // Adds the bytes of the file at `path`, which stays; what the answer says was received is
  // durable. conflict when `offset` is not what was received, too_large when more comes than was
  // announced, busy while another append to it runs.
  virtual Result<Upload> append(const std::string& id, int64_t offset, const std::string& path) = 0;
  // The upload is gone afterwards; have() tells whether an answer that was lost was a good one.
  // invalid, and it is gone too, when the bytes do not match the digest; conflict when some lack.
  virtual Result<Stored> finish_upload(const std::string& id) = 0;
  // Drops uploads to which nothing was added for `idle`; how many.
  virtual Result<int64_t> sweep_uploads(Duration /*idle*/) { return int64_t{0}; }
  // Why writes are refused (a sync failed), in words; "" when they are not.
  virtual std::string refusing() { return {}; }
};

}  // namespace hearth::objects
