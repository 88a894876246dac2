// MLflow's calls over a real socket: who is let in, what they answer, what they refuse.
#include "api/mlflow/face.h"

#include <algorithm>

#include "api/world_test.h"
#include "control/tracking/tracking.h"

namespace hearth::api {
namespace {

class MlflowTest : public ApiTest {
 protected:
  net::RawAnswer post(const std::string& token, const std::string& path, const std::string& body) {
    return as(token, "POST /api/2.0/mlflow" + path, body);
  }
  net::RawAnswer get(const std::string& token, const std::string& path) {
    return as(token, "GET /api/2.0/mlflow" + path);
  }
  static void expect_error(const net::RawAnswer& answer, int status, std::string_view code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(text_of(answer, "error_code"), code) << answer.body;
    EXPECT_FALSE(text_of(answer, "message").empty());
  }
  // A member of the object that `name` holds.
  static std::string inner(const net::RawAnswer& answer, const std::vector<std::string>& path) {
    const auto tree = parse_json(answer.body, 1 << 20);
    const Node* at = tree.ok() ? &*tree : nullptr;
    for (const std::string& name : path) at = at == nullptr ? nullptr : at->find(name);
    return at == nullptr ? "" : at->text;
  }
  std::string new_run(const std::string& token, const std::string& experiment = "0") {
    const auto answer =
        post(token, "/runs/create", format(R"({{"experiment_id":"{}"}})", experiment));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return inner(answer, {"run", "info", "run_id"});
  }
};

TEST_F(MlflowTest, EveryCallNeedsAToken) {
  start();
  size_t open = 0;
  for (const auto& route : mlflow::table().routes()) {
    std::string path(route->path);
    for (size_t at = path.find('{'); at != std::string::npos; at = path.find('{'))
      path.replace(at, path.find('}') - at + 1, "x");
    const auto answer = ask(format("{} {}", route->method, path));
    if (route->need == Need::open) {
      EXPECT_EQ(answer.status, 200) << path;
      ++open;
    } else {
      expect_error(answer, 401, "UNAUTHENTICATED");
    }
  }
  EXPECT_EQ(open, 2U);
}

TEST_F(MlflowTest, RolesCount) {
  start();
  const std::string run = new_run(member_);
  ASSERT_FALSE(run.empty());
  EXPECT_EQ(get(viewer_, "/runs/get?run_id=" + run).status, 200);
  expect_error(post(viewer_, "/runs/set-tag", format(R"({{"run_id":"{}","key":"a"}})", run)), 403,
               "PERMISSION_DENIED");
  expect_error(get(stranger_, "/runs/get?run_id=" + run), 404, "RESOURCE_DOES_NOT_EXIST");
  const std::string file = "/api/2.0/mlflow-artifacts/artifacts/0/" + run + "/artifacts/a.txt";
  EXPECT_EQ(as(member_, "PUT " + file, "hello").status, 200);
  EXPECT_EQ(as(viewer_, "GET " + file).body, "hello");
  EXPECT_EQ(as(viewer_, "PUT " + file, "other").status, 403);
  EXPECT_EQ(as(viewer_, "DELETE " + file).status, 403);
  EXPECT_NE(as(stranger_, "GET " + file).status, 200);
  EXPECT_EQ(as(viewer_, "GET " + file).body, "hello");
}

TEST_F(MlflowTest, LogsAndReadsBack) {
  start();
  const std::string run = new_run(member_);
  const auto logged = post(
      member_, "/runs/log-batch",
      format(
          R"({{"run_id":"{}","metrics":[{{"key":"loss","value":0.5,"timestamp":5,"step":1}},)"
          R"({{"key":"nan","value":"NaN","timestamp":5}}],"params":[{{"key":"lr","value":"1"}}]}})",
          run));
  EXPECT_EQ(logged.status, 200) << logged.body;
  EXPECT_EQ(logged.body, "{}");
  const auto read = get(member_, "/runs/get?run_id=" + run);
  EXPECT_NE(read.body.find(R"({"key":"loss","value":0.5,"timestamp":5,"step":1})"),
            std::string::npos)
      << read.body;
  EXPECT_NE(read.body.find(R"("value":"NaN")"), std::string::npos);
  const auto found =
      post(member_, "/runs/search", R"({"experiment_ids":["0"],"filter":"metrics.loss = 0.5"})");
  EXPECT_NE(found.body.find(run), std::string::npos) << found.body;
  EXPECT_EQ(
      post(member_, "/runs/search", R"({"experiment_ids":["0"],"filter":"metrics.loss > 0.5"})")
          .body,
      "{}");
  expect_error(post(member_, "/runs/log-parameter",
                    format(R"({{"run_id":"{}","key":"lr","value":"2"}})", run)),
               400, "INVALID_PARAMETER_VALUE");
}

TEST_F(MlflowTest, AJobsTokenKeepsToItsOwn) {
  start();
  const std::string foreign = new_run(member_);
  const Task task = task_of(started(member_));
  const std::string token = task_token(task, TokenKind::job);
  const std::string own = new_run(token);
  const std::string child = new_run(token);
  EXPECT_NE(own, child);
  const auto job = as(member_, "GET /api/v1/jobs/" + task.job_id);
  EXPECT_EQ(text_of(job, "run_id"), own);
  EXPECT_EQ(text_of(as(member_, "GET /api/v1/runs/" + child), "parent_id"), own);
  expect_error(post(token, "/runs/set-tag", format(R"({{"run_id":"{}","key":"a"}})", foreign)), 403,
               "PERMISSION_DENIED");
  const std::string base = "/api/2.0/mlflow-artifacts/artifacts/0/";
  EXPECT_EQ(as(token, "PUT " + base + own + "/artifacts/a", "x").status, 200);
  EXPECT_EQ(as(token, "PUT " + base + foreign + "/artifacts/a", "x").status, 403);
  EXPECT_EQ(post(token, "/registered-models/create", R"({"name":"m"})").status, 200);
  EXPECT_EQ(as(token, "DELETE /api/2.0/mlflow/registered-models/delete", R"({"name":"m"})").status,
            403);
}

TEST_F(MlflowTest, AnswersWhatIsNotThereForGood) {
  start();
  expect_error(get(member_, "/no-such-call"), 404, "ENDPOINT_NOT_FOUND");
  expect_error(get(member_, "/webhooks"), 501, "NOT_IMPLEMENTED");
  expect_error(get(member_, "/runs/create"), 405, "ENDPOINT_NOT_FOUND");
  expect_error(post(member_, "/runs/create", "{"), 400, "INVALID_PARAMETER_VALUE");
  expect_error(ask("GET /api/2.0/mlflow/runs/get", "Host: evil.example\r\n"), 403,
               "PERMISSION_DENIED");
}

TEST_F(MlflowTest, ModelsAreEvents) {
  start();
  EXPECT_EQ(post(member_, "/registered-models/create", R"({"name":"my model"})").status, 200);
  EXPECT_EQ(
      post(member_, "/model-versions/create", R"({"name":"my model","source":"s3://bucket/model"})")
          .status,
      200);
  EXPECT_EQ(post(member_, "/model-versions/transition-stage",
                 R"({"name":"my model","version":"1","stage":"production"})")
                .status,
            200);
  std::vector<std::string> kinds;
  control::need(world_.context().database.read([&](db::Session& session) -> Result<void> {
    for (const Event& event : TRY(db::events_since(session, 0, 1000))) kinds.push_back(event.kind);
    return {};
  }));
  for (const char* kind : {"model.created", "model.version_added", "model.stage_set"})
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), kind), 1) << kind;
}

}  // namespace
}  // namespace hearth::api
