#include <cmath>
#include <cstdlib>

#include "app/mlflow/store_test.h"
#include "base/format.h"
#include "net/server_test.h"

namespace hearth::app::mlflow {
namespace {

class RestStoreTest : public StoreTest {
 protected:
  RestStoreTest() {
    server_.handler.on_request = [this](net::Request& request) { return answer(request); };
    server_.start();
    setenv("MLFLOW_TRACKING_TOKEN", "hunter2", 1);
  }
  ~RestStoreTest() override { unsetenv("MLFLOW_TRACKING_TOKEN"); }
  std::unique_ptr<Store> open() { return need(open_store(server_.url("/"), {})); }

  net::Response answer(net::Request& request) {
    authorization_ = std::string(request.headers.get("Authorization").value_or(""));
    const auto json = [](const std::string& text) {
      return net::Response::text(200, "application/json", text);
    };
    if (request.path.ends_with("experiments/search"))
      return json(
          request.body.find("page_token") == std::string::npos
              ? R"({"experiments":[{"experiment_id":"1","name":"a"}],"next_page_token":"n"})"
              : R"({"experiments":[{"experiment_id":"2","name":"b",
                           "lifecycle_stage":"deleted","creation_time":"1600000000000"}]})");
    if (request.path.ends_with("runs/search"))
      return json(R"({"runs":[{"info":{"run_id":"r1","experiment_id":"1","status":"FINISHED",
        "start_time":1600000000000},"data":{"metrics":[{"key":"loss","value":1}],
        "params":[{"key":"lr","value":"0.1"}]}}]})");
    if (request.path.ends_with("get-history"))
      return json(R"({"metrics":[{"key":"loss","value":"NaN","timestamp":"5","step":"1"},
        {"key":"loss","value":1.7976931348623157e308,"timestamp":6,"step":2}]})");
    if (request.path.ends_with("artifacts/list"))
      return json(request.query.find("path=") == std::string::npos
                      ? R"({"files":[{"path":"model","is_dir":true}]})"
                      : R"({"files":[{"path":"model/w","is_dir":false,"file_size":"5"}]})");
    if (request.path.ends_with("get-artifact"))
      return ++fetched_ == 1 ? net::Response::text(503, "text/plain", "later")
                             : net::Response::text(200, "text/plain", "bytes");
    return net::Response::text(404, "application/json",
                               R"({"error_code":"ENDPOINT_NOT_FOUND","message":"none"})");
  }

  net::TestServer server_;
  std::string authorization_;
  int fetched_ = 0;
};

TEST_F(RestStoreTest, ReadsOverPagesWithTheClientsToken) {
  const auto store = open();
  const auto experiments = need(store->experiments());
  ASSERT_EQ(experiments.size(), 2u);
  EXPECT_TRUE(experiments[1].deleted);
  EXPECT_EQ(experiments[1].created_at, Time{1600000000000000});
  EXPECT_EQ(authorization_, "Bearer hunter2");
  EXPECT_EQ(need(store->logged_models(experiments[0])).size(), 0u) << "MLflow 2 has none";
  const StoreRun run = only_run(*store, experiments[0]);
  EXPECT_EQ(run.record.params.at("lr"), "0.1");
  const auto series = need(store->series(run));
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series[0].times_ms, (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(series[0].values[1], INFINITY);
}

TEST_F(RestStoreTest, FetchesFilesAndTriesAgain) {
  const auto store = open();
  const Holder holder{Holder::Kind::run, "r1", "1", "s3://anywhere"};
  const auto list = need(store->files(holder));
  ASSERT_EQ(list.files.size(), 1u);
  EXPECT_EQ(list.files[0].path, "model/w");
  const Fetched file = need(store->fetch(holder, list.files[0]));
  EXPECT_TRUE(file.temporary);
  EXPECT_EQ(need(os::read_file(file.path, 100)), "bytes");
  EXPECT_EQ(fetched_, 2);
}

TEST_F(RestStoreTest, EndsWithAServerWhoseListsDoNot) {
  const Holder holder{Holder::Kind::run, "r1", "1", "s3://anywhere"};
  server_.handler.on_request = [](net::Request&) {
    return net::Response::text(200, "application/json", R"({"next_page_token":"same"})");
  };
  EXPECT_NE(need(open()->files(holder)).elsewhere.find("the same page"), std::string::npos);
}

TEST_F(RestStoreTest, SaysWhatAnswersNoMlflow) {
  server_.handler.on_request = [](net::Request&) {
    return net::Response::text(200, "text/html", "<html>");
  };
  EXPECT_NE(open()->experiments().error().detail.find("no JSON"), std::string::npos);
  server_.handler.on_request = [](net::Request&) {
    return net::Response::text(401, "text/plain", "who?");
  };
  EXPECT_NE(open()->experiments().error().mend.find("MLFLOW_TRACKING_TOKEN"), std::string::npos);
  server_.handler.on_request = [](net::Request&) {
    return net::Response::text(200, "application/json", R"({"next_page_token":"same"})");
  };
  EXPECT_NE(open()->experiments().error().detail.find("the same page"), std::string::npos);
}

}  // namespace
}  // namespace hearth::app::mlflow
