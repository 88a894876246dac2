// The import routes: ids and times are kept, and the same call twice changes nothing.
#include <gtest/gtest.h>

#include "api/world_test.h"

namespace hearth::api {
namespace {

class Imports : public ApiTest {
 protected:
  net::RawAnswer bring(const std::string& noun, const std::string& body) {
    return as(member_, "POST /api/v1/imports/" + noun, body);
  }
  std::string run_body(const std::string& experiment, const std::string& more = "") const {
    return format(R"({{"id":"{}","experiment_id":"{}","name":"first","user":"eve",
        "status":"failed","started_at":"2020-09-13T12:26:40.000000Z",
        "finished_at":"2020-09-13T12:27:40.000000Z","params":{{"lr":"0.1"}},
        "tags":{{"mlflow.runName":"first","a":""}},
        "datasets":[{{"name":"iris","digest":"d"}}]{}}})",
                  kRun, experiment, more);
  }
  std::string made_experiment() {
    const auto made = bring("experiments", R"({"id":"734","name":"vision"})");
    EXPECT_EQ(made.status, 200) << made.body;
    return text_of(made, "id");
  }
  static constexpr const char* kRun = "0123456789abcdef0123456789abcdef";
};

TEST_F(Imports, ARunKeepsItsIdTimesAndState) {
  start();
  const std::string experiment = made_experiment();
  EXPECT_EQ(experiment, "734");
  const auto made = bring("runs", run_body(experiment));
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(text_of(made, "id"), kRun);
  EXPECT_EQ(text_of(made, "status"), "failed");
  EXPECT_EQ(text_of(made, "user"), "eve");
  EXPECT_EQ(text_of(made, "started_at"), "2020-09-13T12:26:40.000000Z");
  EXPECT_EQ(text_of(made, "finished_at"), "2020-09-13T12:27:40.000000Z");
  const auto again = bring("runs", run_body(experiment));
  EXPECT_EQ(text_of(again, "version"), text_of(made, "version")) << "nothing changed";
  EXPECT_TRUE(tracking_->set_tag(world_.member, kRun, "mine", "x").ok());
  bring("runs", run_body(experiment));
  EXPECT_EQ(control::need(tracking_->get_run(world_.member, kRun)).run.tags.at("mine"), "x");
}

TEST_F(Imports, PointsAreKeptOnce) {
  start();
  bring("runs", run_body(made_experiment()));
  const std::string points = format(
      R"({{"run_id":"{}","series":[{{"key":"loss","steps":[0,1],"times_ms":[5,6],
      "values":[1.5,"NaN"]}},{{"key":"f1","model_id":"m-1","steps":[1],"times_ms":[6],
      "values":["-Infinity"]}}]}})",
      kRun);
  EXPECT_EQ(bring("points", points).status, 204);
  EXPECT_EQ(bring("points", points).status, 204);
  const auto counts = bring("counts", format(R"({{"ids":["{}","none"]}})", kRun));
  EXPECT_EQ(counts.body,
            format(R"({{"items":[{{"id":"{}","experiment_id":"734","deleted":false,"params":1,)"
                   R"("tags":2,"points":3,"datasets":1,"models":0}}]}})",
                   kRun));
  expect_problem(
      bring("points", format(R"({{"run_id":"{}","series":[{{"key":"x","steps":[0],"times_ms":[],
                             "values":[1]}}]}})",
                             kRun)),
      400, "invalid");
  expect_problem(
      bring("points", format(R"({{"run_id":"{}","series":[{{"key":"x","steps":[0],"times_ms":[-1],
                             "values":[1]}}]}})",
                             kRun)),
      400, "invalid");
}

