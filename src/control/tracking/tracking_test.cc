// Experiments, runs, what is logged and read back.
#include "control/tracking/tracking.h"

#include <cmath>
#include <limits>

#include "base/log.h"
#include "control/ingest/metric_store.h"
#include "control/tracking/tracking_world_test.h"

namespace hearth::control {
namespace {

using Strings = std::vector<std::string>;

TEST_F(TrackingTest, EveryProjectHasADefaultExperimentOfItsOwn) {
  EXPECT_EQ(need(tracking.get_experiment(world.member, "0")).id, "0");
  EXPECT_EQ(need(tracking.get_experiment(world.member, "0")).name, "Default");
  EXPECT_EQ(need(tracking.get_experiment_by_name(world.member, "Default")).id, "0");
  const Experiment other = need(tracking.get_experiment(world.stranger, "0", "other"));
  EXPECT_EQ(other.id, "0-other");
  EXPECT_EQ(other.project, "other");
  EXPECT_EQ(code_of(tracking.get_experiment(world.stranger, "0", "default")), Code::not_found);
  EXPECT_EQ(code_of(tracking.get_experiment(world.member, "0-other")), Code::not_found);
  EXPECT_EQ(code_of(tracking.delete_experiment(world.member, "0")), Code::invalid);
}

TEST_F(TrackingTest, ExperimentsAreMadeRenamedDeletedRestored) {
  const std::string id = experiment("cnn");
  EXPECT_EQ(code_of(tracking.create_experiment(world.member, {.name = "cnn"})), Code::exists);
  EXPECT_EQ(code_of(tracking.create_experiment(world.member, {.name = ""})), Code::invalid);
  EXPECT_EQ(code_of(tracking.create_experiment(world.viewer, {.name = "x"})), Code::denied);
  world.clock.advance(Duration::seconds(1));
  const Experiment renamed = need(tracking.rename_experiment(world.member, id, "cnn-2"));
  EXPECT_GT(renamed.updated_at, renamed.created_at);
  EXPECT_EQ(code_of(tracking.rename_experiment(world.member, id, "Default")), Code::exists);
  need(tracking.set_experiment_tag(world.member, id, "team", "vision"));
  EXPECT_EQ(need(tracking.get_experiment(world.viewer, id)).tags.at("team"), "vision");
  need(tracking.delete_experiment_tag(world.member, id, "team"));
  EXPECT_EQ(code_of(tracking.delete_experiment_tag(world.member, id, "team")), Code::not_found);

  const std::string kept = add_run(id, "kept"), gone = add_run(id, "gone");
  need(tracking.delete_run(world.member, gone));
  world.clock.advance(Duration::seconds(1));
  need(tracking.delete_experiment(world.member, id));
  EXPECT_NE(need(tracking.get_run(world.member, kept)).run.deleted_at.micros, 0);
  EXPECT_EQ(code_of(tracking.create_run(world.member, {.experiment_id = id})), Code::conflict);
  EXPECT_EQ(code_of(tracking.rename_experiment(world.member, id, "x")), Code::conflict);
  const auto taken = tracking.create_experiment(world.member, {.name = "cnn-2"});
  EXPECT_EQ(code_of(taken), Code::exists);
  EXPECT_NE(taken.error().detail.find("deleted"), std::string::npos);
  need(tracking.restore_experiment(world.member, id));
  EXPECT_EQ(need(tracking.get_run(world.member, kept)).run.deleted_at.micros, 0);
  // What was deleted by itself stays so.
  EXPECT_NE(need(tracking.get_run(world.member, gone)).run.deleted_at.micros, 0);
}

TEST_F(TrackingTest, ARunHasWhatItWasGiven) {
  const std::string id = experiment("e");
  const TrackedRun made = need(
      tracking.create_run(world.member, {.experiment_id = id,
                                         .name = "first",
                                         .user = "somebody",
                                         .started_at = Time{5'000'000},
                                         .tags = {{"k", "v"}, {"mlflow.parentRunId", "above"}}}));
  EXPECT_EQ(made.run.user, "somebody");
  EXPECT_EQ(made.run.owner, "ann");
  EXPECT_EQ(made.run.parent_id, "above");
  EXPECT_EQ(made.run.started_at.micros, 5'000'000);
  EXPECT_EQ(made.run.status, RunStatus::running);
  EXPECT_EQ(made.run.tags.at("mlflow.runName"), "first");
  EXPECT_EQ(made.artifact_uri, "mlflow-artifacts:/" + id + "/" + made.run.id + "/artifacts");
  const TrackedRun ended = need(tracking.update_run(
      world.member, made.run.id,
      {.status = RunStatus::finished, .finished_at = Time{9'000'000}, .name = "second"}));
  EXPECT_EQ(ended.run.status, RunStatus::finished);
  EXPECT_EQ(ended.run.finished_at.micros, 9'000'000);
  EXPECT_EQ(ended.run.tags.at("mlflow.runName"), "second");
  const Run read = need(tracking.get_run(world.viewer, made.run.id)).run;
  EXPECT_EQ(read.version, ended.run.version);
  EXPECT_EQ(read.name, "second");
  EXPECT_EQ(code_of(tracking.get_run(world.stranger, made.run.id)), Code::not_found);
  EXPECT_EQ(code_of(tracking.update_run(world.viewer, made.run.id, {})), Code::denied);
  need(tracking.delete_run(world.member, made.run.id));
  EXPECT_EQ(code_of(tracking.update_run(world.member, made.run.id, {})), Code::conflict);
  EXPECT_EQ(code_of(tracking.set_tag(world.member, made.run.id, "a", "b")), Code::conflict);
  EXPECT_EQ(code_of(tracking.log_batch(world.member, made.run.id, {.metrics = {metric("m", 1)}})),
            Code::conflict);
}

TEST_F(TrackingTest, ABatchIsWrittenWholeOrNotAtAll) {
  const std::string run = add_run(experiment("e"));
  need(tracking.log_batch(world.member, run,
                          {.metrics = {metric("loss", 2, 1)},
                           .params = {{"lr", "0.1"}},
                           .tags = {{"t", "1"}, {"t", "2"}}}));
  need(tracking.log_batch(world.member, run, {.params = {{"lr", "0.1"}}}));  // the same again
  const auto again = tracking.log_batch(
      world.member, run,
      {.metrics = {metric("loss", 1, 2)}, .params = {{"lr", "0.2"}}, .tags = {{"t", "3"}}});
  EXPECT_EQ(code_of(again), Code::invalid);
  EXPECT_NE(again.error().detail.find("Changing param values is not allowed"), std::string::npos);
  EXPECT_EQ(values(run, "loss"), (std::vector<double>{2}));
  const Run read = need(tracking.get_run(world.member, run)).run;
  EXPECT_EQ(read.tags.at("t"), "2");
  EXPECT_EQ(read.params.at("lr"), "0.1");
  EXPECT_EQ(read.metrics.at("loss").value, 2);
  EXPECT_EQ(code_of(tracking.delete_tag(world.member, run, "none")), Code::not_found);
  need(tracking.delete_tag(world.member, run, "t"));
  EXPECT_FALSE(need(tracking.get_run(world.member, run)).run.tags.contains("t"));
}

TEST_F(TrackingTest, HistoriesComeInPagesEachPointOnce) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::string run = add_run(experiment("e"));
  for (int i = 0; i < 100; ++i) log(run, {metric("loss", i % 7 == 0 ? inf : i, i)});
  log(run, {metric("loss", 5, 5), metric("loss", std::nan(""), 200)});  // one of them again
  std::vector<double> all;
  HistoryQuery query{.run_id = run, .key = "loss", .limit = 7};
  int pages = 0;
  do {
    const HistoryPage page = need(tracking.history(world.viewer, query));
    for (const HistoryPoint& point : page.points) all.push_back(point.value);
    query.cursor = page.next_cursor;
    ++pages;
    // Rows are merged while somebody pages.
    if (pages == 5) need(tracking.tidy());
  } while (!query.cursor.empty());
  ASSERT_EQ(all.size(), 101U);
  EXPECT_EQ(all[7], inf);
  EXPECT_EQ(all[99], 99);
  EXPECT_TRUE(std::isnan(all[100]));
  EXPECT_EQ(pages, 15);
  query.cursor = "nonsense";
  EXPECT_EQ(code_of(tracking.history(world.viewer, query)), Code::invalid);
  EXPECT_EQ(need(tracking.get_run(world.member, run)).run.metrics.at("loss").step, 200);
}

TEST_F(TrackingTest, ALaterAttemptWinsFromWhereItWentOn) {
  const Run run = world.add_run("job-1");
  const auto add = [&](int64_t attempt, int64_t from, int64_t to, double value) {
    world.write([&](db::Session& session) -> Result<void> {
      std::vector<KeyPoint> points;
      for (int64_t step = from; step < to; ++step)
        points.push_back({"loss", {step, {step * 1000}, value}});
      const std::string id = new_id();
      TRY(add_points(session, run.id, {"task", attempt, 3}, MetricKind::metric, by_key(points),
                     id));
      return db::note_run_change(session, run.id, id);
    });
  };
  const auto check = [&](const char* when) {
    const HistoryPage page =
        need(tracking.history(world.member, {.run_id = run.id, .key = "loss"}));
    ASSERT_EQ(page.points.size(), 12U) << when;
    for (const HistoryPoint& point : page.points) {
      EXPECT_EQ(point.attempt, point.step < 6 ? 1 : 2) << when;
      EXPECT_EQ(point.rank, 3) << when;
    }
    EXPECT_EQ(need(tracking.history(world.member,
                                    {.run_id = run.id, .key = "loss", .all_attempts = true}))
                  .points.size(),
              16U);
    RunSearch query;
    query.with_bounds = true;
    const RunPage found = need(tracking.search_runs(world.member, query));
    ASSERT_EQ(found.runs.size(), 1U);
    // 99 was logged by the first attempt behind the step from which the second went on.
    EXPECT_EQ(found.runs[0].bounds.at("loss"), std::pair(1.0, 2.0)) << when;
    EXPECT_EQ(found.runs[0].run.metrics.at("loss").step, 11) << when;
  };
  add(1, 0, 9, 1);
  EXPECT_EQ(names({}).size(), 1U);  // the index has the first attempt
  add(1, 9, 10, 99);
  add(2, 6, 12, 2);
  check("as rows");
  need(compact_run(*world.database, run.id, MetricKind::metric, [] { return new_id(); }, 1));
  check("merged");
  Tracking fresh(world.context(), *world.access);
  RunSearch query;
  query.with_bounds = true;
  EXPECT_EQ(need(fresh.search_runs(world.member, query)).runs.at(0).bounds.at("loss").second, 2.0);
}

// More of them than go in one transaction; what is not to go on leaves the rest as it is.
TEST_F(TrackingTest, ManyRunsAreMergedTogether) {
  const std::string in = experiment("e");
  std::vector<std::string> runs;
  for (size_t i = 0; i < kRunsAtOnce + 10; ++i) {
    runs.push_back(add_run(in));
    for (const int64_t step : {1, 2}) log(runs.back(), {metric("m", 0.5, step)});
  }
  const auto waiting = [&] {
    return world.count("SELECT COUNT(*) FROM metric_batches WHERE kind = 'metric'");
  };
  int asked = 0;
  const auto merge = [&](int most) {
    asked = 0;
    need(compact_runs(
        *world.database, runs, MetricKind::metric, [] { return new_id(); },
        [&] { return ++asked <= most; }));
  };
  merge(0);
  EXPECT_EQ(waiting(), static_cast<int64_t>(2 * runs.size()));
  merge(1);
  EXPECT_EQ(waiting(), 20);
  merge(10);
  EXPECT_EQ(waiting(), 0);
  for (const std::string& run : runs) EXPECT_EQ(values(run, "m").size(), 2U);
}

// A hundred keys with a point or two each: chunks would take ten times the room.
TEST_F(TrackingTest, FewPointsOfManyKeysStaySmallWhenTheyAreMerged) {
  const std::string run = add_run(experiment("e"));
  const auto log_step = [&](int64_t step) {
    std::vector<LoggedMetric> metrics;
    for (int i = 0; i < 100; ++i) metrics.push_back(metric(format("m{}", i), 0.1 * i, step));
    log(run, metrics);
  };
  const auto merge = [&] {
    need(compact_run(*world.database, run, MetricKind::metric, [] { return new_id(); }, 1));
  };
  const auto bytes = [&] { return world.count("SELECT SUM(LENGTH(body)) FROM metric_batches"); };
  log_step(0);
  const int64_t before = bytes();
  merge();
  EXPECT_LE(bytes(), before);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_batches WHERE kind = 'metric'"), 0);
  for (int64_t step = 1; step < 20; ++step) {
    log_step(step);
    merge();
    EXPECT_EQ(values(run, "m7").size(), static_cast<size_t>(step) + 1);
  }
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_batches"), 1);
  EXPECT_EQ(need(tracking.get_run(world.member, run)).run.metrics.at("m99").step, 19);
}

TEST_F(TrackingTest, WhatAMetricWasMeasuredOnStaysWithIt) {
  const std::string run = add_run(experiment("e"));
  LoggedMetric on_model = metric("acc", 0.9, 3);
  on_model.model_id = "m-1";
  on_model.dataset_name = "mnist";
  on_model.dataset_digest = "abc";
  log(run, {metric("acc", 0.5, 1), on_model});
  const HistoryPage page = need(tracking.history(world.member, {.run_id = run, .key = "acc"}));
  ASSERT_EQ(page.points.size(), 2U);
  EXPECT_EQ(page.points[0].model_id, "");
  EXPECT_EQ(page.points[1].model_id, "m-1");
  EXPECT_EQ(page.points[1].dataset_digest, "abc");
  EXPECT_EQ(need(tracking.get_run(world.member, run)).run.metrics.size(), 1U);
  for (const std::string& of : {run, std::string()}) {
    const auto found = need(tracking.model_metrics(world.member, "m-1", of));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].key, "acc");
    EXPECT_EQ(found[0].dataset_name, "mnist");
    EXPECT_EQ(found[0].value, 0.9);
  }
  EXPECT_TRUE(need(tracking.model_metrics(world.stranger, "m-1", "")).empty());
}

