#include "control/jobs/launch.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/format.h"
#include "base/id.h"
#include "control/emit.h"
#include "control/jobs/update.h"
#include "control/notify/notify.h"

namespace hearth::control {
namespace {

std::string variable_of(const DatasetUse& use) {
  std::string text = use.name.empty() ? use.at : use.name.substr(0, use.name.find('@'));
  for (char& c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    c = word ? static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c) : '_';
  }
  return text;
}

Result<std::vector<TaskDataset>> resolve_datasets(db::Session& session, const Job& job) {
  std::vector<TaskDataset> all;
  const auto run = TRY(db::Table<Run>::need(session, job.run_id));
  for (size_t i = 0; i < job.spec.datasets.size(); ++i) {
    const DatasetUse& use = job.spec.datasets[i];
    TaskDataset& dataset = all.emplace_back();
    dataset.variable = variable_of(use);
    dataset.at = use.at;
    dataset.path = use.path;
    if (use.name.empty()) continue;
    // The version was fixed at submit and stands in the run.
    CHECK(i < run.datasets.size());
    const UsedDataset& used = run.datasets[i];
    const auto version = TRY(db::Table<DatasetVersion>::find(
        session, "WHERE project = $1 AND dataset = $2 AND number = $3",
        {job.project, used.name, static_cast<int64_t>(std::stoll(used.version))}));
    if (!version)
      return Error::not_found(format("dataset {}@{} was deleted", used.name, used.version),
                              "submit the job again with a version that exists");
    dataset.manifest_digest = version->manifest_digest;
    dataset.in_place = version->in_place;
  }
  return all;
}

struct LaunchParts {
  std::map<std::string, std::string> secrets;
  std::vector<TaskDataset> datasets;
  std::optional<Checkpoint> resume;
  std::vector<Peer> peers;  // empty for a process that needs nobody
  std::string gang_secret;
  int64_t uid = -1;
};

constexpr size_t kSecretBytes = 16;
constexpr int64_t kCheckpointsLookedAt = 256;

// What the tasks of a gang are told of each other; addresses and ports are the executor's to add.
void add_peers(Context& context, const Job& job, const std::vector<Task>& tasks,
               LaunchParts& parts) {
  if (tasks.size() < 2 && job.spec.launch == Launch::plain) return;
  for (const Task& task : tasks)
    parts.peers.push_back({.role = task.role,
                           .rank = task.rank,
                           .node = task.node,
                           .gpus = static_cast<int64_t>(task.gpus.size())});
  Bytes secret(kSecretBytes);
  context.random.fill(secret);
  parts.gang_secret = to_hex(secret);
}

// The newest one, or the one that a retry asked for. Where several ranks saved the same step, that
// of the first of them.
Result<std::optional<Checkpoint>> checkpoint_to_resume(db::Session& session, const Job& job) {
  auto known = TRY(db::Table<Checkpoint>::select(
      session,
      format("WHERE job_id = $1 ORDER BY created_at DESC, id DESC LIMIT {}",
             tasks_of(job.spec) > 1 ? kCheckpointsLookedAt : 1),
      {job.id}));
  std::optional<Checkpoint> best;
  int64_t best_rank = 0;
  for (Checkpoint& one : known) {
    if (best && (one.attempt_id != best->attempt_id || one.step != best->step)) continue;
    const auto task = TRY(db::Table<Task>::get(session, one.task_id));
    const int64_t rank = task ? task->rank : 0;
    if (best && rank >= best_rank) continue;
    best = std::move(one);
    best_rank = rank;
  }
  if (job.resume_checkpoint_id.empty() || !best) return best;
  const auto saved_by = TRY(db::Table<Attempt>::get(session, best->attempt_id));
  if (saved_by && saved_by->number > job.resume_after_attempt) return best;
  auto asked = TRY(db::Table<Checkpoint>::get(session, job.resume_checkpoint_id));
  return asked ? std::move(asked) : std::move(best);
}

Result<TaskSpec> task_spec(db::Session& session, Access& access, const JobsOptions& options,
                           const Job& job, const Attempt& attempt, const Task& task,
                           size_t world_size, const LaunchParts& parts) {
  const auto roles = roles_of(job.spec);
  const Role& role = roles.at(task.role);
  TaskSpec spec;
  spec.task_id = task.id;
  spec.attempt_id = attempt.id;
  spec.job_id = job.id;
  spec.job_name = job.name;
  spec.run_id = job.run_id;
  spec.project = job.project;
  spec.experiment = job.spec.experiment.empty() ? job.spec.name : job.spec.experiment;
  spec.attempt_number = attempt.number;
  spec.epoch = attempt.epoch;
  spec.role = task.role;
  spec.rank = task.rank;
  spec.world_size = static_cast<int64_t>(world_size);
  spec.node = task.node;
  spec.launch = job.spec.launch;
  spec.peers = parts.peers;
  spec.gang_secret = parts.gang_secret;
  spec.environment = job.spec.environment;
  spec.command = role.command;
  spec.params = job.spec.params;
  spec.env = job.spec.env;
  spec.secrets = parts.secrets;
  spec.resources = role.resources;
  spec.gpus = task.gpus;
  spec.code_digest = job.code_digest;
  spec.datasets = parts.datasets;
  spec.outputs = job.spec.outputs;
  spec.metrics = job.spec.metrics;
  if (parts.resume) {
    spec.resume_manifest_digest = parts.resume->manifest_digest;
    spec.resume_step = parts.resume->step;
  }
  if (job.spec.time_limit) spec.time_limit_seconds = job.spec.time_limit->duration.seconds();
  spec.server_socket = options.server_socket;
  spec.server_url = options.server_url;
  spec.objects_directory = options.objects_directory;
  spec.shim_token = TRY(access.add_task_token(session, task)).text;
  spec.job_token = TRY(access.add_job_token(session, task, job.owner)).text;
  spec.uid = spec.gid = parts.uid;
  if (options.clock != nullptr) spec.clock_ahead_seconds = options.clock->ahead().seconds();
  return spec;
}

Result<LaunchParts> launch_parts(db::Session& session, Access& access, const JobsOptions& options,
                                 const Job& job) {
  LaunchParts parts;
  if (options.task_uids) {
    // Counted over all jobs and tries, so that no two that run share one; a uid comes again only
    // when the whole range was used.
    const auto [first, last] = *options.task_uids;
    const int64_t count = TRY(db::next_number(session, "task_uid"));
    parts.uid = first + (count - 1) % (last - first + 1);
  }
  parts.secrets = TRY(access.open_secrets(session, job.project, job.spec.secrets));
  parts.datasets = TRY(resolve_datasets(session, job));
  parts.resume = TRY(checkpoint_to_resume(session, job));
  return parts;
}

}  // namespace

