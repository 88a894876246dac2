#include "control/jobs/live.h"

#include <charconv>

#include "base/format.h"
#include "control/emit.h"

namespace hearth::control {
namespace {

Error refuse(const std::string& name, const AnyJson& value, std::string allowed) {
  Error error = Error::invalid(format("live parameter '{}' cannot become {}", name, value.text));
  error.errors.push_back({name, 0, value.text, std::move(allowed), ""});
  return error;
}

bool is_number(Node::Kind kind) {
  return kind == Node::Kind::integer || kind == Node::Kind::real;
}

// What was asked for last; nothing if it was never changed.
Result<std::optional<std::string>> value_now(db::Session& session, const std::string& job_id,
                                             const std::string& name) {
  std::optional<std::string> value;
  TRY(session.query("SELECT value FROM live_params WHERE job_id = $1 AND name = $2", {job_id, name},
                    [&](const db::Row& row) -> Result<void> {
                      value = std::string(row.text(0));
                      return {};
                    }));
  return value;
}

}  // namespace

Result<void> check_live(const std::string& name, const Param& param, const AnyJson& value) {
  const Node wanted = TRY(parse_json(value.text));
  const Node given = TRY(parse_json(param.value.text));
  if (is_number(given.kind)) {
    if (!is_number(wanted.kind)) return refuse(name, value, "a number");
    double number = 0;
    std::from_chars(wanted.text.data(), wanted.text.data() + wanted.text.size(), number);
    if (param.min && number < *param.min)
      return refuse(name, value, format("at least {}", *param.min));
    if (param.max && number > *param.max)
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
    const std::string before =
        TRY(value_now(session, job.id, change.name)).value_or(param->second.value.text);
    TRY(session.execute(
        "INSERT INTO live_history (run_id, version, name, value, before, asked_by, asked_at, step, "
        "applied_at, applied_by) VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, 0, 0)",
        {job.run_id, version, change.name, change.value.text, before, who.actor().name,
         context.clock.now().micros}));
    TRY(session.execute(
        "INSERT INTO live_params (job_id, name, value, version, at_step, asked_by, asked_at) "
        "VALUES ($1, $2, $3, $4, NULL, $5, $6) ON CONFLICT (job_id, name) DO UPDATE SET "
        "value = excluded.value, version = excluded.version, at_step = excluded.at_step, "
        "asked_by = excluded.asked_by, asked_at = excluded.asked_at",
        {job.id, change.name, change.value.text, version, who.user, context.clock.now().micros}));
    TRY(emit(session, context.clock, who.actor(), job.project, "run.live_asked", job.run_id,
             version,
             format(R"({{"name":{},"value":{},"before":{},"version":{}}})", json_quote(change.name),
                    change.value.text, before, version)));
  }
  std::vector<std::string> tasks;
  for (const Task& task :
       TRY(db::Table<Task>::select(session, "WHERE attempt_id = $1", {job.attempt_id})))
    if (!finished(task.state)) tasks.push_back(task.id);
  return tasks;
}

}  // namespace hearth::control