TEST_F(TrackingTest, ADamagedRowIsNamedTheRestIsRead) {
  const std::string run = add_run(experiment("e"));
  for (int i = 0; i < 3; ++i) log(run, {metric("loss", i, i)});
  world.write([&](db::Session& session) -> Result<void> {
    TRY(
        session.execute("UPDATE metric_batches SET body = $1 WHERE id = (SELECT min(id) FROM "
                        "metric_batches)",
                        {Bytes(40, std::byte{1})}));
    return {};
  });
  const HistoryPage page = need(tracking.history(world.member, {.run_id = run, .key = "loss"}));
  EXPECT_EQ(page.points.size(), 2U);
  ASSERT_EQ(page.damaged.size(), 1U);
  EXPECT_TRUE(page.damaged[0].starts_with(format("run {}, metric row ", run))) << page.damaged[0];
  // What cannot say that it is a part is not given.
  const auto part = tracking.histories(world.member, {.run_ids = {run}, .keys = {"loss"}});
  EXPECT_EQ(code_of(part), Code::internal);
  EXPECT_EQ(part.error().detail, page.damaged[0]);
  EXPECT_EQ(code_of(tracking.interval(world.member, {.run_ids = {run}, .key = "loss"})),
            Code::internal);
  // Nothing drops it.
  need(tracking.update_run(world.member, run, {.status = RunStatus::finished}));
  need(tracking.tidy());
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_batches"), 2);
  EXPECT_EQ(values(run, "loss").size(), 2U);
}

