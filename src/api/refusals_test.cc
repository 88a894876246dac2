// What the API refuses, over a real socket.
#include <gtest/gtest.h>

#include "api/world_test.h"

namespace hearth::api {
namespace {

TEST_F(ApiTest, NoTokenOrAnUnknownOneIsRefused) {
  start();
  const auto none = ask("GET /api/v1/jobs");
  expect_problem(none, 401, "unauthenticated");
  EXPECT_EQ(none.headers.get("www-authenticate"), "Bearer");
  expect_problem(as("hth_nobody", "GET /api/v1/jobs"), 401, "unauthenticated");
  expect_problem(ask("GET /api/v1/jobs", "Authorization: Digest x\r\n"), 401, "unauthenticated");
  for (const char* open : {"/healthz", "/readyz", "/api/openapi.json", "/", "/sign-in"})
    EXPECT_EQ(ask(std::string("GET ") + open).status, 200) << open;
  expect_problem(ask("GET /metrics"), 401, "unauthenticated");
}

TEST_F(ApiTest, TooManyUnknownTokensAreTooMany) {
  options_.failures_per_second = 2;
  start();
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(as("hth_" + std::to_string(i), "GET /api/v1/whoami").status, 401);
  expect_problem(as("hth_x", "GET /api/v1/whoami"), 429, "busy");
  EXPECT_EQ(as("hth_x", "GET /api/v1/whoami").headers.get("retry-after"), "1");
  EXPECT_EQ(as(member_, "GET /api/v1/whoami").status, 200);
  world_.clock.advance(Duration::seconds(60));
  EXPECT_EQ(as("hth_x", "GET /api/v1/whoami").status, 401);
}

TEST_F(ApiTest, ForeignProjectsAreNotThereAndRolesHold) {
  start();
  const std::string job = submit(member_);
  expect_problem(as(stranger_, "GET /api/v1/jobs/" + job), 404, "not_found");
  expect_problem(as(stranger_, "POST /api/v1/jobs/" + job + "/cancel"), 404, "not_found");
  EXPECT_EQ(as(stranger_, "GET /api/v1/jobs").body, "{\"items\":[]}");
  expect_problem(as(stranger_, "GET /api/v1/jobs?project=default"), 404, "not_found");
  EXPECT_EQ(as(viewer_, "GET /api/v1/jobs/" + job).status, 200);
  expect_problem(as(viewer_, "POST /api/v1/jobs/" + job + "/cancel"), 403, "denied");
  EXPECT_EQ(as(member_, "GET /api/v1/users").body.find("vic"), std::string::npos);
  expect_problem(as(member_, "GET /api/v1/backup"), 403, "denied");
  expect_problem(as(member_, "POST /api/v1/backup", R"({"id":"x","path":"/b"})"), 403, "denied");
  expect_problem(as(member_, "PUT /api/v1/projects/default/secrets/KEY", "{\"value\":\"x\"}"), 403,
                 "denied");
}

TEST_F(ApiTest, ForeignHostsAndOriginsAreRefused) {
  start();
  const std::string bearer = "Authorization: Bearer " + member_ + "\r\n";
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
                           "10.0.0.1", "hearth.example.evil"})
    expect_problem(ask("GET /api/v1/whoami", format("Host: {}\r\n{}", host, bearer)), 403,
                   "denied");
  for (const char* host : {"localhost", "localhost:99", "127.0.0.1:1", "127.9.9.9", "[::1]:5",
                           "hearth.example:8443", "hearth.example"})
    EXPECT_EQ(ask("GET /api/v1/whoami", format("Host: {}\r\n{}", host, bearer)).status, 200)
        << host;
  expect_problem(ask("GET /healthz", "Host: evil.example\r\n"), 403, "denied");
  const std::string job = submit(member_);
  const std::string cancel = "POST /api/v1/jobs/" + job + "/cancel";
  expect_problem(as(member_, cancel, "", "Origin: https://evil.example\r\n"), 403, "denied");
  expect_problem(as(member_, cancel, "", "Origin: null\r\n"), 403, "denied");
  expect_problem(as(member_, cancel, "", "Sec-Fetch-Site: cross-site\r\n"), 403, "denied");
  expect_problem(
      as(member_, "POST /api/v1/jobs", "{}", "Content-Type: application/x-www-form-urlencoded\r\n"),
      400, "invalid");
  EXPECT_EQ(as(member_, cancel, "", "Origin: http://127.0.0.1:8470\r\n").status, 200);
}

