#include <cmath>

#include "app/mlflow/store_test.h"
#include "base/format.h"

namespace hearth::app::mlflow {
namespace {

constexpr const char* kRun = "0123456789abcdef0123456789abcdef";

class FileStoreTest : public StoreTest {
 protected:
  FileStoreTest() {
    write("mlruns/0/meta.yaml",
          "artifact_location: file:///gone/0\nexperiment_id: '0'\nname: Default\n"
          "lifecycle_stage: active\ncreation_time: 1600000000000\nlast_update_time: null\n");
    write("mlruns/0/tags/owner", "ann");
    write_run("status: 3\n");
  }
  void write_run(const std::string& status) {
    write(run("meta.yaml"), format("artifact_uri: file:///gone/0/{}/artifacts\nend_time: null\n"
                                   "experiment_id: '0'\nlifecycle_stage: active\nrun_id: {}\n"
                                   "run_name: 'a run: ä'\nstart_time: 1600000000001\n{}tags: []\n"
                                   "user_id: ann\n",
                                   kRun, kRun, status));
  }
  static std::string run(const std::string& name) { return format("mlruns/0/{}/{}", kRun, name); }
  std::unique_ptr<Store> open() { return need(open_store(path("mlruns"), {})); }
};

TEST_F(FileStoreTest, ReadsWhatARunHas) {
  write(run("params/group/lr"), "0.1");
  write(run("params/empty"), "");
  write(run("tags/mlflow.user"), "ann");
  write(run("metrics/val/loss"),
        "1600000000000 1.5 0\n1600000000001 nan 1\n1600000000002 -inf -2\n1600000000001 nan 1\n");
  write(run("metrics/old"), "1600000000000 0.25\n");
  const auto store = open();
  const auto experiments = need(store->experiments());
  ASSERT_EQ(experiments.size(), 1u);
  EXPECT_EQ(experiments[0].name, "Default");
  EXPECT_EQ(experiments[0].created_at, Time{1600000000000000});
  EXPECT_EQ(experiments[0].updated_at, Time{});
  EXPECT_EQ(experiments[0].tags.at("owner"), "ann");
  EXPECT_EQ(need(store->count_runs(experiments[0])), 1);
  const StoreRun found = only_run(*store, experiments[0]);
  EXPECT_EQ(found.record.name, "a run: ä");
  EXPECT_EQ(found.record.status, RunStatus::finished);
  EXPECT_EQ(found.record.started_at, Time{1600000000001000});
  EXPECT_EQ(found.record.finished_at, Time{});
  EXPECT_EQ(found.record.params.at("group/lr"), "0.1");
  EXPECT_EQ(found.record.params.at("empty"), "");
  const auto series = need(store->series(found));
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].key, "old");
  EXPECT_EQ(series[0].steps, std::vector<int64_t>{0}) << "lines of MLflow 0 have no step";
  EXPECT_EQ(series[1].key, "val/loss");
  EXPECT_EQ(series[1].steps, (std::vector<int64_t>{-2, 0, 1})) << "each point once, in order";
  EXPECT_TRUE(std::isinf(series[1].values[0]));
  EXPECT_TRUE(std::isnan(series[1].values[2]));
  EXPECT_EQ(store->problem_count(), 0) << first_problem(*store);
}

