#include "api/answer.h"
#include "base/format.h"

namespace hearth::api {
namespace {

using control::SubmitRequest;

// YAML as it is with ?set=..&code_digest=.., or a Submit object.
Result<SubmitRequest> submit_request(Call& call) {
  SubmitRequest request;
  const auto type = call.request.headers.get("Content-Type").value_or("application/json");
  if (type.starts_with("application/yaml") || type.starts_with("text/")) {
    request.yaml = call.request.body;
    request.code_digest = call.query("code_digest");
    for (const auto& [name, value] : call.request.query_values())
      if (name == "set") request.set.push_back(value);
    return request;
  }
  const auto body = TRY(call.body<SubmitBody>());
  if (body.yaml.empty() == body.spec.text.empty())
    return Error::invalid("give either `yaml` or `spec`");
  request.yaml = body.yaml;
  if (!body.spec.text.empty()) request.json = TRY(parse_json(body.spec.text));
  request.set = body.set;
  request.code_digest = body.code_digest;
  request.git = body.git;
  return request;
}

// For who asks while the file is still being written.
CheckResult what_is_wrong(Error error) {
  CheckResult result;
  result.errors = std::move(error.errors);
  if (result.errors.empty())
    result.errors.push_back({.found = std::move(error.detail), .mend = std::move(error.mend)});
  return result;
}

Result<net::Response> submit(Call& call) {
  SubmitRequest request = TRY(submit_request(call));
  if (call.keep_replay)
    request.on_written = [&](db::Session& session, const Job& job) {
      call.replay_kept = true;
      return call.keep_replay(session, to_json(job), 201);
    };
  const Job job = TRY(call.services.jobs.submit(call.who, request));
  net::Response response = versioned(job, 201);
  response.headers.set("Location", "/api/v1/jobs/" + job.id);
  return response;
}

void add_submit_routes(RouteTable& table) {
  table.add("POST", "/api/v1/jobs", "createJob", "jobs", "Submits a job", submit)
      .takes<SubmitBody>()
      .takes_bytes("application/yaml", 4 << 20)
      .answers<Job>(201)
      .asks("code_digest", "with application/yaml: the uploaded bundle")
      .asks("set", "with application/yaml: params.lr=0.1; may stand several times")
      .makes();
  table
      .add("POST", "/api/v1/jobs/check", "checkJob", "jobs", "What a submit would do",
           [](Call& call) -> Result<net::Response> {
             const bool report = TRY(call.query_boolean("report"));
             auto checked = call.services.jobs.check(call.who, TRY(submit_request(call)));
             if (report && !checked.ok() && checked.error().code == Code::invalid)
               return json(what_is_wrong(std::move(checked).error()));
             auto answer = TRY(std::move(checked));
             const std::string project = answer.spec.project;
             const auto status = TRY(call.services.capacity.quota(call.who, project));
             QuotaCheck quota{project, std::move(answer.asks), status.used, status.quota.guaranteed,
                              status.quota.limit};
             return json(CheckResult{std::move(answer.spec), answer.runnable,
                                     std::move(answer.reason), std::move(quota), answer.start});
           })
      .takes<SubmitBody>()
      .takes_bytes("application/yaml", 4 << 20)
      .answers<CheckResult>()
      .asks("set", "with application/yaml: params.lr=0.1; may stand several times")
      .asks("report", "1: what is wrong in the file is an answer, not an error", Kind::boolean);
  table
      .add("GET", "/api/v1/templates", "listTemplates", "jobs",
           "Jobs to begin with, and their forms",
           [](Call& call) -> Result<net::Response> { return json_list(call.services.templates); })
      .lists<JobTemplate>();
}

// Of a job that does not wait. Of one that goes on the failure is that of the attempt before.
Reason reason_of_state(const Job& job) {
  Reason reason{std::string(word(job.state)), {}, "", ""};
  reason.text = format("the job is {}", word(job.state));
  if (job.failure && finished(job.state)) {
    reason.text = job.failure->text;
    reason.mend = job.failure->mend;
  } else if (job.failure) {
    reason.text += "; the attempt before: " + job.failure->text;
  }
  return reason;
}

void add_reading_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/jobs", "listJobs", "jobs", "Jobs, the newest first",
           [](Call& call) -> Result<net::Response> {
             const auto page = TRY(call.services.jobs.list(call.who, call.query("project"),
                                                           TRY(call.list_query(type_of<Job>()))));
             return json_list(page.items, page.next_cursor);
           })
      .lists<Job>()
      .asks("project", "of this project alone")
      .asks("fields", "only these members: id,name,state")
      .pages();
  table
      .add("GET", "/api/v1/jobs/{job}", "getJob", "jobs", "One job, by id or name",
           [](Call& call) -> Result<net::Response> {
             return versioned(
                 TRY(call.services.jobs.get(call.who, call.at("job"), call.query("project"))));
           })
      .answers<Job>()
      .asks("project", "whose name it is; default: default")
      .asks("fields", "only these members")
      .versioned();
  table
      .add("GET", "/api/v1/jobs/{job}/attempts", "listAttempts", "jobs", "Its tries",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.jobs.attempts(call.who, call.at("job"))));
           })
      .lists<Attempt>();
  table
      .add("GET", "/api/v1/jobs/{job}/tasks", "listTasks", "jobs", "The tasks of all its tries",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.jobs.tasks(call.who, call.at("job"))));
           })
      .lists<Task>();
  table
      .add("GET", "/api/v1/jobs/{job}/checkpoints", "listCheckpoints", "jobs", "Its checkpoints",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.jobs.checkpoints(call.who, call.at("job"))));
           })
      .lists<Checkpoint>();
  table
      .add("GET", "/api/v1/jobs/{job}/why", "getWhy", "jobs", "Why it waits, or how it failed",
           [](Call& call) -> Result<net::Response> {
             const Job job =
                 TRY(call.services.jobs.why(call.who, call.at("job"), call.query("project")));
             return json(job.reason ? *job.reason : reason_of_state(job));
           })
      .answers<Reason>()
      .asks("project", "whose name it is");
}

