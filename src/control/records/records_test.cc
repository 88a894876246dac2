#include "control/records/records.h"

#include <fstream>
#include <thread>

#include "control/metric_points.h"
#include "control/small_world_test.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

class RecordsTest : public testing::Test {
 protected:
  using Run = hearth::Run;  // testing::Test has a private one
  void add_metric(const Run& run, const std::string& key, double value, int64_t step = 1) {
    world.write([&](db::Session& session) -> Result<void> {
      TRY(add_points(session, run.id, {}, MetricKind::metric, by_key({{key, {step, {5}, value}}}),
                     new_id()));
      return {};
    });
  }
  ModelVersion add_model_version(const Run& run, const std::string& model, int64_t number) {
    ModelVersion version;
    world.write([&](db::Session& session) -> Result<void> {
      auto row = TRY(db::Table<Model>::find(session, "WHERE name = $1", {model}));
      if (!row) {
        row = Model{.id = new_id(), .name = model, .project = run.project};
        TRY(db::Table<Model>::insert(session, *row));
      }
      row->versions = number;
      TRY(db::Table<Model>::update(session, *row));
      version = {.id = new_id(),
                 .model = model,
                 .project = run.project,
                 .number = number,
                 .digest = sha256(model + std::to_string(number)),
                 .run_id = run.id};
      return db::Table<ModelVersion>::insert(session, version);
    });
    return version;
  }
  ManifestFile stored(const std::string& path, const std::string& bytes) {
    const auto object = need(world.objects->put(bytes));
    return {.path = path, .digest = object.digest, .size_bytes = object.size_bytes};
  }
  Manifest two_files() { return {{stored("a.txt", "one"), stored("b/c.txt", "two")}}; }
  DatasetVersion add(const Manifest& manifest, std::vector<std::string> tags = {}) {
    return need(records.add_dataset_version(world.member, "", "mnist", manifest, "", tags));
  }
  static Code code_of(const auto& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? Code::internal : result.error().code;
  }

  SmallWorld world;
  Records records{world.context(), *world.access};
};

TEST_F(RecordsTest, RunsAreSeenByThoseWhoMay) {
  const Run run = world.add_run("cnn-1"), hidden = world.add_run("cnn-2", "other");
  add_metric(run, "loss", 0.5, 7);
  EXPECT_EQ(need(records.get_run(world.viewer, "cnn-1", "")).id, run.id);
  EXPECT_EQ(need(records.get_run(world.viewer, run.id, "")).metrics.at("loss").step, 7);
  EXPECT_EQ(code_of(records.get_run(world.viewer, hidden.id, "")), Code::not_found);
  EXPECT_EQ(records.get_run(world.viewer, hidden.id, "").error().detail.find("other"),
            std::string::npos);
  EXPECT_EQ(code_of(records.get_run(world.viewer, "cnn-2", "other")), Code::not_found);
}

