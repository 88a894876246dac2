// FileLock, and what lies below a path.
#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/format.h"
#include "base/units.h"
#include "os/files.h"
#include "os/numbers.h"

namespace hearth::os {
namespace {

constexpr int64_t kMostLockBytes = 64;

Error failed(std::string_view what, const std::string& path, int error) {
  return Error::from_errno(format("{} {}", what, path), error);
}

struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

pid_t pid_in(int fd) {
  char text[kMostLockBytes] = {};
  if (pread(fd, text, sizeof text - 1, 0) <= 0) return 0;
  return leading_number<pid_t>(text).value_or(0);
}

Error held(const std::string& path, pid_t pid) {
  std::string who = "another process";
  if (pid > 0) {
    who = format("process {}", pid);
    const auto name = read_file(format("/proc/{}/comm", pid), 4096);
    if (name.ok()) who += format(" ({})", trim(*name));
  }
  return Error::conflict(format("{} is held by {}", path, who));
}

struct FilesystemName {
  unsigned long magic;
  std::string_view name;
  bool remote;
};
// include/uapi/linux/magic.h of the kernel, and the sources of those that are not in it.
constexpr FilesystemName kFilesystems[] = {
    {EXT4_SUPER_MAGIC, "ext4", false},
    {XFS_SUPER_MAGIC, "xfs", false},
    {BTRFS_SUPER_MAGIC, "btrfs", false},
    {0x2fc12fc1, "zfs", false},
    {TMPFS_MAGIC, "tmpfs", false},
    {RAMFS_MAGIC, "ramfs", false},
    {OVERLAYFS_SUPER_MAGIC, "overlay", false},
    {F2FS_SUPER_MAGIC, "f2fs", false},
    {0xca451a4e, "bcachefs", false},
    {MSDOS_SUPER_MAGIC, "vfat", false},
    {0x2011bab0, "exfat", false},
    {SQUASHFS_MAGIC, "squashfs", false},
    {REISERFS_SUPER_MAGIC, "reiserfs", false},
    {0x3153464a, "jfs", false},
    {PROC_SUPER_MAGIC, "proc", false},
    {SYSFS_MAGIC, "sysfs", false},
    {CGROUP_SUPER_MAGIC, "cgroup", false},
    {CGROUP2_SUPER_MAGIC, "cgroup2", false},
    {NFS_SUPER_MAGIC, "nfs", true},
    {0xff534d42, "cifs", true},
    {0xfe534d42, "smb2", true},
    {SMB_SUPER_MAGIC, "smb", true},
    {FUSE_SUPER_MAGIC, "fuse", true},
    {0x00c36400, "ceph", true},
    {V9FS_MAGIC, "9p", true},
    {AFS_SUPER_MAGIC, "afs", true},
    {0x6b414653, "afs", true},
    {0x47504653, "gpfs", true},
    {0x0bd00bd0, "lustre", true},
    {0x013111a8, "ibrix", true},
    {0x7461636f, "ocfs2", true},
    {0x01161970, "gfs2", true},
    {CODA_SUPER_MAGIC, "coda", true},
    {0x19830326, "beegfs", true},
};

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path) {
  FileLock lock;
  lock.path_ = path;
  lock.fd_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.fd_) return failed("opening lock", path, errno);
  struct flock wish = whole_file(F_WRLCK);
  if (fcntl(lock.fd(), F_OFD_SETLK, &wish) != 0) {
    if (errno == EAGAIN || errno == EACCES) return held(path, pid_in(lock.fd()));
    return failed("locking", path, errno);
  }
  // The text only helps people and lock_holder(); the lock itself is the truth.
  const std::string text = format("{}\n", getpid());
  if (ftruncate(lock.fd(), 0) != 0 ||
      ::pwrite(lock.fd(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return failed("writing lock", path, errno);
  return lock;
}

Result<std::optional<pid_t>> lock_holder(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && errno == ENOENT) return std::optional<pid_t>();
  if (!fd) return failed("opening lock", path, errno);
  struct flock look = whole_file(F_WRLCK);
  if (fcntl(fd.get(), F_OFD_GETLK, &look) != 0) return failed("looking at lock", path, errno);
  if (look.l_type == F_UNLCK) return std::optional<pid_t>();
  return std::optional<pid_t>(pid_in(fd.get()));
}

Result<Space> free_space(const std::string& path) {
  struct statvfs found{};
  if (statvfs(path.c_str(), &found) != 0) return failed("asking for the space below", path, errno);
  const auto block = static_cast<int64_t>(found.f_frsize);
  return Space{static_cast<int64_t>(found.f_blocks) * block,
               static_cast<int64_t>(found.f_bavail) * block, static_cast<int64_t>(found.f_favail)};
}

Result<FilesystemType> filesystem_type(const std::string& path) {
  struct statfs found{};
  if (statfs(path.c_str(), &found) != 0)
    return failed("asking for the file system below", path, errno);
  const auto magic = static_cast<unsigned long>(found.f_type) & 0xffffffffUL;
  for (const FilesystemName& row : kFilesystems)
    if (row.magic == magic) return FilesystemType{std::string(row.name), row.remote};
  return FilesystemType{format("{:#x}", magic), false};
}

}  // namespace hearth::os
