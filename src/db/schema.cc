#include "db/schema.h"

#include <array>

namespace hearth::db {
namespace {

// Columns of every noun table: id, version, body; then those named in tables.h, in any order.
constexpr std::string_view kFirst = R"(
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, epoch BIGINT NOT NULL,
  expires_at BIGINT NOT NULL);
CREATE TABLE events (seq INTEGER PRIMARY KEY, time BIGINT NOT NULL, project TEXT NOT NULL,
  kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX events_by_id ON events (id, seq);
CREATE TABLE idempotency (owner TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
  status BIGINT NOT NULL, body TEXT NOT NULL, created_at BIGINT NOT NULL, PRIMARY KEY (owner, key));
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE TABLE pins (digest TEXT NOT NULL, holder TEXT NOT NULL, created_at BIGINT NOT NULL,
  PRIMARY KEY (digest, holder));
CREATE INDEX pins_by_holder ON pins (holder);
CREATE TABLE dying_objects (digest TEXT PRIMARY KEY, since BIGINT NOT NULL);

CREATE TABLE projects (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL UNIQUE, parent TEXT NOT NULL, created_at BIGINT NOT NULL);
CREATE TABLE users (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL UNIQUE, admin BIGINT NOT NULL, disabled BIGINT NOT NULL,
  created_at BIGINT NOT NULL);
CREATE TABLE memberships (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  "user" TEXT NOT NULL, project TEXT NOT NULL, role TEXT NOT NULL, created_at BIGINT NOT NULL,
  UNIQUE ("user", project));
CREATE TABLE tokens (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL, kind TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, "user" TEXT NOT NULL,
  project TEXT NOT NULL, job_id TEXT NOT NULL, task_id TEXT NOT NULL, created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL, revoked_at BIGINT NOT NULL);
CREATE INDEX tokens_by_user ON tokens ("user", id);
CREATE INDEX tokens_by_job ON tokens (job_id);
CREATE INDEX tokens_by_task ON tokens (task_id);
CREATE TABLE sign_in_codes (hash TEXT PRIMARY KEY, "user" TEXT NOT NULL, expires_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL);
CREATE TABLE secrets (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL, project TEXT NOT NULL, sealed TEXT NOT NULL, created_at BIGINT NOT NULL,
  UNIQUE (project, name));

CREATE TABLE jobs (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL, number BIGINT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL,
  state TEXT NOT NULL, run_id TEXT NOT NULL, source TEXT NOT NULL, priority BIGINT NOT NULL,
  created_at BIGINT NOT NULL, started_at BIGINT NOT NULL, finished_at BIGINT NOT NULL,
  stop_asked_at BIGINT NOT NULL, next_attempt_at BIGINT NOT NULL, UNIQUE (project, name));
CREATE INDEX jobs_by_state ON jobs (state, id);
CREATE INDEX jobs_by_project ON jobs (project, created_at, id);
CREATE INDEX jobs_by_age ON jobs (created_at, id);
CREATE INDEX jobs_by_name ON jobs (name);
CREATE TABLE attempts (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  job_id TEXT NOT NULL, number BIGINT NOT NULL, state TEXT NOT NULL, created_at BIGINT NOT NULL,
  UNIQUE (job_id, number));
CREATE INDEX attempts_by_state ON attempts (state);
CREATE TABLE tasks (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  attempt_id TEXT NOT NULL, job_id TEXT NOT NULL, rank BIGINT NOT NULL, state TEXT NOT NULL,
  node TEXT NOT NULL, created_at BIGINT NOT NULL, UNIQUE (attempt_id, rank));
CREATE INDEX tasks_by_job ON tasks (job_id, attempt_id, rank);
CREATE TABLE task_marks (task_id TEXT PRIMARY KEY, state BIGINT NOT NULL, metrics BIGINT NOT NULL,
  synced_at BIGINT NOT NULL);
CREATE TABLE live_params (job_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  version BIGINT NOT NULL, at_step BIGINT, asked_by TEXT NOT NULL, asked_at BIGINT NOT NULL,
  PRIMARY KEY (job_id, name));

CREATE TABLE experiments (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL, project TEXT NOT NULL, created_at BIGINT NOT NULL, deleted_at BIGINT NOT NULL,
  UNIQUE (project, name));
CREATE TABLE runs (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL, project TEXT NOT NULL, experiment_id TEXT NOT NULL, job_id TEXT NOT NULL,
  parent_id TEXT NOT NULL, owner TEXT NOT NULL, status TEXT NOT NULL, created_at BIGINT NOT NULL,
  started_at BIGINT NOT NULL, finished_at BIGINT NOT NULL, deleted_at BIGINT NOT NULL);
CREATE INDEX runs_by_experiment ON runs (experiment_id, created_at, id);
CREATE INDEX runs_by_project ON runs (project, created_at, id);
CREATE INDEX runs_by_job ON runs (job_id);
CREATE TABLE latest_metrics (run_id TEXT NOT NULL, key TEXT NOT NULL, value DOUBLE PRECISION,
  special TEXT NOT NULL, step BIGINT NOT NULL, time BIGINT NOT NULL, PRIMARY KEY (run_id, key));
CREATE TABLE metric_batches (run_id TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
  task_id TEXT NOT NULL, points BIGINT NOT NULL, first_time BIGINT NOT NULL, body BYTES NOT NULL,
  PRIMARY KEY (run_id, id));
CREATE TABLE artifacts (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  run_id TEXT NOT NULL, project TEXT NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL,
  created_at BIGINT NOT NULL, UNIQUE (run_id, path));
CREATE TABLE checkpoints (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  job_id TEXT NOT NULL, run_id TEXT NOT NULL, project TEXT NOT NULL, manifest_digest TEXT NOT NULL,
  step BIGINT NOT NULL, created_at BIGINT NOT NULL);
CREATE INDEX checkpoints_by_job ON checkpoints (job_id, created_at);
CREATE INDEX checkpoints_by_run ON checkpoints (run_id);
CREATE TABLE log_segments (task_id TEXT NOT NULL, first_seq BIGINT NOT NULL,
  last_seq BIGINT NOT NULL, lines BIGINT NOT NULL, first_time BIGINT NOT NULL,
  last_time BIGINT NOT NULL, digest TEXT NOT NULL, size_bytes BIGINT NOT NULL,
  raw_bytes BIGINT NOT NULL, PRIMARY KEY (task_id, first_seq));

CREATE TABLE models (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL, project TEXT NOT NULL, created_at BIGINT NOT NULL, UNIQUE (project, name));
CREATE TABLE model_versions (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  model TEXT NOT NULL, project TEXT NOT NULL, number BIGINT NOT NULL, digest TEXT NOT NULL,
  run_id TEXT NOT NULL, job_id TEXT NOT NULL, created_at BIGINT NOT NULL,
  UNIQUE (project, model, number));
CREATE INDEX model_versions_by_run ON model_versions (run_id);
CREATE INDEX model_versions_by_digest ON model_versions (digest);
CREATE TABLE datasets (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL, project TEXT NOT NULL, created_at BIGINT NOT NULL, UNIQUE (project, name));
CREATE TABLE dataset_versions (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  dataset TEXT NOT NULL, project TEXT NOT NULL, number BIGINT NOT NULL,
  manifest_digest TEXT NOT NULL, created_at BIGINT NOT NULL, UNIQUE (project, dataset, number));
CREATE TABLE deliveries (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  project TEXT NOT NULL, job_id TEXT NOT NULL, state TEXT NOT NULL, created_at BIGINT NOT NULL,
  next_try_at BIGINT NOT NULL);
CREATE INDEX deliveries_by_state ON deliveries (state, next_try_at);
)";

// What was only ever derived from the points (latest_metrics) goes; summaries of runs that were
// compacted before are made at their first use.
constexpr std::string_view kTracking = R"(
ALTER TABLE metric_batches ADD COLUMN attempt BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metric_batches ADD COLUMN rank BIGINT NOT NULL DEFAULT 0;
ALTER TABLE metric_batches ADD COLUMN keys BIGINT NOT NULL DEFAULT 0;
UPDATE metric_batches SET
  attempt = coalesce((SELECT attempts.number FROM tasks JOIN attempts
    ON attempts.id = tasks.attempt_id WHERE tasks.id = metric_batches.task_id), 0),
  rank = coalesce((SELECT tasks.rank FROM tasks WHERE tasks.id = metric_batches.task_id), 0)
  WHERE task_id <> '';
CREATE INDEX metric_batches_by_kind ON metric_batches (kind, run_id);
CREATE TABLE run_metrics (run_id TEXT PRIMARY KEY, keys BIGINT NOT NULL, block BIGINT NOT NULL,
  body BYTES NOT NULL);
CREATE INDEX run_metrics_by_block ON run_metrics (block);
CREATE TABLE metric_blocks (block BIGINT PRIMARY KEY, body BYTES NOT NULL);
CREATE TABLE metric_columns (key TEXT NOT NULL, block BIGINT NOT NULL, body BYTES NOT NULL,
  PRIMARY KEY (key, block));
CREATE INDEX metric_columns_by_block ON metric_columns (block);
CREATE TABLE run_inputs (run_id TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  digest TEXT NOT NULL, position BIGINT NOT NULL, context TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (run_id, kind, name, digest));
CREATE TABLE model_runs (model_id TEXT NOT NULL, run_id TEXT NOT NULL,
  PRIMARY KEY (model_id, run_id));
CREATE TABLE run_claims (run_id TEXT PRIMARY KEY, attempt_id TEXT NOT NULL);
CREATE TABLE run_changes (seq BIGINT PRIMARY KEY, run_id TEXT NOT NULL, batch TEXT NOT NULL);
CREATE INDEX runs_by_parent ON runs (parent_id);
CREATE INDEX runs_by_deletion ON runs (deleted_at);
DROP TABLE latest_metrics;
)";

