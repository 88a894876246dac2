// Files and directories: whole-file helpers, an RAII File, locks, temporary directories.
//
// Durable is what was synced: a new or renamed file needs File::sync() and then fsync_directory()
// of its parent; write_file_atomic does both. Every change made here is reported to the file
// observer (file_events.h). All descriptors are close-on-exec. EINTR is retried, short writes are
// continued.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include "base/result.h"
#include "os/file_events.h"

namespace hearth::os {

enum class Sync { no, yes };

// A descriptor that closes itself. -1 = none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

struct OpenOptions {
  bool read = true;
  bool write = false;
  bool create = false;     // if it is not there
  bool exclusive = false;  // with create: `exists` if it is there
  bool truncate = false;
  bool append = false;       // write() goes to the end
  bool follow_links = true;  // of the last component; false: a link there is an error
  mode_t mode = 0600;        // of a new file, less the umask
};

// An open regular file. Not thread-safe, but pread and pwrite of different threads do not disturb
// each other.
class File {
 public:
  static Result<File> open(const std::string& path, const OpenOptions& options);
  static Result<File> open_read(const std::string& path);
  static Result<File> create_new(const std::string& path, mode_t mode = 0600);   // exists if there
  static Result<File> open_append(const std::string& path, mode_t mode = 0600);  // created if not
  // Takes a descriptor opened elsewhere (below a root, see paths.h); `path` is for messages and
  // events. A file that the caller has just created is reported by passing `created`.
  static Result<File> adopt(Fd fd, const std::string& path, bool created = false);
  File() = default;
  File(File&&) noexcept = default;
  File& operator=(File&&) noexcept = default;

  int fd() const { return fd_.get(); }
  bool is_open() const { return static_cast<bool>(fd_); }
  const std::string& path() const { return path_; }

  // Bytes read; less than asked for only at the end.
  Result<size_t> read(std::span<std::byte> into);
  Result<size_t> pread(std::span<std::byte> into, int64_t offset) const;
  // All of it or an error; after an error an unknown part may be there.
  Result<void> write(std::string_view bytes);
  Result<void> pwrite(std::string_view bytes, int64_t offset);
  Result<void> truncate(int64_t size);
  // Data and whatever metadata is needed to read it back. Once it has failed, the kernel may have
  // dropped the dirty pages: every later write, truncate and sync of this File is refused.
  Result<void> sync();
  bool sync_failed() const { return sync_failed_; }
  Result<int64_t> size() const;
  Result<struct stat> status() const;
  Result<void> seek(int64_t offset);
  // Reports what close(2) reports; the destructor ignores it.
  Result<void> close();

 private:
  FileEvent event(FileOp op) const;
  Result<void> writable() const;
  Fd fd_;
  std::string path_;
  bool append_ = false;
  bool sync_failed_ = false;
};

// --- whole files -----------------------------------------------------------------------------

// The whole file; too_large if it has more than max_bytes. Also for /proc and /sys.
Result<std::string> read_file(const std::string& path, int64_t max_bytes);
// Beside the target: temporary file, write, fsync, rename, fsync of the directory. Readers see the
// old or the new bytes, also after power loss (Sync::no leaves out both fsyncs). `mode` is exact.
Result<void> write_file_atomic(const std::string& path, std::string_view bytes, mode_t mode = 0644,
                               Sync sync = Sync::yes);
// Whether write_file_atomic makes such names for its temporary files; one that is found at a start
// was left by a crash and can go.
bool is_temporary_name(std::string_view name);
// Appends in one write(2) where the kernel takes it whole; creates the file if it is not there.
Result<void> append_file(const std::string& path, std::string_view bytes, Sync sync,
                         mode_t mode = 0600);

enum class CopyWay { reflink, kernel, bytes };
// Copies into the new file `to` (exists if it is there; removed again on error), with the
// permission bits of `from`: by reflink where the file system can, else copy_file_range, else read
// and write. Never a hard link. `keep_on` is asked between the pieces of a large file; false ends
// the copy with gone.
Result<CopyWay> copy_file(const std::string& from, const std::string& to, Sync sync,
                          const std::function<bool()>& keep_on = {});

// --- names -----------------------------------------------------------------------------------

bool exists(const std::string& path);  // follows links; false also when it cannot be seen
Result<struct stat> status(const std::string& path);       // follows links
Result<struct stat> link_status(const std::string& path);  // does not
Result<void> rename_file(const std::string& from, const std::string& to);
Result<void> remove_file(const std::string& path);  // not_found if it is not there
Result<void> make_directory(const std::string& path, mode_t mode = 0755);
// With all parents that are missing; fine if it is there. Sync::yes also syncs each parent in which
// a name was made.
Result<void> make_directories(const std::string& path, mode_t mode = 0755, Sync sync = Sync::no);
Result<void> make_symlink(const std::string& target, const std::string& path);
Result<void> fsync_directory(const std::string& path);
Result<void> set_mode(const std::string& path, mode_t mode);
Result<void> set_owner(const std::string& path, uid_t uid, gid_t gid);  // of a link, not its target

// Everything below `path` and `path` itself. Never follows a link, also not one that somebody puts
// in place of a directory meanwhile; gives itself the permissions it needs on directories of its
// own; any depth. Fine if it is not there.
Result<void> remove_tree(const std::string& path);

enum class EntryKind { file, directory, symlink, other };
struct Entry {
  std::string name;
  EntryKind kind{};
};
// Sorted by name, without "." and "..". too_large over max_entries.
Result<std::vector<Entry>> list_directory(const std::string& path, size_t max_entries = 1'000'000);
// The same of an open directory; `path` is for messages.
Result<std::vector<Entry>> list_directory(int directory, const std::string& path,
                                          size_t max_entries = 1'000'000);
std::string parent_of(const std::string& path);  // "a/b" -> "a", "a" -> ".", "/a" -> "/"
std::string name_of(const std::string& path);    // "a/b" -> "b"

// --- the file system below a path ------------------------------------------------------------

struct Space {
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;  // for this user
  int64_t free_inodes = 0;
};
Result<Space> free_space(const std::string& path);

struct FilesystemType {
  std::string name;  // "ext4", "xfs", "nfs", "cifs", "fuse", "overlay", ... or "0x..."
  bool remote =
      false;  // nfs, cifs, smb2, fuse, ceph, 9p, afs, gpfs, lustre: no place for a database
};
Result<FilesystemType> filesystem_type(const std::string& path);

// --- locks and temporary places --------------------------------------------------------------

// A lock on a file that stays; the holder's pid stands in it. Like flock(2) it belongs to the open
// file and ends with its last holder's death; but it can be looked at without being taken
// (F_OFD_GETLK).
class FileLock {
 public:
  // conflict when another holds it: "PATH is held by process 123 (hearth)".
  static Result<FileLock> acquire(const std::string& path);
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) noexcept = default;
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

 private:
  FileLock() = default;
  Fd fd_;
  std::string path_;
};
// The pid that stands in a lock file now held by somebody; nothing if nobody holds it.
Result<std::optional<pid_t>> lock_holder(const std::string& path);

// A new directory 0700, removed with all it holds by the destructor.
class TemporaryDirectory {
 public:
  // Inside `base`; "" = $TMPDIR or /tmp.
  static Result<TemporaryDirectory> make(const std::string& prefix = "hearth",
                                         const std::string& base = "");
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string release() { return std::exchange(path_, {}); }  // keeps it

 private:
  TemporaryDirectory() = default;
  std::string path_;
};

}  // namespace hearth::os
