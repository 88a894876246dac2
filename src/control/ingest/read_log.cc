// The reading side of logs: pages of lines over sealed segments and the open file.
#include <algorithm>
#include <atomic>
#include <thread>

#include "base/format.h"
#include "base/log.h"
#include "control/ingest/state.h"
#include "db/tables.h"
#include "track/search.h"

namespace hearth::control {
namespace {

constexpr int64_t kMostLines = 100'000;
constexpr size_t kMostPageBytes = 64 << 20;
constexpr int64_t kMostSegments = 100'000;               // of one task
constexpr int64_t kBatchBytes = 64 << 20;                // of segments that are searched at once
constexpr int64_t kTimedBatchBytes = 4 << 20;            // ... when it may end early
constexpr unsigned kMostThreads = 8;                     // of one search
constexpr Duration kHoldPartial = Duration::seconds(2);  // the rest of a line may be on its way

struct SegmentRow {
  uint64_t first_seq = 0, last_seq = 0;
  int64_t lines = 0, size_bytes = 0;
  std::string digest;
};

// A segment read into memory.
struct OpenSegment {
  std::string bytes;
  std::optional<track::SpanSource> source;
  std::optional<track::SegmentReader> reader;
  std::string damage;  // why it cannot be read
};

std::string_view name_of(track::Stream stream) {
  switch (stream) {
    case track::Stream::out:
      return "stdout";
    case track::Stream::err:
      return "stderr";
    case track::Stream::hearth:
      break;
  }
  return "hearth";
}

Result<std::vector<SegmentRow>> segments_after(db::Session& session, const std::string& task_id,
                                               uint64_t after_seq) {
  std::vector<SegmentRow> rows;
  TRY(
      session.query("SELECT first_seq, last_seq, lines, size_bytes, digest FROM log_segments WHERE "
                    "task_id = $1 AND last_seq > $2 ORDER BY first_seq LIMIT $3",
                    {task_id, static_cast<int64_t>(after_seq), kMostSegments},
                    [&](const db::Row& row) -> Result<void> {
                      rows.push_back({static_cast<uint64_t>(row.integer(0)),
                                      static_cast<uint64_t>(row.integer(1)), row.integer(2),
                                      row.integer(3), std::string(row.text(4))});
                      return {};
                    }));
  return rows;
}

void open_segment(objects::Objects& objects, const SegmentRow& row, OpenSegment& into) {
  auto bytes = objects.get(row.digest, 0, -1);
  if (bytes.ok()) {
    into.bytes = std::move(*bytes);
    into.source.emplace(as_bytes(into.bytes));
    auto reader = track::SegmentReader::open(*into.source);
    if (reader.ok())
      into.reader.emplace(std::move(*reader));
    else
      into.damage = reader.error().detail;
  } else {
    into.damage = bytes.error().detail;
  }
}

LogLine damage_line(const SegmentRow& row, std::string_view why) {
  return {static_cast<int64_t>(row.last_seq),
          {},
          "hearth",
          format("[lines {} to {} cannot be shown: {}]", row.first_seq, row.last_seq, why)};
}

// Lines of one page, as records come in.
class Page {
 public:
  Page(const LogQuery& query, Time now) : query_(query), now_(now) { seen_ = done_ = first_seen(); }
  // Records behind it are wanted.
  uint64_t seen() const { return seen_; }
  bool full() const {
    return static_cast<int64_t>(page_.lines.size()) >= query_.most_lines ||
           bytes_ >= query_.most_bytes;
  }
  // False when the page is full.
  bool add(const track::Record& record) {
    if (full()) return false;
    if (record.seq <= seen_) return true;  // sealed meanwhile, and in the open file too
    seen_ = record.seq;
    if (!query_.since || record.time >= *query_.since)
      joiner_.add(record, [&](const track::Line& line) { put(line); });
    if (joiner_.idle()) done_ = record.seq;
    return !full();
  }
  void add_damage(const SegmentRow& row, std::string_view why) {
    log_error("log segment {}: {}", row.digest, why);
    seen_ = done_ = std::max(seen_, row.last_seq);
    if (row.last_seq > after()) page_.lines.push_back(damage_line(row, why));
  }
  // `ended`: no line will come any more.
  LogPage finish(bool ended) {
    page_.more = full();
    // Who looks back finds the beginning of a line again, and is given it whole with the next page.
    const bool looks_back = query_.look_back > 0;
    const bool may_give = !looks_back || !full();
    bool give = may_give && (ended || full());
    // A line without an end waits for it, unless others behind it are shown already, or it is old.
    track::LineJoiner copy = joiner_;
    copy.finish([&](const track::Line& line) {
      give = give || (may_give && (line.seq <= last_given_ || now_ - line.time >= kHoldPartial));
    });
    const bool held = !give && !joiner_.idle();
    uint64_t next = std::max(done_, last_given_);
    if (give) next = looks_back && !ended ? done_ : std::max(seen_, done_);
    if (give) joiner_.finish([&](const track::Line& line) { put(line); });
    page_.next_seq = std::max(static_cast<int64_t>(next), query_.after_seq);
    page_.end = ended && !page_.more && !held;
    return std::move(page_);
  }

