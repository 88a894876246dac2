#include "db/sqlite/place.h"

#include <array>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/format.h"
#include "db/sqlite/sqlite.h"

namespace hearth::db {
namespace {

struct Unfit {
  int64_t magic;
  std::string_view name;
};
// From linux/magic.h and the file systems' own headers.
constexpr std::array kUnfit = {
    Unfit{0x6969, "NFS"},        Unfit{0x517b, "SMB"},        Unfit{0xff534d42, "CIFS"},
    Unfit{0xfe534d42, "SMB2"},   Unfit{0x65735546, "FUSE"},   Unfit{0x01021997, "9p"},
    Unfit{0x00c36400, "Ceph"},   Unfit{0x0bd00bd0, "Lustre"}, Unfit{0x47504653, "GPFS"},
    Unfit{0x5346414f, "AFS"},    Unfit{0x73757245, "Coda"},   Unfit{0x786f4256, "VirtualBox share"},
    Unfit{0x19830326, "BeeGFS"}, Unfit{0x7461636f, "OCFS2"},  Unfit{0x01161970, "GFS2"},
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string owner_of(int fd) {
  std::array<char, 32> text{};
  const ssize_t n = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), n > 0 ? static_cast<size_t>(n) : 0);
  while (!pid.empty() && (pid.back() < '0' || pid.back() > '9')) pid.pop_back();
  return pid.empty() ? "another process" : "process " + pid;
}

Result<void> sync_path(const std::string& path, int flags) {
  const Descriptor file(::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Error::from_errno(path, errno);
  if (::fsync(file.get()) != 0) return Error::from_errno("sync " + path, errno);
  return {};
}

}  // namespace

Result<void> check_filesystem(int64_t magic, const std::string& folder) {
  for (const Unfit& unfit : kUnfit) {
    // Magics are 32 bits; f_type is wider and signed on some machines.
    if (static_cast<uint32_t>(unfit.magic) != static_cast<uint32_t>(magic)) continue;
    return Error::of(Code::unsupported,
                     format("{} lies on {}: a database there can be damaged", folder, unfit.name),
                     "give a directory on a local disk (--data DIR)");
  }
  return {};
}

Result<void> check_place(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::path at = std::filesystem::absolute(folder, ignored);
  struct statfs found{};
  while (::statfs(at.c_str(), &found) != 0) {
    if (errno != ENOENT || at == at.root_path()) return Error::from_errno(folder, errno);
    at = at.parent_path();  // it will be made there
  }
  return check_filesystem(found.f_type, folder);
}

Result<OwnerLock> OwnerLock::take(const std::string& path) {
  const std::string name = path + ".owner";
  const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Error::from_errno(format("cannot write in {}", folder_of(path)), errno);
  OwnerLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Error::from_errno("lock " + name, errno);
    return Error::conflict(
        format("{} is in use by {}", path, owner_of(fd)),
        "stop that server (hearth down), or give another directory (--data DIR)");
  }
  const std::string pid = format("{}\n", ::getpid());
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, pid.data(), pid.size(), 0) < 0)
    return Error::from_errno("write " + name, errno);
  return lock;
}

OwnerLock::~OwnerLock() {
  if (fd_ >= 0) ::close(fd_);
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> make_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) {
    if (errno == EEXIST) return {};
    return Error::from_errno(path, errno);
  }
  if (::fsync(file.get()) != 0) return Error::from_errno("sync " + path, errno);
  return sync_folder(folder_of(path));
}

Result<void> sync_file(const std::string& path) {
  return sync_path(path, 0);
}
Result<void> sync_folder(const std::string& folder) {
  return sync_path(folder, O_DIRECTORY);
}

}  // namespace hearth::db
