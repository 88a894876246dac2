// Sealed segments: log records at rest, compressed, indexed, checked. Little-endian:
//
//   header   magic "HSEG", u16 version (1), u16 0
//   blocks   each one zstd frame of about 256 KiB of records
//   index    an entry per block: place, size, CRC, first and last seq, least and greatest time,
//            record count, which streams are within a line at its start, trigram filter of its text
//   trailer  48 bytes: where the index is, its CRC, the CRC of all before the trailer, its own CRC
//
// A block holds u32 length of the meta data; meta data as in log_frame.h (seq step, time step,
// stream and flags, length); then the text of each record followed by LF. Every read is checked:
// damage is an error `internal` that says "damaged" and where, and no byte of it is given out.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "track/byte_source.h"
#include "track/log_frame.h"

struct ZSTD_DCtx_s;

namespace hearth::track {

constexpr size_t kBlockTargetBytes = 256 * 1024;
constexpr size_t kMostBlockBytes = 512 * 1024;  // raw; a longer one is damage
constexpr size_t kMostBlocks = 1 << 20;         // of one segment

// What the database keeps of a segment.
struct SegmentInfo {
  uint64_t first_seq = 0;
  uint64_t last_seq = 0;
  Time first_time;  // the least
  Time last_time;   // the greatest
  uint64_t records = 0;
  uint64_t text_bytes = 0;
  uint64_t stored_bytes = 0;  // size of the segment
};

struct BlockIndex {
  uint64_t offset = 0;
  uint32_t stored_bytes = 0;
  uint32_t raw_bytes = 0;
  uint32_t crc = 0;  // of the stored bytes
  uint32_t records = 0;
  uint64_t first_seq = 0;
  uint64_t last_seq = 0;
  Time first_time;
  Time last_time;
  uint8_t open_streams = 0;  // bit per Stream: its first record goes on with a line begun before
  bool has_partial = false;  // some record is flagged kPartial
  std::span<const std::byte> filter;
};

// Which records: both ends are included.
struct Range {
  uint64_t from_seq = 0;
  uint64_t to_seq = std::numeric_limits<uint64_t>::max();
  Time from{std::numeric_limits<int64_t>::min()};
  Time to{std::numeric_limits<int64_t>::max()};
  bool holds(uint64_t seq, Time time) const {
    return seq >= from_seq && seq <= to_seq && time >= from && time <= to;
  }
};

// Builds a segment out of frames, block by block. Memory: two blocks and the index.
class SegmentBuilder {
 public:
  using Sink = std::function<Result<void>(std::span<const std::byte>)>;

  // `sink` takes the bytes in order.
  explicit SegmentBuilder(Sink sink);
  ~SegmentBuilder();
  SegmentBuilder(SegmentBuilder&&) noexcept;

  // Sequence numbers must grow: conflict if they do not. After an error the builder is of no use.
  Result<void> add(const Record& record);
  Result<void> add(const Frame& frame);
  // Writes index and trailer. A segment without records is `invalid`.
  Result<SegmentInfo> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One decompressed block, and the buffers to read the next. Not thread-safe.
class Block {
 public:
  Block();
  ~Block();
  Block(Block&&) noexcept;

  // The text of all records, each followed by LF.
  std::string_view text() const { return text_; }
  // All records; their bytes point into this block.
  Result<void> decode(std::vector<Record>& out) const;

 private:
  friend class SegmentReader;
  struct ContextFree {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, ContextFree> context_;
  Bytes stored_, raw_;
  std::span<const std::byte> meta_;
  std::string_view text_;
  BlockIndex index_;
};

// Thread-safe once open; each thread has a Block of its own.
class SegmentReader {
 public:
  // Reads and checks header, trailer and index. `source` must outlive the reader.
  static Result<SegmentReader> open(const ByteSource& source);

  const SegmentInfo& info() const { return info_; }
  const std::vector<BlockIndex>& blocks() const { return blocks_; }
  Result<void> read_block(size_t i, Block& into) const;
  // Calls each(record) in order of seq; false from it, or an error, ends the walk. Blocks out of
  // range are not read. An error names the block; those behind it can be read by another call.
  Result<void> each(const Range& range,
                    const std::function<Result<bool>(const Record&)>& each) const;
  // Reads every byte and compares the checksum of the whole.
  Result<void> verify() const;

  SegmentReader(SegmentReader&&) noexcept = default;
  SegmentReader& operator=(SegmentReader&&) noexcept = default;

 private:
  SegmentReader() = default;
  Result<void> parse_index(std::span<const std::byte> bytes, uint64_t blocks_end);
  const ByteSource* source_ = nullptr;
  SegmentInfo info_;
  std::vector<BlockIndex> blocks_;
  Bytes index_;  // what the filters point into
  uint32_t whole_crc_ = 0;
  uint64_t checked_bytes_ = 0;
};

}  // namespace hearth::track
