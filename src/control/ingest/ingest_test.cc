#include "control/ingest/ingest.h"

#include <cmath>
#include <limits>

#include "control/ingest/ingest_world_test.h"
#include "control/ingest/metric_store.h"

namespace hearth::control {
namespace {

TaskRecord metric(int64_t seq, int64_t step, std::map<std::string, double> values) {
  return {.seq = seq,
          .kind = "metric",
          .time = {step * 1000},
          .step = step,
          .values = std::move(values)};
}

TEST_F(IngestTest, StatesMoveTheTaskForwardOnce) {
  SyncHead h = head();
  h.states.push_back({.seq = 1, .time = {100}, .state = TaskState::preparing, .limits = "watched"});
  h.states.push_back({.seq = 2,
                      .time = {200},
                      .state = TaskState::running,
                      .environment = {{"python", "/usr/bin/python3"}, {"host", "a"}},
                      .dataset_fingerprints = {"fp"}});
  const uint64_t queue = world.signals.version(kQueueTopic);
  const SyncAnswer answer = need(sync(h));
  EXPECT_EQ(answer.acknowledged.state, 2);
  EXPECT_FALSE(answer.stop);
  EXPECT_GT(world.signals.version(kQueueTopic), queue);
  EXPECT_EQ(task().state, TaskState::running);
  EXPECT_EQ(task().preparing_at.micros, 100);
  EXPECT_EQ(task().running_at.micros, 200);
  EXPECT_EQ(task().limits, "watched");
  EXPECT_EQ(the_run().environment.at("python"), "/usr/bin/python3");
  EXPECT_EQ(the_run().datasets[1].digest, "fp");
  EXPECT_EQ(the_run().datasets[0].digest, "");
  // Sent again, as the answer was lost: nothing twice. An older state does not lead back.
  EXPECT_EQ(need(sync(h)).acknowledged.state, 2);
  EXPECT_EQ(need(sync_state(3, TaskState::preparing)).acknowledged.state, 3);
  EXPECT_EQ(task().state, TaskState::running);
  EXPECT_EQ(events_of("task.preparing"), 1);
  EXPECT_EQ(events_of("task.running"), 1);
  // The Python that it really ran; and that of another task does not come in its place.
  for (const auto& [seq, python] : {std::pair(4, "/venv/bin/python"), {5, "/other/python"}}) {
    SyncHead saving = head();
    saving.states.push_back({.seq = seq, .time = {300}, .state = TaskState::saving});
    saving.states.back().environment = {
        {"python", python}, {"python_version", "3.12"}, {"host", "b"}};
    EXPECT_EQ(need(sync(saving)).acknowledged.state, seq);
    EXPECT_EQ(the_run().environment.at("python"), "/venv/bin/python");
    EXPECT_EQ(the_run().environment.at("host"), "a");
  }
  need(sync_state(4, TaskState::stopping));
  need(sync_state(5, TaskState::saving));
  h = head();
  h.states.push_back({.seq = 6,
                      .state = TaskState::failed,
                      .exit_code = 3,
                      .failure = Failure{.failure_class = FailureClass::exit, .text = "exit 3"}});
  EXPECT_TRUE(need(sync(h)).stop);
  EXPECT_EQ(task().state, TaskState::failed);
  EXPECT_EQ(task().exit_code, 3);
  EXPECT_EQ(task().failure->text, "exit 3");
  EXPECT_EQ(task().failure->role, "worker");
  EXPECT_NE(task().finished_at.micros, 0);
  need(sync_state(7, TaskState::succeeded));
  EXPECT_EQ(task().state, TaskState::failed);
}

TEST_F(IngestTest, OnlyTheTasksOwnTokenInItsEpochIsHeard) {
  Identity other = shim();
  other.task_id = new_id();
  EXPECT_EQ(code(ingest->sync(other, task_id, head(), "")), Code::denied);
  EXPECT_EQ(code(ingest->newest(other, task_id, head())), Code::denied);
  EXPECT_EQ(code(ingest->sync(world.admin, task_id, head(), "")), Code::denied);
  SyncHead h = head();
  h.epoch = 1;
  EXPECT_EQ(code(sync(h)), Code::gone);
  h.epoch = 3;
  EXPECT_EQ(code(sync(h)), Code::conflict);
  h = head();
  h.protocol = 99;
  EXPECT_EQ(code(sync(h)), Code::unsupported);
  h = head();
  h.states = {{.seq = 2, .state = TaskState::running}, {.seq = 2, .state = TaskState::saving}};
  EXPECT_EQ(code(sync(h)), Code::invalid);
  h = head();
  h.records = {metric(-1, 0, {{"a", 1}})};
  EXPECT_EQ(code(sync(h)), Code::invalid);
  h = head();
  h.log_bytes = 5;
  EXPECT_EQ(code(ingest->sync(shim(), task_id, h, "")), Code::invalid);
  world.write([&](db::Session& session) -> Result<void> {
    TRY(db::Table<Task>::remove(session, task_id));
    return {};
  });
  EXPECT_EQ(code(sync(head())), Code::gone);
}

TEST_F(IngestTest, StopAndLiveValuesReachTheShim) {
  EXPECT_FALSE(need(ingest->newest(shim(), task_id, head())).stop);
  world.write([&](db::Session& session) -> Result<void> {
    TRY(
        session.execute("INSERT INTO live_params (job_id, name, value, version, at_step, asked_by, "
                        "asked_at) VALUES ($1, 'lr', '0.5', 4, 100, 'ann', 1)",
                        {job_id}));
    Task t = TRY(db::Table<Task>::need(session, task_id));
    t.stop_asked = true;
    t.stop_class = "gang";
    return db::Table<Task>::update(session, t);
  });
  SyncAnswer answer = need(ingest->newest(shim(), task_id, head()));
  EXPECT_TRUE(answer.stop);
  EXPECT_EQ(answer.stop_class, "gang");
  EXPECT_EQ(answer.live_version, 4);
  EXPECT_EQ(answer.live.at("lr").value.text, "0.5");
  EXPECT_EQ(answer.live.at("lr").at_step, 100);
  SyncHead h = head();
  h.live_version = 4;
  answer = need(sync(h));
  EXPECT_EQ(answer.live_version, 4);
  EXPECT_TRUE(answer.live.empty());
  need(sync_state(1, TaskState::succeeded));
  EXPECT_EQ(code(ingest->newest(shim(), task_id, head())), Code::gone);
  EXPECT_EQ(need(sync_state(1, TaskState::succeeded)).acknowledged.state, 1);  // a lost answer
}

TEST_F(IngestTest, MetricsAreKeptOnceAndReadBack) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  SyncHead h = head();
  h.records = {metric(1, 1, {{"loss", 2.5}, {"acc", 0.1}}),
               metric(2, 2, {{"loss", nan}}),
               {.seq = 3, .kind = "sample", .time = {5}, .values = {{"cpu_seconds", 4}}},
               metric(4, 3, {{"loss", -inf}})};
  const uint64_t topic = world.signals.version(run_topic(run.id));
  EXPECT_EQ(need(sync(h)).acknowledged.metrics, 4);
  EXPECT_EQ(need(sync(h)).acknowledged.metrics, 4);
  EXPECT_GT(world.signals.version(run_topic(run.id)), topic);
  need(world.database->read([&](db::Session& session) -> Result<void> {
    const auto loss = TRY(read_series(session, run.id, "loss"));
    EXPECT_EQ(loss.size(), 3u);
    EXPECT_EQ(loss[0].value, 2.5);
    EXPECT_TRUE(std::isnan(loss[1].value));
    EXPECT_EQ(loss[2].value, -inf);
    EXPECT_EQ(loss[2].step, 3);
    EXPECT_EQ(loss[2].time.micros, 3000);
    EXPECT_EQ(TRY(read_series(session, run.id, "system/worker-0/cpu_seconds")).size(), 1u);
    EXPECT_TRUE(TRY(read_series(session, run.id, "none")).empty());
    EXPECT_TRUE(TRY(read_series(session, run.id, "")).empty());
    EXPECT_EQ(TRY(read_keys(session, run.id)),
              (std::set<std::string>{"acc", "loss", "system/worker-0/cpu_seconds"}));
    const auto summaries = TRY(read_summaries(session, run.id));
    EXPECT_EQ(summaries.at("loss").last.value, -inf);
    EXPECT_EQ(summaries.at("loss").last.step, 3);
    return {};
  }));
  const auto latest_step = [&](const std::string& key) {
    int64_t step = -1;
    need(world.database->read([&](db::Session& session) -> Result<void> {
      step = TRY(read_summaries(session, run.id)).at(key).last.step;
      return {};
    }));
    return step;
  };
  // An older step does not become the latest.
  need(sync_record(metric(5, 1, {{"loss", 7}})));
  EXPECT_EQ(latest_step("loss"), 3);
  // A key without a name is refused, told, and blocks nothing.
  const SyncAnswer answer = need(sync_record(metric(6, 4, {{"", 1}, {"acc", 0.5}})));
  EXPECT_EQ(answer.acknowledged.metrics, 6);
  ASSERT_EQ(answer.refused.size(), 1u);
  EXPECT_EQ(answer.refused[0].seq, 6);
  EXPECT_EQ(events_of("run.record_refused"), 1);
  EXPECT_EQ(latest_step("acc"), 4);
}

TEST_F(IngestTest, SmallMetricRowsAreMerged) {
  for (int i = 1; i <= 150; ++i)
    need(sync_record(metric(i, i, {{"loss", 1.0 / i}, {"acc", i * 0.001}})));
  // The thread that merges may have been here already.
  need(ingest->tidy());
  EXPECT_LE(world.count("SELECT COUNT(*) FROM metric_batches"), kCompactRows);
  EXPECT_EQ(world.count("SELECT SUM(points) FROM metric_batches"), 300);
  for (int i = 151; i <= 160; ++i) need(sync_record(metric(i, i, {{"loss", 1.0 / i}})));
  need(world.database->read([&](db::Session& session) -> Result<void> {
    const auto loss = TRY(read_series(session, run.id, "loss"));
    EXPECT_EQ(loss.size(), 160u);
    for (size_t i = 0; i < loss.size(); ++i)
      EXPECT_EQ(loss[i].value, 1.0 / static_cast<double>(i + 1));
    EXPECT_EQ(TRY(read_series(session, run.id, "acc")).size(), 150u);
    EXPECT_LE(TRY(read_chart(session, run.id, "loss", 10)).size(), 40u);
    return {};
  }));
  // The same points again (another client's retry) count once.
  world.write([&](db::Session& session) -> Result<void> {
    TRY(add_points(session, run.id, {task_id}, MetricKind::metric,
                   by_key({{"loss", {1, {1000}, 1.0}}, {"loss", {2, {2000}, 0.5}}}), new_id()));
    EXPECT_EQ(TRY(read_series(session, run.id, "loss")).size(), 160u);
    return {};
  });
}

TEST_F(IngestTest, DamagedMetricRowsAreNamed) {
  need(sync_record(metric(1, 1, {{"loss", 1}})));
  world.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute("UPDATE metric_batches SET body = $1", {Bytes(40, std::byte{1})}));
    const auto series = read_series(session, run.id, "loss");
    EXPECT_FALSE(series.ok());
    EXPECT_NE(series.error().text().find("metric row"), std::string::npos);
    return {};
  });
}

