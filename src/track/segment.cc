#include "track/segment.h"

#include <algorithm>

#include <zstd.h>

#include "base/format.h"
#include "track/segment_format.h"
#include "track/trigram.h"

namespace hearth::track {
namespace {

constexpr size_t kVerifyChunkBytes = 1 << 20;

Error damaged(std::string_view what) {
  return Error::internal(format("the log segment is damaged: {}", what),
                         "restore it from a backup; the rest can still be read");
}
Error damaged_block(size_t i, std::string_view what) {
  return damaged(format("block {} {}", i, what));
}

}  // namespace

void Block::ContextFree::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}
Block::Block() : context_(ZSTD_createDCtx()) {}
Block::~Block() = default;
Block::Block(Block&&) noexcept = default;

Result<void> Block::decode(std::vector<Record>& out) const {
  out.clear();
  out.reserve(index_.records);
  Decoder in(meta_);
  Record record;
  record.seq = index_.first_seq;
  size_t at = 0;
  for (uint32_t i = 0; i < index_.records; ++i) {
    record.seq += in.varint();
    const int64_t step = unzigzag(in.varint());
    record.time.micros = wrapping_add(record.time.micros, step);
    const auto kind = in.fixed<uint8_t>();
    const uint64_t length = in.varint();
    if (!in.ok() || (kind & 3) >= kStreams || at >= text_.size() || length >= text_.size() - at)
      return damaged("a record reaches past its block");
    record.stream = static_cast<Stream>(kind & 3);
    record.flags = static_cast<uint8_t>(kind >> 2);
    record.bytes = text_.substr(at, static_cast<size_t>(length));
    at += static_cast<size_t>(length) + 1;
    out.push_back(record);
  }
  if (in.left() != 0 || at != text_.size()) return damaged("a block holds more than its records");
  return {};
}

Result<SegmentReader> SegmentReader::open(const ByteSource& source) {
  const uint64_t size = source.size();
  if (size < kSegmentHeaderBytes + kTrailerBytes) return damaged("it is too short");
  SegmentTrailer trailer;
  const auto raw = std::as_writable_bytes(std::span(&trailer, 1));
  TRY(source.read(size - kTrailerBytes, raw));
  if (trailer.magic != kTrailerMagic || trailer.trailer_crc != crc32c(raw.first(kTrailerSummed)))
    return damaged("the trailer fails its checksum");
  Bytes header(kSegmentHeaderBytes);
  TRY(source.read(0, header));
  if (get_fixed<uint32_t>(header.data()) != kSegmentMagic ||
      get_fixed<uint16_t>(header.data() + 6) != 0)
    return damaged("the header is not a segment's");
  if (const auto version = get_fixed<uint16_t>(header.data() + 4); version != kSegmentVersion)
    return damaged(format("its version is {}, this program reads {}", version, kSegmentVersion));
  SegmentReader reader;
  reader.source_ = &source;
  reader.whole_crc_ = trailer.whole_crc;
  reader.checked_bytes_ = size - kTrailerBytes;
  if (trailer.index_offset < kSegmentHeaderBytes || trailer.index_offset > reader.checked_bytes_ ||
      trailer.index_bytes != reader.checked_bytes_ - trailer.index_offset ||
      trailer.index_bytes > kMostBlocks * (kIndexEntryBytes + kMostFilterBytes))
    return damaged("the trailer does not fit the size");
  reader.index_.resize(static_cast<size_t>(trailer.index_bytes));
  TRY(source.read(trailer.index_offset, reader.index_));
  if (crc32c(reader.index_) != trailer.index_crc) return damaged("the index fails its checksum");
  TRY(reader.parse_index(reader.index_, trailer.index_offset));
  if (reader.info_.records != trailer.records) return damaged("the index lacks records");
  reader.info_.text_bytes = trailer.text_bytes;
  reader.info_.stored_bytes = size;
  return reader;
}

