#include "api/answer.h"
#include "base/format.h"
#include "base/log.h"
#include "domain/wire/sync.h"

namespace hearth::api {
namespace {

// News for the shim: an order to stop, or live values newer than its own.
bool has_news(const SyncAnswer& answer, const SyncHead& head) {
  return answer.stop || answer.live_version > head.live_version;
}

struct Waiting {
  Services& services;
  Identity who;
  std::string task;
  SyncHead head;
  std::string request_id;
  Time until;
};

net::Response wait_for_news(const std::shared_ptr<Waiting>& waiting) {
  // The version first, then the state: what comes in between is not missed.
  const std::string topic = control::task_topic(waiting->task);
  const uint64_t since = waiting->services.context.signals.version(topic);
  const auto answer = waiting->services.ingest.newest(waiting->who, waiting->task, waiting->head);
  if (!answer.ok()) return problem(answer.error(), waiting->request_id);
  const Time now = waiting->services.context.clock.steady();
  if (has_news(*answer, waiting->head) || now >= waiting->until) return json(*answer);
  net::Response response;
  response.body =
      net::Wait{topic, since, waiting->until - now, [waiting] { return wait_for_news(waiting); }};
  return response;
}

Result<net::Response> sync(Call& call) {
  const std::string& body = call.request.body;
  const size_t line_end = body.find('\n');
  if (line_end == std::string::npos)
    return Error::invalid("a sync begins with one line of JSON, ended by a line feed");
  const Node line = TRY(parse_json(std::string_view(body).substr(0, line_end), kMostSyncBytes));
  // First of all: what follows may mean something else in another version.
  if (const auto protocol = agree(TRY(from_node<SyncHello>(line)), kShimProtocols);
      !protocol.ok()) {
    log_warning("task {}: {}", call.at("task"), protocol.error().text());
    return protocol.error();
  }
  const auto head = TRY(from_node<SyncHead>(line));
  const std::string_view frames = std::string_view(body).substr(line_end + 1);
  if (static_cast<int64_t>(frames.size()) != head.log_bytes)
    return Error::invalid(
        format("log_bytes says {} but {} bytes follow", head.log_bytes, frames.size()));
  if (!head.states.empty() || !head.records.empty() || !frames.empty())
    return json(TRY(call.services.ingest.sync(call.who, call.at("task"), head, frames)));
  const Time until = call.services.context.clock.steady() + Duration::seconds(head.wait_seconds);
  return wait_for_news(std::make_shared<Waiting>(
      Waiting{call.services, call.who, call.at("task"), head, call.request.id, until}));
}

}  // namespace

void add_task_routes(RouteTable& table) {
  table
      .add("POST", "/api/v1/tasks/{task}/sync", "syncTask", "tasks",
           "A shim's batch: states, records and log lines up; acknowledgements and orders down",
           sync)
      .needs(Need::task_token)
      .takes_bytes("application/x-hearth-sync", static_cast<int64_t>(kMostSyncBytes) * 2)
      .answers<SyncAnswer>()
      .free_of_rate();
}

}  // namespace hearth::api