TEST_F(ApiTest, PathsCannotEscape) {
  start();
  const std::string job = submit(member_);
  const std::string run = text_of(as(member_, "GET /api/v1/jobs/" + job), "run_id");
  for (const char* path : {"..%2F..%2Fetc%2Fpasswd", "../secret", "a/../b", "a/%2e%2e/b", "a//b",
                           "a%5C..%5Cb", "a%00b", "./a"})
    expect_problem(as(member_, format("GET /api/v1/runs/{}/artifacts/{}", run, path)), 400,
                   "invalid");
  expect_problem(as(member_, format("GET /api/v1/runs/{}/artifacts/a", run)), 404, "not_found");
  expect_problem(as(member_, "GET /api/v1/objects/..%2F..%2Fetc%2Fpasswd"), 400, "invalid");
  expect_problem(as(member_, "GET /assets/..%2Fhandler.cc"), 404, "not_found");
  expect_problem(as(member_, "GET /assets/../handler.cc"), 404, "not_found");
  for (const char* more : {"outputs: {artifacts: [../x]}\n", "outputs: {artifacts: [/etc/x]}\n",
                           "outputs: {checkpoints: {path: ../x}}\n"}) {
    const auto refused = as(member_, "POST /api/v1/jobs",
                            std::string("hearth: 1\nname: x\ncommand: \"true\"\n") + more,
                            "Content-Type: application/yaml\r\n");
    expect_problem(refused, 400, "invalid");
  }
}

TEST_F(ApiTest, OversizedBodiesAreRefusedAndStrangersSendNone) {
  start();
  expect_problem(as(member_, "POST /api/v1/tokens", std::string((1 << 20) + 1, ' ')), 413,
                 "too_large");
  expect_problem(as(member_, "POST /api/v1/jobs", std::string((4 << 20) + 1, '#'),
                    "Content-Type: application/yaml\r\n"),
                 413, "too_large");
  net::RawClient stranger(server_->port());
  stranger.send(
      "PATCH /api/v1/uploads/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n");
  const auto refused = stranger.answer();
  expect_problem(refused, 401, "unauthenticated");
  EXPECT_EQ(refused.headers.get("x-content-type-options"), "nosniff");
}

TEST_F(ApiTest, SlowSendersAreRefused) {
  net_.head_time = Duration::millis(100);
  net_.body_rate_window = Duration::millis(100);
  start();
  net::RawClient head(server_->port()), body(server_->port());
  head.send("GET /api/v1/jobs HTTP/1.1\r\n");
  body.send("POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nx");
  expect_problem(head.answer(), 408, "timeout");
  expect_problem(body.answer(), 408, "timeout");
}

TEST_F(ApiTest, ASignInCodeIsGoodOnce) {
  start();
  const auto made = as(member_, "POST /api/v1/sign-in-codes", "{}");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string link = text_of(made, "link");
  EXPECT_TRUE(link.starts_with("https://hearth.example:8443/sign-in#")) << link;
  const std::string body = format("{{\"code\":\"{}\"}}", link.substr(link.find('#') + 1));
  const std::string type = "Content-Type: application/json\r\n";
  const auto session = ask("POST /api/v1/sessions", type, body);
  EXPECT_EQ(session.status, 201) << session.body;
  const std::string cookie(session.headers.get("set-cookie").value_or(""));
  EXPECT_NE(cookie.find("HttpOnly"), std::string::npos);
  EXPECT_NE(cookie.find("SameSite=Strict"), std::string::npos);
  EXPECT_EQ(session.body.find("hth_"), std::string::npos);
  const std::string pair = "Cookie: other=1; " + cookie.substr(0, cookie.find(';')) + "\r\n";
  EXPECT_EQ(text_of(ask("GET /api/v1/whoami", pair), "user"), "ann");
  expect_problem(ask("POST /api/v1/sessions", type, body), 401, "unauthenticated");
  const std::string by_page = pair + "X-Hearth-Request: page\r\n";
  // Another site, a page of another port of this host, and a form that no script sent.
  for (const char* origin : {"https://evil.example", "http://127.0.0.1:1"})
    expect_problem(ask("DELETE /api/v1/sessions", by_page + format("Origin: {}\r\n", origin)), 403,
                   "denied");
  expect_problem(ask("DELETE /api/v1/sessions", pair), 403, "denied");
  const auto left = ask("DELETE /api/v1/sessions", by_page);
  EXPECT_EQ(left.status, 204);
  EXPECT_NE(left.headers.get("set-cookie").value_or("").find("Max-Age=0"), std::string::npos);
  expect_problem(ask("GET /api/v1/whoami", pair), 401, "unauthenticated");
}

