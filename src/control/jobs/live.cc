#include "control/jobs/live.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "control/emit.h"
#include "control/metric_points.h"
#include "domain/scalar.h"

namespace hearth::control {
namespace {

// From the answer of a rank's long poll to the next look of its script at the file; and what may
// lie in its shim that is not here yet.
constexpr Duration kLead = Duration::seconds(2);
constexpr Duration kOldest = Duration::seconds(600);  // more silence says nothing about its pace

// The step at which all ranks of a gang can change: ahead of each of them when it hears of it.
// Nothing while no rank has logged a step.
Result<std::optional<int64_t>> gang_step(db::Session& session, const Job& job,
                                         const std::vector<Task>& tasks, Time now) {
  std::optional<int64_t> step;
  for (const Task& task : tasks) {
    const auto pace = TRY(pace_of(session, job.run_id, task.attempt_number, task.rank));
    if (!pace) continue;
    double speed = std::max(pace->steps_per_second, 0.0);
    const Duration ran = pace->at - task.running_at;
    if (speed == 0 && ran.micros > 0)  // one point: what it did since it began
      speed = static_cast<double>(pace->step) * 1e6 / static_cast<double>(ran.micros);
    const Duration silent = std::clamp(now - pace->at, Duration::seconds(0), kOldest);
    const double ahead = speed * static_cast<double>(silent.micros + kLead.micros) / 1e6;
    const double sum = static_cast<double>(pace->step) + std::ceil(std::max(ahead, 0.0)) + 1;
    step = std::max(step.value_or(0), static_cast<int64_t>(std::min(sum, 9e18)));
  }
  return step;
}

Error refuse(const std::string& name, const AnyJson& value, std::string allowed) {
  Error error = Error::invalid(format("live parameter '{}' cannot become {}", name, value.text));
  error.errors.push_back({name, 0, value.text, std::move(allowed), ""});
  return error;
}

bool is_number(Node::Kind kind) {
  return kind == Node::Kind::integer || kind == Node::Kind::real;
}

struct Asked {
  std::string value;
  std::optional<int64_t> at_step;
  Time at;
};
// What was asked for last; nothing if it was never changed.
Result<std::optional<Asked>> asked_before(db::Session& session, const std::string& job_id,
                                          const std::string& name) {
  std::optional<Asked> asked;
  TRY(session.query(
      "SELECT value, at_step, asked_at FROM live_params WHERE job_id = $1 AND name = $2",
      {job_id, name}, [&](const db::Row& row) -> Result<void> {
        asked = Asked{std::string(row.text(0)), std::nullopt, {row.integer(2)}};
        if (!row.null(1)) asked->at_step = row.integer(1);
        return {};
      }));
  return asked;
}

}  // namespace

Result<void> check_live(const std::string& name, const Param& param, const AnyJson& value) {
  const Node wanted = TRY(parse_json(value.text));
  const Node given = TRY(parse_json(param.value.text));
  if (is_number(given.kind)) {
    if (!is_number(wanted.kind)) return refuse(name, value, "a number");
    const auto number = real_of(wanted.text);
    if (!number) return refuse(name, value, "a number that a double can hold");
    if (param.min && *number < *param.min)
      return refuse(name, value, format("at least {}", *param.min));
    if (param.max && *number > *param.max)
      return refuse(name, value, format("at most {}", *param.max));
    return {};
  }
  if (wanted.kind != given.kind)
    return refuse(name, value, format("a value like {}", param.value.text));
  return {};
}

Result<std::vector<std::string>> write_live(db::Session& session, Context& context,
                                            const Identity& who, Job& job,
                                            const std::vector<LiveChange>& changes) {
  if (finished(job.state))
    return Error::conflict(format("job {} has already ended", job.name),
                           "submit it again with `--set`");
  std::vector<std::string> live;
  for (const auto& [name, param] : job.spec.params)
    if (param.live) live.push_back(name);
  std::vector<Task> tasks =
      TRY(db::Table<Task>::select(session, "WHERE attempt_id = $1", {job.attempt_id}));
  std::erase_if(tasks, [](const Task& task) { return finished(task.state); });
  std::optional<int64_t> ahead;
  Time began;
  if (tasks.size() > 1) {
    ahead = TRY(gang_step(session, job, tasks, context.clock.now()));
    began = TRY(db::Table<Attempt>::need(session, job.attempt_id)).created_at;
  }
  const int64_t version = TRY(db::next_number(session, "live:" + job.id));
  for (const LiveChange& change : changes) {
    const auto param = job.spec.params.find(change.name);
    if (param == job.spec.params.end() || !param->second.live) {
      Error error =
          Error::invalid(format("'{}' is not a live parameter of {}", change.name, job.name));
      const std::string near = nearest(change.name, live);
      error.errors.push_back({change.name, 0, change.name,
                              live.empty() ? "none: the job file has no parameter with `live: true`"
                                           : format("one of: {}", join(live, ", ")),
                              near.empty() ? "" : format("did you mean '{}'?", near)});
      return error;
    }
    TRY(check_live(change.name, param->second, change.value));
    const auto earlier = TRY(asked_before(session, job.id, change.name));
    const std::string before = earlier ? earlier->value : param->second.value.text;
    // Never ahead of an earlier change of this attempt: a rank that did not see that one must not
    // differ.
    auto step = ahead;
    if (step && earlier && earlier->at_step && earlier->at >= began)
      step = std::max(*step, *earlier->at_step);
    TRY(session.execute(
        "INSERT INTO live_history (run_id, version, name, value, before, asked_by, asked_at, step, "
        "applied_at, applied_by) VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, 0, 0)",
        {job.run_id, version, change.name, change.value.text, before, who.actor().name,
         context.clock.now().micros}));
    TRY(session.execute(
        "INSERT INTO live_params (job_id, name, value, version, at_step, asked_by, asked_at) "
        "VALUES ($1, $2, $3, $4, $7, $5, $6) ON CONFLICT (job_id, name) DO UPDATE SET "
        "value = excluded.value, version = excluded.version, at_step = excluded.at_step, "
        "asked_by = excluded.asked_by, asked_at = excluded.asked_at",
        {job.id, change.name, change.value.text, version, who.user, context.clock.now().micros,
         step ? db::Value(*step) : db::Value()}));
    TRY(emit(session, context.clock, who.actor(), job.project, "run.live_asked", job.run_id,
             version,
             format(R"({{"name":{},"value":{},"before":{},"version":{},"at_step":{}}})",
                    json_quote(change.name), change.value.text, before, version,
                    step ? std::to_string(*step) : "null")));
  }
  std::vector<std::string> ids;
  for (const Task& task : tasks) ids.push_back(task.id);
  return ids;
}

}  // namespace hearth::control
