#include "db/sqlite/checksum_vfs.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "base/format.h"
#include "db/sqlite/pages.h"
#include "db/sqlite/wal.h"

namespace hearth::db {
namespace {

// The fields of the header that SQLite takes from the first 100 bytes as it opens a file; all else
// it reads again with the whole first page.
void set_page_layout(std::byte* header) {
  header[16] = std::byte{kPageBytes >> 8};
  header[17] = std::byte{kPageBytes & 0xff};
  header[20] = std::byte{kReservedBytes};
}

}  // namespace

ChecksumVfs::ChecksumVfs(const std::string& base, Health& health, Stats& stats, Clock& clock)
    : ShimVfs(base, "checksum"), health_(health), stats_(stats), clock_(clock) {}

int ChecksumVfs::read(File& file, void* to, int size, int64_t offset) {
  if (const int code = settle(file); code != SQLITE_OK) return code;
  const std::span bytes(static_cast<std::byte*>(to), static_cast<size_t>(size));
  if (file.is(SQLITE_OPEN_MAIN_DB) && size == kPageBytes) return read_page(file, bytes, offset);
  if (file.is(SQLITE_OPEN_WAL) && size == kPageBytes) return read_frame(file, bytes, offset);
  const int code = ShimVfs::read(file, to, size, offset);
  if (code == SQLITE_OK && file.is(SQLITE_OPEN_MAIN_DB) && offset == 0 && size >= 21)
    set_page_layout(bytes.data());
  return code;
}

int ChecksumVfs::read_page(File& file, std::span<std::byte> to, int64_t offset) {
  const int code = ShimVfs::read(file, to.data(), kPageBytes, offset);
  const auto number = static_cast<uint32_t>(offset / kPageBytes + 1);
  std::string fault;
  if (code == SQLITE_IOERR_SHORT_READ) {
    sqlite3_int64 size = 0;
    if (file.methods()->xFileSize(file.real(), &size) != SQLITE_OK || size <= offset) return code;
    fault = format("page {} is cut off", number);
  } else if (code == SQLITE_OK) {
    fault = page_fault(to, number);
  } else {
    fault = format("page {} cannot be read ({})", number, std::string_view(strerror(errno)));
  }
  if (fault.empty()) return SQLITE_OK;
  std::memset(to.data(), 0, to.size());
  health_.damaged(std::move(fault));
  return SQLITE_IOERR_DATA;
}

int ChecksumVfs::read_frame(File& file, std::span<std::byte> to, int64_t offset) {
  const int64_t frame = wal_frame_at(offset);
  if (frame < 0) return ShimVfs::read(file, to.data(), kPageBytes, offset);
  std::array<std::byte, kWalFrameBytes> bytes;
  std::array<std::byte, kWalChecksumBytes> before;
  int code = ShimVfs::read(file, before.data(), kWalChecksumBytes, wal_checksum_before(frame));
  if (code == SQLITE_OK)
    code = ShimVfs::read(file, bytes.data(), kWalFrameBytes, wal_frame_offset(frame));
  if (code == SQLITE_OK && wal_frame_is_whole(before, bytes)) {
    std::memcpy(to.data(), bytes.data() + kWalFrameHeaderBytes, kPageBytes);
    return SQLITE_OK;
  }
  std::memset(to.data(), 0, to.size());
  health_.damaged(format("frame {} of the write-ahead log", frame));
  return SQLITE_IOERR_DATA;
}

int ChecksumVfs::write(File& file, const void* from, int size, int64_t offset) {
  if (file.is(SQLITE_OPEN_WAL))
    return hold(file, {static_cast<const std::byte*>(from), static_cast<size_t>(size)}, offset);
  if (!file.is(SQLITE_OPEN_MAIN_DB))
    return note_write(ShimVfs::write(file, from, size, offset), file, "writing");
  CHECK(size == kPageBytes && offset % kPageBytes == 0);
  std::array<std::byte, kPageBytes> page;
  std::memcpy(page.data(), from, kPageBytes);
  stamp_page(page, static_cast<uint32_t>(offset / kPageBytes + 1));
  return note_write(ShimVfs::write(file, page.data(), size, offset), file, "writing");
}

int ChecksumVfs::hold(File& file, std::span<const std::byte> bytes, int64_t offset) {
  if (!file.held && !held_.empty())  // another file's are held: this one is written as it comes
    return note_write(ShimVfs::write(file, bytes.data(), static_cast<int>(bytes.size()), offset),
                      file, "writing");
  const bool follows = file.held && offset == held_at_ + static_cast<int64_t>(held_.size()) &&
                       held_.size() + bytes.size() <= kMostHeld;
  if (!follows) {
    if (const int code = settle(file); code != SQLITE_OK) return code;
    held_at_ = offset;
  }
  held_.insert(held_.end(), bytes.begin(), bytes.end());
  file.held = true;
  return SQLITE_OK;
}

int ChecksumVfs::settle(File& file) {
  if (!file.held) return SQLITE_OK;
  file.held = false;
  const int code =
      note_write(ShimVfs::write(file, held_.data(), static_cast<int>(held_.size()), held_at_), file,
                 "writing");
  held_.clear();
  return code;
}

int ChecksumVfs::truncate(File& file, int64_t size) {
  const int code = settle(file);
  return code == SQLITE_OK ? ShimVfs::truncate(file, size) : code;
}

int ChecksumVfs::sync(File& file, int flags) {
  if (const int code = settle(file); code != SQLITE_OK) return code;
  const Time begin = clock_.steady();
  const int code = ShimVfs::sync(file, flags);
  stats_.sync.observe((clock_.steady() - begin).seconds());
  // No room left is no excuse here: what the kernel dropped after a failed sync is not known.
  if (code != SQLITE_OK) errno = errno == ENOSPC || errno == EDQUOT ? EIO : errno;
  return note_write(code, file, "syncing");
}

int ChecksumVfs::note_write(int code, const File& file, const char* doing) {
  if (code == SQLITE_OK || code == SQLITE_FULL || errno == ENOSPC || errno == EDQUOT) return code;
  const std::string_view path = file.path == nullptr ? "a temporary file" : file.path;
  health_.failed(format("{} {} failed ({})", doing, path, std::string_view(strerror(errno))));
  return code;
}

}  // namespace hearth::db