Result<void> check_version(Call& call) {
  const auto wanted = TRY(call.if_match());
  if (!wanted) return {};
  const Job job = TRY(call.services.jobs.get(call.who, call.at("job"), ""));
  if (job.version == *wanted) return {};
  return Error::conflict(format("the job is at version {}, not {}", job.version, *wanted),
                         "read it again and repeat the change");
}

void add_changing_routes(RouteTable& table) {
  table
      .add("POST", "/api/v1/jobs/{job}/cancel", "cancelJob", "jobs", "Asks it to end",
           [](Call& call) -> Result<net::Response> {
             TRY(check_version(call));
             return versioned(TRY(call.services.jobs.cancel(call.who, call.at("job"))));
           })
      .answers<Job>()
      .versioned();
  table
      .add("POST", "/api/v1/jobs/{job}/retry", "retryJob", "jobs", "Tries an ended job again",
           [](Call& call) -> Result<net::Response> {
             TRY(check_version(call));
             const auto body = TRY(call.body<RetryBody>());
             return versioned(
                 TRY(call.services.jobs.retry(call.who, call.at("job"), body.checkpoint)));
           })
      .takes<RetryBody>()
      .answers<Job>()
      .versioned();
  table
      .add("PATCH", "/api/v1/jobs/{job}/live", "setLive", "jobs", "Changes live parameters",
           [](Call& call) -> Result<net::Response> {
             TRY(check_version(call));
             std::vector<control::LiveChange> changes;
             for (auto& [name, value] : TRY(call.body<LiveBody>()).values)
               changes.push_back({name, value});
             return versioned(TRY(call.services.jobs.set_live(call.who, call.at("job"), changes)));
           })
      .takes<LiveBody>()
      .answers<Job>()
      .versioned();
  table
      .add("DELETE", "/api/v1/jobs/{job}", "deleteJob", "jobs", "Deletes an ended job and its logs",
           [](Call& call) -> Result<net::Response> {
             TRY(check_version(call));
             TRY(call.services.jobs.remove(call.who, call.at("job")));
             return no_content();
           })
      .nothing()
      .versioned();
}

}  // namespace

void add_job_routes(RouteTable& table) {
  add_submit_routes(table);
  add_reading_routes(table);
  add_changing_routes(table);
}

}  // namespace hearth::api
