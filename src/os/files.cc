#include "os/files.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/format.h"

namespace hearth::os {
namespace {

constexpr size_t kCopyBytes = 1 << 20;
constexpr size_t kReadBytes = 64 << 10;
constexpr std::string_view kTemporaryEnd = ".hearth-tmp";

Error failed(std::string_view what, const std::string& path, int error) {
  return Error::from_errno(format("{} {}", what, path), error);
}

std::string random_name() {
  std::array<std::byte, 8> bytes{};
  system_random().fill(bytes);
  return to_hex(bytes);
}

FileEvent event_of(FileOp op, const std::string& path, const std::string& to = "") {
  if (!file_observed()) return {};
  return {.op = op, .path = absolute_path(path), .to = to.empty() ? "" : absolute_path(to)};
}

Result<void> ask(const std::function<bool()>& keep_on, const File& to) {
  if (!keep_on || keep_on()) return {};
  return Error::of(Code::gone, format("copying to {} was ended", to.path()));
}

Result<void> copy_bytes(File& from, File& to, const std::function<bool()>& keep_on) {
  const auto buffer = std::make_unique<std::byte[]>(kCopyBytes);
  for (;;) {
    TRY(ask(keep_on, to));
    const size_t got = TRY(from.read({buffer.get(), kCopyBytes}));
    if (got == 0) return {};
    TRY(to.write(as_text({buffer.get(), got})));
  }
}

// False when the kernel cannot do it between these two files.
Result<bool> copy_in_kernel(File& from, File& to, const std::function<bool()>& keep_on) {
  bool any = false;
  for (;;) {
    TRY(ask(keep_on, to));
    const ssize_t put = copy_file_range(from.fd(), nullptr, to.fd(), nullptr, kCopyBytes * 64, 0);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && !any) return false;
    if (put < 0) return failed("copying to", to.path(), errno);
    // Some file systems say 0 for files whose size they do not know: then read() decides.
    if (put == 0) return any || TRY(from.size()) == 0;
    any = true;
  }
}

Result<CopyWay> copy_content(File& from, File& to, const std::function<bool()>& keep_on) {
  if (!file_observed()) {
    if (ioctl(to.fd(), FICLONE, from.fd()) == 0) return CopyWay::reflink;
    if (TRY(copy_in_kernel(from, to, keep_on))) return CopyWay::kernel;
  }
  TRY(copy_bytes(from, to, keep_on));
  return CopyWay::bytes;
}

Result<void> write_and_rename(const std::string& temporary, const std::string& path,
                              std::string_view bytes, mode_t mode, Sync sync) {
  File file = TRY(File::create_new(temporary, 0600));
  TRY(file.write(bytes));
  if (fchmod(file.fd(), mode) != 0) return failed("setting the mode of", temporary, errno);
  if (sync == Sync::yes) TRY(file.sync());
  TRY(file.close());
  TRY(rename_file(temporary, path));
  if (sync == Sync::yes) TRY(fsync_directory(parent_of(path)));
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path, int64_t max_bytes) {
  File file = TRY(File::open_read(path));
  std::string text;
  // The size is only a hint: it is 0 in /proc, and a file may grow while it is read.
  size_t step = kReadBytes;
  if (const auto size = file.size(); size.ok() && *size > 0)
    step = static_cast<size_t>(std::min(*size, max_bytes)) + 1;
  for (;;) {
    const size_t before = text.size();
    text.resize(before + step);
    const size_t got =
        TRY(file.read(std::as_writable_bytes(std::span(text.data() + before, step))));
    text.resize(before + got);
    if (static_cast<int64_t>(text.size()) > max_bytes)
      return Error::of(Code::too_large, format("{} has more than {} bytes", path, max_bytes));
    if (got < step) return text;
    step = kReadBytes;
  }
}

Result<void> write_file_atomic(const std::string& path, std::string_view bytes, mode_t mode,
                               Sync sync) {
  const std::string temporary = format("{}/.{}{}", parent_of(path), random_name(), kTemporaryEnd);
  auto done = write_and_rename(temporary, path, bytes, mode, sync);
  if (!done.ok()) {
    ignore(remove_file(temporary));
    return std::move(done).error().with(format("writing {}", path));
  }
  return {};
}

bool is_temporary_name(std::string_view name) {
  return name.starts_with('.') && name.ends_with(kTemporaryEnd);
}

Result<void> append_file(const std::string& path, std::string_view bytes, Sync sync, mode_t mode) {
  const bool there = exists(path);
  File file = TRY(File::open_append(path, mode));
  TRY(file.write(bytes));
  if (sync == Sync::yes) {
    TRY(file.sync());
    if (!there) TRY(fsync_directory(parent_of(path)));
  }
  return file.close();
}

Result<CopyWay> copy_file(const std::string& from, const std::string& to, Sync sync,
                          const std::function<bool()>& keep_on) {
  File source = TRY(File::open_read(from));
  const struct stat status = TRY(source.status());
  if (!S_ISREG(status.st_mode)) return Error::invalid(format("{} is no regular file", from));
  File target = TRY(File::create_new(to, 0600));
  const auto copy = [&]() -> Result<CopyWay> {
    const CopyWay way = TRY(copy_content(source, target, keep_on));
    if (fchmod(target.fd(), status.st_mode & 0777) != 0)
      return failed("setting the mode of", to, errno);
    if (sync == Sync::yes) {
      TRY(target.sync());
      TRY(fsync_directory(parent_of(to)));
    }
    TRY(target.close());
    return way;
  };
  auto way = copy();
  if (!way.ok()) ignore(remove_file(to));
  return way;
}

bool exists(const std::string& path) {
  return status(path).ok();
}

Result<struct stat> status(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return failed("looking at", path, errno);
  return status;
}

Result<struct stat> link_status(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return failed("looking at", path, errno);
  return status;
}

Result<void> rename_file(const std::string& from, const std::string& to) {
  const int error = observe_file_event(event_of(FileOp::rename, from, to), [&] {
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  });
  if (error != 0) return failed(format("renaming {} to", from), to, error);
  return {};
}

Result<void> remove_file(const std::string& path) {
  const int error = observe_file_event(event_of(FileOp::unlink, path),
                                       [&] { return ::unlink(path.c_str()) == 0 ? 0 : errno; });
  if (error != 0) return failed("removing", path, error);
  return {};
}

Result<void> make_directory(const std::string& path, mode_t mode) {
  const int error = observe_file_event(event_of(FileOp::make_directory, path), [&] {
    return ::mkdir(path.c_str(), mode) == 0 ? 0 : errno;
  });
  if (error != 0) return failed("making directory", path, error);
  return {};
}

Result<void> make_directories(const std::string& path, mode_t mode, Sync sync) {
  if (path.empty()) return Error::invalid("the path of a directory is empty");
  std::vector<std::string> missing;
  for (std::string at = path;; at = parent_of(at)) {
    const auto found = status(at);
    if (found.ok() && S_ISDIR(found->st_mode)) break;
    if (found.ok()) return Error::of(Code::exists, format("{} is there, but no directory", at));
    if (found.error().code != Code::not_found) return found.error();
    missing.push_back(at);
    if (at == parent_of(at)) break;
  }
  for (; !missing.empty(); missing.pop_back()) {
    const std::string& at = missing.back();
    const auto made = make_directory(at, mode);
    // Another process may have been quicker.
    if (!made.ok() && made.error().code != Code::exists) return made;
    if (sync == Sync::yes) TRY(fsync_directory(parent_of(at)));
  }
  return {};
}

Result<void> make_symlink(const std::string& target, const std::string& path) {
  FileEvent event = event_of(FileOp::make_symlink, path);
  event.to = target;
  const int error = observe_file_event(
      event, [&] { return ::symlink(target.c_str(), path.c_str()) == 0 ? 0 : errno; });
  if (error != 0) return failed("making link", path, error);
  return {};
}

Result<void> fsync_directory(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return failed("opening directory", path, errno);
  int error = 0;
  do
    error = observe_file_event(event_of(FileOp::sync_directory, path),
                               [&] { return fsync(fd.get()) == 0 ? 0 : errno; });
  while (error == EINTR);
  if (error != 0) return failed("syncing directory", path, error);
  return {};
}

Result<void> set_mode(const std::string& path, mode_t mode) {
  if (chmod(path.c_str(), mode) != 0) return failed("setting the mode of", path, errno);
  return {};
}

Result<void> set_owner(const std::string& path, uid_t uid, gid_t gid) {
  if (lchown(path.c_str(), uid, gid) != 0) return failed("setting the owner of", path, errno);
  return {};
}

Result<std::vector<Entry>> list_directory(const std::string& path, size_t max_entries) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return failed("opening directory", path, errno);
  return list_directory(folder.get(), path, max_entries);
}

