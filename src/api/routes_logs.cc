#include <algorithm>
#include <charconv>
#include <limits>

#include "api/answer.h"
#include "api/log_stream.h"
#include "base/format.h"
#include "domain/wire/logs.h"

namespace hearth::api {
namespace {

constexpr int64_t kMostRank = 1 << 20, kMostAttempt = 999'999;
constexpr int64_t kMostSeq = int64_t{1} << 53;  // a number that JavaScript holds
// A search answers after so long with what it has found, and is gone on with by `from`.
constexpr Duration kLongestSearch = Duration::millis(500);

Result<LogRequest> log_request(Call& call, const Job& job) {
  LogRequest request;
  request.job_id = job.id;
  if (call.request.query_value("rank"))
    request.rank = TRY(call.query_integer("rank", 0, 0, kMostRank));
  if (call.query("attempt") == "all")
    request.attempt = -1;
  else
    request.attempt = TRY(call.query_integer("attempt", 0, 1, kMostAttempt));
  if (const std::string since = call.query("since"); !since.empty())
    request.since = TRY(time_or_ago(since, call.services.context.clock.now()));
  request.grep = call.query("grep");
  request.follow = TRY(call.query_boolean("follow"));
  request.timestamps = TRY(call.query_boolean("timestamps"));
  const auto accept = call.request.headers.get("Accept").value_or("");
  if (accept.find("text/event-stream") != std::string_view::npos) request.form = LogForm::events;
  // An event source that lost its connection says what it has: "TASK:SEQ".
  if (const auto last = call.request.headers.get("Last-Event-ID")) {
    const size_t colon = last->find(':');
    int64_t seq = 0;
    if (colon != std::string_view::npos &&
        std::from_chars(last->data() + colon + 1, last->data() + last->size(), seq).ec ==
            std::errc())
      request.after[std::string(last->substr(0, colon))] = seq;
  }
  return request;
}

int64_t last_attempt(const std::vector<Task>& tasks) {
  int64_t last = 0;
  for (const Task& task : tasks) last = std::max(last, task.attempt_number);
  return last;
}

Result<void> check_rank(const Job& job, int64_t rank) {
  const int64_t count = tasks_of(job.spec);
  if (rank < count) return {};
  return Error::not_found(
      format("job {} has no rank {}", job.name, rank),
      count == 1 ? "its only task is rank 0" : format("its ranks are 0 to {}", count - 1));
}

// `attempt`: 0 is the last one, whichever that is.
Result<void> check_attempt(const Job& job, int64_t attempt, const std::vector<Task>& tasks) {
  const int64_t last = last_attempt(tasks);
  if (attempt <= last) return {};
  return Error::not_found(format("job {} has no attempt {}", job.name, attempt),
                          last == 0   ? "none has begun"
                          : last == 1 ? "its only attempt is 1"
                                      : format("its attempts are 1 to {}", last));
}

Result<net::Response> read_logs(Call& call) {
  const Job job = TRY(call.services.jobs.get(call.who, call.at("job"), call.query("project")));
  const LogRequest request = TRY(log_request(call, job));
  if (request.rank) TRY(check_rank(job, *request.rank));
  const auto tasks = TRY(call.services.jobs.tasks(call.who, job.id));
  // One that may come yet is waited for: the first, or by who follows any.
  const bool may_come = !finished(job.state) && (request.follow || tasks.empty());
  if (!may_come) TRY(check_attempt(job, request.attempt, tasks));
  if (!request.grep.empty()) {
    // A wrong expression is said now, not in the middle of the stream.
    control::LogQuery probe;
    probe.grep = request.grep;
    probe.after_seq = std::numeric_limits<int64_t>::max() - 1;  // looks at no line
    if (!tasks.empty()) {
      probe.task_id = tasks.front().id;
      const auto read = call.services.ingest.read_log(probe);
      if (!read.ok() && read.error().code == Code::invalid) return read.error();
    }
  }
  net::Response response;
  response.headers.set("Content-Type", request.form == LogForm::events
                                           ? "text/event-stream"
                                           : "text/plain; charset=utf-8");
  auto stream = std::make_shared<LogStream>(call.services, call.who, request);
  net::StreamBody body;
  body.topics = {control::log_topic(job.id), control::job_topic(job.id)};
  body.next = [stream] { return stream->next(); };
  response.body = std::move(body);
  return response;
}

// The task whose log is asked for by attempt and rank; none: the job has not been started yet.
Result<std::optional<Task>> asked_task(Call& call, const Job& job) {
  const int64_t rank = TRY(call.query_integer("rank", 0, 0, kMostRank));
  int64_t attempt = TRY(call.query_integer("attempt", 0, 1, kMostAttempt));
  const auto tasks = TRY(call.services.jobs.tasks(call.who, job.id));
  TRY(check_rank(job, rank));
  TRY(check_attempt(job, attempt, tasks));
  if (tasks.empty()) return std::optional<Task>();
  if (attempt == 0) attempt = last_attempt(tasks);
  for (const Task& task : tasks)
    if (task.attempt_number == attempt && task.rank == rank) return std::optional(task);
  return Error::not_found(format("attempt {} of job {} has no rank {}", attempt, job.name, rank),
                          "`hearth job show` tells its attempts and ranks");
}

Result<net::Response> read_lines(Call& call) {
  const Job job = TRY(call.services.jobs.get(call.who, call.at("job"), call.query("project")));
  const auto task = TRY(asked_task(call, job));
  control::LineQuery query;
  query.from_seq = TRY(call.query_integer("from", 1, 0, kMostSeq));
  query.tail = TRY(call.query_integer("tail", 0, 0, kMostShownLines));
  query.most_lines = TRY(call.query_integer("limit", query.most_lines, 1, kMostShownLines));
  LogLines lines;
  lines.ended = finished(job.state);
  if (task) {
    query.task_id = task->id;
    lines = TRY(call.services.ingest.read_lines(query));
    lines.task_id = task->id;
    lines.role = task->role;
    lines.attempt = task->attempt_number;
    lines.rank = task->rank;
  }
  return json(lines);
}

Result<net::Response> search_lines(Call& call) {
  const Job job = TRY(call.services.jobs.get(call.who, call.at("job"), call.query("project")));
  const auto task = TRY(asked_task(call, job));
  const int64_t from = std::max<int64_t>(TRY(call.query_integer("from", 1, 0, kMostSeq)), 1);
  control::LogQuery query;
  query.after_seq = from - 1;
  query.grep = call.query("re");
  if (query.grep.empty())
    return Error::invalid("`re` is empty", "give an RE2 expression: ?re=loss%3A%20nan");
  query.most_lines = TRY(call.query_integer("limit", 100, 1, kMostHits));
  query.most_bytes = kMostShownBytes;
  query.most_time = kLongestSearch;
  LogHits hits;
  hits.next_from = from;
  hits.ended = finished(job.state);
  if (task) {
    query.task_id = task->id;
    control::LogPage page = TRY(call.services.ingest.read_log(query));
    hits.hits = std::move(page.lines);
    hits.next_from = std::max(from, page.next_seq + 1);
    hits.scanned = hits.next_from - from;
    hits.ended = page.end;
  }
  return json(hits);
}

// Which task: for those routes that are about one.
Route& of_task(Route& route) {
  return route.asks("project", "whose name it is")
      .asks("attempt", "number; default: the last", Kind::integer)
      .from(1, kMostAttempt)
      .asks("rank", "which task of it; default: 0", Kind::integer)
      .from(0, kMostRank);
}

}  // namespace

void add_log_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/jobs/{job}/logs", "readLogs", "jobs",
           "The lines its tasks wrote; text, or events with Accept: text/event-stream", read_logs)
      .answers_bytes("text/plain")
      .asks("project", "whose name it is")
      .asks("follow", "1: goes on until the job ends", Kind::boolean)
      .asks("rank", "of this task alone", Kind::integer)
      .from(0, kMostRank)
      .asks("attempt", "number or `all`; default: the last")
      .written_as(R"({"type":"string","pattern":"^(?:all|[1-9][0-9]{0,5})$"})")
      .asks("since", "RFC 3339, or how long ago: 10m")
      .written_as(kTimeOrAgo)
      .asks("grep", "only lines that match this RE2 expression")
      .asks("timestamps", "1: each line begins with its time", Kind::boolean);
  of_task(table.add("GET", "/api/v1/jobs/{job}/logs/lines", "readLogLines", "jobs",
                    "Lines of one task by number, for a view of a log of any length", read_lines))
      .asks("from", "the first line with this number or a greater one", Kind::integer)
      .from(0, kMostSeq)
      .asks("tail", "instead of `from`: the last so many", Kind::integer)
      .from(0, kMostShownLines)
      .asks("limit", "at most so many; default: 1000", Kind::integer)
      .from(1, kMostShownLines)
      .answers<LogLines>();
  of_task(table.add("GET", "/api/v1/jobs/{job}/logs/search", "searchLogLines", "jobs",
                    "Lines of one task that match; each call searches for half a second at most",
                    search_lines))
      .asks("re", "RE2 expression")
      .must()
      .asks("from", "search from this number on", Kind::integer)
      .from(0, kMostSeq)
      .asks("limit", "at most so many hits; default: 100", Kind::integer)
      .from(1, kMostHits)
      .answers<LogHits>();
}

}  // namespace hearth::api
