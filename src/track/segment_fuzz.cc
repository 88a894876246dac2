// Segments with a right trailer and index checksum but any content.
#include <cstddef>
#include <cstdint>

#include "track/coding.h"
#include "track/search.h"
#include "track/segment_format.h"

namespace {
using namespace hearth;
using namespace hearth::track;

// input: u16 length of the blocks, blocks, index entries. Block checksums are made right too.
Bytes as_segment(std::span<const std::byte> input) {
  Decoder in(input);
  const size_t wanted = in.fixed<uint16_t>();
  const auto blocks = in.bytes(std::min(wanted, in.left()));
  const auto rest = in.bytes(in.left());
  Bytes bytes, index(rest.begin(), rest.end());
  put_fixed(bytes, kSegmentMagic);
  put_fixed(bytes, uint32_t{kSegmentVersion});
  put_bytes(bytes, blocks);
  if (index.size() >= kIndexEntryBytes) {
    set_fixed(index.data(), uint64_t{kSegmentHeaderBytes});
    set_fixed(index.data() + 8, static_cast<uint32_t>(blocks.size()));
    set_fixed(index.data() + 16, crc32c(blocks));
  }
  SegmentTrailer trailer;
  trailer.index_offset = bytes.size();
  trailer.index_bytes = index.size();
  trailer.records = index.size() >= 24 ? get_fixed<uint32_t>(index.data() + 20) : 0;
  trailer.index_crc = crc32c(index);
  put_bytes(bytes, index);
  trailer.whole_crc = crc32c(bytes);
  const auto raw = std::as_bytes(std::span(&trailer, 1));
  trailer.trailer_crc = crc32c(raw.first(kTrailerSummed));
  put_bytes(bytes, raw);
  return bytes;
}

void read_all(std::span<const std::byte> bytes) {
  const SpanSource source(bytes);
  const auto reader = SegmentReader::open(source);
  if (!reader.ok()) return;
  ignore(reader->each({}, [](const Record&) -> Result<bool> { return true; }));
  ignore(reader->verify());
  SearchQuery query;
  query.expression = "loss|\\d\\d";
  const std::vector<LogSource> sources = {&*reader};
  ignore(search(sources, query));
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  read_all(input);
  read_all(as_segment(input));
  return 0;
}
