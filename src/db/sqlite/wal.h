// SQLite's write-ahead log as a file: its frames and their checksums
// (www.sqlite.org/fileformat2.html, section 4).
//
// A header of 32 bytes, then frames: 24 bytes (page number, size of the database in pages when the
// frame ends a commit else 0, two salts, two checksum words; all big-endian) and a page. The
// checksum runs on from frame to frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "db/sqlite/pages.h"

namespace hearth::db {

constexpr int kWalHeaderBytes = 32;
constexpr int kWalFrameHeaderBytes = 24;
constexpr int kWalFrameBytes = kWalFrameHeaderBytes + kPageBytes;
constexpr int kWalChecksumBytes = 8;

// The frame (from 1) whose page begins at `offset`; -1 when none does.
int64_t wal_frame_at(int64_t offset);
int64_t wal_frame_offset(int64_t frame);
// Where the checksum stands that frame's goes on from.
int64_t wal_checksum_before(int64_t frame);
// `before`: that checksum. `frame`: kWalFrameBytes.
bool wal_frame_is_whole(std::span<const std::byte> before, std::span<const std::byte> frame);

// Reads the log that a process left behind, before SQLite recovers it: SQLite ends at the first bad
// frame and drops all after it in silence. That is right for what a power loss tore, which is
// always the last commit, unsynced; a bad frame behind whose commit another one begins was synced
// once: damage. (Bits flipped in the very last commit look like a torn one and are taken for it.)
// Errors: internal, with the frame. No file, or an empty one, is well.
Result<void> check_wal(const std::string& path);

}  // namespace hearth::db
