// Which fields of each noun have a column. The SQL that makes the tables is in schema.cc.
#pragma once

#include "db/table.h"
#include "domain/capacity.h"
#include "domain/dataset.h"
#include "domain/event.h"
#include "domain/job.h"
#include "domain/logged_model.h"
#include "domain/model.h"
#include "domain/project.h"
#include "domain/run.h"
#include "domain/saved_view.h"

namespace hearth::db {

#define HEARTH_TABLE(T, table, ...)                          \
  template <>                                                \
  struct TableOf<T> {                                        \
    static const TableSpec& spec() {                         \
      static const TableSpec the_spec{table, {__VA_ARGS__}}; \
      return the_spec;                                       \
    }                                                        \
  }

HEARTH_TABLE(Project, "projects", "name", "parent", "created_at");
HEARTH_TABLE(User, "users", "name", "admin", "disabled", "created_at");
HEARTH_TABLE(Membership, "memberships", "user", "project", "role", "created_at");
HEARTH_TABLE(Token, "tokens", "name", "kind", "hash", "user", "project", "job_id", "task_id",
             "created_at", "expires_at", "revoked_at");
HEARTH_TABLE(Secret, "secrets", "name", "project", "sealed", "created_at");
HEARTH_TABLE(Job, "jobs", "name", "number", "project", "owner", "state", "run_id", "source",
             "priority", "created_at", "started_at", "finished_at", "stop_asked_at",
             "next_attempt_at");
HEARTH_TABLE(Attempt, "attempts", "job_id", "number", "state", "created_at");
HEARTH_TABLE(Task, "tasks", "attempt_id", "job_id", "rank", "state", "node", "created_at");
HEARTH_TABLE(Experiment, "experiments", "name", "project", "created_at", "deleted_at");
template <>
struct TableOf<Run> {
  static const TableSpec& spec() {
    static const TableSpec the_spec{
        "runs",
        {"name", "project", "experiment_id", "job_id", "parent_id", "owner", "status", "created_at",
         "started_at", "finished_at", "deleted_at"},
        true};
    return the_spec;
  }
};
HEARTH_TABLE(Artifact, "artifacts", "run_id", "project", "path", "digest", "created_at");
HEARTH_TABLE(Checkpoint, "checkpoints", "job_id", "run_id", "project", "manifest_digest", "step",
             "created_at");
HEARTH_TABLE(Model, "models", "name", "project", "created_at");
HEARTH_TABLE(ModelVersion, "model_versions", "model", "project", "number", "digest", "run_id",
             "job_id", "created_at");
HEARTH_TABLE(LoggedModel, "logged_models", "project", "experiment_id", "name", "run_id",
             "created_at");
HEARTH_TABLE(Dataset, "datasets", "name", "project", "created_at");
HEARTH_TABLE(DatasetVersion, "dataset_versions", "dataset", "project", "number", "manifest_digest",
             "created_at");
HEARTH_TABLE(Delivery, "deliveries", "project", "job_id", "state", "created_at", "next_try_at");
HEARTH_TABLE(Quota, "quotas", "project");
HEARTH_TABLE(Pool, "pools", "name");
HEARTH_TABLE(NodeOrder, "node_orders", "node");
HEARTH_TABLE(Reservation, "reservations", "name");
HEARTH_TABLE(SavedView, "views", "name", "page", "project", "owner", "shared", "created_at");

#undef HEARTH_TABLE

// Events are append-only rows of their own; seq is given by the database in commit order.
Result<int64_t> append_event(Session& session, const Event& event);
Result<std::vector<Event>> events_since(Session& session, int64_t seq, int64_t limit);
Result<int64_t> last_event_seq(Session& session);

// The journal of runs, in commit order: which run's row changed, or (with `batch`) which row of
// metric_batches came to it. Whoever keeps runs in memory reads on from the last seq it saw.
Result<void> note_run_change(Session& session, const std::string& run_id,
                             const std::string& batch = "");
Result<int64_t> last_run_change(Session& session);

// A number that counts up per name: 1, 2, 3...
Result<int64_t> next_number(Session& session, const std::string& counter);

// Small facts of the installation: server id, key check...
Result<std::optional<std::string>> get_setting(Session& session, const std::string& key);
Result<void> set_setting(Session& session, const std::string& key, const std::string& value);

// Answers to creating calls, kept by Idempotency-Key for a day; bound to who asked and what.
struct Replay {
  std::string fingerprint;  // of method, path and body
  int64_t status = 0;
  std::string body;
};
Result<std::optional<Replay>> find_replay(Session& session, const std::string& owner,
                                          const std::string& key);
Result<void> save_replay(Session& session, const std::string& owner, const std::string& key,
                         const Replay& replay, Time now);

// A pin keeps an object: `holder` is "code:<job>", "artifact:<id>", "upload:<token>"... It also
// saves one that was to be collected, so pin first and ask Objects::have() after the commit.
Result<void> pin(Session& session, const std::string& digest, const std::string& holder, Time now);
Result<void> unpin(Session& session, const std::string& holder);
Result<bool> pinned(Session& session, const std::string& digest);

}  // namespace hearth::db
