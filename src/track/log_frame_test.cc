#include "track/log_frame.h"

#include <gtest/gtest.h>

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

std::vector<Kept> records(std::span<const std::byte> bytes) {
  std::vector<Kept> all;
  const auto done = each_frame(bytes, [&](const Frame& frame) -> Result<void> {
    for (const Record& r : frame)
      all.push_back({r.seq, r.time.micros, r.stream, r.flags, std::string(r.bytes)});
    return {};
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
  return all;
}

Bytes three_frames() {
  Bytes out;
  FrameWriter writer;
  for (int frame = 0; frame < 3; ++frame) {
    for (int i = 0; i < 5; ++i)
      writer.append({1'700'000'000'000'000 + frame * 1000 + i}, Stream::out, 0,
                    "epoch " + std::to_string(i) + " loss 0.25");
    writer.seal_to(out);
  }
  return out;
}

TEST(LogFrame, KeepsAnyBytesTimesAndFlags) {
  const std::vector<Kept> wanted = {
      {7, 1'700'000'000'000'000, Stream::out, 0, "plain"},
      {8, 1'699'999'999'000'000, Stream::err, kFolded, "time went back"},
      {9, INT64_MIN, Stream::hearth, 0, ""},
      {10, INT64_MAX, Stream::out, kBinary, "\0\xff\xfe\n\r\x80"s},
      {11, 0, Stream::err, kPartial | kBinary, std::string(kMostRecordBytes, '\0')},
  };
  FrameWriter writer(7);
  for (const Kept& line : wanted) writer.append({line.micros}, line.stream, line.flags, line.bytes);
  const Bytes bytes = writer.seal();
  EXPECT_EQ(records(bytes), wanted);
  EXPECT_EQ(writer.next_seq(), 12u);
  EXPECT_TRUE(writer.empty());
  EXPECT_TRUE(writer.seal().empty());
  const FrameRead read = read_frame(bytes);
  ASSERT_EQ(read.state, FrameState::whole);
  EXPECT_EQ(read.frame.first_seq, 7u);
  EXPECT_EQ(read.frame.last_seq, 11u);
  EXPECT_EQ(read.frame.count, 5u);
  EXPECT_EQ(read.frame.bytes.size(), bytes.size());
}

TEST(LogFrame, LineOfOneMegabyteIsSplitAndJoined) {
  std::string big(1 << 20, 'x');
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 2654435761u >> 13);
  FrameWriter writer;
  writer.append({1}, Stream::out, 0, "before");
  writer.append({2}, Stream::out, kBinary, big);
  EXPECT_TRUE(writer.full());
  Bytes bytes = writer.seal();
  writer.append({3}, Stream::out, kPartial, "half ");
  writer.append({3}, Stream::err, 0, "between");
  writer.append({4}, Stream::out, 0, "a line");
  writer.append({5}, Stream::err, kPartial, "no end");
  writer.seal_to(bytes);
  LineJoiner joiner;
  std::vector<Kept> lines;
  const auto keep = [&](const Line& l) {
    lines.push_back({l.seq, l.time.micros, l.stream, l.flags, std::string(l.bytes)});
  };
  size_t count = 0;
  ASSERT_TRUE(each_frame(bytes, [&](const Frame& frame) -> Result<void> {
                for (const Record& record : frame) {
                  EXPECT_LE(record.bytes.size(), kMostRecordBytes);
                  joiner.add(record, keep);
                  ++count;
                }
                return {};
              }).ok());
  EXPECT_FALSE(joiner.idle());
  joiner.finish(keep);
  EXPECT_TRUE(joiner.idle());
  EXPECT_EQ(count, 1u + 16 + 4);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].bytes, "before");
  EXPECT_EQ(lines[1], (Kept{2, 2, Stream::out, kBinary, big}));
  EXPECT_EQ(lines[2].bytes, "between");
  EXPECT_EQ(lines[3], (Kept{18, 3, Stream::out, 0, "half a line"}));
  EXPECT_EQ(lines[4], (Kept{21, 5, Stream::err, kPartial, "no end"}));
}

TEST(LogFrame, JoinerGivesEndlessLinesInParts) {
  LineJoiner joiner;
  const std::string piece(kMostRecordBytes, 'a');
  size_t parts = 0, bytes = 0;
  const auto count = [&](const Line& line) {
    ++parts;
    bytes += line.bytes.size();
    EXPECT_LE(line.bytes.size(), kMostJoinedBytes);
  };
  for (uint64_t seq = 1; seq <= 600; ++seq)
    joiner.add({seq, {}, Stream::out, kPartial, piece}, count);
  joiner.finish(count);
  EXPECT_EQ(parts, 3u);
  EXPECT_EQ(bytes, 600 * kMostRecordBytes);
}

TEST(LogFrame, EveryCutIsTornAndTheFramesBeforeItStand) {
  const Bytes bytes = three_frames();
  const size_t frame = bytes.size() / 3;
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    const Tail tail = last_whole_frame(std::span(bytes).first(cut));
    ASSERT_EQ(tail.frames, cut / frame) << cut;
    ASSERT_EQ(tail.whole_bytes, cut / frame * frame);
    ASSERT_EQ(tail.next_seq, tail.frames * 5 + 1);
    ASSERT_EQ(tail.state, cut % frame == 0 ? FrameState::whole : FrameState::torn) << cut;
  }
  EXPECT_EQ(last_whole_frame(bytes).next_seq, 16u);
  EXPECT_EQ(last_whole_frame({}).next_seq, 1u);
}

TEST(LogFrame, EveryFlippedBitIsDamage) {
  const Bytes bytes = three_frames();
  const size_t frame = bytes.size() / 3;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes hurt = bytes;
    hurt[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const Tail tail = last_whole_frame(hurt);
    ASSERT_EQ(tail.frames, bit / 8 / frame);
    ASSERT_EQ(tail.state, FrameState::damaged) << bit;
    ASSERT_FALSE(tail.reason.empty());
    ASSERT_EQ(tail.whole_frames_behind, tail.frames < 2) << bit;
  }
}

TEST(LogFrame, ZerosToTheEndAreTorn) {
  Bytes bytes = three_frames();
  const size_t whole = bytes.size();
  for (const size_t zeros : {1u, 3u, 47u, 48u, 4096u}) {
    bytes.resize(whole);
    bytes.resize(whole + zeros);
    const Tail tail = last_whole_frame(bytes);
    EXPECT_EQ(tail.state, FrameState::torn) << zeros;
    EXPECT_EQ(tail.whole_bytes, whole);
  }
  bytes.back() = std::byte{1};
  EXPECT_EQ(last_whole_frame(bytes).state, FrameState::damaged);
}

TEST(LogFrame, SequenceThatGoesBackIsDamage) {
  const Bytes bytes = three_frames();
  Bytes twice = bytes;
  twice.insert(twice.end(), bytes.begin(), bytes.end());
  const Tail tail = last_whole_frame(twice);
  EXPECT_EQ(tail.whole_bytes, bytes.size());
  EXPECT_EQ(tail.state, FrameState::damaged);
}

// A sender that knows the checksums but not the rules.
TEST(LogFrame, WellSummedNonsenseIsRefused) {
  SeededRandom random(5);
  const Bytes good = three_frames();
  const size_t frame = good.size() / 3;
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(frame));
    for (uint64_t i = random.below(4); i < 4; ++i)
      bytes[random.below(8) == 0 ? random.below(40) : 48 + random.below(frame - 48)] =
          static_cast<std::byte>(random.u64());
    set_fixed(bytes.data() + 40, crc32c(std::span(bytes).first(40)));
    set_fixed(bytes.data() + 44,
              crc32c(std::span(bytes).subspan(48), crc32c(std::span(bytes).first(44))));
    const FrameRead read = read_frame(bytes);
    if (read.state != FrameState::whole) {
      ++refused;
      continue;
    }
    uint64_t last = 0;
    size_t count = 0;
    for (const Record& record : read.frame) {
      ASSERT_GT(record.seq, last);
      last = record.seq;
      ++count;
    }
    ASSERT_EQ(count, read.frame.count);
    ASSERT_EQ(last, read.frame.last_seq);
  }
  EXPECT_GT(refused, 1000);
}

TEST(LogFrame, WalkNamesTheOffsetOfDamage) {
  Bytes bytes = three_frames();
  const size_t frame = bytes.size() / 3;
  bytes[frame + 60] ^= std::byte{4};
  int seen = 0;
  const auto walk =
      each_frame(bytes, [&](const Frame&) -> Result<void> { return ++seen, Result<void>{}; });
  ASSERT_FALSE(walk.ok());
  EXPECT_EQ(seen, 1);
  EXPECT_NE(walk.error().text().find("byte " + std::to_string(frame)), std::string::npos);
}

}  // namespace
}  // namespace hearth::track