std::string param_text(const AnyJson& value) {
  const auto node = parse_json(value.text);
  if (node.ok() && node->kind == Node::Kind::text) return node->text;
  return value.text;
}

Result<std::optional<PreparedLaunch>> prepare_launch(db::Session& session, Context& context,
                                                     Access& access, const JobsOptions& options,
                                                     const sched::Start& start) {
  const auto found = TRY(db::Table<Job>::get(session, start.job_id));
  if (!found || found->state != JobState::queued || found->stop_asked_at.micros != 0)
    return std::optional<PreparedLaunch>();
  PreparedLaunch prepared;
  prepared.job = *found;
  Job& job = prepared.job;
  const Time now = context.clock.now();
  LaunchParts parts = TRY(launch_parts(session, access, options, job));

  Attempt& attempt = prepared.attempt;
  attempt.id = new_id(context.clock, context.random);
  attempt.job_id = job.id;
  attempt.number = ++job.attempts;
  attempt.project = job.project;
  attempt.pool = start.pool;
  attempt.places = start.places;
  attempt.created_at = now;
  if (parts.resume) {
    attempt.resume_checkpoint_id = parts.resume->id;
    attempt.resume_step = parts.resume->step;
  }

  std::sort(attempt.places.begin(), attempt.places.end(),
            [](const Place& a, const Place& b) { return a.rank < b.rank; });
  for (const Place& place : attempt.places) {
    Task& task = prepared.tasks.emplace_back();
    task.id = new_id(context.clock, context.random);
    task.attempt_id = attempt.id;
    task.job_id = job.id;
    task.project = job.project;
    task.run_id = job.run_id;
    task.role = place.role;
    task.rank = place.rank;
    task.attempt_number = attempt.number;
    task.node = place.node;
    task.gpus = place.gpus;
    task.created_at = now;
    TRY(db::Table<Task>::insert(session, task));
  }
  TRY(db::Table<Attempt>::insert(session, attempt));

  add_peers(context, job, prepared.tasks, parts);
  prepared.launch.attempt_id = attempt.id;
  prepared.launch.epoch = attempt.epoch;
  for (const Task& task : prepared.tasks) {
    prepared.launch.tasks.push_back(
        TRY(task_spec(session, access, options, job, attempt, task, prepared.tasks.size(), parts)));
    prepared.launch.nodes.push_back(task.node);
  }
  job.attempt_id = attempt.id;
  CHECK(advance(job, JobTrigger::allocated, now));
  enter_phase(job, "preparing", now);
  TRY(db::Table<Job>::update(session, job));
  TRY(emit(session, context.clock, server_actor(), job.project, "job.preparing", job.id,
           job.version, format(R"({{"state":"preparing","attempt_id":"{}"}})", attempt.id)));
  return std::optional(std::move(prepared));
}

Result<executors::Launch> rebuild_launch(db::Session& session, Context& context, Access& access,
                                         const JobsOptions& options, const Job& job,
                                         const Attempt& attempt, const std::vector<Task>& tasks) {
  LaunchParts parts = TRY(launch_parts(session, access, options, job));
  add_peers(context, job, tasks, parts);
  executors::Launch launch;
  launch.attempt_id = attempt.id;
  launch.epoch = attempt.epoch;
  for (const Task& task : tasks) {
    TRY(access.revoke_task_tokens(session, task.id));
    launch.tasks.push_back(
        TRY(task_spec(session, access, options, job, attempt, task, tasks.size(), parts)));
    launch.nodes.push_back(task.node);
  }
  return launch;
}

Result<void> fail_queued(db::Session& session, Context& context, const std::string& job_id,
                         const Error& error) {
  auto job = TRY(db::Table<Job>::get(session, job_id));
  const Time now = context.clock.now();
  if (!job || job->state != JobState::queued) return {};
  job->failure = Failure{};
  job->failure->failure_class = FailureClass::start;
  job->failure->text = error.detail;
  job->failure->mend = error.mend;
  CHECK(advance(*job, JobTrigger::failed_final, now));
  TRY(db::Table<Job>::update(session, *job));
  const Event event = TRY(emit(session, context.clock, server_actor(), job->project, "job.failed",
                               job->id, job->version, R"({"state":"failed"})"));
  TRY(queue_deliveries(session, *job, event, context.clock, context.random));
  auto run = TRY(db::Table<Run>::get(session, job->run_id));
  if (!run) return {};
  run->status = RunStatus::failed;
  run->finished_at = now;
  return db::Table<Run>::update(session, *run);
}

}  // namespace hearth::control
