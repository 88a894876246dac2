// Log frames: the one form of log lines in the shim's spool, in the body of a sync and in the
// server's open segments, so that the server appends what it received as it is.
//
// A frame is a batch of records under one checksum. All numbers little-endian:
//
//   offset size
//        0    4  magic "HLF1"
//        4    2  version (1)
//        6    2  0
//        8    4  payload length in bytes
//       12    4  record count (>= 1)
//       16    8  sequence number of the first record
//       24    8  sequence number of the last record
//       32    8  time of the first record, microseconds since 1970 UTC
//       40    4  CRC-32C of bytes 0..39
//       44    4  CRC-32C of bytes 0..43 and the payload
//       48       payload
//
// A record: varint (seq - seq of the record before; 0 for the first, >= 1 else), varint zigzag
// (time
// - time of the record before; 0 for the first), one byte (stream | flags << 2), varint length,
// bytes. Sequence numbers start at 1, grow and may have gaps; order = seq, time only informs.
//
// The bytes of a record are a line without its line feed, and may be anything. A line of more than
// kMostRecordBytes is written as several records, all but the last flagged `partial`; LineJoiner
// puts them together again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "track/coding.h"

namespace hearth::track {

constexpr size_t kFrameHeaderBytes = 48;
constexpr size_t kMostRecordBytes = 64 * 1024;
constexpr size_t kFrameTargetBytes = 256 * 1024;       // FrameWriter::full() from here on
constexpr size_t kMostAppendBytes = 4 * 1024 * 1024;   // of one FrameWriter::append
constexpr size_t kMostPayloadBytes = 6 * 1024 * 1024;  // a frame fits into a sync body
constexpr size_t kMostJoinedBytes = 16 * 1024 * 1024;  // LineJoiner gives a longer line in parts

enum class Stream : uint8_t { out = 0, err = 1, hearth = 2 };
constexpr size_t kStreams = 3;

// Flags of a record.
constexpr uint8_t kPartial = 1;  // the line goes on in the next record of this stream
constexpr uint8_t kFolded = 2;   // a state of a progress bar, others before it were left out
constexpr uint8_t kBinary = 4;   // not text: the bytes are untouched
constexpr uint8_t kEveryFlag = kPartial | kFolded | kBinary;

struct Record {
  uint64_t seq = 0;
  Time time;
  Stream stream = Stream::out;
  uint8_t flags = 0;
  std::string_view bytes;  // borrowed
};

// Collects records and seals them as frames. Not thread-safe. ~10 ns a record.
class FrameWriter {
 public:
  explicit FrameWriter(uint64_t next_seq = 1) : next_seq_(next_seq) {}

  // One line of at most kMostAppendBytes, split into records as needed. `flags`: any of the above;
  // kPartial says that the line goes on in the next append. Call seal() first when full().
  void append(Time time, Stream stream, uint8_t flags, std::string_view line);
  bool full() const { return payload_.size() >= kFrameTargetBytes; }
  bool empty() const { return count_ == 0; }
  size_t payload_bytes() const { return payload_.size(); }
  uint64_t next_seq() const { return next_seq_; }
  // Appends the frame of all records so far to `out`; nothing when empty().
  void seal_to(Bytes& out);
  Bytes seal();

 private:
  void append_record(Time time, Stream stream, uint8_t flags, std::string_view bytes);
  Bytes payload_;
  uint64_t next_seq_;
  uint64_t first_seq_ = 0;
  uint32_t count_ = 0;
  Time first_time_, last_time_;
};

// A view of one whole, checked frame. Iterating it cannot fail.
class Frame {
 public:
  class Iterator {
   public:
    const Record& operator*() const { return record_; }
    const Record* operator->() const { return &record_; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    friend class Frame;
    void take();
    std::span<const std::byte> rest_;  // behind this record
    uint64_t left_ = 0;                // records from this one to the last
    Record record_;
  };
  uint64_t first_seq = 0;
  uint64_t last_seq = 0;
  uint32_t count = 0;
  Time first_time;
  std::span<const std::byte> bytes;  // the whole frame, to be appended as it is
  std::span<const std::byte> payload;
  Iterator begin() const;
  Iterator end() const { return {}; }
};

enum class FrameState : uint8_t {
  whole,    // checked from first to last byte
  torn,     // the bytes end within a frame (or are zeros to the end): a write that was cut off
  damaged,  // the bytes are there and are not what was written
};
struct FrameRead {
  FrameState state = FrameState::torn;
  Frame frame;              // when whole
  std::string_view reason;  // when not: static words
};

// The frame at the start of `bytes` (more may follow). Checks header, checksum and every record, so
// input from outside is safe. Empty input is torn.
FrameRead read_frame(std::span<const std::byte> bytes);

// What an open file of frames holds after a crash: everything up to `whole_bytes` stands, the rest
// is to be cut off (torn) or set aside and reported (damaged). After power loss the end of a file
// that was not synced may look damaged; what was synced never is unless the disk harmed it.
struct Tail {
  size_t whole_bytes = 0;
  size_t frames = 0;
  uint64_t next_seq = 1;                 // one past the last record that stands
  FrameState state = FrameState::whole;  // of what follows; whole when nothing does
  std::string_view reason;
  // Damaged only: whole frames stand behind the damage, so it is no cut-off write.
  bool whole_frames_behind = false;
};
Tail last_whole_frame(std::span<const std::byte> bytes);

// Calls each(frame) for every whole frame from the start; an error from it ends the walk. Torn or
// damaged bytes are an error `internal` that names the offset.
Result<void> each_frame(std::span<const std::byte> bytes,
                        const std::function<Result<void>(const Frame&)>& each);

// A line as the user's process wrote it.
struct Line {
  uint64_t seq = 0;       // of its first record
  uint64_t last_seq = 0;  // of its last
  Time time;              // of its first record
  Stream stream = Stream::out;
  uint8_t flags = 0;  // kPartial only when the line was cut at kMostJoinedBytes or has no end yet
  std::string_view bytes;
};

// Joins partial records, per stream. Lines come out in the order in which they end.
class LineJoiner {
 public:
  // Calls each(line) when the record ends a line; the bytes are valid during the call.
  template <typename Each>
  void add(const Record& record, Each&& each) {
    Open& open = open_[static_cast<size_t>(record.stream)];
    if (!open.active && !(record.flags & kPartial)) {
      each(Line{record.seq, record.seq, record.time, record.stream, record.flags, record.bytes});
      return;
    }
    extend(open, record);
    if (!(record.flags & kPartial) || open.text.size() >= kMostJoinedBytes) give(open, each);
  }
  // Gives the lines that have no end yet, flagged kPartial.
  template <typename Each>
  void finish(Each&& each) {
    for (Open& open : open_)
      if (open.active) give(open, each);
  }
  // True when no line is half read.
  bool idle() const;

 private:
  struct Open {
    bool active = false;
    Line line;
    std::string text;
  };
  static void extend(Open& open, const Record& record);
  template <typename Each>
  static void give(Open& open, Each&& each) {
    open.line.bytes = open.text;
    open.active = false;
    each(std::as_const(open.line));
    open.text.clear();
  }
  std::array<Open, kStreams> open_;
};

}  // namespace hearth::track
