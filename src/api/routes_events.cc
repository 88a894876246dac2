#include <algorithm>
#include <charconv>

#include "api/answer.h"
#include "base/format.h"
#include "control/records/audit.h"
#include "db/tables.h"

namespace hearth::api {
namespace {

constexpr int64_t kEventsAtOnce = 500;

// Events after `last` that the identity may see, as server-sent events.
class EventStream {
 public:
  EventStream(Services& services, Identity who, int64_t last, std::optional<Time> until)
      : services_(services), who_(std::move(who)), last_(last), until_(until) {}

  net::Chunk next() {
    net::Chunk chunk;
    std::vector<Event> events;
    const auto done = services_.context.database.read([&](db::Session& session) -> Result<void> {
      if (!begun_) TRY(check_start(session, chunk.data));
      events = TRY(db::events_since(session, last_, kEventsAtOnce));
      return {};
    });
    const auto visible = services_.access.visible_projects(who_);
    if (!done.ok() || !visible.ok()) {  // the token was revoked, or the server is going
      chunk.end = true;
      return chunk;
    }
    begun_ = true;
    for (const Event& event : events) {
      last_ = event.seq;
      if (*visible &&
          std::find((*visible)->begin(), (*visible)->end(), event.project) == (*visible)->end())
        continue;
      chunk.data += format("id: {}\ndata: {}\n\n", event.seq, to_json(event));
    }
    chunk.more = static_cast<int64_t>(events.size()) == kEventsAtOnce;
    if (chunk.data.empty() && !chunk.more) chunk.data = ": \n\n";
    chunk.end = !chunk.more && until_ && services_.context.clock.steady() >= *until_;
    return chunk;
  }

 private:
  // What was asked for is older than what is kept, or newer than what there is: begin anew.
  Result<void> check_start(db::Session& session, std::string& out) {
    int64_t oldest = 0, newest = 0;
    TRY(session.query("SELECT COALESCE(MIN(seq), 1), COALESCE(MAX(seq), 0) FROM events", {},
                      [&](const db::Row& row) -> Result<void> {
                        oldest = row.integer(0);
                        newest = row.integer(1);
                        return {};
                      }));
    if (last_ < 0) last_ = newest;
    if (last_ + 1 < oldest || last_ > newest) {
      last_ = newest;
      out += format("event: reset\nid: {}\ndata: {{\"seq\":{}}}\n\n", newest, newest);
    }
    return {};
  }

  Services& services_;
  const Identity who_;
  int64_t last_;
  const std::optional<Time> until_;  // steady
  bool begun_ = false;
};

Result<net::Response> events(Call& call) {
  int64_t since = TRY(call.query_integer("since", -1, 0, INT64_MAX / 2));
  if (const auto last = call.request.headers.get("Last-Event-ID")) {
    const auto [end, failure] = std::from_chars(last->data(), last->data() + last->size(), since);
    if (failure != std::errc() || end != last->data() + last->size() || since < 0)
      return Error::invalid("the header Last-Event-ID is not a number of ours");
  }
  net::StreamBody body;
  std::optional<Time> until;
  if (!call.query("wait_seconds").empty()) {
    const int64_t seconds = TRY(call.query_integer("wait_seconds", 0, 0, 86'400));
    const Duration wait = Duration::seconds(static_cast<double>(seconds));
    until = call.services.context.clock.steady() + wait;
    body.heartbeat = std::clamp(wait, Duration::millis(1), body.heartbeat);
  }
  net::Response response;
  response.headers.set("Content-Type", "text/event-stream");
  auto stream = std::make_shared<EventStream>(call.services, call.who, since, until);
  body.topics = {std::string(control::kEventsTopic)};
  body.next = [stream] { return stream->next(); };
  response.body = std::move(body);
  return response;
}

// RFC 3339, or how long ago.
Result<std::optional<Time>> time_in_query(Call& call, std::string_view name) {
  const std::string text = call.query(name);
  if (text.empty()) return std::optional<Time>();
  return std::optional(TRY(time_or_ago(text, call.services.context.clock.now())));
}

Result<net::Response> audit(Call& call) {
  control::AuditQuery query;
  query.project = call.query("project");
  query.actor = call.query("actor");
  query.kind = call.query("kind");
  query.thing = call.query("thing");
  query.since = TRY(time_in_query(call, "since"));
  query.until = TRY(time_in_query(call, "until"));
  query.limit = TRY(call.query_integer("limit", query.limit, 1, control::kMostAudited));
  query.cursor = call.query("cursor");
  auto& services = call.services;
  const auto page = TRY(control::audit(services.context, services.access, call.who, query));
  return json_list(page.items, page.next_cursor);
}

void add_audit_route(RouteTable& table) {
  table
      .add("GET", "/api/v1/audit", "listAudit", "events",
           "Who did what, the newest first; a page may be short and still have a next_cursor",
           audit)
      .lists<Event>()
      .asks("project", "of this project alone")
      .asks("actor", "a user's name, the id of a job or task, or `server`")
      .asks("kind", "job.submitted, or job for all that happens to jobs", Kind::text, "job")
      .asks("thing", "id of what it is about")
      .asks("since", "RFC 3339, or how long ago: 10m")
      .written_as(kTimeOrAgo)
      .asks("until", "RFC 3339, or how long ago; it is not within")
      .written_as(kTimeOrAgo)
      .asks("limit", "at most so many; default: 100", Kind::integer)
      .from(1, control::kMostAudited)
      .asks("cursor", "next_cursor of the page before")
      .written_as(R"({"type":"string","pattern":"^(?:[1-9][0-9]{0,17})?$"})");
}

}  // namespace

void add_event_routes(RouteTable& table) {
  add_audit_route(table);
  table
      .add("GET", "/api/v1/events", "streamEvents", "events",
           "Every state change as it happens (SSE)", events)
      .answers_bytes("text/event-stream")
      .asks("since", "events after this seq; default: only new ones", Kind::integer)
      .from(0, INT64_MAX / 2)
      .asks("wait_seconds", "ends after so long; default: never", Kind::integer)
      .from(0, 86'400);
  table
      .add("GET", "/api/v1/deliveries", "listDeliveries", "events",
           "Webhook calls and how they went",
           [](Call& call) -> Result<net::Response> {
             auto query = TRY(call.list_query(type_of<Delivery>()));
             db::ListPage<Delivery> page;
             if (TRY(call.services.access.narrow(call.who, "", query)))
               TRY(call.services.context.database.read([&](db::Session& session) -> Result<void> {
                 page = TRY(db::Table<Delivery>::list(session, query));
                 return {};
               }));
             return json_list(page.items, page.next_cursor);
           })
      .lists<Delivery>()
      .pages();
}

}  // namespace hearth::api
