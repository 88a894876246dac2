// The Objects interface: immutable bytes by their SHA-256 ("sha256:<hex>").
//
// "Have it" is true only of what is wholly there and synced. What is not pinned may be collected:
// the database holds the pins (table `pins`), collection is in two steps (first `dying` is
// committed, then the bytes go), and belongs to src/control.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth::objects {

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
  // Checks the digest of the whole object on its way (a range of a verified object is served from
  // the verified bytes). Damage: internal, "damaged", the object is set aside and never served.
  virtual Result<std::string> get(const std::string& digest, int64_t offset, int64_t length) = 0;
  // A verified path for sendfile or a task's copy; read-only.
  virtual Result<std::string> local_path(const std::string& digest) = 0;
  virtual Result<void> list(const std::function<Result<void>(const Stored&)>& each) = 0;
  virtual Result<void> remove(const std::string& digest) = 0;

  virtual Result<Upload> begin_upload(const std::string& digest, int64_t size_bytes) = 0;
  virtual Result<Upload> upload_state(const std::string& id) = 0;
  virtual Result<Upload> append(const std::string& id, int64_t offset, const std::string& path) = 0;
  virtual Result<Stored> finish_upload(const std::string& id) = 0;
};

}  // namespace hearth::objects