Result<void> SegmentReader::parse_index(std::span<const std::byte> bytes, uint64_t blocks_end) {
  Decoder in(bytes);
  uint64_t at = kSegmentHeaderBytes;
  while (in.left() > 0) {
    BlockIndex block;
    block.offset = in.fixed<uint64_t>();
    block.stored_bytes = in.fixed<uint32_t>();
    block.raw_bytes = in.fixed<uint32_t>();
    block.crc = in.fixed<uint32_t>();
    block.records = in.fixed<uint32_t>();
    block.first_seq = in.fixed<uint64_t>();
    block.last_seq = in.fixed<uint64_t>();
    block.first_time.micros = in.fixed<int64_t>();
    block.last_time.micros = in.fixed<int64_t>();
    block.open_streams = in.fixed<uint8_t>();
    block.has_partial = in.fixed<uint8_t>() != 0;
    block.filter = in.bytes(in.fixed<uint16_t>());
    const bool sizes = block.offset == at && block.stored_bytes <= blocks_end - at &&
                       block.raw_bytes >= sizeof(uint32_t) && block.raw_bytes <= kMostBlockBytes &&
                       block.records > 0 && block.records <= block.raw_bytes &&
                       (block.filter.size() & (block.filter.size() - 1)) == 0;
    const bool order = block.first_seq > info_.last_seq && block.last_seq >= block.first_seq &&
                       block.last_time >= block.first_time;
    if (!in.ok() || !sizes || !order) return damaged("the index contradicts itself");
    at += block.stored_bytes;
    if (blocks_.empty()) {
      info_.first_seq = block.first_seq;
      info_.first_time = block.first_time;
      info_.last_time = block.last_time;
    }
    info_.last_seq = block.last_seq;
    info_.first_time = std::min(info_.first_time, block.first_time);
    info_.last_time = std::max(info_.last_time, block.last_time);
    info_.records += block.records;
    blocks_.push_back(block);
  }
  if (at != blocks_end || blocks_.empty()) return damaged("the index does not cover the blocks");
  return {};
}

Result<void> SegmentReader::read_block(size_t i, Block& into) const {
  const BlockIndex& index = blocks_.at(i);
  into.stored_.resize(index.stored_bytes);
  TRY(source_->read(index.offset, into.stored_));
  if (crc32c(into.stored_) != index.crc) return damaged_block(i, "fails its checksum");
  into.raw_.resize(index.raw_bytes);
  const size_t n = ZSTD_decompressDCtx(into.context_.get(), into.raw_.data(), into.raw_.size(),
                                       into.stored_.data(), into.stored_.size());
  if (ZSTD_isError(n) || n != index.raw_bytes) return damaged_block(i, "cannot be decompressed");
  const auto meta = get_fixed<uint32_t>(into.raw_.data());
  const auto rest = std::span<const std::byte>(into.raw_).subspan(sizeof(uint32_t));
  if (meta > rest.size()) return damaged_block(i, "contradicts itself");
  into.meta_ = rest.first(meta);
  into.text_ = as_text(rest.subspan(meta));
  into.index_ = index;
  return {};
}

Result<void> SegmentReader::each(const Range& range,
                                 const std::function<Result<bool>(const Record&)>& each) const {
  Block block;
  std::vector<Record> records;
  const auto first = std::ranges::lower_bound(blocks_, range.from_seq, {}, &BlockIndex::last_seq);
  for (auto at = first; at != blocks_.end() && at->first_seq <= range.to_seq; ++at) {
    if (at->last_time < range.from || at->first_time > range.to) continue;
    TRY(read_block(static_cast<size_t>(at - blocks_.begin()), block));
    TRY(block.decode(records));
    for (const Record& record : records)
      if (range.holds(record.seq, record.time) && !TRY(each(record))) return {};
  }
  return {};
}

Result<void> SegmentReader::verify() const {
  Bytes chunk;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < checked_bytes_; at += chunk.size()) {
    chunk.resize(static_cast<size_t>(std::min<uint64_t>(kVerifyChunkBytes, checked_bytes_ - at)));
    TRY(source_->read(at, chunk));
    crc = crc32c(chunk, crc);
  }
  if (crc != whole_crc_) return damaged("the whole fails its checksum");
  return {};
}

}  // namespace hearth::track