TEST_F(IngestTest, ParametersAreWrittenOnceLiveValuesAreTold) {
  need(sync_record({.seq = 1, .kind = "params", .texts = {{"lr", "0.1"}, {"depth", "3"}}}));
  need(sync_record({.seq = 2, .kind = "params", .texts = {{"lr", "0.2"}, {"width", "8"}}}));
  EXPECT_EQ(the_run().params,
            (std::map<std::string, std::string>{{"depth", "3"}, {"lr", "0.1"}, {"width", "8"}}));
  need(sync_record(
      {.seq = 3, .kind = "live", .step = 70, .name = "lr", .text = "0.01", .version = 2}));
  EXPECT_EQ(events_of("run.live_applied"), 1);
}

TEST_F(IngestTest, CheckpointsArePinnedAndPruned) {
  std::vector<std::string> manifests;
  for (int i = 0; i < 4; ++i) {
    const std::string text = format("weights {}", i);
    Manifest manifest;
    manifest.files.push_back({.path = "model/w.pt",
                              .digest = put(text),
                              .size_bytes = static_cast<int64_t>(text.size())});
    manifests.push_back(put(to_json(manifest)));
    world.clock.advance(Duration::seconds(1));
    const SyncAnswer answer = need(sync_record(
        {.seq = i + 1, .kind = "checkpoint", .step = i * 10, .digest = manifests.back()}));
    EXPECT_TRUE(answer.refused.empty());
  }
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM checkpoints"), 2);  // keep: 2
  EXPECT_EQ(world.count("SELECT MIN(step) FROM checkpoints"), 20);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins WHERE holder LIKE 'checkpoint:%'"), 4);
  EXPECT_EQ(events_of("checkpoint.added"), 4);
  EXPECT_EQ(events_of("checkpoint.removed"), 2);
}

