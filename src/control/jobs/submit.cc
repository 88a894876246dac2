#include "control/jobs/submit.h"

#include "base/format.h"
#include "base/id.h"
#include "control/emit.h"
#include "control/jobs/launch.h"
#include "control/jobs/update.h"
#include "control/references.h"
#include "track/line_metrics.h"

namespace hearth::control {
namespace {

Result<Experiment> experiment_of(db::Session& session, Context& context, const std::string& project,
                                 const std::string& name) {
  auto found = TRY(
      db::Table<Experiment>::find(session, "WHERE project = $1 AND name = $2", {project, name}));
  if (found) return std::move(*found);
  Experiment experiment;
  experiment.id = new_id(context.clock, context.random);
  experiment.name = name;
  experiment.project = project;
  experiment.created_at = context.clock.now();
  TRY(db::Table<Experiment>::insert(session, experiment));
  return experiment;
}

Result<void> check_root(const JobsOptions& options, const DatasetUse& use, size_t i) {
  if (lies_in(use.path, options.path_roots)) return {};
  Error error =
      Error::denied(format("datasets[{}].path '{}' lies outside the listed roots", i, use.path),
                    "ask an admin to list its root, or make a dataset of it");
  error.errors.push_back({format("datasets[{}].path", i), 0, use.path,
                          format("a path below {}", join(options.path_roots, ", ")), ""});
  return error;
}

Result<std::vector<UsedDataset>> use_datasets(db::Session& session, const JobsOptions& options,
                                              const std::string& project, const JobSpec& spec) {
  std::vector<UsedDataset> all;
  for (size_t i = 0; i < spec.datasets.size(); ++i) {
    const DatasetUse& use = spec.datasets[i];
    UsedDataset& used = all.emplace_back();
    if (!use.path.empty()) {
      TRY(check_root(options, use, i));
      used.path = use.path;  // its fingerprint comes from the shim
      continue;
    }
    const DatasetVersion version = TRY(find_dataset_version(session, project, use.name));
    used.name = version.dataset;
    used.version = std::to_string(version.number);
    used.digest = version.manifest_digest;
  }
  return all;
}

// The job file's own patterns for log lines; what a shim could not read is not taken.
Result<void> check_patterns(const JobSpec& spec) {
  Error error = Error::invalid("the job file has patterns that cannot be used");
  for (size_t i = 0; i < spec.metrics.patterns.size(); ++i) {
    const auto made = track::LineMetrics::make({spec.metrics.patterns[i]});
    if (made.ok()) continue;
    error.errors.push_back({format("metrics.patterns[{}]", i), 0, spec.metrics.patterns[i],
                            "an RE2 expression with a named group: loss=(?P<loss>[0-9.]+)",
                            made.error().detail});
  }
  if (!error.errors.empty()) return error;
  return {};
}

Result<void> check_secrets(db::Session& session, Access& access, const JobSpec& spec) {
  std::vector<std::string> secrets = spec.secrets;
  for (const Notify& notify : spec.notify)
    if (!notify.secret.empty()) secrets.push_back(notify.secret);
  if (!secrets.empty()) TRY(access.open_secrets(session, spec.project, secrets));
  return {};
}

Run run_of(const Job& job, const Experiment& experiment, std::vector<UsedDataset> datasets) {
  Run run;
  run.id = job.run_id;
  run.name = job.name;
  run.project = job.project;
  run.experiment_id = experiment.id;
  run.experiment = experiment.name;
  run.owner = job.owner;
  run.user = job.owner;
  run.job_id = job.id;
  run.status = RunStatus::scheduled;
  run.created_at = job.created_at;
  for (const auto& [name, param] : job.spec.params) {
    run.params[name] = param_text(param.value);
    run.given_params.push_back(name);
  }
  run.tags = job.spec.labels;
  run.code_digest = job.code_digest;
  run.git = job.git;
  run.datasets = std::move(datasets);
  return run;
}

}  // namespace

Result<JobSpec> read_spec(const SubmitRequest& request) {
  JobSpec spec;
  if (request.json || !request.set.empty()) {
    Node root = request.json ? *request.json : TRY(parse_yaml(request.yaml));
    for (const std::string& assignment : request.set) TRY(apply_set(root, assignment));
    spec = TRY(parse_job_node(root));
  } else {
    spec = TRY(parse_job_yaml(request.yaml));
  }
  TRY(check_runnable(spec));
  TRY(check_patterns(spec));
  return spec;
}

Result<void> check_uses(db::Session& session, Access& access, const JobsOptions& options,
                        const JobSpec& spec) {
  TRY(check_secrets(session, access, spec));
  TRY(use_datasets(session, options, spec.project, spec));
  return {};
}

Result<Job> write_job(db::Session& session, Context& context, Access& access,
                      const JobsOptions& options, const Identity& who, const SubmitRequest& request,
                      const JobSpec& spec, int64_t code_size_bytes) {
  TRY(check_secrets(session, access, spec));

  Job job;
  const Time now = context.clock.now();
  job.id = new_id(context.clock, context.random);
  job.run_id = new_id(context.clock, context.random);
  job.project = spec.project;
  job.number = TRY(db::next_number(session, format("job:{}:{}", spec.project, spec.name)));
  job.name = format("{}-{}", spec.name, job.number);
  job.owner = who.user.empty() ? who.job_id : who.user;
  job.spec = spec;
  job.source = request.json ? to_json(*request.json) : request.yaml;
  job.code_digest = request.code_digest;
  job.code_size_bytes = code_size_bytes;
  job.git = request.git;
  job.priority = spec.priority;
  job.created_at = now;
  enter_phase(job, "queued", now);

  const Experiment experiment = TRY(experiment_of(
      session, context, spec.project, spec.experiment.empty() ? spec.name : spec.experiment));
  auto datasets = TRY(use_datasets(session, options, spec.project, spec));
  for (const UsedDataset& used : datasets)
    if (!used.digest.empty()) TRY(db::pin(session, used.digest, "job:" + job.id, now));
  if (!job.code_digest.empty()) TRY(db::pin(session, job.code_digest, "code:" + job.id, now));
  if (!job.git.diff_digest.empty())
    TRY(db::pin(session, job.git.diff_digest, "code:" + job.id, now));
  TRY(db::Table<Job>::insert(session, job));
  TRY(db::Table<Run>::insert(session, run_of(job, experiment, std::move(datasets))));
  TRY(emit(session, context.clock, who.actor(), job.project, "job.submitted", job.id, job.version,
           format(R"({{"state":"queued","name":{}}})", json_quote(job.name))));
  return job;
}

}  // namespace hearth::control