TEST_F(TrackingTest, ADamagedChunkIsNamedByItsKey) {
  const std::string run = add_run(experiment("e"));
  for (int i = 0; i < 100; ++i) log(run, {metric("acc", i, i), metric("loss", -i, i)});
  need(tracking.update_run(world.member, run, {.status = RunStatus::finished}));
  need(tracking.tidy());
  Bytes body;
  std::string row;
  need(world.database->read([&](db::Session& session) {
    return session.query("SELECT id, body FROM metric_batches", {},
                         [&](const db::Row& found) -> Result<void> {
                           row = found.text(0);
                           body.assign(found.bytes(1).begin(), found.bytes(1).end());
                           return {};
                         });
  }));
  body.back() ^= std::byte{0x10};  // of the last key's chunk
  world.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute("UPDATE metric_batches SET body = $1", {body}));
    return {};
  });
  std::string logged;
  set_log_sink([&](Level, std::string_view line) { logged += std::string(line) + "\n"; });
  const MetricsAnswer answer =
      need(tracking.metrics(world.member, {.run_ids = {run}, .keys = {"acc", "loss"}}));
  set_log_sink({});
  const std::string name = format("run {}, metric row {}, key loss: ", run, row);
  ASSERT_EQ(answer.damaged.size(), 1U);
  EXPECT_TRUE(answer.damaged[0].starts_with(name)) << answer.damaged[0];
  EXPECT_NE(logged.find(name), std::string::npos) << logged;
  ASSERT_EQ(answer.series.size(), 1U);  // the rest is read
  EXPECT_EQ(answer.series[0].key, "acc");
  EXPECT_EQ(values(run, "acc").size(), 100U);
  EXPECT_EQ(need(tracking.get_run(world.member, run)).run.metrics.at("loss").value, -99);
}