TEST_F(FileStoreTest, ReadsInputsAndLoggedModels) {
  write(run("inputs/1/meta.yaml"),
        "source_id: d1\nsource_type: DATASET\ntags:\n  mlflow.data.context: training\n");
  write("mlruns/0/datasets/d1/meta.yaml",
        "digest: abc\nname: iris\nprofile: '{}'\nschema: null\nsource: x\nsource_type: local\n");
  write(run("outputs/m-1/meta.yaml"),
        "destination_id: m-1\nsource_type: RUN_OUTPUT\nstep: 7\ntags: {}\n");
  write("mlruns/0/models/m-1/meta.yaml",
        "artifact_location: x\ncreation_timestamp: 5\nexperiment_id: '0'\nlast_updated_timestamp: "
        "6\nmodel_id: m-1\nname: net\nsource_run_id: r\nstatus: 2\nstatus_message: null\n");
  write("mlruns/0/models/m-1/metrics/f1", format("1600000000009 0.75 4 {} iris abc\n", kRun));
  write(run("metrics/f1"), "1600000000009 0.75 4 iris abc\n1600000000010 0.5 5\n");
  const auto store = open();
  const auto experiment = need(store->experiments()).at(0);
  const auto models = need(store->logged_models(experiment));
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0].record.status, LoggedModelStatus::ready);
  const StoreRun found = only_run(*store, experiment);
  ASSERT_EQ(found.record.datasets.size(), 1u);
  EXPECT_EQ(found.record.datasets[0].tags.at("mlflow.data.context"), "training");
  ASSERT_EQ(found.record.model_outputs.size(), 1u);
  EXPECT_EQ(found.record.model_outputs[0].step, 7);
  const auto series = need(store->series(found));
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].model_id, "m-1") << "the point that was measured on it";
  EXPECT_EQ(series[0].dataset_name, "iris");
  EXPECT_EQ(series[1].steps, std::vector<int64_t>{5}) << "and that point no second time";
}

TEST_F(FileStoreTest, ReadsTheRegistryWithoutWhatWasDeleted) {
  write("mlruns/models/net/meta.yaml",
        "name: net\ncreation_timestamp: 5\ndescription: 'two\n\n  "
        "lines'\nlast_updated_timestamp: 6\n");
  write("mlruns/models/net/aliases/best", "2");
  write("mlruns/models/net/version-1/meta.yaml", "version: 1\ncurrent_stage: Deleted_Internal\n");
  write("mlruns/models/net/version-2/meta.yaml",
        "version: 2\ncurrent_stage: Staging\nsource: file:///x\nrun_id: r\n");
  write("mlruns/models/net/version-2/tags/a", "b");
  const auto store = open();
  const auto models = need(store->models());
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0].description, "two\nlines");
  EXPECT_EQ(models[0].aliases.at("best"), "2");
  const auto versions = need(store->versions("net"));
  ASSERT_EQ(versions.size(), 1u);
  EXPECT_EQ(versions[0].number, 2);
  EXPECT_EQ(versions[0].tags.at("a"), "b");
}

TEST_F(FileStoreTest, FindsFilesWhereTheStoreWasMovedTo) {
  write(run("artifacts/model/weights"), "bytes");
  write(run("artifacts/empty"), "");
  const auto store = open();
  const StoreRun found = only_run(*store, need(store->experiments()).at(0));
  const Holder holder{Holder::Kind::run, kRun, "0", found.artifact_uri};
  const FileList list = need(store->files(holder));
  EXPECT_EQ(list.elsewhere, "");
  ASSERT_EQ(list.files.size(), 2u);
  EXPECT_EQ(list.files[1].path, "model/weights");
  EXPECT_EQ(need(os::read_file(need(store->fetch(holder, list.files[1])).path, 100)), "bytes");
  EXPECT_NE(need(store->files({Holder::Kind::run, "r", "0", "s3://bucket/r"})).elsewhere, "");
}

