// Finds flipped bits: every page of the database file carries a checksum, every frame of the WAL is
// checked when it is read.
//
// A page's stamp (pages.h) is set as it is written to the database file, and compared as it is
// read. Frames of the WAL carry SQLite's own running checksum, which SQLite looks at in recovery
// alone; here each frame that is read back is held against it. A mismatch is SQLITE_IOERR_DATA, is
// never served, and goes to Health. A stock sqlite3 can read such a file, but must not write it.
//
// Frames that the writer appends to the WAL, two writes each, are held back and go to the file in
// one piece: at the next sync, which each commit makes before it counts, or when anything else is
// wanted of the file. Pages that a checkpoint copies are not: one that readers cut short counts
// without a sync, and they read them at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "db/sqlite/health.h"
#include "db/sqlite/shim_vfs.h"
#include "db/sqlite/stats.h"

namespace hearth::db {

class ChecksumVfs : public ShimVfs {
 public:
  // `health` and `stats` outlive it.
  ChecksumVfs(const std::string& base, Health& health, Stats& stats, Clock& clock);

 protected:
  int read(File& file, void* to, int size, int64_t offset) override;
  int write(File& file, const void* from, int size, int64_t offset) override;
  int truncate(File& file, int64_t size) override;
  int sync(File& file, int flags) override;
  int settle(File& file) override;

 private:
  static constexpr size_t kMostHeld = 120 << 10;  // SQLite's files take less than 128 KiB at once
  int hold(File& file, std::span<const std::byte> bytes, int64_t offset);
  int read_page(File& file, std::span<std::byte> to, int64_t offset);
  int read_frame(File& file, std::span<std::byte> to, int64_t offset);
  int note_write(int code, const File& file, const char* doing);

  Health& health_;
  Stats& stats_;
  Clock& clock_;
  // Of the one connection that writes: readers' files are never `held`.
  Bytes held_;
  int64_t held_at_ = 0;
};

}  // namespace hearth::db
