// The public HTTP API as a net::Handler.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "control/access/access.h"
#include "control/capacity/capacity.h"
#include "control/capacity/what_if.h"
#include "control/ingest/ingest.h"
#include "control/jobs/jobs.h"
#include "control/records/records.h"
#include "control/tracking/tracking.h"
#include "domain/job_template.h"
#include "domain/wire/api.h"
#include "net/server.h"

namespace hearth::api {

// A file that was made for one answer and goes with its owner.
struct MadeFile {
  std::string path;
  std::shared_ptr<const void> owner;
};

struct Services {
  control::Context context;
  control::Access& access;
  control::Jobs& jobs;
  control::Capacity& capacity;
  control::WhatIfs& what_ifs;
  control::Ingest& ingest;
  control::Records& records;
  control::Tracking& tracking;
  std::vector<JobTemplate> templates;
  std::function<std::string(const std::vector<GaugeFamily>&)> metrics_text;  // with these
  // Why nothing is written, if so; `internal` when that is damage, whose words name jobs and paths.
  std::function<std::optional<Error>()> ready;
  // By its id it can be said that it was put away.
  std::function<Result<MadeFile>(const std::string& id)> backup;
  std::function<Result<KeptBackup>(const KeptBackup&)> backup_kept;
  std::function<std::optional<KeptBackup>()> last_backup;
  std::function<Duration()> clock_ahead;  // of the machine's
  // For how many tasks a server that is drained waits; nothing: it is not drained.
  std::function<std::optional<int64_t>()> draining;
};

struct Options {
  std::string url;                       // for links: the first public URL, or where we listen
  std::vector<std::string> public_urls;  // names that Host and Origin may bear besides loopback
  std::string version;
  Time started;        // steady; set by make_handler
  int owner_uid = -1;  // over the Unix socket this uid is the admin without a token
  // Where MLflow's clients put files of experiments that name no place: s3://..., file:///...; "":
  // here, through the proxy.
  std::string mlflow_artifact_root;
  KeptFor kept;
  std::string page_directory;  // the page's files, read anew each time; "": those it carries
  // Named bounds; each shows as 429 with Retry-After.
  double reads_per_second = 100'000;  // per token
  double changes_per_second = 500;    // per token
  double logged_per_second = 20'000;  // per token, of a tracking client's points, params and tags
  double failures_per_second = 100;   // failed sign-ins and unknown tokens, per address
};

std::unique_ptr<net::Handler> make_handler(Services services, Options options);

// The OpenAPI 3.1 document of the route table.
std::string openapi_document();

}  // namespace hearth::api