TEST_F(IngestTest, TheHistoryOfALiveParameterGetsItsFirstStep) {
  world.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute(
        "INSERT INTO live_history (run_id, version, name, value, before, asked_by, asked_at, step, "
        "applied_at, applied_by) VALUES ($1, 3, 'lr', '0.5', '0.1', 'ann', 1, NULL, 0, 0)",
        {run.id}));
    return {};
  });
  const auto applied = [&](int64_t seq, int64_t version, std::optional<int64_t> step) {
    need(sync_record({.seq = seq,
                      .kind = "live",
                      .time = {100 + seq},
                      .step = step,
                      .name = "lr",
                      .text = "0.5",
                      .version = version}));
  };
  applied(1, 2, 5);  // of a change that was asked for before there was a history
  EXPECT_EQ(world.count("SELECT applied_by FROM live_history"), 0);
  applied(2, 3, 70);
  applied(3, 3, 90);  // another process, or the next attempt
  EXPECT_EQ(world.count("SELECT step FROM live_history"), 70);
  EXPECT_EQ(world.count("SELECT applied_at FROM live_history"), 102);
  EXPECT_EQ(world.count("SELECT applied_by FROM live_history"), 2);
}

TEST_F(IngestTest, WhatALineSaysIsLeftOutWhereAClientLogs) {
  const auto points = [&](const std::string& key) {
    size_t count = 0;
    need(world.database->read([&](db::Session& session) -> Result<void> {
      count = TRY(read_series(session, run.id, key)).size();
      return {};
    }));
    return count;
  };
  TaskRecord line = metric(1, 1, {{"printed", 1}});
  line.text = kFromLog;
  need(sync_record(line));
  EXPECT_EQ(points("printed"), 1u);
  world.write([&](db::Session& session) -> Result<void> {
    TRY(add_points(session, run.id, {}, MetricKind::metric, by_key({{"logged", {1, {1}, 2}}}),
                   new_id()));
    return {};
  });
  line = metric(2, 2, {{"printed", 2}});
  line.text = kFromLog;
  need(sync_record(line));
  EXPECT_EQ(points("printed"), 1u);
  need(sync_record(metric(3, 3, {{"said", 2}})));
  EXPECT_EQ(points("said"), 1u);
}