// Each change of a live parameter, for good.
constexpr std::string_view kLiveHistory = R"(
CREATE TABLE live_history (run_id TEXT NOT NULL, version BIGINT NOT NULL, name TEXT NOT NULL,
  value TEXT NOT NULL, before TEXT NOT NULL, asked_by TEXT NOT NULL, asked_at BIGINT NOT NULL,
  step BIGINT, applied_at BIGINT NOT NULL, applied_by BIGINT NOT NULL,
  PRIMARY KEY (run_id, version, name));
)";

constexpr std::string_view kLoggedModels = R"(
CREATE TABLE logged_models (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  project TEXT NOT NULL, experiment_id TEXT NOT NULL, name TEXT NOT NULL, run_id TEXT NOT NULL,
  created_at BIGINT NOT NULL);
CREATE INDEX logged_models_by_experiment ON logged_models (experiment_id, created_at, id);
)";

constexpr std::string_view kCapacity = R"(
CREATE TABLE quotas (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  project TEXT NOT NULL UNIQUE);
CREATE TABLE pools (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL UNIQUE);
CREATE TABLE node_orders (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  node TEXT NOT NULL UNIQUE);
CREATE TABLE reservations (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL UNIQUE);
)";

constexpr std::string_view kViews = R"(
CREATE TABLE views (id TEXT PRIMARY KEY, version BIGINT NOT NULL, body TEXT NOT NULL,
  name TEXT NOT NULL, page TEXT NOT NULL, project TEXT NOT NULL, owner TEXT NOT NULL,
  shared BIGINT NOT NULL, created_at BIGINT NOT NULL);
CREATE INDEX views_by_owner ON views (owner);
CREATE INDEX views_by_project ON views (project, shared);
)";

// Who has which metric keys: by block and experiment; '': of all experiments of the block.
constexpr std::string_view kMetricUses = R"(
CREATE TABLE metric_uses (block BIGINT NOT NULL, experiment_id TEXT NOT NULL,
  runs BIGINT NOT NULL, body BYTES NOT NULL, PRIMARY KEY (block, experiment_id));
)";

constexpr std::array kMigrations = {
    Migration{1, "the first tables", kFirst},
    Migration{2, "tracking", kTracking},
    Migration{3, "the history of live parameters", kLiveHistory},
    Migration{4, "logged models", kLoggedModels},
    Migration{5, "quotas, pools, nodes and reservations", kCapacity},
    Migration{6, "saved views", kViews},
    Migration{7, "counts of metric keys", kMetricUses},
};

}  // namespace

std::span<const Migration> migrations() {
  return kMigrations;
}

}  // namespace hearth::db
