// Runs: made, found, changed, deleted.
#include "base/id.h"
#include "control/tracking/inputs.h"
#include "control/tracking/state.h"

namespace hearth::control {
namespace {

// Tags that say the same as members of a run; both are kept alike.
constexpr std::string_view kNameTag = "mlflow.runName", kParentTag = "mlflow.parentRunId",
                           kUserTag = "mlflow.user";

constexpr size_t kMostRunIdBytes = 64;

std::string tag_of(const Texts& tags, std::string_view key) {
  const auto at = tags.find(std::string(key));
  return at == tags.end() ? "" : at->second;
}

// A name that can be said and remembered.
std::string made_up_name(Random& random) {
  static constexpr std::array kFirst = {"amber", "brisk", "calm",  "deft",  "eager", "fair",
                                        "glad",  "happy", "keen",  "lucid", "mild",  "neat",
                                        "quick", "sunny", "vivid", "wise"};
  static constexpr std::array kSecond = {"ash",  "birch", "crane", "deer",  "elm",  "finch",
                                         "gull", "hare",  "ibis",  "larch", "moth", "newt",
                                         "oak",  "pine",  "robin", "wren"};
  return format("{}-{}-{}", kFirst[random.below(kFirst.size())],
                kSecond[random.below(kSecond.size())], random.below(1000));
}

Result<void> check_texts(const Texts& texts, size_t most, size_t most_bytes,
                         std::string_view what) {
  for (const auto& [key, value] : texts) {
    TRY(check_key(key, what));
    TRY(check_text(value, most_bytes, what));
  }
  if (texts.size() <= most) return {};
  return Error::invalid(format("a run has at most {} of {}", most, what));
}

void set_name(Run& run, const std::string& name) {
  run.name = name;
  run.tags[std::string(kNameTag)] = name;
}

// A job that is not over goes on logging to its run; the runs below it are its script's to delete.
Result<void> check_not_in_use(db::Session& session, const Identity& who, const Run& run) {
  if (run.job_id.empty()) return {};
  const auto job = TRY(db::Table<Job>::get(session, run.job_id));
  if (!job || finished(job->state)) return {};
  if (who.job_id == job->id && job->run_id != run.id) return {};
  return Error::conflict(format("run {} is of job {}, which is not over", run.name, job->name),
                         "cancel the job, or wait until it has ended");
}

bool ends(RunStatus status) {
  return status == RunStatus::finished || status == RunStatus::failed ||
         status == RunStatus::killed;
}

}  // namespace

Result<void> check_new(const NewRun& wanted) {
  TRY(check_text(wanted.name, kMostRunNameBytes, "the run's name"));
  TRY(check_text(wanted.user, kMostRunNameBytes, "the user's name"));
  TRY(check_text(wanted.id, kMostRunIdBytes, "the run's id"));
  TRY(check_texts(wanted.tags, kMostTrackedTags, kMostTagBytes, "a tag"));
  return check_texts(wanted.params, kMostTrackedParams, kMostParamBytes, "a param");
}

Error Tracking::State::missing_run(const std::string& id) {
  return Error::not_found(format("Run with id={} not found", id));
}

Result<RunFacts> Tracking::State::facts(const std::string& run_id) {
  {
    const std::lock_guard lock(mutex);
    const auto found = known.find(run_id);
    if (found != known.end()) return found->second;
  }
  std::optional<RunFacts> found;
  TRY(context.database.read([&](db::Session& session) {
    return session.query("SELECT project, job_id FROM runs WHERE id = $1", {run_id},
                         [&](const db::Row& row) -> Result<void> {
                           found = {run_id, std::string(row.text(0)), std::string(row.text(1))};
                           return {};
                         });
  }));
  if (!found) return missing_run(run_id);
  const std::lock_guard lock(mutex);
  if (known.size() >= kMostFacts) known.clear();
  known.emplace(run_id, *found);
  return std::move(*found);
}

Result<RunFacts> Tracking::State::run_for(const Identity& who, const std::string& run_id,
                                          Grade least) {
  RunFacts run = TRY(facts(run_id));
  const Error missing = missing_run(run_id);
  if (who.kind == TokenKind::task && who.job_id != run.job_id) return missing;
  TRY(may(who, run.project, least, missing));
  if (least > Grade::viewer && !who.job_id.empty() && who.job_id != run.job_id)
    return Error::denied("a job's token changes nothing of another job's run");
  return run;
}

Result<void> Tracking::State::check_active(db::Session& session, const std::string& run_id) {
  std::optional<int64_t> deleted_at;
  TRY(session.query("SELECT deleted_at FROM runs WHERE id = $1", {run_id},
                    [&](const db::Row& row) -> Result<void> {
                      deleted_at = row.integer(0);
                      return {};
                    }));
  if (!deleted_at) return missing_run(run_id);
  if (*deleted_at == 0) return {};
  return Error::conflict(
      format("The run {} must be in the 'active' state. Current state is deleted.", run_id),
      "restore it first");
}

Result<Run> Tracking::State::change_run(
    const Identity& who, const std::string& id, const std::string& kind,
    const std::function<Result<void>(db::Session&, Run&)>& change) {
  TRY(run_for(who, id, Grade::member));
  Run run;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    auto found = TRY(db::Table<Run>::get(session, id));
    if (!found) return missing_run(id);
    run = std::move(*found);
    TRY(change(session, run));
    TRY(db::Table<Run>::update(session, run));
    TRY(emit(session, context.clock, who.actor(), run.project, kind, run.id, run.version));
    return {};
  }));
  tell(id);
  return run;
}