TEST_F(RecordsTest, MetricsOverSteps) {
  const Run run = world.add_run("cnn-1");
  std::vector<KeyPoint> points;
  for (int step = 0; step < 10'000; ++step)
    points.push_back({"loss", {step, world.clock.now(), step == 5000 ? 99.0 : 1.0 / (step + 1)}});
  world.write([&](db::Session& session) -> Result<void> {
    EXPECT_TRUE(
        TRY(add_points(session, run.id, {"task"}, MetricKind::metric, by_key(points), new_id()))
            .empty());
    EXPECT_TRUE(
        TRY(add_points(session, run.id, {"task"}, MetricKind::system,
                       by_key({{"system/worker-0/cpu", {1, world.clock.now(), 3}}}), new_id()))
            .empty());
    return {};
  });
  EXPECT_EQ(need(records.metric_keys(world.viewer, run.id)),
            (std::vector<std::string>{"loss", "system/worker-0/cpu"}));
  EXPECT_EQ(need(records.metric_history(world.viewer, {run.id, "loss", 0})).size(), 10'000U);
  const auto chart = need(records.metric_history(world.viewer, {run.id, "loss", 200}));
  EXPECT_LE(chart.size(), 200U);
  EXPECT_GE(chart.size(), 50U);
  EXPECT_TRUE(std::any_of(chart.begin(), chart.end(), [](const MetricPoint& point) {
    return point.value == 99.0;
  })) << "extremes are kept";
  EXPECT_EQ(chart.back().step, 9999);
  EXPECT_EQ(need(records.get_run(world.viewer, run.id, "")).metrics.at("loss").step, 9999);
  EXPECT_EQ(code_of(records.metric_history(world.stranger, {run.id, "loss", 0})), Code::not_found);
}

TEST_F(RecordsTest, TokensOfJobsReachTheirOwnAlone) {
  const Run own = world.add_run("own"), next = world.add_run("next");
  const Identity job = SmallWorld::job_identity(own, TokenKind::job);
  const Identity task = SmallWorld::job_identity(own, TokenKind::task);
  EXPECT_TRUE(records.get_run(job, next.id, "").ok());
  EXPECT_EQ(code_of(records.get_run(task, next.id, "")), Code::not_found);
  EXPECT_TRUE(records.set_tags(job, own.id, {{"a", "b"}}).ok());
  EXPECT_EQ(code_of(records.set_tags(job, next.id, {{"a", "b"}})), Code::denied);
  EXPECT_EQ(code_of(records.set_tags(world.viewer, own.id, {{"a", "b"}})), Code::denied);
  EXPECT_EQ(world.last_event(), "run.tagged");
  EXPECT_TRUE(need(records.set_tags(world.member, own.id, {{"a", ""}})).tags.empty());
}

TEST_F(RecordsTest, ModelsByNumberAndAlias) {
  const Run run = world.add_run("cnn-1");
  add_model_version(run, "cnn", 1);
  add_model_version(run, "cnn", 2);
  EXPECT_EQ(need(records.get_model_version(world.viewer, "", "cnn")).number, 2);
  EXPECT_EQ(need(records.get_model_version(world.viewer, "", "cnn@1")).number, 1);
  EXPECT_EQ(need(records.get_model_version(world.viewer, "", "cnn@v1")).number, 1);
  EXPECT_EQ(code_of(records.get_model_version(world.viewer, "", "cnn@3")), Code::not_found);
  EXPECT_EQ(code_of(records.get_model_version(world.viewer, "", "cnn@best")), Code::not_found);
  EXPECT_EQ(code_of(records.set_alias(world.viewer, "", "cnn", "best", 1)), Code::denied);
  EXPECT_EQ(code_of(records.set_alias(world.member, "", "cnn", "v7", 1)), Code::invalid);
  EXPECT_EQ(code_of(records.set_alias(world.member, "", "cnn", "best", 9)), Code::not_found);
  EXPECT_EQ(need(records.set_alias(world.member, "", "cnn", "best", 1)).aliases.at("best"), "1");
  EXPECT_EQ(need(records.get_model_version(world.viewer, "", "cnn@best")).number, 1);
  EXPECT_TRUE(need(records.set_alias(world.member, "", "cnn", "best", 0)).aliases.empty());
  EXPECT_EQ(code_of(records.set_alias(world.member, "", "cnn", "best", 0)), Code::not_found);
  EXPECT_EQ(need(records.model_versions(world.viewer, "", "cnn")).size(), 2U);
  EXPECT_EQ(code_of(records.model_versions(world.stranger, "default", "cnn")), Code::not_found);
}

TEST_F(RecordsTest, DatasetVersionsNeedTheirObjects) {
  Manifest manifest = two_files();
  const DatasetVersion first = add(manifest, {"stable"});
  EXPECT_EQ(first.number, 1);
  EXPECT_EQ(first.file_count, 2);
  EXPECT_EQ(first.size_bytes, 6);
  EXPECT_EQ(world.last_event(), "dataset.version_added");
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins WHERE holder = 'dataset:" + first.id + "'"), 3);
  const auto text = need(world.objects->get(first.manifest_digest, 0, -1));
  EXPECT_EQ(need(from_json<Manifest>(text)), manifest);

  EXPECT_EQ(add(manifest, {"newest"}).id, first.id) << "the same content is the same version";
  EXPECT_EQ(need(records.get_dataset(world.viewer, "", "mnist")).tags.size(), 2U);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins"), 3);

  manifest.files.push_back({.path = "c", .digest = sha256("nowhere"), .size_bytes = 7});
  const auto missing = records.add_dataset_version(world.member, "", "mnist", manifest, "", {});
  EXPECT_EQ(code_of(missing), Code::invalid);
  EXPECT_EQ(missing.error().errors.at(0).found, sha256("nowhere"));
  manifest.files.back() = stored("c", "three");
  const DatasetVersion second = add(manifest);
  EXPECT_EQ(second.number, 2);
  EXPECT_EQ(need(records.get_dataset_version(world.viewer, "", "mnist@stable")).id, first.id);
  EXPECT_EQ(need(records.get_dataset_version(world.viewer, "", "mnist@2")).id, second.id);
  EXPECT_EQ(need(records.get_dataset_version(world.viewer, "", "mnist")).id, second.id);
  EXPECT_EQ(need(records.dataset_versions(world.viewer, "", "mnist")).size(), 2U);
  EXPECT_EQ(need(records.list_datasets(world.stranger, "", {})).items.size(), 0U);
}

TEST_F(RecordsTest, WrongManifestsAreRefused) {
  const ManifestFile a = stored("a", "one");
  const auto refused = [&](std::vector<ManifestFile> files, const std::string& name = "mnist",
                           const std::string& in_place = "") {
    return code_of(records.add_dataset_version(world.member, "", name, {std::move(files)}, in_place,
                                               {})) == Code::invalid;
  };
  const auto with_path = [&](const std::string& path) {
    ManifestFile file = a;
    file.path = path;
    return file;
  };
  EXPECT_TRUE(refused({}));
  for (const auto* path : {"", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a\\b"})
    EXPECT_TRUE(refused({with_path(path)})) << path;
  EXPECT_TRUE(refused({with_path("b"), with_path("a")}));
  EXPECT_TRUE(refused({with_path("a"), with_path("a")}));
  EXPECT_TRUE(refused({with_path("a"), with_path("a-b"), with_path("a/b")}));
  EXPECT_TRUE(refused({a}, "Upper"));
  EXPECT_TRUE(refused({a}, "mnist", "relative/dir"));
  ManifestFile larger = a;
  larger.size_bytes = 4;
  EXPECT_TRUE(refused({larger}));
  EXPECT_EQ(code_of(records.add_dataset_version(world.viewer, "", "mnist", {{a}}, "", {})),
            Code::denied);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins"), 0);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM dataset_versions"), 0);
}

TEST_F(RecordsTest, InPlaceLiesBelowTheRoots) {
  const std::string root = world.folder.file("roots");
  std::filesystem::create_directories(root + "/data");
  std::filesystem::create_symlink("/etc", root + "/link");
  Records bounded(world.context(), *world.access, {.path_roots = {root}});
  const Manifest manifest{{{.path = "x", .digest = sha256("x"), .size_bytes = 1}}};
  const auto add_at = [&](const std::string& place) {
    return bounded.add_dataset_version(world.member, "", "there", manifest, place, {});
  };
  EXPECT_EQ(need(add_at(root + "/data")).in_place, root + "/data");
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins"), 1) << "the manifest alone";
  EXPECT_EQ(code_of(add_at("/etc")), Code::denied);
  EXPECT_EQ(code_of(add_at(root + "/../x")), Code::denied);
  EXPECT_EQ(code_of(add_at(root + "/link")), Code::denied);
}

TEST_F(RecordsTest, ALargeManifestIsPinnedInPortions) {
  Manifest manifest;
  for (int i = 0; i < 4500; ++i)
    manifest.files.push_back(stored(format("f{:05}", i), format("{}", i)));
  const DatasetVersion version = add(manifest);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins WHERE holder = 'dataset:" + version.id + "'"),
            4501);
}

TEST_F(RecordsTest, ADatasetInUseStays) {
  const DatasetVersion version = add(two_files());
  Job job{.id = new_id(), .name = "cnn-1", .project = "default", .state = JobState::running};
  world.write([&](db::Session& session) -> Result<void> {
    TRY(db::Table<Job>::insert(session, job));
    return db::pin(session, version.manifest_digest, "job:" + job.id, {});
  });
  EXPECT_EQ(code_of(records.delete_dataset(world.viewer, "", "mnist")), Code::denied);
  EXPECT_EQ(code_of(records.delete_dataset(world.member, "", "mnist")), Code::conflict);
  job.state = JobState::succeeded;
  world.write([&](db::Session& session) { return db::Table<Job>::update(session, job); });
  EXPECT_TRUE(records.delete_dataset(world.member, "", "mnist").ok());
  EXPECT_EQ(world.last_event(), "dataset.deleted");
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins"), 1) << "the job's";
  EXPECT_EQ(code_of(records.get_dataset(world.viewer, "", "mnist")), Code::not_found);
}

TEST_F(RecordsTest, HavingAnObjectKeepsIt) {
  const auto object = need(world.objects->put("bytes"));
  world.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute("INSERT INTO dying_objects (digest, since) VALUES ($1, 1)",
                        {object.digest}));
    return {};
  });
  EXPECT_EQ(need(records.have_object(world.member, object.digest)), 5);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM dying_objects"), 0);
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins WHERE holder = 'upload:token-ann'"), 1);
  EXPECT_EQ(need(records.have_object(world.member, sha256("no"))), std::nullopt);
  EXPECT_EQ(code_of(records.have_object(world.member, "x")), Code::invalid);
  // A young pin is not written again; an older one is.
  const auto pinned_at = [&] { return world.count("SELECT MAX(created_at) FROM pins"); };
  const int64_t at = pinned_at();
  world.clock.advance(Duration::seconds(60));
  need(records.have_object(world.member, object.digest));
  EXPECT_EQ(pinned_at(), at);
  world.clock.advance(Duration::seconds(1800));
  need(records.have_object(world.member, object.digest));
  EXPECT_GT(pinned_at(), at);
}

