#include "track/search.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/format.h"
#include "track/trigram.h"

namespace hearth::track {
namespace {

constexpr uint8_t bit_of(Stream stream) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(stream));
}

// A block of a segment, or a whole open file.
struct Part {
  size_t source = 0;
  size_t block = 0;
};

struct Found {
  std::vector<Hit> hits;
  size_t bytes = 0;
  bool cut = false;  // the part was left before its end
  bool done = false;
  std::vector<Error> damage;
  bool skipped = false;
};

// One thread's search through one part after the other.
class Searcher {
 public:
  Searcher(std::span<const LogSource> sources, const SearchQuery& query, Pattern pattern)
      : sources_(sources), query_(query), pattern_(std::move(pattern)) {}

  Found run(const Part& part) {
    found_ = {};
    part_ = part;
    const LogSource& source = sources_[part.source];
    Result<void> done;
    if (const auto* segment = std::get_if<const SegmentReader*>(&source)) {
      done = search_block(**segment, part.block);
    } else {
      done = search_frames(std::get<std::span<const std::byte>>(source));
    }
    if (!done) found_.damage.push_back(std::move(done).error());
    std::ranges::sort(found_.hits, {}, &Hit::seq);
    found_.done = true;
    return std::move(found_);
  }

 private:
  bool full() const {
    return found_.hits.size() >= query_.max_hits || found_.bytes >= query_.max_bytes;
  }
  void test(const Line& line) {
    if (!(query_.streams & bit_of(line.stream)) || !query_.range.holds(line.seq, line.time) ||
        !pattern_.matches(line.bytes))
      return;
    if (full()) {
      found_.cut = true;
      return;
    }
    found_.bytes += line.bytes.size();
    found_.hits.push_back({part_.source, line.seq, line.last_seq, line.time, line.stream,
                           line.flags, std::string(line.bytes)});
  }
  void test(const Record& record) {
    test(Line{record.seq, record.seq, record.time, record.stream, record.flags, record.bytes});
  }

  Result<void> search_block(const SegmentReader& segment, size_t i);
  Result<void> search_whole_lines();
  Result<void> search_joined(const SegmentReader& segment, size_t i);
  Result<void> search_frames(std::span<const std::byte> bytes);
  void search_frame(const Frame& frame, LineJoiner& joiner);

  std::span<const LogSource> sources_;
  const SearchQuery& query_;
  Pattern pattern_;
  Part part_;
  Found found_;
  Block block_;
  std::vector<Record> records_;
  std::vector<uint32_t> places_;
  std::string lowered_;
};

Result<void> Searcher::search_block(const SegmentReader& segment, size_t i) {
  const BlockIndex& index = segment.blocks()[i];
  const bool whole_lines = !index.has_partial && index.open_streams == 0;
  if (whole_lines && !pattern_.possible([&](size_t literal) {
        return trigrams_may_hold(index.filter, pattern_.literals()[literal]);
      })) {
    found_.skipped = true;
    return {};
  }
  TRY(segment.read_block(i, block_));
  return whole_lines ? search_whole_lines() : search_joined(segment, i);
}

// Tests the lines in which a literal stands, or all if the pattern has none.
Result<void> Searcher::search_whole_lines() {
  if (!pattern_.selective()) {
    TRY(block_.decode(records_));
    for (const Record& record : records_) test(record);
    return {};
  }
  places_.clear();
  lower_into(block_.text(), lowered_);
  if (!pattern_.possible_in(lowered_, &places_)) return {};
  std::ranges::sort(places_);
  TRY(block_.decode(records_));
  auto place = places_.begin();
  for (const Record& record : records_) {
    const auto begin = static_cast<size_t>(record.bytes.data() - block_.text().data());
    if (place == places_.end()) break;
    if (*place > begin + record.bytes.size()) continue;
    test(record);
    while (place != places_.end() && *place <= begin + record.bytes.size()) ++place;
  }
  return {};
}

// The lines that begin in block i, joined, be it over the blocks behind it. Those begun before it
// belong to whoever searches that block.
Result<void> Searcher::search_joined(const SegmentReader& segment, size_t i) {
  LineJoiner joiner;
  uint8_t foreign = segment.blocks()[i].open_streams;
  uint8_t open = 0;
  const auto each = [&](const Line& line) { test(line); };
  TRY(block_.decode(records_));
  for (const Record& record : records_) {
    const uint8_t bit = bit_of(record.stream);
    const bool partial = record.flags & kPartial;
    if (foreign & bit) {
      if (!partial) foreign = static_cast<uint8_t>(foreign & ~bit);
      continue;
    }
    open = static_cast<uint8_t>(partial ? open | bit : open & ~bit);
    joiner.add(record, each);
  }
  while (open != 0 && ++i < segment.blocks().size()) {
    TRY(segment.read_block(i, block_));
    TRY(block_.decode(records_));
    for (const Record& record : records_) {
      const uint8_t bit = bit_of(record.stream);
      if (!(open & bit)) continue;
      if (!(record.flags & kPartial)) open = static_cast<uint8_t>(open & ~bit);
      joiner.add(record, each);
    }
  }
  joiner.finish(each);
  return {};
}

