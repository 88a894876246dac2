#include "track/segment.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/format.h"
#include "track/search.h"
#include "track/trigram.h"

namespace hearth::track {
namespace {

using namespace std::string_literals;

struct Kept {
  uint64_t seq;
  int64_t micros;
  Stream stream;
  uint8_t flags;
  std::string bytes;
  bool operator==(const Kept&) const = default;
};
Kept kept(const Record& r) {
  return {r.seq, r.time.micros, r.stream, r.flags, std::string(r.bytes)};
}

struct Built {
  Bytes bytes;
  SegmentInfo info;
};
Built build(const std::vector<Kept>& records) {
  Built built;
  SegmentBuilder builder([&](std::span<const std::byte> bytes) -> Result<void> {
    built.bytes.insert(built.bytes.end(), bytes.begin(), bytes.end());
    return {};
  });
  for (const Kept& r : records) {
    const auto added = builder.add(Record{r.seq, {r.micros}, r.stream, r.flags, r.bytes});
    EXPECT_TRUE(added.ok()) << added.error().text();
  }
  auto info = builder.finish();
  EXPECT_TRUE(info.ok());
  built.info = *info;
  return built;
}

std::vector<Kept> training_log(size_t lines, uint64_t first_seq = 1) {
  SeededRandom random(first_seq);
  std::vector<Kept> all;
  for (size_t i = 0; i < lines; ++i)
    all.push_back({first_seq + i, 1'700'000'000'000'000 + static_cast<int64_t>(i) * 1000,
                   i % 10 == 3 ? Stream::err : Stream::out, 0,
                   format("Train Epoch: {} [{}/60000] Loss: {:.6f} acc {:.4f} lr 0.001", i / 100,
                          i % 100 * 600, random.unit(), random.unit())});
  return all;
}

std::vector<Kept> all_of(const SegmentReader& reader, const Range& range = {}) {
  std::vector<Kept> all;
  const auto done = reader.each(range, [&](const Record& record) -> Result<bool> {
    all.push_back(kept(record));
    return true;
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
  return all;
}

TEST(Segment, GivesBackWhatWasWritten) {
  std::vector<Kept> records = training_log(20'000, 7);
  records[5].bytes = "\0\xff binary \n with a line feed"s;
  records[5].flags = kBinary;
  records[6].bytes = "";
  records[7].micros = INT64_MIN;
  records[8].micros = INT64_MAX;
  records[9].bytes = std::string(kMostRecordBytes, '\xfe');
  records[10].flags = kFolded;
  records[11].stream = Stream::hearth;
  for (size_t i = 100; i < records.size(); ++i) records[i].seq += 1000;  // a gap
  const Built built = build(records);
  const SpanSource source(built.bytes);
  const auto reader = SegmentReader::open(source);
  ASSERT_TRUE(reader.ok()) << reader.error().text();
  EXPECT_EQ(all_of(*reader), records);
  EXPECT_TRUE(reader->verify().ok());
  const SegmentInfo& info = reader->info();
  EXPECT_EQ(info.first_seq, 7u);
  EXPECT_EQ(info.last_seq, records.back().seq);
  EXPECT_EQ(info.records, records.size());
  EXPECT_EQ(info.first_time.micros, INT64_MIN);
  EXPECT_EQ(info.last_time.micros, INT64_MAX);
  EXPECT_EQ(info.stored_bytes, built.bytes.size());
  EXPECT_EQ(info.text_bytes, built.info.text_bytes);
  EXPECT_GT(reader->blocks().size(), 3u);
  EXPECT_LT(built.bytes.size(), info.text_bytes / 3);
}

TEST(Segment, BuiltFromFrames) {
  FrameWriter writer(100);
  Bytes frames;
  for (int i = 0; i < 300; ++i) {
    writer.append({i}, Stream::out, 0, format("line {}", i));
    if (i % 7 == 0) writer.seal_to(frames);
  }
  writer.seal_to(frames);
  Bytes bytes;
  SegmentBuilder builder([&](std::span<const std::byte> b) -> Result<void> {
    return put_bytes(bytes, b), Result<void>{};
  });
  ASSERT_TRUE(each_frame(frames, [&](const Frame& f) { return builder.add(f); }).ok());
  // Twice the same: refused.
  ASSERT_FALSE(each_frame(frames, [&](const Frame& f) { return builder.add(f); }).ok());
  ASSERT_TRUE(builder.finish().ok());
  const SpanSource source(bytes);
  const auto reader = SegmentReader::open(source);
  ASSERT_TRUE(reader.ok());
  const auto all = all_of(*reader);
  ASSERT_EQ(all.size(), 300u);
  EXPECT_EQ(all.back(), (Kept{399, 299, Stream::out, 0, "line 299"}));
}

TEST(Segment, ReadsFromSeqAndTimeAndStops) {
  const std::vector<Kept> records = training_log(20'000);
  const Built built = build(records);
  const SpanSource source(built.bytes);
  const auto reader = SegmentReader::open(source);
  ASSERT_TRUE(reader.ok());
  const auto from_seq = all_of(*reader, {.from_seq = 15'001, .to_seq = 15'003});
  ASSERT_EQ(from_seq.size(), 3u);
  EXPECT_EQ(from_seq[0], records[15'000]);
  const auto from_time = all_of(*reader, {.from = Time{records[19'990].micros}});
  ASSERT_EQ(from_time.size(), 10u);
  EXPECT_EQ(from_time[0], records[19'990]);
  EXPECT_TRUE(all_of(*reader, {.from_seq = 20'001}).empty());
  int seen = 0;
  EXPECT_TRUE(reader->each({}, [&](const Record&) -> Result<bool> { return ++seen < 5; }).ok());
  EXPECT_EQ(seen, 5);
}

TEST(Segment, EmptyIsRefused) {
  SegmentBuilder builder([](std::span<const std::byte>) { return Result<void>{}; });
  EXPECT_FALSE(builder.finish().ok());
}

TEST(Segment, SinkErrorIsPassedOn) {
  SegmentBuilder builder(
      [](std::span<const std::byte>) -> Result<void> { return Error::unavailable("disk full"); });
  const auto added = builder.add(Record{1, {}, Stream::out, 0, "x"});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::unavailable);
}

// Opens, reads and searches; what comes out must be right or refused.
bool found_damage(const Bytes& bytes, const std::vector<Kept>& wanted) {
  const SpanSource source(bytes);
  const auto reader = SegmentReader::open(source);
  if (!reader.ok()) {
    EXPECT_NE(reader.error().text().find("damaged"), std::string::npos);
    return true;
  }
  EXPECT_FALSE(reader->verify().ok());
  size_t served = 0;
  const auto walked = reader->each({}, [&](const Record& record) -> Result<bool> {
    EXPECT_EQ(kept(record), wanted[served]);
    ++served;
    return true;
  });
  if (!walked.ok()) EXPECT_NE(walked.error().text().find("damaged"), std::string::npos);
  SearchQuery query;
  query.expression = ".";
  query.max_hits = wanted.size() + 1;
  const std::vector<LogSource> sources = {&*reader};
  const auto result = search(sources, query);
  EXPECT_TRUE(result.ok() && !result->damage.empty());
  EXPECT_LT(result->hits.size(), wanted.size());
  return !walked.ok();
}

TEST(Segment, EachFlippedBitIsFoundAtTheFirstRead) {
  const std::vector<Kept> records = training_log(4'500);
  const Bytes good = build(records).bytes;
  SeededRandom random(3);
  for (int round = 0; round < 200; ++round) {
    Bytes bytes = good;
    const uint64_t bit = random.below(bytes.size() * 8);
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_TRUE(found_damage(bytes, records)) << "bit " << bit << " of " << bytes.size() * 8;
  }
  // Every bit of header and trailer.
  for (size_t i = 0; i < 8 + 48; ++i) {
    Bytes bytes = good;
    bytes[i < 8 ? i : bytes.size() - 56 + i] ^= static_cast<std::byte>(1 << i % 8);
    ASSERT_TRUE(found_damage(bytes, records)) << i;
  }
}

TEST(Segment, CutOffOrForeignFilesAreRefused) {
  const Bytes good = build(training_log(100)).bytes;
  for (size_t cut = 0; cut < good.size(); cut += 7) {
    const SpanSource source{std::span(good).first(cut)};
    EXPECT_FALSE(SegmentReader::open(source).ok()) << cut;
  }
}

TEST(Segment, BlocksBesideADamagedOneCanBeRead) {
  const std::vector<Kept> records = training_log(20'000);
  Bytes bytes = build(records).bytes;
  const SpanSource intact(bytes);
  const auto before = SegmentReader::open(intact);
  ASSERT_TRUE(before.ok());
  const BlockIndex hurt = before->blocks()[1];
  bytes[hurt.offset + 10] ^= std::byte{1};
  const SpanSource source(bytes);
  const auto reader = SegmentReader::open(source);
  ASSERT_TRUE(reader.ok());
  const auto behind = all_of(*reader, {.from_seq = hurt.last_seq + 1});
  EXPECT_EQ(behind.size(), records.size() - hurt.last_seq);
  EXPECT_EQ(all_of(*reader, {.to_seq = hurt.first_seq - 1}).size(), hurt.first_seq - 1);
}

TEST(Trigram, NeverDeniesWhatIsThere) {
  SeededRandom random(9);
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += static_cast<char>(random.below(256));
  const Bytes filter = make_trigram_filter(text);
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(trigrams_may_hold(filter, text.substr(random.below(text.size() - 20), 20)));
  const Bytes small = make_trigram_filter("Loss: 0.25 accuracy\n");
  EXPECT_EQ(small.size(), kLeastFilterBytes);
  EXPECT_TRUE(trigrams_may_hold(small, "loss: 0.2"));
  EXPECT_TRUE(trigrams_may_hold(small, "LOSS"));
  EXPECT_TRUE(trigrams_may_hold(small, "zz"));
  EXPECT_FALSE(trigrams_may_hold(small, "traceback"));
}

}  // namespace
}  // namespace hearth::track