TEST_F(Imports, DeletedOnesComeDeletedAndComeBackTogether) {
  start();
  const auto made = bring("experiments", R"({"id":"9","name":"gone","deleted":true})");
  ASSERT_EQ(made.status, 200) << made.body;
  const auto run = bring("runs", run_body("9", R"(,"deleted":true)"));
  ASSERT_EQ(run.status, 200) << run.body;
  EXPECT_EQ(text_of(run, "deleted_at"), text_of(made, "deleted_at"));
  control::need(tracking_->restore_experiment(world_.member, "9"));
  EXPECT_EQ(control::need(tracking_->get_run(world_.member, kRun)).run.deleted_at.micros, 0);
}

TEST_F(Imports, AnExperimentThatIsHereIsTaken) {
  start();
  const std::string first = made_experiment();
  const auto again = bring("experiments", R"({"id":"55","name":"vision","tags":{"a":"b"}})");
  EXPECT_EQ(text_of(again, "id"), first);
  const auto other = bring("experiments", R"({"id":"734","name":"another"})");
  EXPECT_NE(text_of(other, "id"), "734") << "the id is taken";
  const auto standard = bring("experiments", R"({"id":"0","name":"Default"})");
  EXPECT_EQ(text_of(standard, "id"), "0");
  control::need(tracking_->delete_experiment(world_.member, first));
  expect_problem(bring("experiments", R"({"name":"vision"})"), 409, "exists");
}

TEST_F(Imports, VersionsKeepTheirNumbersAndGetDigests) {
  start();
  bring("runs", run_body(made_experiment()));
  const auto holder = control::need(records_->file_holder(world_.member, kRun));
  control::need(records_->put_file(world_.member, holder, "model/a", ""));
  control::need(records_->put_file(world_.member, holder, "model/b", ""));
  const auto files = as(member_, format("GET /api/v1/imports/files/{}", kRun));
  EXPECT_NE(files.body.find(R"("path":"model/a")"), std::string::npos) << files.body;
  EXPECT_NE(files.body.find(sha256("")), std::string::npos) << files.body;

  const std::string model = R"({"name":"net","created_at":"2020-09-13T12:26:40.000000Z"})";
  ASSERT_EQ(bring("models", model).status, 200);
  const std::string version =
      format(R"({{"model":"net","number":3,"stage":"Production","source":"file:///x",
      "location":"runs:/{}/model","run_id":"{}","created_at":"2020-09-13T12:26:40.000000Z"}})",
             kRun, kRun);
  const auto made = bring("model-versions", version);
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(text_of(made, "number"), "3");
  EXPECT_EQ(text_of(made, "directory"), "true");
  EXPECT_EQ(text_of(made, "digest").substr(0, 7), "sha256:");
  EXPECT_EQ(text_of(bring("model-versions", version), "version"), text_of(made, "version"));
  expect_problem(bring("model-versions", R"({"model":"net","number":3,"source":"other"})"), 409,
                 "exists");
  expect_problem(
      bring("model-versions", R"({"model":"net","number":4,"location":"runs:/none/model"})"), 400,
      "invalid");
  const auto alias = bring("models", R"({"name":"net","aliases":{"best":"3"}})");
  EXPECT_EQ(alias.status, 200) << alias.body;
  EXPECT_EQ(text_of(alias, "created_at"), "2020-09-13T12:26:40.000000Z");
  expect_problem(bring("models", R"({"name":"net","aliases":{"best":"4"}})"), 404, "not_found");
}

TEST_F(Imports, AreNoJobsBusiness) {
  start();
  const std::string experiment = made_experiment();
  const std::string job = task_token(task_of(started(member_)), TokenKind::job);
  for (const auto& [noun, body] :
       {std::pair<std::string, std::string>{"experiments", R"({"name":"x"})"},
        {"runs", run_body(experiment)},
        {"models", R"({"name":"x"})"},
        {"model-versions", R"({"model":"x","number":1})"},
        {"logged-models", format(R"({{"id":"m-1","experiment_id":"{}"}})", experiment)},
        {"counts", R"({"ids":[]})"}})
    expect_problem(as(job, "POST /api/v1/imports/" + noun, body), 403, "denied");
}

}  // namespace
}  // namespace hearth::api
