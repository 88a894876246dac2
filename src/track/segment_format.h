// Constants shared by the builder and the reader of segments.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::track {

constexpr uint32_t kSegmentMagic = 0x47455348;  // "HSEG"
constexpr uint32_t kTrailerMagic = 0x444e4548;  // "HEND"
constexpr uint16_t kSegmentVersion = 1;
constexpr size_t kSegmentHeaderBytes = 8;

// The last bytes of a segment, as in memory; trailer_crc is of the 44 bytes before it.
struct SegmentTrailer {
  uint64_t index_offset = 0;
  uint64_t index_bytes = 0;
  uint64_t records = 0;
  uint64_t text_bytes = 0;
  uint32_t index_crc = 0;
  uint32_t whole_crc = 0;
  uint32_t magic = kTrailerMagic;
  uint32_t trailer_crc = 0;
};
static_assert(sizeof(SegmentTrailer) == 48);
constexpr size_t kTrailerBytes = sizeof(SegmentTrailer);
constexpr size_t kTrailerSummed = kTrailerBytes - sizeof(uint32_t);

// Fixed part of an index entry: offset, stored, raw, crc, records, first and last seq, first and
// last time, open streams, has_partial, u16 bytes of the filter; the filter follows.
constexpr size_t kIndexEntryBytes = 8 + 4 * 4 + 4 * 8 + 2 + 2;

}  // namespace hearth::track
