// Objects in a directory of this machine:
//
//   ROOT/ab/<hex>           an object, 0400, named by its SHA-256
//   ROOT/ab/<hex>.blocks    hashes of its blocks (block_hashes.h), if it has more than one
//   ROOT/tmp/               what is being written; emptied at the start
//   ROOT/uploads/           uploads that can be resumed (uploads.h)
//   ROOT/damaged/           objects that failed their digest, for people to look at
//   ROOT/lock               held by the one process that writes here
//
// An object appears by rename, after its bytes are synced; "have it" is answered after the
// directory is synced too. Every read checks what it gives out. Once a sync has failed nothing is
// written any more, as the kernel may have dropped what was not: refusing() says so, reading goes
// on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "objects/directory/block_hashes.h"
#include "objects/directory/uploads.h"
#include "objects/objects.h"
#include "os/files.h"

namespace hearth::objects {

struct DirectoryOptions {
  // Writes that would leave less than this free on the disk are refused.
  int64_t reserve_bytes = int64_t{64} << 20;
  Clock* clock = &system_clock();
  Random* random = &system_random();  // must be thread-safe
  // Told of each object that was found damaged, from the thread that read it, under no lock; says
  // whose it is ("model m 3") and what to do. What stands there goes into the error.
  struct Advice {
    std::string whose, mend;
  };
  std::function<Advice(const std::string& digest)> damaged;
};

class DirectoryObjects : public Objects {
 public:
  // Makes the directory if it is not there. conflict: another process uses it.
  static Result<std::unique_ptr<DirectoryObjects>> open(const std::string& root,
                                                        const DirectoryOptions& options = {});

  Result<Stored> put(std::string_view bytes) override;
  Result<Stored> put_file(const std::string& path, const std::string& digest, bool move) override;
  Result<std::optional<int64_t>> have(const std::string& digest) override;
  Result<std::string> get(const std::string& digest, int64_t offset, int64_t length) override;
  Result<std::string> local_path(const std::string& digest) override;
  Result<void> list(const std::function<Result<void>(const Stored&)>& each) override;
  Result<void> remove(const std::string& digest) override;
  Result<Upload> begin_upload(const std::string& digest, int64_t size_bytes) override;
  Result<Upload> upload_state(const std::string& id) override;
  Result<Upload> append(const std::string& id, int64_t offset, const std::string& path) override;
  Result<Stored> finish_upload(const std::string& id) override;
  Result<int64_t> sweep_uploads(Duration idle) override;
  std::string refusing() override;
  // Objects that were set aside as damaged and have not come back whole. To go on without one, its
  // file is taken out of damaged/.
  Result<std::vector<std::string>> damaged() const;

 private:
  DirectoryObjects(std::string root, const DirectoryOptions& options, os::FileLock lock);
  std::string folder_of(const std::string& digest) const;
  std::string path_of(const std::string& digest) const;
  std::string new_temporary() const;
  Result<os::File> open_object(const std::string& digest) const;

  Result<void> writable();
  Result<void> room_for(int64_t bytes);
  Result<void> sync_file(const std::string& path);
  Result<void> sync_folder(const std::string& path);
  Error sync_failed(Error error);

  Result<std::string> take_in(const std::string& path, bool move);
  Result<Stored> keep_checked(const std::string& temporary, const std::string& digest);
  Result<Stored> keep(const std::string& temporary, const BlockHashes& hashes);
  Result<bool> kept_already(const std::string& digest);
  Result<void> write_side_file(const BlockHashes& hashes);
  Result<BlockHashes> block_hashes(const os::File& file, const std::string& digest, int64_t size);
  enum class Tell { yes, no };  // whoever is told of damage
  Result<void> verify(const os::File& file, const std::string& digest, Tell tell = Tell::yes);
  Result<std::string> read_whole(const os::File& file, const std::string& digest, int64_t size);
  Result<std::string> read_range(const os::File& file, const std::string& digest, int64_t size,
                                 int64_t offset, int64_t length);
  Error set_aside(const os::File& file, const std::string& digest, std::string_view why,
                  Tell tell = Tell::yes);

  const std::string root_;
  const DirectoryOptions options_;
  os::FileLock lock_;
  Uploads uploads_;
  std::mutex mutex_;  // guards refusing_
  std::string refusing_;
  std::atomic<bool> refuses_{false};
};

}  // namespace hearth::objects