// A bit that flips on the disk hurts a page of the database, and with it one row.
TEST_F(TrackingTest, ARowOnADamagedPageIsNamedTheRestIsRead) {
  const std::string run = add_run(experiment("e"));
  const auto log_part = [&](int part) {
    std::vector<LoggedMetric> points;
    for (int i = 0; i < 2000; ++i)
      points.push_back(metric("loss", std::sqrt(1e6 * part + i), 2000 * part + i));
    points.push_back(metric(format("part{}", part), part));
    world.clock.advance(Duration::millis(10));  // ids of rows stand in the order of time
    log(run, points);
  };
  for (int part = 0; part < 3; ++part) log_part(part);
  std::vector<Bytes> bodies;
  std::vector<std::string> rows;
  need(world.database->read([&](db::Session& session) {
    return session.query("SELECT id, body FROM metric_batches ORDER BY id", {},
                         [&](const db::Row& row) -> Result<void> {
                           rows.emplace_back(row.text(0));
                           bodies.emplace_back(row.bytes(1).begin(), row.bytes(1).end());
                           return {};
                         });
  }));
  ASSERT_EQ(rows.size(), 3U);
  // Some part of the second row's bytes fills a page.
  const auto database = reopen_flipped(as_text(std::span(bodies[1]).subspan(9000, 100)));
  const Context context{*database, *world.objects, world.signals, world.clock, system_random()};
  Access access(context, Bytes(32, std::byte{7}));
  Tracking again(context, access);
  set_log_sink([](Level, std::string_view) {});
  const HistoryPage page = need(again.history(world.member, {.run_id = run, .key = "loss"}));
  set_log_sink({});
  EXPECT_EQ(page.points.size(), 4000U);
  EXPECT_EQ(page.points[2000].step, 4000);
  ASSERT_EQ(page.damaged.size(), 1U);
  EXPECT_TRUE(page.damaged[0].starts_with(format("run {}, metric row {}: ", run, rows[1])))
      << page.damaged[0];
  EXPECT_NE(page.damaged[0].find("page"), std::string::npos) << page.damaged[0];
  const auto metrics = need(again.get_run(world.member, run)).run.metrics;
  EXPECT_TRUE(metrics.contains("part0") && metrics.contains("part2"));
  EXPECT_EQ(need(again.search_runs(world.member, {})).runs.size(), 1U);
  EXPECT_NE(database->refusing(), "");
}

