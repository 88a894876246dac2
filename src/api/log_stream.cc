#include "api/log_stream.h"

#include <algorithm>

#include "api/answer.h"
#include "base/format.h"

namespace hearth::api {

LogStream::LogStream(Services& services, Identity who, LogRequest request)
    : services_(services), who_(std::move(who)), request_(std::move(request)) {}

bool LogStream::wanted(const Task& task) const {
  if (request_.rank && task.rank != *request_.rank) return false;
  if (request_.attempt > 0) return task.attempt_number == request_.attempt;
  // While a log is followed a new attempt's lines come after those of the one before.
  return request_.attempt < 0 || task.attempt_number >= shown_attempt_;
}

Result<void> LogStream::refresh() {
  const Job job = TRY(services_.jobs.get(who_, request_.job_id, ""));
  job_over_ = finished(job.state);
  if (shown_attempt_ == 0) shown_attempt_ = job.attempts;
  for (Task& task : TRY(services_.jobs.tasks(who_, job.id))) {
    const auto known = std::find_if(sources_.begin(), sources_.end(),
                                    [&](const Source& s) { return s.task.id == task.id; });
    if (known != sources_.end()) {
      known->task = std::move(task);
    } else if (wanted(task)) {
      const auto at = request_.after.find(task.id);
      sources_.push_back({std::move(task), at == request_.after.end() ? 0 : at->second, false});
    }
  }
  return {};
}

void LogStream::add(const Source& source, const control::LogPage& page, std::string& out) const {
  const bool many = std::count_if(sources_.begin(), sources_.end(), [&](const Source& s) {
                      return s.task.attempt_id == source.task.attempt_id;
                    }) > 1;
  for (const LogLine& line : page.lines) {
    if (request_.form == LogForm::events) {
      out += format(
          "id: {}:{}\ndata: {{\"task\":\"{}\",\"seq\":{},\"time\":\"{}\",\"attempt\":{},"
          "\"rank\":{},\"stream\":\"{}\",\"text\":{}{}}}\n\n",
          source.task.id, line.seq, source.task.id, line.seq, to_rfc3339(line.time),
          source.task.attempt_number, source.task.rank, line.stream, json_quote(line.text),
          line.partial ? ",\"partial\":true" : "");
      continue;
    }
    if (request_.timestamps) out += to_rfc3339(line.time) + " ";
    if (many) out += format("[{}] ", source.task.rank);
    out += line.text;
    if (!line.partial) out += '\n';  // its rest comes next
  }
}

net::Chunk LogStream::next() {
  net::Chunk chunk;
  const auto refreshed = refresh();
  if (!refreshed.ok()) {  // the job was deleted, or the token revoked, while it was read
    chunk.end = true;
    return chunk;
  }
  bool all_read = true;
  for (Source& source : sources_) {
    if (source.end) continue;
    control::LogQuery query;
    query.task_id = source.task.id;
    query.after_seq = source.after;
    query.since = request_.since;
    query.grep = request_.grep;
    query.most_lines = 10'000;
    query.most_bytes = 1 << 20;
    const auto page = services_.ingest.read_log(query);
    if (!page.ok()) {
      chunk.data += format("hearth: {}\n", page.error().detail);
      source.end = true;
      continue;
    }
    add(source, *page, chunk.data);
    const bool moved = page->next_seq > source.after;
    source.after = std::max(source.after, page->next_seq);
    source.end = page->end;
    if (!source.end && moved) {
      chunk.more = true;
      all_read = false;
      if (!request_.follow) break;  // one task after the other
    } else if (!source.end) {
      all_read = false;
      if (!request_.follow) source.end = true;
    }
  }
  if (!request_.follow) {
    chunk.more =
        std::any_of(sources_.begin(), sources_.end(), [](const Source& s) { return !s.end; });
    chunk.end = !chunk.more;
  } else {
    chunk.end = job_over_ && all_read;
    if (chunk.data.empty() && !chunk.end && request_.form == LogForm::events) chunk.data = ": \n\n";
  }
  if (chunk.end && request_.form == LogForm::events) chunk.data += "event: end\ndata: {}\n\n";
  return chunk;
}

}  // namespace hearth::api
