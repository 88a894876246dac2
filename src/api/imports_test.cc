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
                   R"("tags":2,"points":3,"too_many_points":false,"datasets":1,"models":0}}]}})",
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
  std::string steps = "0";
  for (size_t i = 0; i < kMostImportedPoints; ++i) steps += ",1";
  const auto refused = bring("points", format(R"({{"run_id":"{}","series":[{{"key":"x",
                             "steps":[{}],"times_ms":[{}],"values":[{}]}}]}})",
                                              kRun, steps, steps, steps));
  expect_problem(refused, 413, "too_large");
  EXPECT_EQ(text_of(refused, "detail"), "these are 100001 points, more than 100000");
}

TEST_F(Imports, WhatIsHereIsNeitherDeletedNorRestored) {
  start();
  const std::string experiment = made_experiment();
  bring("runs", run_body(experiment, R"(,"deleted":true)"));
  const std::string points = format(
      R"({{"run_id":"{}","series":[{{"key":"loss","steps":[0],"times_ms":[5],"values":[1]}}]}})",
      kRun);
  EXPECT_EQ(bring("points", points).status, 204) << "a deleted one takes its points";
  control::need(tracking_->restore_run(world_.member, kRun));
  control::need(tracking_->set_tag(world_.member, kRun, "a", "here"));
  const auto restored = bring("runs", run_body(experiment, R"(,"deleted":true)"));
  EXPECT_EQ(restored.status, 200) << restored.body;
  const hearth::Run run = control::need(tracking_->get_run(world_.member, kRun)).run;
  EXPECT_EQ(run.deleted_at.micros, 0);
  EXPECT_EQ(run.tags.at("a"), "here");
  control::need(tracking_->delete_run(world_.member, kRun));
  bring("runs", run_body(experiment));
  EXPECT_NE(control::need(tracking_->get_run(world_.member, kRun)).run.deleted_at.micros, 0);
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

TEST_F(Imports, WhatWasChangedHereOfModelsStays) {
  start();
  bring("runs", run_body(made_experiment()));
  const auto holder = control::need(records_->file_holder(world_.member, kRun));
  control::need(records_->put_file(world_.member, holder, "model/a", ""));
  const std::string logged =
      R"({"id":"m-1","experiment_id":"734","status":"ready","tags":{"a":"there"}})";
  const std::string model =
      R"({"name":"net","description":"there","tags":{"a":"there"},"aliases":{)";
  const auto version = [](const std::string& location) {
    return format(R"({{"model":"net","number":1,"stage":"Staging","description":"there",
        "source":"x","location":"{}","tags":{{"a":"there","new":""}},
        "created_at":"2020-09-13T12:26:40.000000Z"}})",
                  location);
  };
  ASSERT_EQ(bring("logged-models", logged).status, 200);
  ASSERT_EQ(bring("models", model + "}}").status, 200);
  const auto first = bring("model-versions", version(format("runs:/{}/model", kRun)));
  ASSERT_EQ(first.status, 200) << first.body;
  ASSERT_EQ(bring("models", model + R"("best":"1"}})").status, 200);

  control::need(records_->change_logged_model(world_.member, "m-1",
                                              {.tags = {{"a", "here"}, {"mine", "here"}}}));
  control::need(records_->change_model(world_.member, "", "net",
                                       {.description = "here", .tags = {{"a", "here"}}}));
  control::need(records_->change_model_version(
      world_.member, "", "net", 1,
      {.description = "here", .tags = {{"a", "here"}}, .stage = "Production"}));
  bring("model-versions", R"({"model":"net","number":2,"source":"y"})");
  control::need(records_->set_alias(world_.member, "", "net", "best", 2));
  bring("logged-models", logged);
  bring("model-versions", version(""));
  bring("models", model + R"("best":"1"}})");

  const LoggedModel m1 = control::need(records_->get_logged_model(world_.member, "m-1"));
  EXPECT_EQ(m1.tags.at("a"), "here");
  EXPECT_EQ(m1.tags.count("mine"), 1u);
  const Model net = control::need(records_->get_model(world_.member, "", "net"));
  EXPECT_EQ(net.description, "here");
  EXPECT_EQ(net.tags.at("a"), "here");
  EXPECT_EQ(net.aliases.at("best"), "2");
  const auto one = control::need(records_->get_model_version(world_.member, "", "net@1"));
  EXPECT_EQ(one.description, "here");
  EXPECT_EQ(one.stage, "Production");
  EXPECT_EQ(one.tags.at("a"), "here");
  EXPECT_EQ(one.digest, text_of(first, "digest")) << "no files were given";
  EXPECT_EQ(world_.count("SELECT COUNT(*) FROM pins WHERE holder = 'model:" + one.id + "'") > 0,
            true);
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