TEST_F(RecordsTest, ObjectsAreReadThroughWhatNamesThem) {
  const auto object = need(world.objects->put("secret bytes"));
  need(records.have_object(world.stranger, object.digest));
  EXPECT_EQ(code_of(records.open_object(world.stranger, object.digest)), Code::not_found)
      << "knowing a digest gives no right to its bytes";
  EXPECT_EQ(code_of(records.open_object(world.admin, object.digest)), Code::not_found);
  const Run run = world.add_run("r");
  const std::string id = new_id();
  world.write([&](db::Session& session) -> Result<void> {
    TRY(db::Table<Artifact>::insert(session, {.id = id,
                                              .run_id = run.id,
                                              .project = "default",
                                              .path = "plot.png",
                                              .digest = object.digest}));
    return db::pin(session, object.digest, "artifact:" + id, {});
  });
  const std::string path = need(records.open_object(world.viewer, object.digest));
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "secret bytes");
  EXPECT_EQ(code_of(records.open_object(world.stranger, object.digest)), Code::not_found);
  EXPECT_EQ(code_of(records.open_object(world.viewer, "../../etc/passwd")), Code::not_found);
  EXPECT_EQ(need(records.list_artifacts(world.viewer, run.id)).size(), 1U);
  EXPECT_EQ(need(records.get_artifact(world.viewer, run.id, "plot.png")).id, id);
  EXPECT_EQ(code_of(records.get_artifact(world.viewer, run.id, "x.png")), Code::not_found);
}

