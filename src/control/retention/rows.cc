// Rows that are kept for a time: answers, codes, tokens, pins of uploads, events, logs,
// checkpoints.
#include <algorithm>
#include <map>
#include <set>

#include "base/format.h"
#include "control/emit.h"
#include "control/retention/sweep.h"

namespace hearth::control {
namespace {

// Runs "DELETE ... LIMIT $2" with $1 = before, again and again until nothing is left.
Result<void> forget(const Context& context, std::string_view sql, Time before) {
  for (int round = 0; round < Retention::kMostRounds; ++round) {
    int64_t gone = 0;
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      gone = TRY(session.execute(sql, {before.micros, Retention::kMostRows}));
      return {};
    }));
    if (gone < Retention::kMostRows) break;
  }
  return {};
}

}  // namespace

Result<void> forget_rows(const Context& context, const RetentionOptions& options, Time now) {
  TRY(forget(context,
             "DELETE FROM idempotency WHERE (owner, key) IN (SELECT owner, key FROM idempotency "
             "WHERE created_at < $1 LIMIT $2)",
             now - options.replay_life));
  TRY(forget(context,
             "DELETE FROM sign_in_codes WHERE hash IN (SELECT hash FROM sign_in_codes WHERE "
             "expires_at < $1 LIMIT $2)",
             now));
  TRY(forget(context,
             "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE (expires_at > 0 AND "
             "expires_at < $1) OR (revoked_at > 0 AND revoked_at < $1) LIMIT $2)",
             now - options.token_life));
  TRY(forget(context,
             "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE state <> "
             "'waiting' AND created_at < $1 LIMIT $2)",
             now - options.event_life));
  return forget(context,
                "DELETE FROM pins WHERE (digest, holder) IN (SELECT digest, holder FROM pins WHERE "
                "holder >= 'upload:' AND holder < 'upload;' AND created_at < $1 LIMIT $2)",
                now - options.upload_life);
}

Result<void> forget_events(const Context& context, Time before) {
  for (int round = 0; round < Retention::kMostRounds; ++round) {
    int64_t seen = 0;
    int64_t last = 0;  // all up to it are old; a clock that jumped leaves some a little longer
    TRY(context.database.read([&](db::Session& session) {
      bool old = true;
      seen = last = 0;
      return session.query("SELECT seq, time FROM events ORDER BY seq LIMIT $1",
                           {Retention::kMostRows}, [&](const db::Row& row) -> Result<void> {
                             ++seen;
                             old = old && row.integer(1) < before.micros;
                             if (old) last = row.integer(0);
                             return {};
                           });
    }));
    if (last == 0) break;
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      TRY(session.execute("DELETE FROM events WHERE seq <= $1", {last}));
      return {};
    }));
    if (seen < Retention::kMostRows) break;
  }
  return {};
}

Result<void> forget_logs(const Context& context, Time before) {
  struct Segment {
    std::string task_id, digest;
    int64_t first_seq = 0, lines = 0;
  };
  for (int round = 0; round < Retention::kMostRounds; ++round) {
    size_t count = 0;
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      std::vector<Segment> old;
      TRY(session.query(
          "SELECT task_id, digest, first_seq, lines FROM log_segments WHERE last_time < $1 "
          "ORDER BY task_id, first_seq LIMIT $2",
          {before.micros, Retention::kMostRows}, [&](const db::Row& row) -> Result<void> {
            old.push_back({std::string(row.text(0)), std::string(row.text(1)), row.integer(2),
                           row.integer(3)});
            return {};
          }));
      count = old.size();
      std::map<std::string, int64_t> lines;
      for (const Segment& segment : old) {
        TRY(session.execute("DELETE FROM log_segments WHERE task_id = $1 AND first_seq = $2",
                            {segment.task_id, segment.first_seq}));
        TRY(session.execute("DELETE FROM pins WHERE digest = $1 AND holder = $2",
                            {segment.digest, "log:" + segment.task_id}));
        lines[segment.task_id] += segment.lines;
      }
      for (const auto& [task_id, n] : lines) {
        const auto task = TRY(db::Table<Task>::get(session, task_id));
        TRY(emit(session, context.clock, server_actor(), task ? task->project : "",
                 "task.log_expired", task_id, task ? task->version : 0,
                 format(R"({{"lines":{}}})", n)));
      }
      return {};
    }));
    if (count > 0) context.signals.notify(kEventsTopic);
    if (static_cast<int64_t>(count) < Retention::kMostRows) break;
  }
  return {};
}

namespace {

Result<int64_t> forget_checkpoints_of(db::Session& session, Clock& clock, const Job& job) {
  const auto& rule = job.spec.outputs.checkpoints;
  // The newest one is what the job goes on from.
  const int64_t keep = std::max<int64_t>(1, rule ? rule->keep : CheckpointOutput{}.keep);
  const auto old = TRY(db::Table<Checkpoint>::select(
      session, "WHERE job_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3",
      {job.id, Retention::kMostRows, keep}));
  for (const Checkpoint& checkpoint : old) {
    TRY(db::unpin(session, "checkpoint:" + checkpoint.id));
    TRY(db::Table<Checkpoint>::remove(session, checkpoint.id));
    TRY(emit(session, clock, server_actor(), checkpoint.project, "checkpoint.deleted",
             checkpoint.id, checkpoint.version + 1, format(R"({{"step":{}}})", checkpoint.step)));
  }
  return static_cast<int64_t>(old.size());
}

}  // namespace

Result<void> forget_checkpoints(const Context& context, Time since) {
  std::vector<std::string> jobs;
  TRY(context.database.read([&](db::Session& session) {
    jobs.clear();
    return session.query(
        "SELECT job_id FROM checkpoints GROUP BY job_id HAVING COUNT(*) > 1 AND MAX(created_at) >= "
        "$1",
        {since.micros}, [&](const db::Row& row) -> Result<void> {
          jobs.emplace_back(row.text(0));
          return {};
        });
  }));
  bool any = false;
  for (const std::string& id : jobs) {
    int64_t gone = 0;
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      const auto job = TRY(db::Table<Job>::get(session, id));
      gone = job ? TRY(forget_checkpoints_of(session, context.clock, *job)) : 0;
      return {};
    }));
    any = any || gone > 0;
  }
  if (any) context.signals.notify(kEventsTopic);
  return {};
}

}  // namespace hearth::control