 private:
  uint64_t after() const { return static_cast<uint64_t>(query_.after_seq); }
  uint64_t first_seen() const {
    return after() - std::min(after(), static_cast<uint64_t>(query_.look_back));
  }
  void put(const track::Line& line) {
    if (line.last_seq <= after()) return;  // looked at for the beginning of another
    last_given_ = std::max(last_given_, line.last_seq);
    bytes_ += line.bytes.size();
    page_.lines.push_back({static_cast<int64_t>(line.last_seq), line.time,
                           std::string(name_of(line.stream)), std::string(line.bytes),
                           (line.flags & track::kPartial) != 0});
  }
  const LogQuery& query_;
  const Time now_;
  LogPage page_;
  track::LineJoiner joiner_;
  size_t bytes_ = 0;
  uint64_t seen_ = 0;        // last record that was looked at
  uint64_t done_ = 0;        // all up to here is in the page or not wanted
  uint64_t last_given_ = 0;  // last record of the lines in the page
};

track::Range range_of(const LogQuery& query, uint64_t after_seq) {
  track::Range range{.from_seq = after_seq + 1};
  if (query.since) range.from = *query.since;
  return range;
}

void add_segment(objects::Objects& objects, const LogQuery& query, const SegmentRow& row,
                 Page& page) {
  OpenSegment segment;
  open_segment(objects, row, segment);
  if (segment.reader) {
    const auto walked = segment.reader->each(
        range_of(query, page.seen()),
        [&](const track::Record& record) -> Result<bool> { return page.add(record); });
    if (!walked.ok()) segment.damage = walked.error().detail;
  }
  if (!segment.damage.empty()) page.add_damage(row, segment.damage);
}

Result<void> add_sealed(Context& context, const LogQuery& query, Page& page) {
  std::vector<SegmentRow> rows;
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    rows = TRY(segments_after(session, query.task_id, page.seen()));
    return {};
  }));
  for (const SegmentRow& row : rows) {
    if (page.full()) break;
    add_segment(context.objects, query, row, page);
  }
  return {};
}

// Frame by frame, no further than the page needs.
Result<void> add_open(std::span<const std::byte> bytes, Page& page) {
  while (!bytes.empty() && !page.full()) {
    const track::FrameRead read = track::read_frame(bytes);
    if (read.state != track::FrameState::whole)
      return Error::internal(format("the open log is damaged: {}", read.reason));
    for (const track::Record& record : read.frame)
      if (!page.add(record)) break;
    bytes = bytes.subspan(read.frame.bytes.size());
  }
  return {};
}

// Reads a batch of segments with several threads, in place.
std::vector<OpenSegment> open_batch(objects::Objects& objects, std::span<const SegmentRow> rows,
                                    unsigned threads) {
  std::vector<OpenSegment> all(rows.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < rows.size(); i = next++) open_segment(objects, rows[i], all[i]);
  };
  std::vector<std::jthread> running;
  for (unsigned t = 1; t < threads && t < rows.size(); ++t) running.emplace_back(work);
  work();
  return all;
}

// A search that goes from batch to batch until the page is full.
class Grep {
 public:
  Grep(objects::Objects& objects, const LogQuery& query) : objects_(objects), query_(query) {
    search_.expression = query.grep;
    search_.threads = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
    seen_ = static_cast<uint64_t>(query.after_seq);
  }
  bool full() const { return more_; }