TEST_F(RecordsTest, UploadsArePinnedWhenTheyAreThere) {
  const std::string bytes = "uploaded";
  const std::string part = world.folder.file("part");
  std::ofstream(part) << bytes;
  const auto upload = need(records.begin_upload(world.member, sha256(bytes), 8));
  EXPECT_EQ(need(records.upload_state(world.member, upload.id)).received_bytes, 0);
  EXPECT_EQ(need(records.append_upload(world.member, upload.id, 0, part)).received_bytes, 8);
  EXPECT_EQ(need(records.finish_upload(world.member, upload.id)).digest, sha256(bytes));
  EXPECT_EQ(world.count("SELECT COUNT(*) FROM pins WHERE holder = 'upload:token-ann'"), 1);
  EXPECT_EQ(code_of(records.begin_upload(world.member, "sha256:no", 8)), Code::invalid);
  EXPECT_EQ(code_of(records.begin_upload(world.member, sha256("x"), -1)), Code::too_large);
  Identity reader = world.member;
  reader.most = Grade::viewer;
  EXPECT_EQ(code_of(records.begin_upload(reader, sha256("x"), 1)), Code::denied);
}

TEST_F(RecordsTest, LineageBothWays) {
  const DatasetVersion data = add(two_files());
  Run run = world.add_run("cnn-1");
  const Run stranger_run = world.add_run("theirs", "other");
  run.code_digest = sha256("code");
  run.git.commit = "abc123";
  run.datasets = {{.name = "mnist", .version = "1", .digest = data.manifest_digest},
                  {.path = "/data/more"}};
  world.write([&](db::Session& session) -> Result<void> {
    TRY(db::Table<Run>::update(session, run));
    TRY(db::pin(session, data.manifest_digest, "job:" + run.job_id, {}));
    TRY(db::pin(session, run.code_digest, "code:" + run.job_id, {}));
    return db::pin(session, run.code_digest, "code:" + stranger_run.job_id, {});
  });
  const ModelVersion model = add_model_version(run, "cnn", 1);
  const auto names = [&](const std::string& thing) {
    std::vector<std::string> all;
    for (const auto& node : need(records.lineage(world.viewer, "", thing)).nodes)
      all.push_back(node.kind + " " + node.name);
    std::sort(all.begin(), all.end());
    return format("{}", join(all, ", "));
  };
  EXPECT_EQ(names("model:cnn@1"),
            "code code, commit commit, dataset mnist@1, model cnn@1, path /data/more, run cnn-1");
  EXPECT_EQ(names("dataset:mnist@1"), "dataset mnist@1, model cnn@1, run cnn-1");
  EXPECT_EQ(names("run:cnn-1"), names("model:cnn@1"));
  EXPECT_EQ(names("job:" + run.job_id), names("run:cnn-1"));
  EXPECT_EQ(names(run.code_digest), "code code, model cnn@1, run cnn-1");
  EXPECT_EQ(names("cnn"), names("model:cnn@1"));
  EXPECT_EQ(code_of(records.lineage(world.viewer, "", "nothing")), Code::not_found);
  EXPECT_EQ(code_of(records.lineage(world.viewer, "", "planet:x")), Code::invalid);
  EXPECT_EQ(code_of(records.lineage(world.stranger, "", "model:cnn@1")), Code::not_found);
  EXPECT_EQ(need(records.lineage(world.viewer, "", "model:cnn@1")).root, "model:" + model.id);
}

TEST_F(RecordsTest, ManyAtOnceMakeVersionsWithoutGaps) {
  constexpr int kThreads = 4, kEach = 5;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) add({{stored("f", format("{} {}", t, i))}});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(need(records.get_dataset(world.viewer, "", "mnist")).versions, kThreads * kEach);
  EXPECT_EQ(need(records.dataset_versions(world.viewer, "", "mnist")).size(),
            static_cast<size_t>(kThreads * kEach));
}

TEST_F(RecordsTest, ImportsGetAllFilesOrAnError) {
  const Run run = world.add_run("many");
  world.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $2) INSERT INTO "
        "artifacts SELECT 'a' || i, 0, '{}', $1, 'default', 'f/' || i, '', 0 FROM n",
        {run.id, kMostHeldFiles}));
    return {};
  });
  const FileHolder holder{.id = run.id, .project = "default"};
  EXPECT_EQ(code_of(records.all_files(world.member, holder)), Code::too_large);
  world.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute("DELETE FROM artifacts WHERE id = 'a7'", {}));
    return {};
  });
  EXPECT_EQ(need(records.all_files(world.member, holder)).size(), size_t{kMostHeldFiles});
}

}  // namespace
}  // namespace hearth::control