TEST_F(ApiTest, ASignInCodeIsRedeemedForAToken) {
  start();
  const std::string link = text_of(as(member_, "POST /api/v1/sign-in-codes", "{}"), "link");
  const std::string code = link.substr(link.find('#') + 1);
  const std::string route = "POST /api/v1/sign-in-codes/redeem";
  const std::string type = "Content-Type: application/json\r\n";
  const std::string body = format(R"({{"code":"{}","name":"laptop"}})", code);
  expect_problem(ask(route, type, format(R"({{"code":"{}"}})", code)), 400, "invalid");
  const auto made = ask(route, type, body);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_FALSE(made.headers.get("set-cookie"));
  EXPECT_EQ(text_of(as(text_of(made, "token"), "GET /api/v1/whoami"), "user"), "ann");
  expect_problem(ask(route, type, body), 401, "unauthenticated");
}

TEST_F(ApiTest, ATasksTokenTouchesNoOtherJob) {
  start();
  const std::string mine = started(member_), other = started(member_);
  const Task task = task_of(mine), others = task_of(other);
  const std::string shim = task_token(task, TokenKind::task);
  const std::string job = task_token(task, TokenKind::job);
  const std::string sync = "{\"protocol\":1,\"epoch\":1}\n";
  const std::string type = "Content-Type: application/x-hearth-sync\r\n";
  EXPECT_EQ(as(shim, "POST /api/v1/tasks/" + task.id + "/sync", sync, type).status, 200);
  EXPECT_GE(as(shim, "POST /api/v1/tasks/" + others.id + "/sync", sync, type).status, 403);
  for (const std::string& token : {job, member_, admin_})
    expect_problem(as(token, "POST /api/v1/tasks/" + task.id + "/sync", sync, type), 403, "denied");
  EXPECT_EQ(as(job, "GET /api/v1/jobs/" + mine).status, 200);
  for (const std::string& token : {shim, job}) {
    EXPECT_GE(as(token, "POST /api/v1/jobs/" + other + "/cancel").status, 403);
    EXPECT_GE(as(token, "GET /api/v1/users").status, 403);
    EXPECT_GE(as(token, "POST /api/v1/tokens", "{\"name\":\"more\"}").status, 400);
  }
}

// Before anything else of the request is looked at: it may mean something else there.
TEST_F(ApiTest, AShimThatSpeaksAnotherProtocolIsToldSo) {
  start();
  const Task task = task_of(started(member_));
  const std::string shim = task_token(task, TokenKind::task);
  const auto sync = [&](const std::string& line) {
    return as(shim, "POST /api/v1/tasks/" + task.id + "/sync", line + "\n",
              "Content-Type: application/x-hearth-sync\r\n");
  };
  const auto other =
      sync(R"({"protocol":99,"oldest_protocol":98,"newest_protocol":99,"epoch":[]})");
  expect_problem(other, 501, "unsupported");
  EXPECT_NE(other.body.find("speaks shim protocol 98 to 99, this server speaks 1"),
            std::string::npos);
  const auto newer = sync(R"({"protocol":1,"oldest_protocol":1,"newest_protocol":99,"epoch":1,)"
                          R"("of_a_later_version":{}})");
  EXPECT_EQ(newer.status, 200) << newer.body;
  EXPECT_NE(newer.body.find(R"("protocol":1)"), std::string::npos) << newer.body;
}

TEST_F(ApiTest, WrongCallsAreNamed) {
  start();
  expect_problem(as(member_, "GET /api/v1/nothing"), 404, "not_found");
  const auto method = as(member_, "PUT /api/v1/jobs", "{}");
  expect_problem(method, 405, "method");
  EXPECT_EQ(method.headers.get("allow"), "POST, GET");
  expect_problem(as(member_, "DELETE /api/v1/jobs/check"), 405, "method");
  for (const char* query : {"limit=0", "limit=1001", "limit=x", "filter=nope%20%3D%201",
                            "filter=state%20%3D", "order_by=nope", "cursor=nonsense", "limit=%FF"})
    expect_problem(as(member_, std::string("GET /api/v1/jobs?") + query), 400, "invalid");
  const auto misspelt = as(member_, "GET /api/v1/jobs?limits=3&fields=id");
  expect_problem(misspelt, 400, "invalid");
  EXPECT_NE(misspelt.body.find("write limit"), std::string::npos) << misspelt.body;
  EXPECT_EQ(misspelt.body.find("'fields'"), std::string::npos) << misspelt.body;
  expect_problem(as(member_, "POST /api/v1/jobs", "{\"yaml\":"), 400, "invalid");
  expect_problem(as(member_, "POST /api/v1/jobs", "{\"nonsense\":1}"), 400, "invalid");
  expect_problem(ask("GET /api/v1/jobs/%zz", "Authorization: Bearer " + member_ + "\r\n"), 404,
                 "not_found");
}

}  // namespace
}  // namespace hearth::api
