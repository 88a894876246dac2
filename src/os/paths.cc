#include "os/paths.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"

namespace hearth::os {
namespace {

constexpr int kMostTries = 64;  // of an openat2 that met a rename
constexpr size_t kMostPathBytes = 4096;
constexpr int kMostDepth = 256;  // of walk(): one descriptor a level

Error escapes(std::string_view path) {
  return Error::denied(format("'{}' leads out of its folder", path));
}

// The parts of a relative path, "." and empty ones left out.
Result<std::vector<std::string>> parts_of(std::string_view relative) {
  if (relative.empty()) return Error::invalid("the path is empty");
  if (relative.size() > kMostPathBytes) return Error::invalid("the path is too long");
  if (relative.find('\0') != std::string_view::npos)
    return Error::invalid("there is a NUL in the path");
  if (relative[0] == '/')
    return Error::invalid(format("'{}' is absolute", relative), "give a relative path");
  std::vector<std::string> parts;
  for (const std::string_view part : split(relative, '/')) {
    if (part == "..")
      return Error::invalid(format("'{}' has a '..' in it", relative), "give a path inside");
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return parts;
}

int open_at2(int root, const std::string& relative, int flags, mode_t mode, uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = resolve;
  int fd = -1;
  for (int i = 0; i < kMostTries; ++i) {
    fd = static_cast<int>(syscall(SYS_openat2, root, relative.c_str(), &how, sizeof how));
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return fd;
}

// Where there is no openat2: no link at all is followed.
int open_by_steps(int root, const std::vector<std::string>& parts, int flags, mode_t mode) {
  Fd folder(openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 0; folder && i + 1 < parts.size(); ++i)
    folder =
        Fd(openat(folder.get(), parts[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return -1;
  const std::string last = parts.empty() ? "." : parts.back();
  return openat(folder.get(), last.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

Result<Fd> open_root(const std::string& root) {
  Fd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Error::from_errno(format("opening {}", root), errno);
  return fd;
}

Result<std::string> path_behind(const Fd& fd) {
  std::string path(kMostPathBytes, '\0');
  const ssize_t size =
      readlink(format("/proc/self/fd/{}", fd.get()).c_str(), path.data(), path.size());
  if (size < 0) return Error::from_errno("reading the name of a descriptor", errno);
  path.resize(static_cast<size_t>(size));
  return path;
}

class Walker {
 public:
  Walker(const std::string& root, const std::function<Result<bool>(const Found&)>& each,
         size_t bound)
      : root_(root), each_(each), left_(bound), bound_(bound) {}

  Result<void> enter(int folder, const std::string& prefix, int depth) {
    const auto entries = list_directory(folder, root_ + "/" + prefix, bound_);
    if (!entries.ok()) return entries.error();
    for (const Entry& entry : *entries) {
      if (left_-- == 0)
        return Error::of(Code::too_large, format("{} has more than {} names", root_, bound_));
      const Found found{prefix + entry.name, entry.kind};
      const bool inside = TRY(each_(found));
      if (!inside || entry.kind != EntryKind::directory) continue;
      if (depth >= kMostDepth)
        return Error::of(Code::too_large, format("{}/{} lies more than {} folders deep", root_,
                                                 found.path, kMostDepth));
      const Fd next(
          openat(folder, entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!next && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) continue;
      if (!next) return Error::from_errno(format("opening {}/{}", root_, found.path), errno);
      TRY(enter(next.get(), found.path + "/", depth + 1));
    }
    return {};
  }

 private:
  const std::string& root_;
  const std::function<Result<bool>(const Found&)>& each_;
  size_t left_;
  const size_t bound_;
};

// The folders that a pattern names without any wildcard: "plots/a*/b" -> "plots/".
std::string literal_folders(const std::string& pattern) {
  const size_t wild = pattern.find_first_of("*?[\\");
  const size_t slash = pattern.rfind('/', wild);
  if (slash == std::string::npos) return "";
  return pattern.substr(0, slash + 1);
}

}  // namespace

Result<std::string> safe_join(std::string_view root, std::string_view relative) {
  std::string path(root);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::vector<std::string> parts = TRY(parts_of(relative));
  for (const std::string& part : parts) {
    if (path != "/") path += '/';
    path += part;
  }
  return path;
}

Result<std::string> safe_join_resolved(const std::string& root, std::string_view relative) {
  const Fd folder = TRY(open_root(root));
  const auto whole = open_beneath(folder.get(), relative, O_PATH);
  if (whole.ok()) return path_behind(*whole);
  if (whole.error().code != Code::not_found) return whole.error();
  std::vector<std::string> parts = TRY(parts_of(relative));
  if (parts.empty()) return whole.error();
  const std::string last = parts.back();
  parts.pop_back();
  const std::string above = parts.empty() ? "." : format("{}", join(parts, "/"));
  const Fd parent = TRY(open_beneath(folder.get(), above, O_PATH | O_DIRECTORY));
  // A link that leads nowhere is there, and would be followed by whoever makes the file.
  struct stat status{};
  if (fstatat(parent.get(), last.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
    return escapes(relative);
  return TRY(path_behind(parent)) + "/" + last;
}

Result<Fd> open_beneath(const std::string& root, std::string_view relative, int flags, mode_t mode,
                        Links links) {
  const Fd folder = TRY(open_root(root));
  return open_beneath(folder.get(), relative, flags, mode, links);
}

Result<Fd> open_beneath(int root, std::string_view relative, int flags, mode_t mode, Links links) {
  const std::vector<std::string> parts = TRY(parts_of(relative));
  const std::string path = parts.empty() ? "." : format("{}", join(parts, "/"));
  uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  if (links == Links::refuse) resolve |= RESOLVE_NO_SYMLINKS;
  Fd fd(open_at2(root, path, flags, mode, resolve));
  // EPERM: filters of containers that do not know the call yet.
  if (!fd && (errno == ENOSYS || errno == EPERM)) fd = Fd(open_by_steps(root, parts, flags, mode));
  if (fd) return fd;
  if (errno == EXDEV || errno == ELOOP) return escapes(relative);
  return Error::from_errno(format("opening {}", path), errno);
}

Result<void> make_directories_beneath(const std::string& root, std::string_view relative) {
  const std::vector<std::string> parts = TRY(parts_of(relative));
  Fd folder = TRY(open_root(root));
  std::string path = root;
  for (const std::string& part : parts) {
    path += "/" + part;
    FileEvent event;
    if (file_observed()) event = {.op = FileOp::make_directory, .path = absolute_path(path)};
    const int error = observe_file_event(
        event, [&] { return mkdirat(folder.get(), part.c_str(), 0755) == 0 ? 0 : errno; });
    if (error != 0 && error != EEXIST) return Error::from_errno(format("making {}", path), error);
    Fd next(openat(folder.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next && (errno == ENOTDIR || errno == ELOOP))
      return Error::denied(format("{} is there, but no directory", path));
    if (!next) return Error::from_errno(format("opening {}", path), errno);
    folder = std::move(next);
  }
  return {};
}

bool link_stays_inside(std::string_view path, std::string_view target) {
  if (target.empty() || target[0] == '/' || target.find('\0') != std::string_view::npos)
    return false;
  auto depth = std::count(path.begin(), path.end(), '/');
  bool named = false;
  for (const std::string_view part : split(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      named = true;
    } else if (named || --depth < 0) {
      // Behind a name, which may itself be a link, ".." is not what the text says.
      return false;
    }
  }
  return true;
}

Result<void> walk(const std::string& root, const std::function<Result<bool>(const Found&)>& each,
                  size_t bound) {
  const Fd folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return Error::from_errno(format("opening {}", root), errno);
  return Walker(root, each, bound).enter(folder.get(), "", 0);
}

Result<std::vector<std::string>> glob_files(const std::string& root,
                                            const std::vector<std::string>& patterns,
                                            size_t bound) {
  std::vector<Glob> globs;
  std::vector<std::string> folders;
  for (const std::string& pattern : patterns) {
    globs.emplace_back(pattern);
    folders.push_back(literal_folders(pattern));
  }
  std::vector<std::string> found;
  TRY(walk(
      root,
      [&](const Found& entry) -> Result<bool> {
        if (entry.kind == EntryKind::file &&
            std::any_of(globs.begin(), globs.end(),
                        [&](const Glob& glob) { return glob.matches(entry.path); }))
          found.push_back(entry.path);
        const std::string inside = entry.path + "/";
        return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
          return inside.starts_with(folder) || folder.starts_with(inside);
        });
      },
      bound));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace hearth::os