Result<std::vector<Entry>> list_directory(int directory, const std::string& path,
                                          size_t max_entries) {
  // Another descriptor: reading moves the place in it, and closedir() closes it.
  Fd own(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return failed("opening directory", path, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(own.get()), closedir);
  if (!folder) return failed("reading directory", path, errno);
  own.release();
  std::vector<Entry> entries;
  for (;;) {
    errno = 0;
    const dirent* const found = readdir(folder.get());
    if (found == nullptr && errno != 0) return failed("reading directory", path, errno);
    if (found == nullptr) break;
    const std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    if (entries.size() >= max_entries)
      return Error::of(Code::too_large, format("{} has more than {} names", path, max_entries));
    unsigned char type = found->d_type;
    struct stat status{};
    if (type == DT_UNKNOWN &&
        fstatat(dirfd(folder.get()), found->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      type = IFTODT(status.st_mode);
    entries.push_back({std::string(name), type == DT_REG   ? EntryKind::file
                                          : type == DT_DIR ? EntryKind::directory
                                          : type == DT_LNK ? EntryKind::symlink
                                                           : EntryKind::other});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

std::string parent_of(const std::string& path) {
  size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const size_t slash = path.find_last_of('/', end);
  if (slash == std::string::npos) return ".";
  end = path.find_last_not_of('/', slash);
  return end == std::string::npos ? "/" : path.substr(0, end + 1);
}

std::string name_of(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return "";
  const size_t slash = path.find_last_of('/', end);
  return path.substr(slash == std::string::npos ? 0 : slash + 1,
                     end - (slash == std::string::npos ? 0 : slash + 1) + 1);
}

Result<TemporaryDirectory> TemporaryDirectory::make(const std::string& prefix,
                                                    const std::string& base) {
  std::string folder = base;
  if (folder.empty()) {
    const char* const chosen = std::getenv("TMPDIR");
    folder = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  }
  TemporaryDirectory made;
  const std::string path = format("{}/{}-{}", folder, prefix, random_name());
  TRY(make_directory(path, 0700));
  made.path_ = path;
  return made;
}

TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) ignore(remove_tree(path_));
}

}  // namespace hearth::os