TEST_F(FileStoreTest, LeavesLinksThatLeadOut) {
  write(run("artifacts/real"), "x");
  write("secret", "x");
  ASSERT_TRUE(os::make_symlink("real", path(run("artifacts/inside"))).ok());
  ASSERT_TRUE(os::make_symlink(path("secret"), path(run("artifacts/outside"))).ok());
  // Over a second link, which lies inside.
  ASSERT_TRUE(os::make_symlink(path(""), path(run("artifacts/folder"))).ok());
  ASSERT_TRUE(os::make_symlink("folder/secret", path(run("artifacts/two"))).ok());
  ASSERT_TRUE(os::make_symlink("none", path(run("artifacts/zero"))).ok());
  const auto store = open();
  const StoreRun found = only_run(*store, need(store->experiments()).at(0));
  const auto list = need(store->files({Holder::Kind::run, kRun, "0", found.artifact_uri}));
  ASSERT_EQ(list.files.size(), 2u);
  EXPECT_EQ(list.files[0].path, "inside");
  std::string said;
  for (const Error& error : store->problems()) said += error.detail + "\n";
  EXPECT_NE(said.find("outside is a link that leads out"), std::string::npos) << said;
  EXPECT_NE(said.find("two is a link that leads out"), std::string::npos) << said;
  EXPECT_NE(said.find("zero is a link that leads nowhere"), std::string::npos) << said;
}

TEST_F(FileStoreTest, SaysFileAndLineOfWhatIsBroken) {
  write(run("metrics/loss"), "1600000000000 1.5 0\n1600000000001 much 1\n5 1 2 3 4 5 6\n");
  auto store = open();
  const StoreRun found = only_run(*store, need(store->experiments()).at(0));
  EXPECT_EQ(need(store->series(found)).at(0).steps.size(), 1u) << "the rest is read";
  EXPECT_EQ(store->problem_count(), 2);
  EXPECT_NE(first_problem(*store).find("metrics/loss:2: '1600000000001 much 1'"),
            std::string::npos);

  write_run("status: [1\n");
  store = open();
  const auto experiment = need(store->experiments()).at(0);
  const auto none = [](StoreRun&&) -> Result<void> { return {}; };
  EXPECT_TRUE(store->each_run(experiment, none).ok());
  EXPECT_NE(first_problem(*store).find("meta.yaml:"), std::string::npos);

  write_run("status: 9\n");
  store = open();
  need(store->experiments());
  EXPECT_TRUE(store->each_run(experiment, none).ok());
  EXPECT_NE(first_problem(*store).find("'9' is no status of a run"), std::string::npos);
}

TEST_F(FileStoreTest, RefusesTimesThatNoServerTakes) {
  write(run("metrics/loss"), "253402300799999 1.5 0\n253402300800000 2.5 1\n");
  const auto store = open();
  const StoreRun found = only_run(*store, need(store->experiments()).at(0));
  EXPECT_EQ(need(store->series(found)).at(0).steps, std::vector<int64_t>{0});
  EXPECT_NE(first_problem(*store).find("metrics/loss:2: '253402300800000 2.5 1'"),
            std::string::npos);
}

TEST_F(FileStoreTest, ReadsLargeDescriptions) {
  const std::string text(2 << 20, 'x');
  write("mlruns/models/net/meta.yaml", "name: net\ndescription: " + text + "\n");
  EXPECT_EQ(need(open()->models()).at(0).description, text);
  write("mlruns/models/net/meta.yaml", std::string(kMostTextBytes + 1, ' '));
  const auto store = open();
  EXPECT_EQ(need(store->models()).size(), 0u);
  ASSERT_EQ(store->problem_count(), 1);
  EXPECT_EQ(store->problems()[0].code, Code::too_large);
  EXPECT_EQ(store->problems()[0].detail.find("YAML"), std::string::npos) << first_problem(*store);
}

TEST_F(FileStoreTest, RefusesWhatIsNoStore) {
  EXPECT_EQ(open_store(path("nowhere"), {}).error().code, Code::not_found);
  EXPECT_EQ(open_store("postgresql://x/y", {}).error().code, Code::invalid);
  EXPECT_EQ(open_store("sqlite:x.db", {}).error().code, Code::invalid);
  write("empty/file", "");
  const auto store = need(open_store(path("empty"), {}));
  EXPECT_EQ(store->experiments().error().code, Code::invalid);
}

}  // namespace
}  // namespace hearth::app::mlflow