  Result<void> batch(std::span<const SegmentRow> rows) {
    std::vector<OpenSegment> segments = open_batch(objects_, rows, search_.threads);
    std::vector<track::LogSource> sources;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (segments[i].reader)
        sources.emplace_back(&*segments[i].reader);
      else
        page_.lines.push_back(damage_line(rows[i], segments[i].damage));
    }
    TRY(run(sources));
    if (!more_) seen_ = std::max(seen_, rows.back().last_seq);
    return {};
  }
  Result<void> open_file(std::span<const std::byte> frames) {
    const std::vector<track::LogSource> sources = {frames};
    TRY(run(sources));
    if (!more_ && !frames.empty())
      seen_ = std::max(seen_, track::last_whole_frame(frames).next_seq - 1);
    return {};
  }
  LogPage finish(bool ended) {
    page_.next_seq =
        more_ && !page_.lines.empty() ? page_.lines.back().seq : static_cast<int64_t>(seen_);
    page_.end = ended && !more_;
    return std::move(page_);
  }

 private:
  Result<void> run(const std::vector<track::LogSource>& sources) {
    search_.range = range_of(query_, seen_);
    search_.max_hits = static_cast<size_t>(query_.most_lines) - hits_;
    search_.max_bytes = query_.most_bytes - std::min(bytes_, query_.most_bytes - 1);
    auto found = TRY(track::search(sources, search_));
    for (const Error& damage : found.damage)
      page_.lines.push_back({static_cast<int64_t>(seen_), {}, "hearth", "[" + damage.detail + "]"});
    for (track::Hit& hit : found.hits) {
      bytes_ += hit.text.size();
      ++hits_;
      page_.lines.push_back({static_cast<int64_t>(hit.last_seq), hit.time,
                             std::string(name_of(hit.stream)), std::move(hit.text),
                             (hit.flags & track::kPartial) != 0});
    }
    more_ = found.more || hits_ >= static_cast<size_t>(query_.most_lines);
    return {};
  }
  objects::Objects& objects_;
  const LogQuery& query_;
  track::SearchQuery search_;
  LogPage page_;
  uint64_t seen_ = 0;  // all up to here was searched
  size_t hits_ = 0, bytes_ = 0;
  bool more_ = false;
};

Result<LogPage> grep_page(objects::Objects& objects, const LogQuery& query,
                          std::span<const SegmentRow> rows, std::span<const std::byte> open,
                          bool ended, Clock& clock) {
  TRY(track::Pattern::compile(query.grep));  // before anything is read
  Grep grep(objects, query);
  const Time begun = clock.steady();
  const int64_t batch_bytes = query.most_time ? kTimedBatchBytes : kBatchBytes;
  while (!rows.empty() && !grep.full()) {
    size_t count = 0;
    for (int64_t bytes = 0; count < rows.size() && (count == 0 || bytes < batch_bytes); ++count)
      bytes += rows[count].size_bytes;
    TRY(grep.batch(rows.first(count)));
    rows = rows.subspan(count);
    if (query.most_time && clock.steady() - begun >= *query.most_time) return grep.finish(false);
  }
  if (!grep.full()) TRY(grep.open_file(open));
  return grep.finish(ended);
}

}  // namespace

Result<LogPage> Ingest::read_log(const LogQuery& wanted) {
  LogQuery query = wanted;
  query.after_seq = std::max(query.after_seq, int64_t{0});
  query.most_lines = std::clamp(query.most_lines, int64_t{1}, kMostLines);
  query.most_bytes = std::clamp(query.most_bytes, size_t{1}, kMostPageBytes);
  query.look_back = std::clamp(query.look_back, int64_t{0}, kMostLines);
  Context& context = state_->context;
  Task task;
  // The task first: once it has ended all its lines are here.
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    task = TRY(db::Table<Task>::need(session, query.task_id));
    return {};
  }));
  const bool ended = finished(task.state);
  if (!query.grep.empty()) {
    // Then the open file, then the segments: what is sealed in between is in both, never in
    // neither.
    const auto after = static_cast<uint64_t>(query.after_seq);
    const Bytes open = TRY(state_->logs.read(query.task_id, after));
    std::vector<SegmentRow> rows;
    TRY(context.database.read([&](db::Session& session) -> Result<void> {
      rows = TRY(segments_after(session, query.task_id, after));
      return {};
    }));
    return grep_page(context.objects, query, rows, open, ended, context.clock);
  }
  // As there; but the open file is left alone where the segments fill the page.
  Page page(query, context.clock.now());
  TRY(add_sealed(context, query, page));
  if (!page.full()) {
    const Bytes open = TRY(state_->logs.read(query.task_id, page.seen()));
    TRY(add_sealed(context, query, page));
    TRY(add_open(open, page));
  }
  return page.finish(ended);
}

}  // namespace hearth::control
