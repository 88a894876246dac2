// The classes Fd and File.
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "os/files.h"

namespace hearth::os {
namespace {

Error failed(std::string_view what, const std::string& path, int error) {
  return Error::from_errno(format("{} {}", what, path), error);
}

int flags_of(const OpenOptions& options) {
  int flags = O_CLOEXEC | O_NOCTTY;
  flags |= options.write ? (options.read ? O_RDWR : O_WRONLY) : O_RDONLY;
  if (options.create) flags |= O_CREAT;
  if (options.exclusive) flags |= O_EXCL;
  if (options.truncate) flags |= O_TRUNC;
  if (options.append) flags |= O_APPEND;
  if (!options.follow_links) flags |= O_NOFOLLOW;
  return flags;
}

int open_retrying(const std::string& path, int flags, mode_t mode) {
  int fd = -1;
  do fd = ::open(path.c_str(), flags, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

uint64_t inode_of(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

// Opens under an observer: a file that is made and one that is emptied are told apart.
Result<Fd> open_observed(const std::string& path, const OpenOptions& options) {
  const std::lock_guard lock(file_observer_mutex());
  FileEvent event{.op = FileOp::create, .path = absolute_path(path)};
  int fd = -1;
  const int create = flags_of(options) & ~O_TRUNC;
  const bool there = options.create && exists(path);
  if (options.create && !there) {
    const int error = observe_file_event(event, [&] {
      fd = open_retrying(path, create | O_EXCL, options.mode);
      if (fd < 0) return errno;
      event.inode = inode_of(fd);
      return 0;
    });
    if (error != 0) return failed("creating", path, error);
    return Fd(fd);
  }
  fd = open_retrying(path, create, options.mode);
  if (fd < 0) return failed("opening", path, errno);
  Fd owned(fd);
  if (!options.truncate) return owned;
  event.op = FileOp::truncate;
  event.inode = inode_of(fd);
  const int error = observe_file_event(event, [&] { return ftruncate(fd, 0) == 0 ? 0 : errno; });
  if (error != 0) return failed("emptying", path, error);
  return owned;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<File> File::open(const std::string& path, const OpenOptions& options) {
  File file;
  if (file_observed() && (options.create || options.truncate)) {
    file.fd_ = TRY(open_observed(path, options));
  } else {
    file.fd_ = Fd(open_retrying(path, flags_of(options), options.mode));
    if (!file.fd_) return failed(options.create ? "creating" : "opening", path, errno);
  }
  file.path_ = path;
  file.append_ = options.append;
  return file;
}

Result<File> File::open_read(const std::string& path) {
  return open(path, {});
}

Result<File> File::create_new(const std::string& path, mode_t mode) {
  return open(path, {.write = true, .create = true, .exclusive = true, .mode = mode});
}

Result<File> File::open_append(const std::string& path, mode_t mode) {
  return open(path, {.write = true, .create = true, .append = true, .mode = mode});
}

Result<File> File::adopt(Fd fd, const std::string& path, bool created) {
  File file;
  file.fd_ = std::move(fd);
  file.path_ = path;
  const int flags = fcntl(file.fd(), F_GETFL);
  if (flags < 0) return failed("taking over", path, errno);
  file.append_ = (flags & O_APPEND) != 0;
  if (created && file_observed()) {
    FileEvent event = file.event(FileOp::create);
    if (const int error = observe_file_event(event, [] { return 0; }); error != 0)
      return failed("creating", path, error);
  }
  return file;
}

FileEvent File::event(FileOp op) const {
  if (!file_observed()) return {};
  return {.op = op, .path = absolute_path(path_), .inode = inode_of(fd())};
}

Result<void> File::writable() const {
  if (!sync_failed_) return {};
  return Error::of(Code::unavailable,
                   format("{}: refused, as an earlier sync of this file failed", path_),
                   "look at the disk; what was written before may be lost");
}

Result<size_t> File::read(std::span<std::byte> into) {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::read(fd(), into.data() + done, into.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("reading", path_, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Result<size_t> File::pread(std::span<std::byte> into, int64_t offset) const {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(fd(), into.data() + done, into.size() - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("reading", path_, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Result<void> File::write(std::string_view bytes) {
  if (auto fine = writable(); !fine.ok()) return fine;
  FileEvent event = this->event(FileOp::write);
  while (!bytes.empty()) {
    ssize_t put = 0;
    event.data = bytes;
    if (file_observed()) event.offset = append_ ? TRY(size()) : int64_t{lseek(fd(), 0, SEEK_CUR)};
    const int error = observe_file_event(event, [&] {
      put = ::write(fd(), bytes.data(), bytes.size());
      if (put < 0) return errno;
      event.data = bytes.substr(0, static_cast<size_t>(put));
      return 0;
    });
    if (error == EINTR) continue;
    if (error != 0) return failed("writing", path_, error);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Result<void> File::pwrite(std::string_view bytes, int64_t offset) {
  if (auto fine = writable(); !fine.ok()) return fine;
  FileEvent event = this->event(FileOp::write);
  while (!bytes.empty()) {
    ssize_t put = 0;
    event.data = bytes;
    event.offset = offset;
    const int error = observe_file_event(event, [&] {
      put = ::pwrite(fd(), bytes.data(), bytes.size(), offset);
      if (put < 0) return errno;
      event.data = bytes.substr(0, static_cast<size_t>(put));
      return 0;
    });
    if (error == EINTR) continue;
    if (error != 0) return failed("writing", path_, error);
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += put;
  }
  return {};
}

Result<void> File::truncate(int64_t size) {
  if (auto fine = writable(); !fine.ok()) return fine;
  FileEvent event = this->event(FileOp::truncate);
  event.size = size;
  const int error =
      observe_file_event(event, [&] { return ftruncate(fd(), size) == 0 ? 0 : errno; });
  if (error != 0) return failed("truncating", path_, error);
  return {};
}

Result<void> File::sync() {
  if (auto fine = writable(); !fine.ok()) return fine;
  const FileEvent event = this->event(FileOp::sync);
  int error = 0;
  do error = observe_file_event(event, [&] { return fdatasync(fd()) == 0 ? 0 : errno; });
  while (error == EINTR);
  if (error == 0) return {};
  sync_failed_ = true;
  return failed("syncing", path_, error);
}

Result<int64_t> File::size() const {
  return int64_t{TRY(status()).st_size};
}

Result<struct stat> File::status() const {
  struct stat status{};
  if (fstat(fd(), &status) != 0) return failed("looking at", path_, errno);
  return status;
}

Result<void> File::seek(int64_t offset) {
  if (lseek(fd(), offset, SEEK_SET) < 0) return failed("seeking in", path_, errno);
  return {};
}

Result<void> File::close() {
  const int fd = fd_.release();
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) return failed("closing", path_, errno);
  return {};
}

}  // namespace hearth::os