TEST_F(IngestTest, RecordsWhoseObjectsAreNotHereAreRefusedAndBlockNothing) {
  Manifest manifest;
  manifest.files.push_back({.path = "w.pt", .digest = sha256("not here"), .size_bytes = 8});
  Manifest leaving;
  leaving.files.push_back({.path = "../w.pt", .digest = put("x"), .size_bytes = 1});
  const std::string dying = put("dying");
  world.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute("INSERT INTO dying_objects (digest, since) VALUES ($1, 1)", {dying}));
    return {};
  });
  SyncHead h = head();
  h.records = {{.seq = 1, .kind = "artifact", .path = "a.txt", .digest = sha256("not here")},
               {.seq = 2, .kind = "checkpoint", .digest = put(to_json(manifest))},
               {.seq = 3, .kind = "checkpoint", .digest = put(to_json(leaving))},
               {.seq = 4, .kind = "checkpoint", .digest = put("no manifest")},
               {.seq = 5, .kind = "artifact", .path = "../../etc/passwd", .digest = put("x")},
               {.seq = 6, .kind = "artifact", .path = "/etc/passwd", .digest = put("x")},
               {.seq = 7, .kind = "model", .name = "../x", .path = "m.pt", .digest = put("x")},
               {.seq = 8, .kind = "artifact", .path = "b.txt", .digest = "sha256:xyz"},
               {.seq = 9, .kind = "nonsense"},
               {.seq = 10, .kind = "artifact", .path = "c.txt", .digest = dying},
               {.seq = 11, .kind = "artifact", .path = "good.txt", .digest = put("good")}};
  const SyncAnswer answer = need(sync(h));
  EXPECT_EQ(answer.acknowledged.metrics, 11);
  EXPECT_EQ(answer.refused.size(), 10u);
  EXPECT_NE(answer.refused[0].text.find("upload it first"), std::string::npos);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM artifacts"), 1);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM checkpoints"), 0);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM models"), 0);
  EXPECT_EQ(events_of("run.record_refused"), 10);
}

TEST_F(IngestTest, ArtifactsAreReplacedByPathModelsGetNumbers) {
  need(sync_record({.seq = 1,
                    .kind = "artifact",
                    .path = "plots/a.png",
                    .digest = put("one"),
                    .kind_of_artifact = "image"}));
  need(sync_record({.seq = 2, .kind = "artifact", .path = "plots/a.png", .digest = put("three")}));
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM artifacts"), 1);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins WHERE holder LIKE 'artifact:%'"), 1);
  EXPECT_EQ(events_of("artifact.changed"), 1);
  for (int i = 3; i <= 4; ++i)
    need(sync_record({.seq = i,
                      .kind = "model",
                      .name = "fashion",
                      .path = "out/model.pt",
                      .digest = put(format("model {}", i))}));
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM models"), 1);
  EXPECT_EQ(world.count("SELECT MAX(number) FROM model_versions"), 2);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins WHERE holder LIKE 'model:%'"), 2);
  EXPECT_EQ(the_run().models, (std::vector<std::string>{"fashion@1", "fashion@2"}));
  EXPECT_EQ(events_of("model.version_added"), 2);
}

}  // namespace
}  // namespace hearth::control