TEST_F(TrackingTest, ChartsAreCutAtPowersOfTwo) {
  const std::string run = add_run(experiment("e"));
  std::vector<LoggedMetric> all;
  for (int i = 0; i < 1000; ++i) all.push_back(metric("loss", i == 777 ? -5 : i, i));
  all[500].value = std::nan("");
  log(run, all);
  MetricsQuery query{.run_ids = {run}, .keys = {"loss", "none"}, .columns = 100};
  const MetricsAnswer answer = need(tracking.metrics(world.member, query));
  EXPECT_EQ(answer.column_width, 16);
  ASSERT_EQ(answer.series.size(), 1U);
  const MetricSeries& series = answer.series[0];
  ASSERT_EQ(series.x.size(), 63U);
  EXPECT_EQ(series.x[48], 768);
  EXPECT_EQ(series.min[48], -5);
  EXPECT_EQ(series.max[48], 783);
  EXPECT_EQ(series.count[48], 16);
  EXPECT_EQ(series.not_finite[31], 1);
  EXPECT_EQ(series.last.back(), 999);
  EXPECT_EQ(series.last_x.back(), 999);
  // Appending changes the last column alone.
  log(run, {metric("loss", 3, 1000)});
  const MetricSeries more = need(tracking.metrics(world.member, query)).series.at(0);
  EXPECT_TRUE(std::equal(series.min.begin(), series.min.end() - 1, more.min.begin()));
  query.first = 100;
  query.last = 110;
  EXPECT_EQ(need(tracking.metrics(world.member, query)).series.at(0).x.size(), 11U);
}

