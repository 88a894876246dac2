#include <charconv>
#include <limits>

#include "api/answer.h"
#include "api/log_stream.h"

namespace hearth::api {
namespace {

Result<LogRequest> log_request(Call& call, const Job& job) {
  LogRequest request;
  request.job_id = job.id;
  if (call.request.query_value("rank"))
    request.rank = TRY(call.query_integer("rank", 0, 0, 1 << 20));
  if (call.query("attempt") == "all")
    request.attempt = -1;
  else
    request.attempt = TRY(call.query_integer("attempt", 0, 1, 999'999));
  if (const std::string since = call.query("since"); !since.empty()) {
    // A time, or how long ago.
    const auto ago = parse_duration(since);
    request.since = ago.ok() ? call.services.context.clock.now() - *ago : TRY(from_rfc3339(since));
  }
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

Result<net::Response> read_logs(Call& call) {
  const Job job = TRY(call.services.jobs.get(call.who, call.at("job"), call.query("project")));
  const LogRequest request = TRY(log_request(call, job));
  if (!request.grep.empty()) {
    // A wrong expression is said now, not in the middle of the stream.
    control::LogQuery probe;
    probe.grep = request.grep;
    probe.after_seq = std::numeric_limits<int64_t>::max() - 1;  // looks at no line
    const auto tasks = TRY(call.services.jobs.tasks(call.who, job.id));
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

}  // namespace

void add_log_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/jobs/{job}/logs", "readLogs", "jobs",
           "The lines its tasks wrote; text, or events with Accept: text/event-stream", read_logs)
      .answers_bytes("text/plain")
      .asks("project", "whose name it is")
      .asks("follow", "1: goes on until the job ends", Kind::boolean)
      .asks("rank", "of this task alone", Kind::integer)
      .from(0, 1 << 20)
      .asks("attempt", "number or `all`; default: the last")
      .written_as(R"({"type":"string","pattern":"^(?:all|[1-9][0-9]{0,5})$"})")
      .asks("since", "RFC 3339, or how long ago: 10m")
      .written_as(R"({"type":"string","anyOf":[{"format":"date-time"},)"
                  R"({"pattern":"^(?:[0-9]{1,5}(?:\\.[0-9]{1,6})? ?(?:us|ms|s|m|h|d))?$"}]})")
      .asks("grep", "only lines that match this RE2 expression")
      .asks("timestamps", "1: each line begins with its time", Kind::boolean);
}

}  // namespace hearth::api