void Searcher::search_frame(const Frame& frame, LineJoiner& joiner) {
  bool possible = !pattern_.selective();
  if (!possible) {
    lower_into(as_text(frame.payload), lowered_);
    possible = pattern_.possible_in(lowered_);
  }
  for (const Record& record : frame)
    if (possible || (record.flags & kPartial) || !joiner.idle())
      joiner.add(record, [&](const Line& line) { test(line); });
}

Result<void> Searcher::search_frames(std::span<const std::byte> bytes) {
  LineJoiner joiner;
  const Result<void> walked = each_frame(bytes, [&](const Frame& frame) -> Result<void> {
    search_frame(frame, joiner);
    if (query_.cancel != nullptr && *query_.cancel) return Error::unavailable("cancelled");
    return {};
  });
  joiner.finish([&](const Line& line) { test(line); });
  return walked;
}

std::vector<Part> parts_of(std::span<const LogSource> sources, const Range& range) {
  std::vector<Part> parts;
  for (size_t s = 0; s < sources.size(); ++s) {
    const auto* segment = std::get_if<const SegmentReader*>(&sources[s]);
    if (segment == nullptr) {
      parts.push_back({s, 0});
      continue;
    }
    const auto& blocks = (*segment)->blocks();
    for (size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].last_seq >= range.from_seq && blocks[i].first_seq <= range.to_seq &&
          blocks[i].last_time >= range.from && blocks[i].first_time <= range.to)
        parts.push_back({s, i});
  }
  return parts;
}

// Hands out the parts in order and keeps what was found. Once enough is found in parts that were
// handed out no other is: whatever lies behind them comes later.
class Work {
 public:
  Work(std::vector<Part> parts, const SearchQuery& query)
      : parts_(std::move(parts)), query_(query), found_(parts_.size()) {}

  void run(Searcher& searcher) {
    while (const std::optional<size_t> i = next()) {
      Found found = searcher.run(parts_[*i]);
      const std::lock_guard lock(mutex_);
      hits_ += found.hits.size();
      bytes_ += found.bytes;
      found_[*i] = std::move(found);
    }
  }

  SearchResult result(std::span<const LogSource> sources) {
    SearchResult result;
    size_t bytes = 0;
    for (size_t i = 0; i < found_.size(); ++i) {
      Found& found = found_[i];
      result.more = result.more || found.cut || !found.done;
      const bool segment = std::holds_alternative<const SegmentReader*>(sources[parts_[i].source]);
      result.blocks += segment && found.done;
      result.blocks_skipped += found.skipped;
      for (Error& error : found.damage)
        if (result.damage.size() < kMostDamageReports) result.damage.push_back(std::move(error));
      for (Hit& hit : found.hits) {
        if (result.hits.size() >= query_.max_hits || bytes >= query_.max_bytes) {
          result.more = true;
          break;
        }
        bytes += hit.text.size();
        result.hits.push_back(std::move(hit));
      }
      // What is behind a cut must not follow, or the caller could not go on from the last hit.
      if (found.cut) break;
    }
    return result;
  }

 private:
  std::optional<size_t> next() {
    const std::lock_guard lock(mutex_);
    const bool cancelled = query_.cancel != nullptr && *query_.cancel;
    if (next_ >= parts_.size() || cancelled || hits_ >= query_.max_hits ||
        bytes_ >= query_.max_bytes)
      return std::nullopt;
    return next_++;
  }
  const std::vector<Part> parts_;
  const SearchQuery& query_;
  std::mutex mutex_;
  std::vector<Found> found_;
  size_t next_ = 0;
  size_t hits_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

Result<SearchResult> search(std::span<const LogSource> sources, const SearchQuery& query) {
  Pattern pattern = TRY(Pattern::compile(query.expression, query.letters));
  std::vector<Part> parts = parts_of(sources, query.range);
  const size_t threads =
      std::clamp<size_t>(std::min<size_t>(query.threads, parts.size()), 1, kMostSearchThreads);
  std::vector<Searcher> searchers;
  searchers.reserve(threads);
  for (size_t i = 1; i < threads; ++i)
    searchers.emplace_back(sources, query, TRY(Pattern::compile(query.expression, query.letters)));
  searchers.emplace_back(sources, query, std::move(pattern));
  Work work(std::move(parts), query);
  {
    std::vector<std::jthread> running;
    for (size_t i = 1; i < threads; ++i)
      running.emplace_back([&work, &searcher = searchers[i]] { work.run(searcher); });
    work.run(searchers[0]);
  }
  if (query.cancel != nullptr && *query.cancel)
    return Error::unavailable("the search was cancelled");
  return work.result(sources);
}

}  // namespace hearth::track
