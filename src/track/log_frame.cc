#include "track/log_frame.h"

#include <algorithm>

#include "base/format.h"

namespace hearth::track {
namespace {

constexpr uint32_t kMagic = 0x31464c48;  // "HLF1"
constexpr uint16_t kVersion = 1;
constexpr size_t kHeaderCrcAt = 40, kFrameCrcAt = 44;
constexpr size_t kMostRecordOverhead = 3 * kMostVarintBytes + 1;
constexpr uint64_t kLastSeq = INT64_MAX - 1;  // the database's integers are signed
constexpr unsigned kFlagShift = 2;
constexpr int kMostResyncs = 64;  // places behind damage at which a frame is looked for

struct Header {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t zero = 0;
  uint32_t payload_bytes = 0;
  uint32_t count = 0;
  uint64_t first_seq = 0;
  uint64_t last_seq = 0;
  int64_t first_time = 0;
};
static_assert(sizeof(Header) == kHeaderCrcAt);

uint32_t frame_crc(std::span<const std::byte> header, std::span<const std::byte> payload) {
  return crc32c(payload, crc32c(header.first(kFrameCrcAt)));
}

// Walks the records once; the reason why they are not as the header says, or "".
std::string_view check_records(const Header& header, std::span<const std::byte> payload) {
  Decoder in(payload);
  uint64_t seq = header.first_seq;
  for (uint32_t i = 0; i < header.count; ++i) {
    const uint64_t step = in.varint();
    const uint64_t time_step = in.varint();
    const auto kind = in.fixed<uint8_t>();
    const uint64_t length = in.varint();
    if (length > kMostRecordBytes) return "a record is too long";
    in.bytes(length);
    if (!in.ok()) return "a record reaches past the payload";
    if (i == 0 ? step != 0 || time_step != 0 : step == 0) return "the sequence does not grow";
    if (step > kLastSeq - seq) return "the sequence overflows";
    seq += step;
    if ((kind & 3) >= kStreams || (kind >> kFlagShift & ~kEveryFlag) != 0)
      return "a record has an unknown stream or flag";
  }
  if (in.left() != 0) return "bytes stand behind the last record";
  if (seq != header.last_seq) return "the last sequence number is not the header's";
  return "";
}

FrameRead torn(std::string_view reason) {
  return {FrameState::torn, {}, reason};
}
FrameRead damaged(std::string_view reason) {
  return {FrameState::damaged, {}, reason};
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

void FrameWriter::append_record(Time time, Stream stream, uint8_t flags, std::string_view bytes) {
  const bool first = count_ == 0;
  if (first) {
    first_seq_ = next_seq_;
    first_time_ = last_time_ = time;
  }
  const size_t before = payload_.size();
  payload_.resize(before + kMostRecordOverhead + bytes.size());
  std::byte* at = payload_.data() + before;
  at = write_varint(at, first ? 0 : 1);
  at = write_varint(at, zigzag(wrapping_sub(time.micros, last_time_.micros)));
  *at++ = static_cast<std::byte>(static_cast<unsigned>(stream) | unsigned{flags} << kFlagShift);
  at = write_varint(at, bytes.size());
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  payload_.resize(static_cast<size_t>(at - payload_.data()) + bytes.size());
  last_time_ = time;
  ++count_;
  ++next_seq_;
}

void FrameWriter::append(Time time, Stream stream, uint8_t flags, std::string_view line) {
  CHECK(line.size() <= kMostAppendBytes && !full() && (flags & ~kEveryFlag) == 0);
  const auto partial = static_cast<uint8_t>(flags | kPartial);
  for (; line.size() > kMostRecordBytes; line.remove_prefix(kMostRecordBytes))
    append_record(time, stream, partial, line.substr(0, kMostRecordBytes));
  append_record(time, stream, flags, line);
}

void FrameWriter::seal_to(Bytes& out) {
  if (count_ == 0) return;
  CHECK(payload_.size() <= kMostPayloadBytes);
  Header header;
  header.payload_bytes = static_cast<uint32_t>(payload_.size());
  header.count = count_;
  header.first_seq = first_seq_;
  header.last_seq = next_seq_ - 1;
  header.first_time = first_time_.micros;
  std::array<std::byte, kFrameHeaderBytes> raw{};
  std::memcpy(raw.data(), &header, sizeof header);
  set_fixed(raw.data() + kHeaderCrcAt, crc32c(std::span(raw).first(kHeaderCrcAt)));
  set_fixed(raw.data() + kFrameCrcAt, frame_crc(raw, payload_));
  out.reserve(out.size() + raw.size() + payload_.size());
  put_bytes(out, raw);
  put_bytes(out, payload_);
  payload_.clear();
  count_ = 0;
}

Bytes FrameWriter::seal() {
  Bytes out;
  seal_to(out);
  return out;
}

FrameRead read_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < kFrameHeaderBytes) {
    const auto* magic = reinterpret_cast<const std::byte*>(&kMagic);
    const size_t n = std::min(bytes.size(), sizeof kMagic);
    if (std::equal(magic, magic + n, bytes.data())) return torn("the header is cut off");
    return all_zero(bytes) ? torn("zeros to the end") : damaged("no frame starts here");
  }
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (get_fixed<uint32_t>(bytes.data() + kHeaderCrcAt) != crc32c(bytes.first(kHeaderCrcAt)))
    return all_zero(bytes) ? torn("zeros to the end") : damaged("the header fails its checksum");
  if (header.magic != kMagic) return damaged("no frame starts here");
  if (header.version != kVersion || header.zero != 0) return damaged("the version is unknown");
  if (header.payload_bytes > kMostPayloadBytes) return damaged("the frame is too long");
  if (header.count == 0) return damaged("the frame holds no record");
  if (header.first_seq == 0 || header.last_seq > kLastSeq)
    return damaged("the sequence is out of bounds");
  if (bytes.size() - kFrameHeaderBytes < header.payload_bytes)
    return torn("the payload is cut off");
  const auto payload = bytes.subspan(kFrameHeaderBytes, header.payload_bytes);
  if (get_fixed<uint32_t>(bytes.data() + kFrameCrcAt) != frame_crc(bytes, payload))
    return damaged("the payload fails its checksum");
  if (const std::string_view reason = check_records(header, payload); !reason.empty())
    return damaged(reason);
  FrameRead read{FrameState::whole, {}, ""};
  read.frame.first_seq = header.first_seq;
  read.frame.last_seq = header.last_seq;
  read.frame.count = header.count;
  read.frame.first_time = {header.first_time};
  read.frame.bytes = bytes.first(kFrameHeaderBytes + payload.size());
  read.frame.payload = payload;
  return read;
}

Frame::Iterator Frame::begin() const {
  Iterator it;
  it.rest_ = payload;
  it.left_ = count;
  it.record_.seq = first_seq;
  it.record_.time = first_time;
  if (count > 0) it.take();
  return it;
}

Frame::Iterator& Frame::Iterator::operator++() {
  if (--left_ > 0) take();
  return *this;
}

void Frame::Iterator::take() {
  Decoder in(rest_);
  record_.seq += in.varint();
  record_.time.micros = wrapping_add(record_.time.micros, unzigzag(in.varint()));
  const auto kind = in.fixed<uint8_t>();
  record_.stream = static_cast<Stream>(kind & 3);
  record_.flags = static_cast<uint8_t>(kind >> kFlagShift);
  record_.bytes = as_text(in.bytes(in.varint()));
  rest_ = rest_.last(in.left());
}

// Looks for a whole frame behind damage.
bool whole_frame_in(std::span<const std::byte> bytes) {
  const auto* magic = reinterpret_cast<const std::byte*>(&kMagic);
  auto at = bytes.begin();
  for (int tries = 0; tries < kMostResyncs; ++tries, ++at) {
    at = std::search(at, bytes.end(), magic, magic + sizeof kMagic);
    if (at == bytes.end()) return false;
    if (read_frame({at, bytes.end()}).state == FrameState::whole) return true;
  }
  return false;
}

Tail last_whole_frame(std::span<const std::byte> bytes) {
  Tail tail;
  while (tail.whole_bytes < bytes.size()) {
    const auto rest = bytes.subspan(tail.whole_bytes);
    FrameRead read = read_frame(rest);
    if (read.state == FrameState::whole && read.frame.first_seq < tail.next_seq)
      read = damaged("the sequence goes back");
    if (read.state != FrameState::whole) {
      tail.state = read.state;
      tail.reason = read.reason;
      if (tail.state == FrameState::damaged)
        tail.whole_frames_behind = whole_frame_in(rest.subspan(1));
      return tail;
    }
    tail.whole_bytes += read.frame.bytes.size();
    tail.next_seq = read.frame.last_seq + 1;
    ++tail.frames;
  }
  return tail;
}

Result<void> each_frame(std::span<const std::byte> bytes,
                        const std::function<Result<void>(const Frame&)>& each) {
  for (size_t at = 0; at < bytes.size();) {
    const FrameRead read = read_frame(bytes.subspan(at));
    if (read.state != FrameState::whole)
      return Error::internal(format("log frames are {} at byte {}: {}",
                                    read.state == FrameState::torn ? "cut off" : "damaged", at,
                                    read.reason));
    TRY(each(read.frame));
    at += read.frame.bytes.size();
  }
  return {};
}

void LineJoiner::extend(Open& open, const Record& record) {
  if (!open.active) {
    open.line = {record.seq, record.seq, record.time, record.stream, 0, {}};
    open.active = true;
  }
  open.text += record.bytes;
  open.line.last_seq = record.seq;
  // The last record says whether the line is over; the others flags hold for the whole line.
  open.line.flags = static_cast<uint8_t>((open.line.flags & ~kPartial) | record.flags);
}

bool LineJoiner::idle() const {
  return std::ranges::none_of(open_, [](const Open& open) { return open.active; });
}

}  // namespace hearth::track
