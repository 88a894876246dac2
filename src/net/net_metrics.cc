#include "net/net_metrics.h"

#include <string_view>

#include "base/format.h"

namespace hearth::net {
namespace {

// In the order of Bound.
constexpr std::array<std::string_view, static_cast<size_t>(Bound::count_)> kBoundNames = {
    "connections", "peer_connections", "queue",     "body_memory", "head_size",  "head_time",
    "body_size",   "body_rate",        "idle_time", "write_time",  "write_rate", "malformed"};

void show_bounds(const ServerOptions& options) {
  const auto show = [](const std::string& name, const std::string& help, double value) {
    metrics().gauge("hearth_net_" + name + "_bound", help).set(value);
  };
  show("connections", "Connections that may be open.", options.most_connections);
  show("peer_connections", "Connections that one address may have open.",
       options.most_connections_per_peer);
  show("queued_requests", "Requests that may wait for a worker.",
       static_cast<double>(options.most_queued));
  show("body_memory_bytes", "Bytes of request bodies that may be in memory.",
       static_cast<double>(options.most_body_memory));
  show("head_bytes", "Bytes that a request's head may have.",
       static_cast<double>(options.most_head_bytes));
  show("headers", "Headers that a request may have.", options.most_headers);
  show("head_seconds", "Time that a request's head may take.", options.head_time.seconds());
  show("idle_seconds", "Time that a connection may be idle.", options.idle_time.seconds());
  show("write_seconds", "Time that a client may read nothing of its answer.",
       options.write_time.seconds());
  show("least_body_bytes_per_second", "Rate below which a body is refused.",
       static_cast<double>(options.least_body_rate));
  show("least_write_bytes_per_second", "Rate of reading below which a client is left.",
       static_cast<double>(options.least_write_rate));
}

}  // namespace

NetMetrics::NetMetrics(const ServerOptions& options)
    : connections(metrics().gauge("hearth_net_connections", "Connections that are open.")),
      waiting(metrics().gauge("hearth_net_waiting_requests",
                              "Requests and streams that wait for a topic.")),
      queued(metrics().gauge("hearth_net_queued_requests", "Requests that wait for a worker.")),
      body_memory(
          metrics().gauge("hearth_net_body_memory_bytes", "Bytes of request bodies in memory.")),
      accepted(metrics().counter("hearth_net_connections_accepted_total",
                                 "Connections that were taken.")) {
  show_bounds(options);
  for (size_t i = 0; i < answers.size(); ++i)
    answers[i] = &metrics().counter("hearth_net_answers_total",
                                    "Answers by class of status; gone: the client left before.",
                                    {{"status", i == 0 ? "gone" : format("{}xx", i)}});
  for (size_t i = 0; i < refused.size(); ++i)
    refused[i] =
        &metrics().counter("hearth_net_refused_total", "Requests and connections that met a bound.",
                           {{"bound", std::string(kBoundNames[i])}});
}

void NetMetrics::answered(int status) {
  const int hundreds = status / 100;
  answers[hundreds >= 1 && hundreds <= 5 ? static_cast<size_t>(hundreds) : 0]->add();
}

}  // namespace hearth::net
