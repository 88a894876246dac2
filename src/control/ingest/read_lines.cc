// Lines by their number, for whoever shows a part of a log of any length.
#include <algorithm>
#include <deque>

#include "control/ingest/state.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

// A line of more than so many records is shown from the record that was asked for.
constexpr int64_t kLookBack = 256;
// The last lines are looked for so many times, each time in four times as many records: lines of
// many records, and numbers that lack, leave fewer lines than numbers.
constexpr int kTailTries = 6;

// The last `most` lines behind `after`, and no more than kMostShownBytes of them.
Result<LogPage> last_lines(Ingest& ingest, LogQuery query, int64_t most) {
  std::deque<LogLine> last;
  size_t bytes = 0;
  LogPage page;
  do {
    page = TRY(ingest.read_log(query));
    query.after_seq = page.next_seq;
    for (LogLine& line : page.lines) {
      bytes += line.text.size();
      last.push_back(std::move(line));
    }
    while (last.size() > 1 &&
           (static_cast<int64_t>(last.size()) > most || bytes > kMostShownBytes)) {
      bytes -= last.front().text.size();
      last.pop_front();
    }
  } while (page.more);
  page.lines.assign(std::move_iterator(last.begin()), std::move_iterator(last.end()));
  page.next_seq = query.after_seq;
  return page;
}

Result<int64_t> first_sealed(db::Database& database, const std::string& task_id) {
  int64_t first = 0;
  TRY(database.read([&](db::Session& session) {
    return session.query("SELECT MIN(first_seq) FROM log_segments WHERE task_id = $1", {task_id},
                         [&](const db::Row& row) -> Result<void> {
                           first = row.null(0) ? 0 : row.integer(0);
                           return {};
                         });
  }));
  return first;
}

}  // namespace

Result<LogLines> Ingest::read_lines(const LineQuery& query) {
  Context& context = state_->context;
  LogLines answer;
  // Once the task has ended all its lines are here; so it is asked first.
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    answer.ended = finished(TRY(db::Table<Task>::need(session, query.task_id)).state);
    return {};
  }));
  // The open file before the segments: what is sealed in between is in both.
  const LogStore::Extent extent = TRY(state_->logs.extent(query.task_id));
  answer.last = static_cast<int64_t>(extent.last);
  answer.first = TRY(first_sealed(context.database, query.task_id));
  if (answer.first == 0) answer.first = static_cast<int64_t>(extent.first_open);

  LogQuery read{.task_id = query.task_id, .look_back = kLookBack};
  read.most_bytes = kMostShownBytes;
  LogPage page;
  if (query.tail > 0) {
    const int64_t tail = std::min(query.tail, kMostShownLines);
    read.most_lines = kMostShownLines;
    int64_t back = tail;
    for (int i = 0; i < kTailTries; ++i, back *= 4) {
      read.after_seq = std::max(answer.last - back, int64_t{0});
      page = TRY(last_lines(*this, read, tail));
      if (static_cast<int64_t>(page.lines.size()) >= tail || read.after_seq < answer.first) break;
    }
  } else {
    read.after_seq = std::max(query.from_seq, int64_t{1}) - 1;
    read.most_lines = std::clamp(query.most_lines, int64_t{1}, kMostShownLines);
    page = TRY(read_log(read));
  }
  answer.lines = std::move(page.lines);
  // What came since the extent was asked for is there, too.
  if (!answer.lines.empty()) {
    answer.last = std::max(answer.last, answer.lines.back().seq);
    if (answer.first == 0) answer.first = answer.lines.front().seq;
  }
  answer.next_from = page.next_seq + 1;
  return answer;
}

}  // namespace hearth::control
