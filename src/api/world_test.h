// For tests of this room: the API over real services, a database and the mock executor, on port 0.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "api/api.h"
#include "base/bytes.h"
#include "base/format.h"
#include "control/small_world_test.h"
#include "control/templates.h"
#include "domain/json.h"
#include "executors/mock/mock_executor.h"
#include "net/server_test.h"

namespace hearth::api {

// A sample a line: `name{label=value,} number`.
inline std::string lines_of(const std::vector<GaugeFamily>& families) {
  std::string lines;
  for (const GaugeFamily& family : families)
    for (const auto& [labels, value] : family.samples) {
      lines += family.name + '{';
      for (const auto& [label, text] : labels) lines += format("{}={},", label, text);
      lines += format("}} {:g}\n", value);
    }
  return lines;
}

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() : executor_({.nodes = 1, .cpus = 4, .memory = 16LL << 30}, system_clock()) {
    control::JobsOptions jobs;
    jobs.server_url = "http://127.0.0.1:1";
    jobs_ = std::make_unique<control::Jobs>(world_.context(), *world_.access, executor_, jobs);
    const control::ClusterView view{[this] { return jobs_->cluster_nodes(); },
                                    [this] { return jobs_->cluster_use(); }};
    capacity_ = std::make_unique<control::Capacity>(world_.context(), *world_.access, view);
    what_ifs_ = std::make_unique<control::WhatIfs>(world_.context(), *world_.access, view);
    control::IngestOptions ingest;
    ingest.directory = world_.folder.file("logs");
    std::filesystem::create_directories(ingest.directory);
    ingest_ = std::make_unique<control::Ingest>(world_.context(), ingest);
    records_ = std::make_unique<control::Records>(world_.context(), *world_.access);
    tracking_ = std::make_unique<control::Tracking>(world_.context(), *world_.access);
    options_.url = "http://127.0.0.1:8470";
    options_.public_urls = {"https://hearth.example:8443"};
    options_.version = "test";
    net_.listen = {{.address = "127.0.0.1"}};
    net_.temporary_directory = world_.folder.path();
    net_.workers = 2;
    admin_ = token_of(world_.admin);
    member_ = token_of(world_.member);
    viewer_ = token_of(world_.viewer);
    stranger_ = token_of(world_.stranger);
  }
  ~ApiTest() override {
    if (server_) server_->stop(Duration::seconds(5));
    jobs_->stop();
    tracking_->stop();
    ingest_->stop();
  }

  std::optional<int64_t> draining_;  // what the server says of it

  // After a test has set its options.
  void start() {
    Services services{
        world_.context(),
        *world_.access,
        *jobs_,
        *capacity_,
        *what_ifs_,
        *ingest_,
        *records_,
        *tracking_,
        control::put_templates(world_.context(), world_.folder.path()),
        lines_of,
        [this] { return not_ready_; },
        [](const std::string&) -> Result<MadeFile> { return Error::unavailable("no backup"); },
        [](const KeptBackup& backup) -> Result<KeptBackup> { return backup; },
        []() -> std::optional<KeptBackup> { return {}; },
        [] { return Duration{0}; },
        [this] { return draining_; }};
    handler_ = make_handler(std::move(services), options_);
    server_ = control::need(net::Server::create(net_, *handler_, world_.signals));
    control::need(ingest_->start());
    control::need(tracking_->start());
    control::need(jobs_->start());
    server_->start();
  }

  std::string token_of(const Identity& who) {
    Token wanted;
    wanted.name = "test";
    return control::need(world_.access->add_token(who, wanted)).text;
  }

  // "GET /path", headers each ended by CRLF; a body gets its Content-Length.
  net::RawAnswer ask(const std::string& line, const std::string& headers = "",
                     const std::string& body = "") {
    net::RawClient client(server_->port());
    std::string text = line + " HTTP/1.1\r\n";
    if (headers.find("Host:") == std::string::npos) text += "Host: 127.0.0.1\r\n";
    text += headers;
    if (!body.empty()) text += format("Content-Length: {}\r\n", body.size());
    client.send(text + "\r\n" + body);
    return client.answer(!line.starts_with("HEAD"));
  }
  net::RawAnswer as(const std::string& token, const std::string& line, const std::string& body = "",
                    const std::string& headers = "") {
    const std::string type = body.empty() ? "" : "Content-Type: application/json\r\n";
    const std::string own = headers.find("Content-Type") == std::string::npos ? type : "";
    return ask(line, "Authorization: Bearer " + token + "\r\n" + own + headers, body);
  }
  static std::string text_of(const net::RawAnswer& answer, std::string_view member) {
    const auto tree = parse_json(answer.body, 1 << 20);
    if (!tree.ok()) return "not JSON: " + answer.body;
    const Node* found = tree->find(member);
    return found == nullptr ? "" : found->text;
  }
  // A problem of this status and code, complete.
  static void expect_problem(const net::RawAnswer& answer, int status, std::string_view code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.headers.get("content-type"), "application/problem+json");
    EXPECT_EQ(text_of(answer, "code"), code) << answer.body;
    EXPECT_FALSE(text_of(answer, "detail").empty());
    EXPECT_EQ(text_of(answer, "request_id"), answer.headers.get("x-request-id").value_or("?"));
  }
  std::string submit(const std::string& token, const std::string& more = "") {
    const auto answer =
        as(token, "POST /api/v1/jobs", "hearth: 1\nname: train\ncommand: \"true\"\n" + more,
           "Content-Type: application/yaml\r\n");
    EXPECT_EQ(answer.status, 201) << answer.body;
    return text_of(answer, "id");
  }
  // A job that has a task, as the loop made it.
  std::string started(const std::string& token) {
    const std::string id = submit(token);
    EXPECT_TRUE(net::eventually(
        [&] { return text_of(as(token, "GET /api/v1/jobs/" + id), "state") == "preparing"; }));
    return id;
  }
  Task task_of(const std::string& job) {
    return control::need(jobs_->tasks(world_.admin, job)).at(0);
  }
  std::string task_token(const Task& task, TokenKind kind) {
    std::string text;
    world_.write([&](db::Session& session) -> Result<void> {
      const auto made = kind == TokenKind::task
                            ? TRY(world_.access->add_task_token(session, task))
                            : TRY(world_.access->add_job_token(session, task, "ann"));
      text = made.text;
      return {};
    });
    return text;
  }

  control::SmallWorld world_;
  executors::MockExecutor executor_;
  std::unique_ptr<control::Jobs> jobs_;
  std::unique_ptr<control::Capacity> capacity_;
  std::unique_ptr<control::WhatIfs> what_ifs_;
  std::unique_ptr<control::Ingest> ingest_;
  std::unique_ptr<control::Records> records_;
  std::unique_ptr<control::Tracking> tracking_;
  Options options_;
  std::optional<Error> not_ready_;
  net::ServerOptions net_;
  std::unique_ptr<net::Handler> handler_;
  std::unique_ptr<net::Server> server_;
  std::string admin_, member_, viewer_, stranger_;
};

}  // namespace hearth::api
