#include "track/search.h"

#include <list>

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "base/format.h"

namespace hearth::track {
namespace {

// A segment in memory.
struct Sealed {
  explicit Sealed(const Bytes& frames) {
    SegmentBuilder builder([this](std::span<const std::byte> b) -> Result<void> {
      return put_bytes(bytes, b), Result<void>{};
    });
    EXPECT_TRUE(each_frame(frames, [&](const Frame& f) { return builder.add(f); }).ok());
    EXPECT_TRUE(builder.finish().ok());
    source.emplace(bytes);
    reader.emplace(std::move(SegmentReader::open(*source)).value());
  }
  Bytes bytes;
  std::optional<SpanSource> source;
  std::optional<SegmentReader> reader;
};

// What each line is, for the plain way to search.
struct Log {
  std::vector<std::string> lines;
  std::vector<uint64_t> seqs;
  Bytes frames;
  FrameWriter writer;
  void add(const std::string& line, Stream stream = Stream::out) {
    lines.push_back(line);
    seqs.push_back(writer.next_seq());
    writer.append({static_cast<int64_t>(lines.size())}, stream, 0, line);
    if (writer.payload_bytes() > 8000) writer.seal_to(frames);
  }
};

Log make_log(int lines) {
  Log log;
  SeededRandom random(11);
  for (int i = 0; i < lines; ++i) {
    log.add(format("step {} Loss={:.5f} lr 0.001 worker-{} ok", i, random.unit(), random.below(8)),
            i % 4 == 1 ? Stream::err : Stream::out);
    if (i % 3000 == 1234) log.add(format("Traceback (most recent call last): case {}", i));
    if (i % 5000 == 4321) {  // a line over several records, with its word across a boundary
      std::string big(3 * kMostRecordBytes, '.');
      big.replace(kMostRecordBytes - 5, 11, "BrokenPipe!");
      log.add(big);
    }
  }
  log.add(
      "Gr\xc3\xb6\xc3\x9f"
      "e der Gr\xc3\x96"
      "SSE: 42");
  log.writer.seal_to(log.frames);
  return log;
}

std::vector<uint64_t> plain_search(const Log& log, const std::string& expression, bool ignore) {
  re2::RE2::Options options;
  options.set_case_sensitive(!ignore);
  const re2::RE2 re(expression, options);
  std::vector<uint64_t> seqs;
  for (size_t i = 0; i < log.lines.size(); ++i)
    if (re2::RE2::PartialMatch(log.lines[i], re)) seqs.push_back(log.seqs[i]);
  return seqs;
}

SearchQuery query_of(const std::string& expression, bool ignore, unsigned threads) {
  SearchQuery query;
  query.expression = expression;
  query.letters = ignore ? Pattern::Case::ignored : Pattern::Case::sensitive;
  query.threads = threads;
  query.max_hits = 1'000'000;
  query.max_bytes = 1 << 30;
  return query;
}

std::vector<uint64_t> seqs_of(const SearchResult& result) {
  std::vector<uint64_t> seqs;
  for (const Hit& hit : result.hits) seqs.push_back(hit.seq);
  return seqs;
}

TEST(Search, FindsWhatThePlainWayFinds) {
  const Log log = make_log(12'000);
  const Sealed sealed(log.frames);
  ASSERT_GT(sealed.reader->blocks().size(), 3u);
  const std::vector<std::pair<std::string, bool>> expressions = {
      {"Traceback", false},
      {"traceback", false},
      {"traceback", true},
      {"BrokenPipe", false},
      {"step 777 ", false},
      {"^step 1[0-9]{3} .*worker-3", false},
      {"Loss=0.000", false},
      {"loss=0\\.000\\d+", true},
      {"\\d{9}", false},
      {"ok$", false},
      {"(case|Pipe)", false},
      {"zzzz", false},
      {"Größe", false},
      {"GRÖSSE", true},
      {"(?i)brokenpipe", false},
      {"a|b", false},
      {"x*", false},
      {"most.*(1234|4234)", false},
      {"\\.{100}", false},
      {"Größe|Traceback", false}};
  for (const auto& [expression, ignore] : expressions) {
    const std::vector<uint64_t> wanted = plain_search(log, expression, ignore);
    for (const unsigned threads : {1u, 3u}) {
      const std::vector<LogSource> segment = {&*sealed.reader};
      const std::vector<LogSource> open = {std::span<const std::byte>(log.frames)};
      for (const auto& sources : {segment, open}) {
        const auto result = search(sources, query_of(expression, ignore, threads));
        ASSERT_TRUE(result.ok()) << expression;
        EXPECT_EQ(seqs_of(*result), wanted) << expression << " " << threads;
        EXPECT_FALSE(result->more);
        EXPECT_TRUE(result->damage.empty());
      }
    }
  }
}

TEST(Search, RareWordsSpareTheBlocks) {
  Log log;
  SeededRandom random(2);
  for (int i = 0; i < 30'000; ++i)
    log.add(format("epoch {} loss {:.6f} accuracy {:.4f}", i, random.unit(), random.unit()));
  log.add("CUDA error: device-side assert");
  log.writer.seal_to(log.frames);
  const Sealed sealed(log.frames);
  const std::vector<LogSource> sources = {&*sealed.reader};
  const auto result = search(sources, query_of("device-side", false, 2));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->hits.size(), 1u);
  EXPECT_EQ(result->hits[0].text, log.lines.back());
  EXPECT_GT(result->blocks, 4u);
  EXPECT_EQ(result->blocks - result->blocks_skipped, 1u);
}

TEST(Search, BoundsStreamsAndRangesHold) {
  const Log log = make_log(12'000);
  const Sealed sealed(log.frames);
  const std::vector<LogSource> sources = {&*sealed.reader, std::span<const std::byte>(log.frames)};
  SearchQuery query = query_of("step", false, 2);
  query.max_hits = 100;
  auto result = search(sources, query);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->hits.size(), 100u);
  EXPECT_TRUE(result->more);
  EXPECT_EQ(result->hits[99].text.substr(0, 8), "step 99 ");
  // Going on from the last hit gives the next ones.
  query.range.from_seq = result->hits[99].last_seq + 1;
  result = search(sources, query);
  EXPECT_EQ(result->hits[0].text.substr(0, 9), "step 100 ");
  query = query_of("step", false, 2);
  query.streams = 1 << static_cast<int>(Stream::err);
  query.range.from = Time{1000};
  query.range.to = Time{1999};
  result = search(sources, query);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->hits.size(), 2 * 250u);
  for (const Hit& hit : result->hits) EXPECT_EQ(hit.stream, Stream::err);
  query = query_of("BrokenPipe", false, 1);
  query.max_bytes = 10;
  result = search(sources, query);
  EXPECT_EQ(result->hits.size(), 1u);
  EXPECT_EQ(result->hits[0].text.size(), 3 * kMostRecordBytes);
  EXPECT_TRUE(result->more);
}

TEST(Search, WrongExpressionsAreRefusedInWords) {
  for (const std::string wrong : {"", "(", "a{1001}", "[z-a]"}) {
    const auto result = search({}, query_of(wrong, false, 1));
    ASSERT_FALSE(result.ok()) << wrong;
    EXPECT_EQ(result.error().code, Code::invalid);
  }
  EXPECT_EQ(search({}, query_of(std::string(5000, 'a'), false, 1)).error().code, Code::too_large);
  const auto nothing = search({}, query_of("a", false, 8));
  EXPECT_TRUE(nothing.ok() && nothing->hits.empty() && !nothing->more);
}

TEST(Search, CanBeCancelled) {
  const Log log = make_log(2000);
  const Sealed sealed(log.frames);
  const std::atomic<bool> cancel = true;
  SearchQuery query = query_of("step", false, 2);
  query.cancel = &cancel;
  const std::vector<LogSource> sources = {&*sealed.reader};
  EXPECT_EQ(search(sources, query).error().code, Code::unavailable);
}

TEST(Search, TornFramesAreReportedBesideTheHits) {
  Log log = make_log(2000);
  log.frames.resize(log.frames.size() - 5);
  const std::vector<LogSource> sources = {std::span<const std::byte>(log.frames)};
  const auto result = search(sources, query_of("step 10 ", false, 1));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->hits.size(), 1u);
  ASSERT_EQ(result->damage.size(), 1u);
  EXPECT_NE(result->damage[0].text().find("cut off"), std::string::npos);
}

}  // namespace
}  // namespace hearth::track
