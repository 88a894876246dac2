// Runs, experiments, metrics, artifacts.
#include "base/id.h"
#include "control/metric_points.h"
#include "control/records/state.h"

namespace hearth::control {
namespace {

constexpr int64_t kMostLiveHistory = 100'000;
constexpr size_t kMostTags = 500;
constexpr size_t kLongestTag = 5000;

Result<void> add_metrics(db::Session& session, Run& run) {
  run.metrics.clear();
  for (const auto& [key, summary] : without_marks(TRY(read_summaries(session, run.id))))
    run.metrics[key] = {summary.last.value, summary.last.step, summary.last.time};
  return {};
}

}  // namespace

Error Records::State::missing_run(const std::string& id_or_name) {
  return Error::not_found(format("there is no run '{}'", id_or_name),
                          "`hearth run list` shows those there are");
}

Result<Run> Records::State::find_run(db::Session& session, const std::string& id_or_name,
                                     const std::string& project) {
  std::optional<Run> run;
  if (!is_id(id_or_name))
    run = TRY(db::Table<Run>::find(session,
                                   "WHERE project = $1 AND name = $2 "
                                   "ORDER BY deleted_at = 0 DESC, created_at DESC, id DESC LIMIT 1",
                                   {project, id_or_name}));
  // Imported runs have other ids than ours; a name goes first, as anybody may import any id.
  if (!run) run = TRY(db::Table<Run>::get(session, id_or_name));
  if (!run) return missing_run(id_or_name);
  return std::move(*run);
}

Result<Run> Records::State::run(const Identity& who, const std::string& id_or_name,
                                const std::string& project, Grade least) {
  Run run;
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    run = TRY(find_run(session, id_or_name, project_of(who, project)));
    return {};
  }));
  const Error missing = missing_run(id_or_name);
  if (who.kind == TokenKind::task && who.job_id != run.job_id) return missing;
  TRY(may(who, run.project, least, missing));
  if (least > Grade::viewer && !who.job_id.empty() && who.job_id != run.job_id)
    return Error::denied("a job's token changes nothing of another job's run");
  return run;
}

Result<Run> Records::get_run(const Identity& who, const std::string& id_or_name,
                             const std::string& project) {
  Run run = TRY(state_->run(who, id_or_name, project, Grade::viewer));
  TRY(state_->context.database.read(
      [&](db::Session& session) { return add_metrics(session, run); }));
  return run;
}

std::optional<PartDone> Records::part_done(const std::string& run_id) {
  std::optional<PartDone> done;
  ignore(state_->context.database.read([&](db::Session& session) -> Result<void> {
    auto run = TRY(db::Table<Run>::get(session, run_id));
    if (!run) return {};
    TRY(add_metrics(session, *run));
    done = hearth::part_done(*run);
    return {};
  }));
  return done;
}

Result<Run> Records::set_tags(const Identity& who, const std::string& run_id,
                              const std::map<std::string, std::string>& tags) {
  Run run = TRY(state_->run(who, run_id, "", Grade::member));
  for (const auto& [name, value] : tags)
    if (name.empty() || name.size() > kLongestTag || value.size() > kLongestTag)
      return Error::invalid(
          format("the tag '{}' is empty or longer than {} bytes", name.substr(0, 60), kLongestTag),
          "keep long texts as files of the run");
  const std::string id = run.id;
  TRY(state_->context.database.write([&](db::Session& session) -> Result<void> {
    run = TRY(db::Table<Run>::need(session, id));
    for (const auto& [name, value] : tags) {
      if (value.empty())
        run.tags.erase(name);
      else
        run.tags[name] = value;
    }
    if (run.tags.size() > kMostTags)
      return Error::invalid(format("a run has at most {} tags", kMostTags), "take some away");
    TRY(db::Table<Run>::update(session, run));
    TRY(emit(session, state_->context.clock, who.actor(), run.project, "run.tagged", run.id,
             run.version));
    return add_metrics(session, run);
  }));
  state_->context.signals.notify(kEventsTopic);
  state_->context.signals.notify(run_topic(run.id));
  return run;
}

Result<std::vector<std::string>> Records::metric_keys(const Identity& who,
                                                      const std::string& run_id) {
  const Run run = TRY(state_->run(who, run_id, "", Grade::viewer));
  std::vector<std::string> keys;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    const auto all = TRY(read_keys(session, run.id));
    keys.assign(all.begin(), all.end());
    return {};
  }));
  return keys;
}

Result<std::vector<MetricPoint>> Records::metric_history(const Identity& who,
                                                         const MetricQuery& query) {
  const Run run = TRY(state_->run(who, query.run_id, "", Grade::viewer));
  std::vector<MetricPoint> history;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    // A chart keeps up to four points of each stretch.
    const auto stretches = static_cast<size_t>(std::max<int64_t>(query.most_points, 0) + 3) / 4;
    history.clear();
    for (const track::Point& point : TRY(read_chart(session, run.id, query.key, stretches)))
      history.push_back({point.step, point.time, point.value});
    return {};
  }));
  return history;
}

Result<std::vector<LiveHistoryItem>> Records::live_history(const Identity& who,
                                                           const std::string& run_id,
                                                           const std::string& project) {
  const Run run = TRY(state_->run(who, run_id, project, Grade::viewer));
  std::vector<LiveHistoryItem> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    all.clear();
    return session.query(
        "SELECT name, value, before, version, asked_by, asked_at, step, applied_at, applied_by "
        "FROM live_history WHERE run_id = $1 ORDER BY version, name LIMIT $2",
        {run.id, kMostLiveHistory}, [&](const db::Row& row) -> Result<void> {
          LiveHistoryItem& item = all.emplace_back();
          item.name = row.text(0);
          item.value.text = row.text(1);
          item.before.text = row.text(2);
          item.version = row.integer(3);
          item.asked_by = row.text(4);
          item.asked_at.micros = row.integer(5);
          if (!row.null(6)) item.step = row.integer(6);
          item.applied_at.micros = row.integer(7);
          item.applied_by = row.integer(8);
          return {};
        });
  }));
  return all;
}

Result<std::vector<Artifact>> Records::list_artifacts(const Identity& who,
                                                      const std::string& run_id) {
  const Run run = TRY(state_->run(who, run_id, "", Grade::viewer));
  std::vector<Artifact> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(db::Table<Artifact>::select(session, "WHERE run_id = $1 ORDER BY path LIMIT $2",
                                          {run.id, State::kMostArtifacts}));
    return {};
  }));
  return all;
}

Result<Artifact> Records::get_artifact(const Identity& who, const std::string& run_id,
                                       const std::string& path) {
  const Run run = TRY(state_->run(who, run_id, "", Grade::viewer));
  std::optional<Artifact> artifact;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    artifact =
        TRY(db::Table<Artifact>::find(session, "WHERE run_id = $1 AND path = $2", {run.id, path}));
    return {};
  }));
  if (!artifact)
    return Error::not_found(format("run {} has no file '{}'", run.name, path),
                            format("`hearth run files {}` lists its files", run.name));
  return std::move(*artifact);
}

Result<db::ListPage<Experiment>> Records::list_experiments(const Identity& who,
                                                           const std::string& project,
                                                           db::ListQuery query) {
  return state_->list<Experiment>(who, project, std::move(query));
}

}  // namespace hearth::control