TEST_F(TrackingTest, SampledStepsKeepFirstAndLast) {
  const std::string e = experiment("e");
  const std::string a = add_run(e), b = add_run(e);
  for (int i = 0; i < 50; ++i) {
    log(a, {metric("m", i, i)});
    if (i >= 20) log(b, {metric("m", i, i)});
  }
  const auto histories =
      need(tracking.interval(world.member, {.run_ids = {a, b}, .key = "m", .most_per_run = 5}));
  ASSERT_EQ(histories.size(), 2U);
  EXPECT_EQ(histories[0].points.front().step, 0);
  EXPECT_EQ(histories[0].points.back().step, 49);
  EXPECT_EQ(histories[1].points.front().step, 20);
  EXPECT_LE(histories[0].points.size(), 8U);
  const auto bulk =
      need(tracking.histories(world.member, {.run_ids = {a, b}, .keys = {"m"}, .most_points = 60}));
  ASSERT_EQ(bulk.size(), 2U);
  EXPECT_EQ(bulk[0].points.size() + bulk[1].points.size(), 60U);
}

TEST_F(TrackingTest, InputsAreKeptOnce) {
  const std::string run = add_run(experiment("e"));
  const DatasetInput input{.name = "mnist",
                           .digest = "d1",
                           .source_type = "local",
                           .source = "{}",
                           .schema = "s",
                           .profile = "p",
                           .tags = {{"mlflow.data.context", "training"}}};
  need(tracking.log_inputs(world.member, run, {input}, {{.model_id = "m-1"}}));
  need(tracking.log_inputs(world.member, run, {input}, {}));
  need(tracking.log_outputs(world.member, run, {{.model_id = "m-2", .step = 4}}));
  const TrackedRun read = need(tracking.get_run(world.member, run));
  ASSERT_EQ(read.inputs.size(), 1U);
  EXPECT_EQ(read.inputs[0], input);
  EXPECT_EQ(read.model_inputs.at(0).model_id, "m-1");
  EXPECT_EQ(read.model_outputs.at(0).step, 4);
  const auto used = need(tracking.search_datasets(world.member, {read.run.experiment_id}));
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(used[0].context, "training");
}

TEST_F(TrackingTest, RelaxedMetricsAreThereAfterAFlush) {
  const std::string run = add_run(experiment("e"));
  need(tracking.start());
  for (int i = 0; i < 100; ++i)
    need(tracking.log_batch(
        world.member, run, {.metrics = {metric("loss", i, i)}, .durability = Durability::relaxed}));
  need(tracking.flush());
  EXPECT_EQ(values(run, "loss").size(), 100U);
  for (int i = 100; i < 150; ++i)
    need(tracking.log_batch(
        world.member, run, {.metrics = {metric("loss", i, i)}, .durability = Durability::relaxed}));
  tracking.stop();  // writes what waits
  EXPECT_EQ(values(run, "loss").size(), 150U);
  EXPECT_EQ(names({}).size(), 1U);
}

TEST_F(TrackingTest, DeletedRunsAreCollectedWithAllTheyHad) {
  TrackingOptions options;
  options.keep_deleted = Duration::seconds(60);
  Tracking short_lived(world.context(), *world.access, options);
  const std::string e = experiment("e");
  const std::string gone = add_run(e, "gone"), kept = add_run(e, "kept");
  for (const std::string& run : {gone, kept}) log(run, {metric("loss", 1)});
  need(short_lived.search_runs(world.member, {}));
  need(short_lived.delete_run(world.member, gone));
  need(short_lived.tidy());
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_batches"), 2);
  world.clock.advance(Duration::seconds(61));
  need(short_lived.tidy());
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM metric_batches"), 1);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM runs"), 1);
  RunSearch query;
  query.view = View::all;
  EXPECT_EQ(need(short_lived.search_runs(world.member, query)).runs.size(), 1U);
  // Also who knew it a moment ago says so, in place of an empty history.
  EXPECT_EQ(code_of(short_lived.history(world.member, {.run_id = gone, .key = "loss"})),
            Code::not_found);
}

TEST_F(TrackingTest, ImportsAreCountedRunByRun) {
  Tracking strict{world.context(), *world.access, {.most_counted_points = 2}};
  const std::string small = add_run("0"), large = add_run("0");
  log(small, {metric("a", 1)});
  log(large, {metric("a", 1), metric("a", 2, 1), metric("a", 3, 2)});
  const auto counts = need(strict.count_imported(world.member, {large, small}));
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_TRUE(counts[0].too_many_points);
  EXPECT_EQ(counts[1].points, 1) << "the others are counted";
}

}  // namespace
}  // namespace hearth::control
