// A database of the first version, with points, rows and packs in it, taken to the tables of today.
#include <gtest/gtest.h>

#include "control/ingest/metric_store.h"
#include "control/small_world_test.h"
#include "control/tracking/blocks.h"
#include "control/tracking/tracking.h"
#include "track/metric_batch.h"
#include "track/metric_pack.h"

namespace hearth::control {
namespace {

Bytes batch(int64_t from, int64_t to) {
  std::vector<track::Point> points;
  for (int64_t step = from; step < to; ++step)
    points.push_back({step, {step}, static_cast<double>(-step)});
  return need(track::encode_batch(std::vector{track::KeySeries{"loss", points}}));
}

class TrackingMigrationTest : public testing::Test {
 protected:
  using Run = hearth::Run;  // testing::Test has a private one

  TrackingMigrationTest() {
    const auto first = need(db::open_sqlite({.path = path_, .migrations = first_version()}));
    need(first->migrate());
    need(first->write([&](db::Session& session) { return fill(session); }));
  }
  static std::span<const db::Migration> first_version() { return db::migrations().first(1); }

  // Three rows of one run: a pack, and what two attempts of its job logged after it.
  Result<void> fill(db::Session& session) {
    const Run run{.id = run_id_, .name = "old-1", .project = "default", .job_id = "job"};
    TRY(session.execute(
        "INSERT INTO runs (id, version, body, name, project, experiment_id, job_id, parent_id, "
        "owner, status, created_at, started_at, finished_at, deleted_at) VALUES ($1, 0, $2, "
        "'old-1', 'default', 'e', 'job', '', '', 'finished', 1, 1, 2, 0)",
        {run.id, to_json(run)}));
    for (const int64_t number : {1, 2}) {
      const std::string attempt = format("attempt-{}", number), task = format("task-{}", number);
      TRY(
          session.execute("INSERT INTO attempts (id, version, body, job_id, number, state, "
                          "created_at) VALUES ($1, 0, '{}', 'job', $2, 'failed', 1)",
                          {attempt, number}));
      TRY(
          session.execute("INSERT INTO tasks (id, version, body, attempt_id, job_id, rank, state, "
                          "node, created_at) VALUES ($1, 0, '{}', $2, 'job', $3, 'failed', '', 1)",
                          {task, attempt, number + 4}));
      TRY(session.execute(
          "INSERT INTO metric_batches (run_id, id, kind, task_id, points, first_time, body) "
          "VALUES ($1, $2, 'metric', $3, 5, 1, $4)",
          {run.id, format("row-{}", number), task, batch(5 * number, 5 * number + 5)}));
    }
    track::PointsByKey pack;
    for (int64_t step = 0; step < 5; ++step) pack["loss"].push_back({step, {step}, 100});
    TRY(session.execute(
        "INSERT INTO metric_batches (run_id, id, kind, task_id, points, first_time, body) VALUES "
        "($1, 'pack', 'metric_pack', '', 5, 0, $2)",
        {run.id, track::make_pack(pack)}));
    TRY(
        session.execute("INSERT INTO latest_metrics (run_id, key, value, special, step, time) "
                        "VALUES ($1, 'loss', -14, '', 14, 14)",
                        {run.id}));
    return {};
  }

  db::TestFolder folder_;
  const std::string path_ = folder_.file("hearth.db");
  const std::string run_id_ = new_id();
};

TEST_F(TrackingMigrationTest, EveryPointIsThereWithItsAttempt) {
  const auto database = need(db::open_sqlite({.path = path_}));
  need(database->migrate());
  need(database->check());
  need(database->read([&](db::Session& session) -> Result<void> {
    const std::string key = "loss";
    const auto all = TRY(read_run(session, run_id_, std::span(&key, 1)));
    const auto& points = all.keys.at("loss").points;
    EXPECT_EQ(points.size(), 15U);
    EXPECT_EQ(points[2].attempt, 0);  // of packs nobody knew
    EXPECT_EQ(points[7].attempt, 1);
    EXPECT_EQ(points[7].rank, 5);
    EXPECT_EQ(points[12].attempt, 2);
    EXPECT_EQ(points[12].rank, 6);
    const auto summary = TRY(read_summaries(session, run_id_)).at("loss");
    EXPECT_EQ(summary.last.step, 14);
    EXPECT_EQ(summary.max, 100);
    EXPECT_EQ(summary.min, -14);
    return {};
  }));
  // The summary of the older pack is made once.
  const auto count = [&](const std::string& sql) {
    int64_t n = -1;
    need(database->read([&](db::Session& session) {
      return session.query(sql, {}, [&](const db::Row& row) -> Result<void> {
        n = row.integer(0);
        return {};
      });
    }));
    return n;
  };
  EXPECT_EQ(count("SELECT COUNT(*) FROM run_metrics"), 0);
  need(sum_up_older(*database));
  EXPECT_EQ(count("SELECT COUNT(*) FROM run_metrics"), 1);
  EXPECT_EQ(count("SELECT COUNT(*) FROM settings WHERE key = 'metric_summaries'"), 1);
}

TEST_F(TrackingMigrationTest, SearchKnowsOlderRunsBeforeAndAfterTheirSummary) {
  auto objects = need(objects::DirectoryObjects::open(folder_.file("objects")));
  const auto database = need(db::open_sqlite({.path = path_}));
  need(database->migrate());
  Signals signals;
  TestClock clock;
  const Context context{*database, *objects, signals, clock, system_random()};
  Access access(context, Bytes(32, std::byte{7}));
  const Identity admin = need(
      access.authenticate(need(access.bootstrap("root")).value().text, "127.0.0.1", "request"));
  for (int round = 0; round < 2; ++round) {
    Tracking tracking(context, access);
    RunSearch query;
    query.order_by = {{{Side::metric, "loss", Which::max}, true}};
    query.with_bounds = true;
    const RunPage page = need(tracking.search_runs(admin, query));
    ASSERT_EQ(page.runs.size(), 1U);
    EXPECT_EQ(page.runs[0].bounds.at("loss"), std::pair(-14.0, 100.0));
    EXPECT_EQ(page.runs[0].run.metrics.at("loss").step, 14);
    need(tracking.tidy());
  }
}

}  // namespace
}  // namespace hearth::control
