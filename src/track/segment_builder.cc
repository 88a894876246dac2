#include <algorithm>

#include <zstd.h>

#include "base/format.h"
#include "track/segment.h"
#include "track/segment_format.h"
#include "track/trigram.h"

namespace hearth::track {
namespace {

// Level 3: ~250 MB/s and 1/8 of the size on training logs; higher ones cost twice for a tenth.
constexpr int kCompression = 3;

struct CompressorFree {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

}  // namespace

struct SegmentBuilder::State {
  Sink sink;
  std::unique_ptr<ZSTD_CCtx, CompressorFree> context{ZSTD_createCCtx()};
  Bytes meta, text, raw, stored, index;
  BlockIndex block;
  Time last_time;
  uint8_t open_streams = 0;
  uint64_t offset = 0;
  uint32_t whole_crc = 0;
  size_t blocks = 0;
  SegmentInfo info;

  Result<void> write(std::span<const std::byte> bytes) {
    whole_crc = crc32c(bytes, whole_crc);
    offset += bytes.size();
    return sink(bytes);
  }
  Result<void> begin() {
    Bytes header;
    put_fixed(header, kSegmentMagic);
    put_fixed(header, kSegmentVersion);
    put_fixed(header, uint16_t{0});
    return write(header);
  }
  void begin_block(const Record& record) {
    block = {};
    block.first_seq = block.last_seq = record.seq;
    block.first_time = block.last_time = record.time;
    last_time = {};  // so the first step is the time itself
    block.open_streams = open_streams;
    meta.clear();
    text.clear();
  }
  void append(const Record& record);
  Result<void> end_block();
  void index_block(std::span<const std::byte> filter);
};

void SegmentBuilder::State::append(const Record& record) {
  put_varint(meta, record.seq - block.last_seq);
  put_varint(meta, zigzag(wrapping_sub(record.time.micros, last_time.micros)));
  put_fixed(meta, static_cast<uint8_t>(static_cast<unsigned>(record.stream) | unsigned{record.flags}
                                                                                  << 2));
  put_varint(meta, record.bytes.size());
  put_bytes(text, as_bytes(record.bytes));
  text.push_back(std::byte{'\n'});
  last_time = record.time;
  block.last_seq = record.seq;
  block.first_time = std::min(block.first_time, record.time);
  block.last_time = std::max(block.last_time, record.time);
  ++block.records;
  const auto bit = static_cast<uint8_t>(1u << static_cast<unsigned>(record.stream));
  const bool partial = record.flags & kPartial;
  open_streams = static_cast<uint8_t>(partial ? open_streams | bit : open_streams & ~bit);
  block.has_partial = block.has_partial || partial;
  info.text_bytes += record.bytes.size();
}

void SegmentBuilder::State::index_block(std::span<const std::byte> filter) {
  put_fixed(index, block.offset);
  put_fixed(index, block.stored_bytes);
  put_fixed(index, block.raw_bytes);
  put_fixed(index, block.crc);
  put_fixed(index, block.records);
  put_fixed(index, block.first_seq);
  put_fixed(index, block.last_seq);
  put_fixed(index, block.first_time.micros);
  put_fixed(index, block.last_time.micros);
  put_fixed(index, block.open_streams);
  put_fixed(index, static_cast<uint8_t>(block.has_partial));
  put_fixed(index, static_cast<uint16_t>(filter.size()));
  put_bytes(index, filter);
}

Result<void> SegmentBuilder::State::end_block() {
  if (block.records == 0) return {};
  if (++blocks > kMostBlocks) return Error::invalid("a segment has too many blocks");
  raw.clear();
  put_fixed(raw, static_cast<uint32_t>(meta.size()));
  put_bytes(raw, meta);
  put_bytes(raw, text);
  CHECK(raw.size() <= kMostBlockBytes);
  stored.resize(ZSTD_compressBound(raw.size()));
  const size_t n = ZSTD_compressCCtx(context.get(), stored.data(), stored.size(), raw.data(),
                                     raw.size(), kCompression);
  if (ZSTD_isError(n)) return Error::internal(format("compressing: {}", ZSTD_getErrorName(n)));
  stored.resize(n);
  block.offset = offset;
  block.stored_bytes = static_cast<uint32_t>(n);
  block.raw_bytes = static_cast<uint32_t>(raw.size());
  block.crc = crc32c(stored);
  index_block(make_trigram_filter(as_text(text)));
  if (info.records == 0) {
    info.first_seq = block.first_seq;
    info.first_time = block.first_time;
    info.last_time = block.last_time;
  }
  info.last_seq = block.last_seq;
  info.first_time = std::min(info.first_time, block.first_time);
  info.last_time = std::max(info.last_time, block.last_time);
  info.records += block.records;
  block = {};
  return write(stored);
}

SegmentBuilder::SegmentBuilder(Sink sink) : state_(std::make_unique<State>()) {
  state_->sink = std::move(sink);
}
SegmentBuilder::~SegmentBuilder() = default;
SegmentBuilder::SegmentBuilder(SegmentBuilder&&) noexcept = default;

Result<void> SegmentBuilder::add(const Record& record) {
  State& s = *state_;
  CHECK(record.bytes.size() <= kMostRecordBytes);
  if (s.offset == 0) TRY(s.begin());
  const uint64_t last = s.block.records > 0 ? s.block.last_seq : s.info.last_seq;
  if (record.seq <= last)
    return Error::conflict(format("record {} stands behind record {}", record.seq, last));
  if (s.block.records == 0) s.begin_block(record);
  s.append(record);
  if (s.meta.size() + s.text.size() >= kBlockTargetBytes) return s.end_block();
  return {};
}

Result<void> SegmentBuilder::add(const Frame& frame) {
  for (const Record& record : frame) TRY(add(record));
  return {};
}

Result<SegmentInfo> SegmentBuilder::finish() {
  State& s = *state_;
  TRY(s.end_block());
  if (s.info.records == 0) return Error::invalid("a segment needs at least one record");
  SegmentTrailer trailer;
  trailer.index_offset = s.offset;
  trailer.index_bytes = s.index.size();
  trailer.records = s.info.records;
  trailer.text_bytes = s.info.text_bytes;
  trailer.index_crc = crc32c(s.index);
  TRY(s.write(s.index));
  trailer.whole_crc = s.whole_crc;
  const auto bytes = std::as_writable_bytes(std::span(&trailer, 1));
  trailer.trailer_crc = crc32c(bytes.first(kTrailerSummed));
  TRY(s.write(bytes));
  s.info.stored_bytes = s.offset;
  return s.info;
}

}  // namespace hearth::track