Result<TrackedRun> Tracking::State::tracked(db::Session& session, Run run) {
  TrackedRun all;
  const auto experiment = TRY(db::Table<Experiment>::get(session, run.experiment_id));
  if (experiment) {
    run.experiment = experiment->name;
    all.artifact_uri = artifact_uri(*experiment, run.id);
  }
  run.metrics.clear();
  for (const auto& [key, summary] : without_marks(TRY(read_summaries(session, run.id))))
    run.metrics[key] = latest_of(summary);
  TRY(read_inputs(session, run.id, all));
  all.run = std::move(run);
  return all;
}

// After a write: all writers would wait while a thousand keys are read.
Result<TrackedRun> Tracking::State::tracked(Run run) {
  TrackedRun all;
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(tracked(session, std::move(run)));
    return {};
  }));
  return all;
}

Result<bool> Tracking::State::is_jobs_own(db::Session& session, const Run& run) {
  if (run.job_id.empty()) return false;
  const auto job = TRY(db::Table<Job>::get(session, run.job_id));
  return job && job->run_id == run.id;
}

Result<Run> Tracking::State::make_run(db::Session& session, const Identity& who,
                                      const NewRun& wanted, const Experiment& experiment) {
  Run run;
  run.id = wanted.id.empty() ? make_id() : wanted.id;
  if (!wanted.id.empty() && TRY(db::Table<Run>::get(session, run.id)))
    return Error::of(Code::exists, format("there is a run with the id {} already", run.id));
  run.project = experiment.project;
  run.experiment_id = experiment.id;
  run.experiment = experiment.name;
  run.owner = who.user;
  run.params = wanted.params;
  run.tags = wanted.tags;
  run.user = !wanted.user.empty() ? wanted.user : tag_of(wanted.tags, kUserTag);
  if (run.user.empty()) run.user = who.user;
  run.parent_id = wanted.parent_id.empty() ? tag_of(wanted.tags, kParentTag) : wanted.parent_id;
  if (who.kind == TokenKind::job) {
    const auto job = TRY(db::Table<Job>::get(session, who.job_id));
    if (!job) return Error::not_found("the token's job does not exist");
    run.job_id = job->id;
    run.owner = job->owner;
    if (run.parent_id.empty()) run.parent_id = job->run_id;
  }
  if (!run.parent_id.empty()) run.tags[std::string(kParentTag)] = run.parent_id;
  std::string name = wanted.name.empty() ? tag_of(wanted.tags, kNameTag) : wanted.name;
  set_name(run, name.empty() ? made_up_name(context.random) : name);
  run.status = RunStatus::running;
  run.created_at = context.clock.now();
  run.started_at = wanted.started_at.value_or(run.created_at);
  TRY(db::Table<Run>::insert(session, run));
  TRY(emit(session, context.clock, who.actor(), run.project, "run.created", run.id, run.version));
  return run;
}

// The job's own run, for the first who asks in this attempt.
Result<std::optional<Run>> Tracking::State::claim_job_run(db::Session& session, const Identity& who,
                                                          const NewRun& wanted,
                                                          const Experiment& experiment) {
  const auto none = std::optional<Run>();
  if (who.kind != TokenKind::job || !wanted.id.empty()) return none;
  const auto job = TRY(db::Table<Job>::get(session, who.job_id));
  if (!job || job->project != experiment.project) return none;
  const auto task = TRY(db::Table<Task>::get(session, who.task_id));
  const std::string attempt = task ? task->attempt_id : job->attempt_id;
  std::string claimed;
  TRY(session.query("SELECT attempt_id FROM run_claims WHERE run_id = $1", {job->run_id},
                    [&](const db::Row& row) -> Result<void> {
                      claimed = row.text(0);
                      return {};
                    }));
  if (claimed == attempt) return none;
  auto run = TRY(db::Table<Run>::get(session, job->run_id));
  if (!run || run->deleted_at.micros != 0) return none;
  TRY(
      session.execute("INSERT INTO run_claims (run_id, attempt_id) VALUES ($1, $2) "
                      "ON CONFLICT (run_id) DO UPDATE SET attempt_id = excluded.attempt_id",
                      {run->id, attempt}));
  if (!wanted.experiment_id.empty()) {
    run->experiment_id = experiment.id;
    run->experiment = experiment.name;
  }
  run->user = !wanted.user.empty() ? wanted.user : tag_of(wanted.tags, kUserTag);
  for (const auto& [key, value] : wanted.tags) run->tags[key] = value;
  if (!wanted.name.empty()) run->tags[std::string(kNameTag)] = wanted.name;
  run->given_params.clear();
  for (const auto& [key, value] : run->params) run->given_params.push_back(key);
  for (const auto& [key, value] : wanted.params) run->params.emplace(key, value);
  TRY(db::Table<Run>::update(session, *run));
  TRY(emit(session, context.clock, who.actor(), run->project, "run.claimed", run->id,
           run->version));
  return run;
}

