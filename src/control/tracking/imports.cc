// What an import from another store brings: records with the ids, times and states they had there.
#include "base/id.h"
#include "control/tracking/inputs.h"
#include "control/tracking/state.h"

namespace hearth::control {
namespace {

Result<void> may_import(const Identity& who) {
  if (who.job_id.empty()) return {};
  return Error::denied("a job's token imports nothing", "use your own token");
}

// Ids that begin with 0 are those of default experiments.
bool may_keep(const std::string& id) {
  return !id.empty() && id.front() != '0';
}

// Files are found by the id of what they belong to: no two things share one.
Result<void> check_free(db::Session& session, const std::string& id) {
  if (!id.starts_with("m-") && !TRY(db::Table<ModelVersion>::get(session, id)) &&
      !TRY(db::Table<LoggedModel>::get(session, id)))
    return {};
  return Error::of(Code::exists, format("the id {} is one of a model", id),
                   "a run has an id of its own");
}

// What the run is to be, over what is here of it. What was named, labelled or logged here since an
// earlier import stays; what is new there is added.
void bring(Run& run, const RunImport& wanted, const Experiment& experiment, bool is_new) {
  const NewRun& given = wanted.run;
  run.params.insert(given.params.begin(), given.params.end());
  run.tags.insert(given.tags.begin(), given.tags.end());
  const auto parent = run.tags.find("mlflow.parentRunId");
  const auto name = run.tags.find("mlflow.runName");
  run.experiment_id = experiment.id;
  run.experiment = experiment.name;
  if (is_new) run.name = given.name.empty() && name != run.tags.end() ? name->second : given.name;
  run.user = given.user;
  run.status = wanted.status;
  run.parent_id = parent == run.tags.end() ? "" : parent->second;
  run.started_at = given.started_at.value_or(run.created_at);
  run.created_at = run.started_at;
  run.finished_at = wanted.finished_at;
}

}  // namespace

Result<Experiment> Tracking::import_experiment(const Identity& who, const Experiment& wanted,
                                               bool deleted) {
  TRY(may_import(who));
  TRY(check_new(wanted));
  const std::string project = State::project_of(who, wanted.project);
  TRY(state_->access.require(who, project, Grade::member));
  TRY(state_->ensure_default(project));
  const Time now = state_->context.clock.now();
  Experiment experiment;
  TRY(state_->context.database.write([&](db::Session& session) -> Result<void> {
    auto there = TRY(db::Table<Experiment>::find(session, "WHERE project = $1 AND name = $2",
                                                 {project, wanted.name}));
    if (there) {
      experiment = std::move(*there);
      if (experiment.deleted_at.micros != 0 && !deleted)
        return Error::of(
            Code::exists,
            format("Experiment '{}' is deleted here (id {})", wanted.name, experiment.id),
            "restore it, or rename it, before");
      const auto before = experiment.tags;
      experiment.tags.insert(wanted.tags.begin(), wanted.tags.end());
      if (experiment.tags == before) return {};
      TRY(check_new(experiment));
      experiment.updated_at = now;
      TRY(db::Table<Experiment>::update(session, experiment));
    } else {
      experiment = wanted;
      experiment.project = project;
      const bool taken =
          !may_keep(wanted.id) || TRY(db::Table<Experiment>::get(session, wanted.id)).has_value();
      if (taken) experiment.id = state_->make_id();
      if (experiment.created_at.micros == 0) experiment.created_at = now;
      if (experiment.updated_at.micros == 0) experiment.updated_at = experiment.created_at;
      if (deleted) experiment.deleted_at = now;
      experiment.version = 0;
      TRY(db::Table<Experiment>::insert(session, experiment));
    }
    TRY(emit(session, state_->context.clock, who.actor(), project,
             there ? "experiment.tagged" : "experiment.created", experiment.id,
             experiment.version));
    return {};
  }));
  state_->index.experiments_changed();
  state_->tell("");
  return experiment;
}

Result<Run> Tracking::import_run(const Identity& who, const RunImport& wanted) {
  TRY(may_import(who));
  TRY(check_new(wanted.run));
  TRY(check_inputs(wanted.datasets, wanted.model_inputs));
  TRY(check_inputs({}, wanted.model_outputs));
  State& state = *state_;
  const Experiment experiment =
      TRY(state.experiment_for(who, wanted.run.experiment_id, wanted.run.project, Grade::member));
  const Time now = state.context.clock.now();
  Run run;
  TRY(state.context.database.write([&](db::Session& session) -> Result<void> {
    auto there = TRY(db::Table<Run>::get(session, wanted.run.id));
    const bool is_new = !there;
    run = there.value_or(Run{});
    if (!is_new && (run.project != experiment.project || !run.job_id.empty()))
      return Error::of(Code::exists, format("the id {} is that of another run", wanted.run.id),
                       "a run can be in one project only; delete it there first");
    if (is_new) {
      TRY(check_free(session, wanted.run.id));
      run.id = wanted.run.id;
      run.project = experiment.project;
      run.owner = who.user;
      run.created_at = now;
    }
    const Run before = run;
    bring(run, wanted, experiment, is_new);
    // One that is here was deleted or restored here. With its experiment it comes back with it.
    if (is_new && wanted.deleted)
      run.deleted_at = experiment.deleted_at.micros == 0 ? now : experiment.deleted_at;
    TRY(write_inputs(session, run.id, wanted.datasets, wanted.model_inputs, wanted.model_outputs));
    if (!is_new && run == before) return {};
    if (is_new)
      TRY(db::Table<Run>::insert(session, run));
    else
      TRY(db::Table<Run>::update(session, run));
    TRY(emit(session, state.context.clock, who.actor(), run.project,
             is_new ? "run.created" : "run.changed", run.id, run.version));
    return {};
  }));
  state.tell(run.id);
  return run;
}

Result<std::vector<ImportCounts>> Tracking::count_imported(
    const Identity& who, const std::vector<std::string>& run_ids) {
  TRY(may_import(who));
  if (run_ids.size() > kMostCountedIds)
    return Error::invalid(format("ask for {} at most", kMostCountedIds));
  std::vector<ImportCounts> all;
  for (const std::string& id : run_ids) {
    const auto facts = state_->run_for(who, id, Grade::viewer);
    if (!facts.ok() && facts.error().code == Code::not_found) continue;
    TRY(facts);
    ImportCounts counts{.id = id};
    TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
      const Run run = TRY(db::Table<Run>::need(session, id));
      counts = {.id = id, .experiment_id = run.experiment_id};
      counts.deleted = run.deleted_at.micros != 0;
      counts.params = static_cast<int64_t>(run.params.size());
      counts.tags = static_cast<int64_t>(run.tags.size());
      TrackedRun inputs;
      TRY(read_inputs(session, id, inputs));
      counts.datasets = static_cast<int64_t>(inputs.inputs.size());
      counts.models =
          static_cast<int64_t>(inputs.model_inputs.size() + inputs.model_outputs.size());
      const auto all =
          read_run(session, id, {}, Attempts::newest, state_->options.most_counted_points);
      // One run that is too large is said; the others are counted.
      counts.too_many_points = !all.ok() && all.error().code == Code::too_large;
      if (counts.too_many_points) return {};
      TRY(all);
      for (const auto& [key, series] : all->keys)
        counts.points += static_cast<int64_t>(series.points.size());
      return {};
    }));
    all.push_back(std::move(counts));
  }
  return all;
}

}  // namespace hearth::control
