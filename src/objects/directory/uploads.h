// Uploads that survive lost connections and restarts: the bytes so far in ID.data, and in ID.state
// a head (magic "HUP1", digest, size, CRC-32C) with a record (received bytes, time, CRC-32C) behind
// it for every part that is durable. What ID.data holds beyond the last record does not count.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "os/files.h"

namespace hearth::objects {

constexpr size_t kMostUploads = 1024;                    // open at once
constexpr int64_t kMostUploadBytes = int64_t{16} << 40;  // 16 TiB
constexpr int64_t kMostStateBytes = int64_t{64} << 20;   // of a state file: 3 million parts

struct UploadState {
  std::string digest;
  int64_t size_bytes = 0;
  int64_t received_bytes = 0;
  Time touched;
};

// Thread-safe; no lock is held over I/O. Syncs are made by the given functions, so that the owner
// learns of one that failed.
class Uploads {
 public:
  struct Syncs {
    std::function<Result<void>(const std::string&)> file, folder;
  };
  Uploads(std::string folder, Clock& clock, Random& random, Syncs syncs);

  Result<std::string> begin(const std::string& digest, int64_t size_bytes);
  Result<UploadState> state(const std::string& id) const;
  Result<UploadState> append(const std::string& id, int64_t offset, const std::string& path);
  // Runs `take(path of the data, state)` with nobody else at this upload, which is gone after it
  // unless it fails with another code than invalid.
  Result<void> finish(
      const std::string& id,
      const std::function<Result<void>(const std::string&, const UploadState&)>& take);
  Result<int64_t> sweep(Duration idle);

 private:
  class Claim;
  std::string data_path(const std::string& id) const { return folder_ + "/" + id + ".data"; }
  std::string state_path(const std::string& id) const { return folder_ + "/" + id + ".state"; }
  Result<std::vector<std::string>> ids() const;
  Result<void> record(const std::string& id, int64_t received_bytes);
  Result<void> forget(const std::string& id);

  const std::string folder_;
  Clock& clock_;
  Random& random_;
  const Syncs syncs_;
  std::mutex mutex_;  // guards claimed_
  std::set<std::string> claimed_;
};

}  // namespace hearth::objects