Result<TrackedRun> Tracking::create_run(const Identity& who, const NewRun& wanted) {
  State& state = *state_;
  if (who.kind == TokenKind::task)
    return Error::denied("a task's token makes no runs", "use the token of the job");
  TRY(check_new(wanted));
  const Experiment experiment =
      TRY(state.experiment_for(who, wanted.experiment_id, wanted.project, Grade::member));
  if (!wanted.parent_id.empty()) TRY(state.run_for(who, wanted.parent_id, Grade::viewer));
  Run made;
  bool is_new = false;
  TRY(state.context.database.write([&](db::Session& session) -> Result<void> {
    const auto there = TRY(db::Table<Experiment>::get(session, experiment.id));
    if (!there) return State::missing_experiment(experiment.id);
    if (there->deleted_at.micros != 0)
      return Error::conflict(
          format("The experiment {} must be in the 'active' state. Current state is deleted.",
                 experiment.id),
          "restore it, or take another");
    const auto run = TRY(state.claim_job_run(session, who, wanted, *there));
    is_new = !run.has_value();
    made = run ? *run : TRY(state.make_run(session, who, wanted, *there));
    return {};
  }));
  state.tell(made.id);
  if (!is_new) return state.tracked(std::move(made));
  TrackedRun all;  // nothing is logged to it yet
  all.artifact_uri = artifact_uri(experiment, made.id);
  all.run = std::move(made);
  return all;
}

Result<TrackedRun> Tracking::get_run(const Identity& who, const std::string& id) {
  TRY(state_->run_for(who, id, Grade::viewer));
  TrackedRun found;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    auto run = TRY(db::Table<Run>::get(session, id));
    if (!run) return State::missing_run(id);
    found = TRY(state_->tracked(session, std::move(*run)));
    return {};
  }));
  return found;
}

Result<TrackedRun> Tracking::update_run(const Identity& who, const std::string& id,
                                        const RunChange& change) {
  State& state = *state_;
  if (change.name) TRY(check_text(*change.name, kMostRunNameBytes, "the run's name"));
  bool ended = false;
  const auto work = [&](db::Session& session, Run& run) -> Result<void> {
    TRY(State::check_active(session, id));
    const bool own = TRY(State::is_jobs_own(session, run));
    if (change.name && own)
      run.tags[std::string(kNameTag)] = *change.name;
    else if (change.name)
      set_name(run, *change.name);
    if (change.status && !own) {
      run.status = *change.status;
      ended = ends(run.status);
      if (!ended)
        run.finished_at = {};
      else if (!change.finished_at)
        run.finished_at = state.context.clock.now();
    }
    if (change.finished_at && !own) run.finished_at = *change.finished_at;
    return {};
  };
  Run run = TRY(state.change_run(who, id, "run.changed", work));
  if (ended) {
    const std::lock_guard lock(state.mutex);
    if (state.ended.size() < State::kMostTidied) state.ended.insert(id);
  }
  return state.tracked(std::move(run));
}

Result<bool> Tracking::delete_run(const Identity& who, const std::string& id) {
  bool was_there = false;
  const auto work = [&](db::Session& session, Run& run) -> Result<void> {
    TRY(check_not_in_use(session, who, run));
    was_there = run.deleted_at.micros == 0;
    if (was_there) run.deleted_at = state_->context.clock.now();
    return {};
  };
  TRY(state_->change_run(who, id, "run.deleted", work));
  return was_there;
}

Result<bool> Tracking::restore_run(const Identity& who, const std::string& id) {
  bool was_deleted = false;
  const auto work = [&](db::Session&, Run& run) -> Result<void> {
    was_deleted = run.deleted_at.micros != 0;
    run.deleted_at = {};
    return {};
  };
  TRY(state_->change_run(who, id, "run.restored", work));
  return was_deleted;
}

Result<void> Tracking::set_tag(const Identity& who, const std::string& run_id,
                               const std::string& key, const std::string& value) {
  LogBatch batch;
  batch.tags.emplace_back(key, value);
  return log_batch(who, run_id, std::move(batch));
}

Result<void> Tracking::delete_tag(const Identity& who, const std::string& run_id,
                                  const std::string& key) {
  TRY(state_->change_run(
      who, run_id, "run.tagged", [&](db::Session& session, Run& run) -> Result<void> {
        TRY(State::check_active(session, run_id));
        if (run.tags.erase(key) == 1) return {};
        return Error::not_found(format("No tag with name: {} in run with id {}", key, run_id));
      }));
  return {};
}

}  // namespace hearth::control
