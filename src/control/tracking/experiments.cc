// Experiments: made, found, changed, deleted with their runs.
#include "base/id.h"
#include "control/tracking/state.h"

namespace hearth::control {
namespace {

constexpr std::string_view kDefaultName = "Default";

Error taken(const Experiment& there) {
  if (there.deleted_at.micros == 0)
    return Error::of(Code::exists, format("Experiment '{}' already exists in project {}.",
                                          there.name, there.project));
  return Error::of(
      Code::exists,
      format("Experiment '{}' already exists in deleted state (id {}).", there.name, there.id),
      "restore the experiment, or take another name");
}

Result<void> check_name(const std::string& name) {
  if (name.empty()) return Error::invalid("Invalid experiment name: it is empty.");
  return check_text(name, kMostRunNameBytes, "the experiment's name");
}

Result<std::optional<Experiment>> by_name(db::Session& session, const std::string& project,
                                          const std::string& name) {
  return db::Table<Experiment>::find(session, "WHERE project = $1 AND name = $2", {project, name});
}

Result<void> check_tags(const Texts& tags) {
  for (const auto& [key, value] : tags) {
    TRY(check_key(key, "an experiment tag"));
    TRY(check_text(value, kMostTagBytes, "an experiment tag"));
  }
  if (tags.size() <= kMostTrackedTags) return {};
  return Error::invalid(format("an experiment has at most {} tags", kMostTrackedTags));
}

// A job's token changes nothing of others' runs, so neither what they lie in.
Result<void> check_jobs_alone(db::Session& session, const Identity& who,
                              const Experiment& experiment) {
  if (who.job_id.empty()) return {};
  bool of_others = false;
  TRY(session.query("SELECT 1 FROM runs WHERE experiment_id = $1 AND job_id <> $2 LIMIT 1",
                    {experiment.id, who.job_id}, [&](const db::Row&) -> Result<void> {
                      of_others = true;
                      return {};
                    }));
  if (!of_others) return {};
  return Error::denied(
      format("experiment '{}' holds runs of others: a job's token neither renames nor deletes it",
             experiment.name),
      "use your own token");
}

// As for a run alone (runs.cc): its job goes on logging.
Result<void> check_not_in_use(db::Session& session, const Experiment& experiment) {
  std::string job;
  TRY(session.query(
      "SELECT jobs.name FROM runs JOIN jobs ON jobs.id = runs.job_id WHERE runs.experiment_id = $1 "
      "AND jobs.state IN ('queued', 'preparing', 'running', 'saving') LIMIT 1",
      {experiment.id}, [&](const db::Row& row) -> Result<void> {
        job = row.text(0);
        return {};
      }));
  if (job.empty()) return {};
  return Error::conflict(
      format("experiment '{}' holds runs of job {}, which is not over", experiment.name, job),
      "cancel the job, or wait until it has ended");
}

}  // namespace

Result<void> check_new(const Experiment& wanted) {
  TRY(check_name(wanted.name));
  TRY(check_tags(wanted.tags));
  return check_text(wanted.artifact_location, kMostTagBytes, "the artifact location");
}

Error Tracking::State::missing_experiment(const std::string& id) {
  return Error::not_found(format("No Experiment with id={} exists", id));
}

Result<std::optional<Experiment>> Tracking::State::find_experiment(db::Session& session,
                                                                   const std::string& id,
                                                                   const std::string& project) {
  if (id != "0" && !id.empty()) return db::Table<Experiment>::get(session, id);
  auto found = TRY(db::Table<Experiment>::get(session, default_experiment_id(project)));
  // A project may have had one of this name before: then that is it.
  if (!found) found = TRY(by_name(session, project, std::string(kDefaultName)));
  return found;
}

Result<void> Tracking::State::ensure_default(const std::string& project) {
  {
    const std::lock_guard lock(mutex);
    if (defaults.contains(project)) return {};
  }
  bool there = false;
  const auto look = [&](db::Session& session) -> Result<void> {
    there = TRY(find_experiment(session, "0", project)).has_value();
    return {};
  };
  TRY(context.database.read(look));
  if (!there) {
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      TRY(look(session));
      if (there) return {};
      Experiment experiment;
      experiment.id = default_experiment_id(project);
      experiment.name = kDefaultName;
      experiment.project = project;
      experiment.created_at = experiment.updated_at = context.clock.now();
      TRY(db::Table<Experiment>::insert(session, experiment));
      TRY(emit(session, context.clock, server_actor(), project, "experiment.created", experiment.id,
               experiment.version));
      return {};
    }));
    tell("");
  }
  const std::lock_guard lock(mutex);
  defaults.insert(project);
  return {};
}

