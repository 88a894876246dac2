// Log frames, metric batches, chunks, columns and counts from anybody: reading must neither crash
// nor go out of bounds.
#include <cstddef>
#include <cstdint>

#include "track/log_frame.h"
#include "track/metric_batch.h"
#include "track/metric_column.h"

namespace {
using namespace hearth;
using namespace hearth::track;

// The checksums would keep every other mutation away from the decoders.
Bytes with_checksums(std::span<const std::byte> input) {
  Bytes bytes(input.begin(), input.end());
  if (bytes.size() < kFrameHeaderBytes) return bytes;
  set_fixed(bytes.data(), uint32_t{0x31464c48});
  set_fixed(bytes.data() + 4, uint32_t{1});
  set_fixed(bytes.data() + 8, static_cast<uint32_t>(bytes.size() - kFrameHeaderBytes));
  const std::span<const std::byte> all(bytes);
  set_fixed(bytes.data() + 40, crc32c(all.first(40)));
  set_fixed(bytes.data() + 44, crc32c(all.subspan(kFrameHeaderBytes), crc32c(all.first(44))));
  return bytes;
}

void walk(std::span<const std::byte> bytes) {
  LineJoiner joiner;
  size_t total = 0;
  const auto count = [&](const Line& line) { total += line.bytes.size(); };
  ignore(each_frame(bytes, [&](const Frame& frame) -> Result<void> {
    uint64_t last = 0;
    for (const Record& record : frame) {
      CHECK(record.seq > last);
      last = record.seq;
      joiner.add(record, count);
    }
    CHECK(last == frame.last_seq);
    return {};
  }));
  joiner.finish(count);
  CHECK(total <= bytes.size());
  CHECK(last_whole_frame(bytes).whole_bytes <= bytes.size());
}
// What is read is written, and read again the same.
void again(const KeyedPoints& points) {
  std::vector<KeySeries> series;
  for (size_t i = 0; i < points.keys.size(); ++i) series.push_back(points.series(i));
  const auto bytes = encode_batch(series);
  CHECK(bytes.ok());
  const auto read = read_batch(*bytes);
  CHECK(read.ok() && read->keys == points.keys && read->ends == points.ends);
  for (size_t i = 0; i < points.points.size(); ++i) CHECK(same(read->points[i], points.points[i]));
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  walk(input);
  walk(with_checksums(input));
  if (size < 8) return 0;
  const auto sealed = [&](uint32_t magic) {
    Bytes bytes(input.begin(), input.end());
    set_fixed(bytes.data(), magic);
    set_fixed(bytes.data() + 4, crc32c(std::span(bytes).subspan(8)));
    return bytes;
  };
  for (const uint32_t magic : {0x31424d48, 0x32424d48}) {
    const auto points = read_batch(sealed(magic));
    if (points.ok()) again(*points);
  }
  if (const auto values = decode_column(sealed(0x31564d48)); values.ok()) {
    const auto back = decode_column(encode_column(*values));
    CHECK(back.ok() && back->size() == values->size());
    const auto use = use_of_column(encode_column(*values), std::vector<uint8_t>(64, 1));
    CHECK(use.ok() && use->runs <= static_cast<int64_t>(values->size()));
  }
  if (const auto uses = decode_uses(sealed(0x31554d48)); uses.ok()) {
    const auto back = decode_uses(encode_uses(*uses));
    CHECK(back.ok() && back->size() == uses->size());
  }
  if (size < 96) return 0;
  Bytes chunk(input.begin(), input.end());
  set_fixed(chunk.data(), uint32_t{0x31434d48});
  set_fixed(chunk.data() + 88, static_cast<uint32_t>(size - 96));
  const std::span<const std::byte> all(chunk);
  set_fixed(chunk.data() + 92, crc32c(all.subspan(96), crc32c(all.first(92))));
  if (const auto points = decode_chunk(chunk); points.ok())
    CHECK(decode_chunk(encode_chunk(*points)).ok());
  return 0;
}
