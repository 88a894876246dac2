// remove_tree: by descriptors, so that no link put in place meanwhile leads it astray.
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/format.h"
#include "os/files.h"

namespace hearth::os {
namespace {

constexpr size_t kNamesAtOnce = 4096;
// Deeper folders are first moved to the top: one descriptor is held per level.
constexpr int kMostDepth = 100;
// Looks at one folder that others keep filling.
constexpr int kMostLooks = 1000;

Error failed(std::string_view what, const std::string& path, int error) {
  return Error::from_errno(format("{} {}", what, path), error);
}

int unlink_at(int folder, const std::string& name, const std::string& path, int flags) {
  FileEvent event;
  if (file_observed())
    event = {.op = flags != 0 ? FileOp::remove_directory : FileOp::unlink,
             .path = absolute_path(path)};
  return observe_file_event(event,
                            [&] { return unlinkat(folder, name.c_str(), flags) == 0 ? 0 : errno; });
}

class TreeRemover {
 public:
  // The name in `folder`, whatever it is.
  Result<void> remove(int folder, const std::string& name, const std::string& path, int depth) {
    for (int look = 0; look < kMostLooks; ++look) {
      const int error = unlink_at(folder, name, path, 0);
      if (error == 0 || error == ENOENT) return {};
      if (error == EACCES && TRY(allow(folder, ".", path))) continue;
      if (error != EISDIR && error != EPERM) return failed("removing", path, error);
      const int entered = TRY(remove_folder(folder, name, path, depth));
      if (entered == 0) return {};
      // ENOTDIR, ELOOP: it has become a file or a link; ENOTEMPTY: something was put in.
    }
    return Error::conflict(format("removing {}: something keeps changing it", path),
                           "end the processes that use it, then try again");
  }

 private:
  // 0, or the errno after which to look again.
  Result<int> remove_folder(int parent, const std::string& name, const std::string& path,
                            int depth) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Fd folder(openat(parent, name.c_str(), kFlags));
    if (!folder && errno == EACCES && TRY(allow(parent, name, path)))
      folder = Fd(openat(parent, name.c_str(), kFlags));
    if (!folder) {
      if (errno == ENOENT) return 0;
      if (errno == ENOTDIR || errno == ELOOP) return errno;
      return failed("opening", path, errno);
    }
    TRY(same_mount(folder.get(), path));
    if (top_ < 0) {
      top_ = folder.get();
      top_path_ = path;
    } else if (depth > kMostDepth) {
      return move_up(parent, name, path);
    }
    TRY(empty(folder.get(), path, depth));
    int error = unlink_at(parent, name, path, AT_REMOVEDIR);
    if (error == EACCES && TRY(allow(parent, ".", path)))
      error = unlink_at(parent, name, path, AT_REMOVEDIR);
    if (error == ENOENT) return 0;
    if (error != 0 && error != ENOTEMPTY && error != EEXIST && error != ENOTDIR)
      return failed("removing", path, error);
    return error;
  }

  Result<void> empty(int folder, const std::string& path, int depth) {
    for (int look = 0; look < kMostLooks * 1000; ++look) {
      const std::vector<std::string> names = TRY(some_names(folder, path));
      if (names.empty()) return {};
      for (const std::string& name : names) TRY(remove(folder, name, path + "/" + name, depth + 1));
    }
    return Error::conflict(format("removing {}: something keeps filling it", path),
                           "end the processes that use it, then try again");
  }

  static Result<std::vector<std::string>> some_names(int folder, const std::string& path) {
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0) return failed("opening", path, errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> reader(fdopendir(copy), closedir);
    if (!reader) {
      ::close(copy);
      return failed("reading directory", path, errno);
    }
    std::vector<std::string> names;
    while (names.size() < kNamesAtOnce) {
      errno = 0;
      const dirent* const found = readdir(reader.get());
      if (found == nullptr && errno != 0) return failed("reading directory", path, errno);
      if (found == nullptr) break;
      const std::string_view name = found->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    return names;
  }

  // Gives the owner all rights on a directory of ours; false when that changes nothing. Never
  // through a link: the mode is set on what was opened.
  static Result<bool> allow(int parent, const std::string& name, const std::string& path) {
    const Fd fd(openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!fd || fstat(fd.get(), &status) != 0) return false;
    if ((status.st_mode & 0700) == 0700) return failed("removing", path, EACCES);
    if (chmod(format("/proc/self/fd/{}", fd.get()).c_str(), status.st_mode | 0700) != 0)
      return failed("removing", path, EACCES);
    return true;
  }

  // What is mounted inside is somebody else's: a data set bound into a working directory.
  Result<void> same_mount(int folder, const std::string& path) {
    struct statx found{};
    if (statx(folder, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &found) != 0)
      return failed("looking at", path, errno);
    const uint64_t mount = (found.stx_mask & STATX_MNT_ID) != 0
                               ? found.stx_mnt_id
                               : (uint64_t{found.stx_dev_major} << 32 | found.stx_dev_minor);
    if (top_ < 0) mount_ = mount;
    if (mount == mount_) return {};
    return Error::conflict(format("removing {}: a file system is mounted there", path),
                           "unmount it first");
  }

  Result<int> move_up(int parent, const std::string& name, const std::string& path) {
    std::array<std::byte, 8> bytes{};
    system_random().fill(bytes);
    const std::string to = ".hearth-deep-" + to_hex(bytes);
    FileEvent event;
    if (file_observed())
      event = {.op = FileOp::rename,
               .path = absolute_path(path),
               .to = absolute_path(top_path_ + "/" + to)};
    const int error = observe_file_event(
        event, [&] { return renameat(parent, name.c_str(), top_, to.c_str()) == 0 ? 0 : errno; });
    if (error != 0) return failed("moving", path, error);
    return 0;
  }

  int top_ = -1;
  std::string top_path_;
  uint64_t mount_ = 0;
};

}  // namespace

Result<void> remove_tree(const std::string& path) {
  const std::string name = name_of(path);
  if (name.empty() || name == "." || name == "..")
    return Error::invalid(format("'{}' cannot be removed", path));
  const std::string parent = parent_of(path);
  const Fd folder(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOENT) return {};
  if (!folder) return failed("opening", parent, errno);
  return TreeRemover().remove(folder.get(), name, path, 0);
}

}  // namespace hearth::os
