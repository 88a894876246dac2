#include "api/answer.h"
#include "api/cluster_metrics.h"
#include "base/log.h"
#include "domain/schema.h"
#include "domain/topology.h"

namespace hearth::api {

namespace {

Result<net::Response> status(Call& call) {
  ServerStatus now;
  const auto why = call.services.ready();
  now.ready = !why;
  if (why) {
    now.refusing = why->detail;
    now.mend = call.who.admin ? why->mend : "tell whoever runs this server";
  }
  if (call.who.admin) now.last_backup = call.services.last_backup();
  now.clock_ahead_seconds = call.services.clock_ahead().seconds();
  if (const auto tasks = call.services.draining()) {
    now.draining = true;
    now.waits_for_tasks = *tasks;
  }
  now.version = call.options.version;
  now.server_id = call.services.access.server_id();
  now.url = call.options.url;
  now.kept = call.options.kept;
  now.lent = lent_words(TRY(call.services.jobs.nodes(call.who)));
  now.uptime_seconds = (call.services.context.clock.steady() - call.options.started).seconds();
  TRY(call.services.context.database.read([&](db::Session& session) {
    return session.query("SELECT state, COUNT(*) FROM jobs GROUP BY state", {},
                         [&](const db::Row& row) -> Result<void> {
                           now.jobs[std::string(row.text(0))] = row.integer(1);
                           return {};
                         });
  }));
  return json(now);
}

// What anybody may read.
Error in_public(Error why) {
  if (why.code != Code::internal) return why;
  return Error::unavailable("data of this server is damaged, so nothing is written any more",
                            "`hearth status` names what is hurt and what to do");
}

// A document that is the same as long as the program runs.
template <std::string make()>
Result<net::Response> kept_json() {
  static const auto text = std::make_shared<const std::string>(make());
  net::Response response = json_text("");
  response.body = text;
  return response;
}

}  // namespace

void add_system_routes(RouteTable& table) {
  table
      .add("GET", "/healthz", "getHealth", "system", "The process answers",
           [](Call&) -> Result<net::Response> {
             return net::Response::text(200, "text/plain; charset=utf-8", "ok\n");
           })
      .needs(Need::open)
      .answers_bytes("text/plain");
  table
      .add("GET", "/readyz", "getReady", "system", "It answers, and writes what it is told",
           [](Call& call) -> Result<net::Response> {
             if (auto why = call.services.ready()) return in_public(std::move(*why));
             return net::Response::text(200, "text/plain; charset=utf-8", "ready\n");
           })
      .needs(Need::open)
      .answers_bytes("text/plain");
  table
      .add("GET", "/metrics", "getMetrics", "system", "Prometheus metrics",
           [](Call& call) -> Result<net::Response> {
             auto cluster = cluster_metrics(call.services, call.who);
             // Who watches the server wants its own numbers most when the database is hurt.
             if (!cluster.ok()) log_warning("metrics of the cluster: {}", cluster.error().text());
             return net::Response::text(
                 200, "text/plain; version=0.0.4; charset=utf-8",
                 call.services.metrics_text(cluster.ok() ? *cluster : std::vector<GaugeFamily>()));
           })
      .answers_bytes("text/plain");
  table
      .add("GET", "/api/openapi.json", "getOpenApi", "system", "This document",
           [](Call&) { return kept_json<openapi_document>(); })
      .needs(Need::open)
      .answers_bytes("application/json");
  table
      .add("GET", "/api/v1/schema/job", "getJobSchema", "system",
           "JSON Schema of the job file, for editors and forms",
           [](Call&) { return kept_json<job_file_schema>(); })
      .answers_bytes("application/json");
  table.add("GET", "/api/v1/status", "getStatus", "system", "How the server is", status)
      .answers<ServerStatus>();
  table
      .add("GET", "/api/v1/backup", "getBackup", "system", "A backup as one tar file (admin)",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.access.require_admin(call.who));
             MadeFile made = TRY(call.services.backup(call.query("id")));
             auto answer = TRY(file_answer(call.request, made.path, "backup", "application/x-tar",
                                           "hearth-backup.tar"));
             if (auto* file = std::get_if<net::FileBody>(&answer.body))
               file->owner = std::move(made.owner);
             return answer;
           })
      .asks("id", "a name for it, to say by POST that it was put away")
      .answers_bytes("application/x-tar");
  table
      .add("POST", "/api/v1/backup", "keepBackup", "system",
           "Says where a backup was put, for status and for whoever meets damage (admin)",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.access.require_admin(call.who));
             return json(TRY(call.services.backup_kept(TRY(call.body<KeptBackup>()))));
           })
      .takes<KeptBackup>()
      .answers<KeptBackup>();
}

}  // namespace hearth::api