Result<Experiment> Tracking::State::experiment_for(const Identity& who, const std::string& id,
                                                   const std::string& project, Grade least) {
  const std::string where = project_of(who, project);
  const Error missing = missing_experiment(id);
  if (id == "0" || id.empty() || id == default_experiment_id(where)) {
    TRY(may(who, where, least, missing));
    TRY(ensure_default(where));
  }
  std::optional<Experiment> found;
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    found = TRY(find_experiment(session, id, where));
    return {};
  }));
  if (!found) return missing;
  TRY(may(who, found->project, least, missing));
  return std::move(*found);
}

Result<Experiment> Tracking::State::change_experiment(
    const Identity& who, const std::string& id, const std::string& project, Grade least,
    const std::string& kind, const std::function<Result<void>(db::Session&, Experiment&)>& change) {
  Experiment experiment = TRY(experiment_for(who, id, project, least));
  const std::string real_id = experiment.id;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    auto found = TRY(db::Table<Experiment>::get(session, real_id));
    if (!found) return missing_experiment(id);
    experiment = std::move(*found);
    TRY(change(session, experiment));
    experiment.updated_at = context.clock.now();
    TRY(db::Table<Experiment>::update(session, experiment));
    TRY(emit(session, context.clock, who.actor(), experiment.project, kind, experiment.id,
             experiment.version));
    return {};
  }));
  index.experiments_changed();
  tell("");
  return experiment;
}

Result<void> Tracking::State::sweep_runs(const Identity& who, const std::string& experiment_id,
                                         Time from, Time to) {
  for (bool more = true; more;) {
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      auto runs = TRY(db::Table<Run>::select(
          session, "WHERE experiment_id = $1 AND deleted_at = $2 ORDER BY id LIMIT $3",
          {experiment_id, from.micros, static_cast<int64_t>(kMostRunsInWork)}));
      more = runs.size() == kMostRunsInWork;
      for (Run& run : runs) {
        run.deleted_at = to;
        TRY(db::Table<Run>::update(session, run));
        TRY(emit(session, context.clock, who.actor(), run.project,
                 to.micros == 0 ? "run.restored" : "run.deleted", run.id, run.version));
      }
      return {};
    }));
  }
  tell("");
  return {};
}

Result<Experiment> Tracking::create_experiment(const Identity& who, const NewExperiment& wanted) {
  Experiment experiment;
  experiment.name = wanted.name;
  experiment.artifact_location = wanted.artifact_location;
  experiment.tags = wanted.tags;
  TRY(check_new(experiment));
  const std::string project = State::project_of(who, wanted.project);
  TRY(state_->access.require(who, project, Grade::member));
  TRY(state_->ensure_default(project));
  experiment.id = state_->make_id();
  experiment.project = project;
  experiment.created_at = experiment.updated_at = state_->context.clock.now();
  TRY(state_->context.database.write([&](db::Session& session) -> Result<void> {
    experiment.version = 0;
    if (const auto there = TRY(by_name(session, project, wanted.name))) return taken(*there);
    TRY(db::Table<Experiment>::insert(session, experiment));
    TRY(emit(session, state_->context.clock, who.actor(), project, "experiment.created",
             experiment.id, experiment.version));
    return {};
  }));
  state_->index.experiments_changed();
  state_->tell("");
  return experiment;
}

Result<Experiment> Tracking::get_experiment(const Identity& who, const std::string& id,
                                            const std::string& project) {
  return state_->experiment_for(who, id, project, Grade::viewer);
}

Result<Experiment> Tracking::get_experiment_by_name(const Identity& who, const std::string& name,
                                                    const std::string& project) {
  const std::string where = State::project_of(who, project);
  const Error missing = Error::not_found(format("Could not find experiment with name '{}'", name),
                                         "create it, or look at the names that the project has");
  TRY(state_->may(who, where, Grade::viewer, missing));
  if (name == kDefaultName) TRY(state_->ensure_default(where));
  std::optional<Experiment> found;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    found = TRY(by_name(session, where, name));
    return {};
  }));
  if (!found) return missing;
  return std::move(*found);
}

Result<Experiment> Tracking::rename_experiment(const Identity& who, const std::string& id,
                                               const std::string& name,
                                               const std::string& project) {
  TRY(check_name(name));
  return state_->change_experiment(
      who, id, project, Grade::member, "experiment.renamed",
      [&](db::Session& session, Experiment& experiment) -> Result<void> {
        TRY(check_jobs_alone(session, who, experiment));
        if (experiment.deleted_at.micros != 0)
          return Error::conflict("Cannot rename a deleted experiment.", "restore it first");
        const auto there = TRY(by_name(session, experiment.project, name));
        if (there && there->id != experiment.id) return taken(*there);
        experiment.name = name;
        return {};
      });
}

Result<Experiment> Tracking::delete_experiment(const Identity& who, const std::string& id,
                                               const std::string& project) {
  const Time now = state_->context.clock.now();
  auto done = TRY(state_->change_experiment(
      who, id, project, Grade::member, "experiment.deleted",
      [&](db::Session& session, Experiment& experiment) -> Result<void> {
        TRY(check_jobs_alone(session, who, experiment));
        if (experiment.id == default_experiment_id(experiment.project))
          return Error::invalid("Cannot delete the default experiment.",
                                "delete its runs, or make another experiment");
        if (experiment.deleted_at.micros != 0) return State::missing_experiment(id);
        TRY(check_not_in_use(session, experiment));
        experiment.deleted_at = now;
        return {};
      }));
  TRY(state_->sweep_runs(who, done.id, Time{}, now));
  return done;
}

Result<Experiment> Tracking::restore_experiment(const Identity& who, const std::string& id,
                                                const std::string& project) {
  Time deleted;
  auto done =
      TRY(state_->change_experiment(who, id, project, Grade::member, "experiment.restored",
                                    [&](db::Session&, Experiment& experiment) -> Result<void> {
                                      if (experiment.deleted_at.micros == 0)
                                        return State::missing_experiment(id);
                                      deleted = experiment.deleted_at;
                                      experiment.deleted_at = {};
                                      return {};
                                    }));
  TRY(state_->sweep_runs(who, done.id, deleted, Time{}));
  return done;
}

Result<Experiment> Tracking::set_experiment_tag(const Identity& who, const std::string& id,
                                                const std::string& key, const std::string& value,
                                                const std::string& project) {
  TRY(check_tags({{key, value}}));
  return state_->change_experiment(
      who, id, project, Grade::member, "experiment.tagged",
      [&](db::Session&, Experiment& experiment) -> Result<void> {
        if (experiment.deleted_at.micros != 0)
          return Error::conflict(
              format("The experiment {} must be in the 'active' state. Current state is deleted.",
                     experiment.id),
              "restore it first");
        experiment.tags[key] = value;
        return check_tags(experiment.tags);
      });
}

Result<Experiment> Tracking::delete_experiment_tag(const Identity& who, const std::string& id,
                                                   const std::string& key,
                                                   const std::string& project) {
  return state_->change_experiment(
      who, id, project, Grade::member, "experiment.tagged",
      [&](db::Session&, Experiment& experiment) -> Result<void> {
        if (experiment.tags.erase(key) == 1) return {};
        return Error::not_found(
            format("No tag with name: {} in experiment with id {}", key, experiment.id));
      });
}

}  // namespace hearth::control
