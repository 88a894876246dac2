// What the API answers: versions, ranges, replays, the page, answers from memory, streams.
#include <fstream>

#include <gtest/gtest.h>

#include "api/answer.h"
#include "api/world_test.h"
#include "domain/schema.h"

namespace hearth::api {
namespace {

TEST_F(ApiTest, VersionsAreEtags) {
  start();
  const std::string job = started(member_);
  const auto read = as(member_, "GET /api/v1/jobs/" + job);
  const std::string etag(read.headers.get("etag").value_or(""));
  EXPECT_EQ(etag, "\"" + text_of(read, "version") + "\"");
  const auto head = as(member_, "HEAD /api/v1/jobs/" + job);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.get("etag"), etag);
  const std::string cancel = "POST /api/v1/jobs/" + job + "/cancel";
  EXPECT_GE(as(member_, cancel, "", "If-Match: \"999\"\r\n").status, 409);
  expect_problem(as(member_, cancel, "", "If-Match: nonsense\r\n"), 400, "invalid");
  EXPECT_EQ(as(member_, cancel, "", "If-Match: " + etag + "\r\n").status, 200);
}

TEST_F(ApiTest, FieldsAreProjected) {
  start();
  const std::string job = submit(member_);
  const auto one = as(member_, "GET /api/v1/jobs/" + job + "?fields=id,name");
  EXPECT_EQ(one.body, format("{{\"id\":\"{}\",\"name\":\"train-1\"}}", job));
  EXPECT_EQ(as(member_, "GET /api/v1/jobs?fields=name").body,
            "{\"items\":[{\"name\":\"train-1\"}]}");
  EXPECT_EQ(as(member_, "GET /api/v1/jobs?fields=name.x").body, "{\"items\":[{}]}");
  // What cannot be answered is not done either.
  expect_problem(as(member_, "POST /api/v1/jobs/" + job + "/cancel?fields=%22id"), 400, "invalid");
  const std::string state = text_of(as(member_, "GET /api/v1/jobs/" + job), "state");
  EXPECT_FALSE(state.empty() || state.starts_with("cancel")) << state;
}

TEST_F(ApiTest, WhyNothingIsWrittenIsToldToWhomItConcerns) {
  start();
  EXPECT_EQ(as(viewer_, "GET /readyz").status, 200);
  not_ready_ = Error::unavailable("the disk is full", "free some space");
  const auto full = ask("GET /readyz");
  expect_problem(full, 503, "unavailable");
  EXPECT_EQ(text_of(full, "detail"), "the disk is full");
  // Words about damage name jobs, models and where the backup lies.
  not_ready_ = Error::internal("object x (model secret 1) is damaged", "the backup is box:/b");
  const auto open = ask("GET /readyz");
  expect_problem(open, 503, "unavailable");
  EXPECT_EQ(open.body.find("model secret"), std::string::npos) << open.body;
  EXPECT_EQ(open.body.find("box:/b"), std::string::npos) << open.body;
  const auto viewer = as(viewer_, "GET /api/v1/status"), admin = as(admin_, "GET /api/v1/status");
  EXPECT_NE(text_of(viewer, "refusing").find("model secret 1"), std::string::npos);
  EXPECT_EQ(viewer.body.find("box:/b"), std::string::npos) << viewer.body;
  EXPECT_EQ(text_of(admin, "mend"), "the backup is box:/b");
  EXPECT_EQ(text_of(admin, "ready"), "false");
}

TEST_F(ApiTest, StatusTellsOfADraining) {
  start();
  EXPECT_NE(text_of(as(viewer_, "GET /api/v1/status"), "draining"), "true");
  draining_ = 2;
  const auto answer = as(viewer_, "GET /api/v1/status");
  EXPECT_EQ(text_of(answer, "draining"), "true");
  EXPECT_EQ(text_of(answer, "waits_for_tasks"), "2");
  EXPECT_EQ(text_of(answer, "ready"), "true");  // what runs goes on, and is written down
}

TEST_F(ApiTest, MetricsTellOfTheCluster) {
  start();
  const auto has = [this](const std::string& token, const std::string& line) {
    const auto answer = as(token, "GET /metrics");
    return ("\n" + answer.body).find("\n" + line + "\n") != std::string::npos;
  };
  EXPECT_TRUE(has(viewer_, "hearth_jobs{state=queued,} 0"));
  EXPECT_TRUE(has(viewer_, "hearth_jobs_oldest_wait_seconds{} 0"));
  const std::string first = submit(member_, "resources: {cpus: 3}\n");
  world_.clock.advance(Duration::millis(10));  // of those that come at once any may be the first
  const std::string second = submit(member_, "resources: {cpus: 4}\n");
  EXPECT_TRUE(
      net::eventually([&] { return has(viewer_, "hearth_jobs_waiting{reason=cpus_short,} 1"); }));
  const NodeInfo node = jobs_->cluster_nodes().at(0);
  const std::string at = format("node={},pool={},}} ", node.name, node.pool);
  for (const std::string& line :
       {std::string("hearth_jobs{state=queued,} 1"), "hearth_node_cpus{" + at + "4",
        "hearth_node_free_cpus{" + at + "1", "hearth_node_ready{" + at + "1",
        "hearth_node_cordoned{" + at + "0", "hearth_node_tasks{" + at + "1",
        std::string("hearth_project_jobs{project=default,state=queued,} 1"),
        std::string("hearth_project_used_cpus{project=default,} 3")})
    EXPECT_TRUE(has(viewer_, line)) << line << "\n" << as(viewer_, "GET /metrics").body;
  world_.clock.advance(Duration::seconds(90));
  EXPECT_TRUE(has(viewer_, "hearth_jobs_oldest_wait_seconds{} 90"));
  // Of a project one may not see nothing is told.
  EXPECT_EQ(as(stranger_, "GET /metrics").body.find("project=default"), std::string::npos);
  EXPECT_TRUE(has(stranger_, "hearth_project_used_cpus{project=other,} 0"));
  draining_ = 1;
  EXPECT_TRUE(has(viewer_, "hearth_jobs_waiting{reason=draining,} 1"));
  draining_.reset();
  EXPECT_EQ(as(member_, "POST /api/v1/jobs/" + second + "/cancel", "{}").status, 200);
  EXPECT_TRUE(net::eventually(
      [&] { return as(viewer_, "GET /metrics").body.find("jobs_waiting") == std::string::npos; }));
}

TEST_F(ApiTest, AnIdempotencyKeyGivesTheSameAnswer) {
  start();
  const std::string yaml = "hearth: 1\nname: once\ncommand: \"true\"\n";
  const std::string headers = "Content-Type: application/yaml\r\nIdempotency-Key: k1\r\n";
  const auto first = as(member_, "POST /api/v1/jobs", yaml, headers);
  ASSERT_EQ(first.status, 201) << first.body;
  const auto second = as(member_, "POST /api/v1/jobs", yaml, headers);
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(text_of(second, "id"), text_of(first, "id"));
  EXPECT_EQ(second.headers.get("idempotency-replayed"), "true");
  expect_problem(as(member_, "POST /api/v1/jobs", yaml + "priority: 60\n", headers), 409,
                 "conflict");
  const auto other = as(admin_, "POST /api/v1/jobs", yaml, headers);
  EXPECT_NE(text_of(other, "id"), text_of(first, "id"));
}

TEST_F(ApiTest, UploadsGoOnWhereTheyWere) {
  start();
  const std::string bytes = "0123456789";
  const std::string digest = sha256(bytes);
  const auto begun = as(member_, "POST /api/v1/uploads",
                        format("{{\"digest\":\"{}\",\"size_bytes\":10}}", digest));
  ASSERT_EQ(begun.status, 201) << begun.body;
  const std::string upload = "/api/v1/uploads/" + text_of(begun, "id");
  const std::string part = "Content-Type: application/octet-stream\r\nUpload-Offset: ";
  EXPECT_EQ(as(member_, "PATCH " + upload, "0123", part + "0\r\n").status, 200);
  EXPECT_GE(as(member_, "PATCH " + upload, "89", part + "8\r\n").status, 400);
  expect_problem(as(member_, "PATCH " + upload, "89", part + "x\r\n"), 400, "invalid");
  EXPECT_EQ(as(member_, "PATCH " + upload, "456789", part + "4\r\n").status, 200);
  EXPECT_EQ(as(member_, "POST " + upload + "/finish").status, 200);
  EXPECT_EQ(as(member_, "HEAD /api/v1/objects/" + digest).status, 200);
  // Nothing of a project refers to it yet: nobody may read what he only knows the digest of.
  expect_problem(as(stranger_, "GET /api/v1/objects/" + digest), 404, "not_found");
}

TEST_F(ApiTest, NamesAndIdsAreBothTaken) {
  start();
  const auto object = control::need(world_.objects->put("bytes"));
  const Manifest manifest{{{"a.txt", object.digest, object.size_bytes}}};
  control::need(records_->add_dataset_version(world_.member, "", "mnist", manifest, "", {}));
  const std::string set = text_of(as(member_, "GET /api/v1/datasets/mnist"), "id");
  const std::string project = text_of(as(member_, "GET /api/v1/projects/default"), "id");
  for (const std::string& by_id :
       {"datasets/" + set, "datasets/" + set + "/versions/1", "projects/" + project + "/members",
        "jobs/" + submit(member_), "lineage?thing=dataset:" + set})
    EXPECT_EQ(as(member_, "GET /api/v1/" + by_id).status, 200) << by_id;
  // An id tells nobody the name of what he may not see.
  const auto foreign = as(stranger_, "GET /api/v1/projects/" + project);
  expect_problem(foreign, 404, "not_found");
  EXPECT_EQ(foreign.body.find("default"), std::string::npos) << foreign.body;
  const auto eve = as(admin_, "POST /api/v1/users", R"({"name":"eve"})");
  const auto tree = parse_json(eve.body, 1 << 20);
  ASSERT_TRUE(tree.ok());
  const std::string id = tree->find("user")->find("id")->text;
  EXPECT_EQ(as(admin_, "PATCH /api/v1/users/" + id, R"({"disabled":true})").status, 200);
}

TEST_F(ApiTest, TagsOfARunAreSetAndTakenAway) {
  start();
  const std::string run = task_of(started(member_)).run_id;
  const std::string patch = format("PATCH /api/v1/runs/{}/tags", run);
  const auto tagged = as(member_, patch, R"({"tags":{"stage":"best","note":"a b"}})");
  ASSERT_EQ(tagged.status, 200) << tagged.body;
  EXPECT_NE(tagged.body.find(R"("tags":{"note":"a b","stage":"best"})"), std::string::npos);
  EXPECT_EQ(tagged.headers.get("etag"), "\"" + text_of(tagged, "version") + "\"");
  EXPECT_EQ(world_.last_event(), "run.tagged");
  const auto less = as(member_, patch, R"({"tags":{"note":"","none":""}})");
  EXPECT_EQ(less.status, 200) << less.body;
  const auto read = as(viewer_, format("GET /api/v1/runs/{}?fields=tags", run));
  EXPECT_EQ(read.body, R"({"tags":{"stage":"best"}})");
  for (const std::string& wrong :
       {std::string("{}"), std::string(R"({"tags":{}})"), std::string(R"({"tags":{"":"x"}})"),
        std::string(R"({"tags":{"a":1}})"),
        format(R"({{"tags":{{"a":"{}"}}}})", std::string(5001, 'x'))})
    expect_problem(as(member_, patch, wrong), 400, "invalid");
  expect_problem(as(member_, "PATCH /api/v1/runs/none/tags", R"({"tags":{"a":"b"}})"), 404,
                 "not_found");
  EXPECT_EQ(as(viewer_, format("GET /api/v1/runs/{}?fields=tags", run)).body, read.body);
}

TEST_F(ApiTest, RunsAreListedByChosenFields) {
  start();
  const auto mlflow = [&](const std::string& call, const std::string& body) {
    return as(member_, "POST /api/2.0/mlflow/" + call, body);
  };
  const auto made = mlflow("runs/create", R"({"experiment_id":"0","run_name":"first"})");
  ASSERT_EQ(made.status, 200) << made.body;
  const std::string runs = "GET /api/v1/runs?";
  const std::string run = control::need(parse_json(as(member_, runs + "fields=id").body))
                              .find("items")
                              ->items.at(0)
                              .find("id")
                              ->text;
  const auto logged = mlflow("runs/log-batch", format(R"({{"run_id":"{}","metrics":[
      {{"key":"loss","value":0.5,"timestamp":1,"step":2}},
      {{"key":"a: b","value":3,"timestamp":1,"step":0}}],
      "params":[{{"key":"lr","value":"0.1"}},{{"key":"opt","value":"adam"}}]}})",
                                                      run));
  ASSERT_EQ(logged.status, 200) << logged.body;
  const auto one = [&](const std::string& fields) {
    const auto answer = as(member_, runs + "fields=" + fields);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const size_t from = answer.body.find('[') + 1;
    return answer.body.substr(from, answer.body.rfind(']') - from);
  };
  EXPECT_EQ(one("user"), one("user,git").substr(0, one("user").size()));  // from disk, too
  EXPECT_EQ(one("name,params.lr"), R"({"name":"first","params":{"lr":"0.1"}})");
  const std::string loss = one("metrics.loss");
  EXPECT_TRUE(loss.find(R"("loss":{"value":0.5)") != std::string::npos &&
              loss.find("a: b") == std::string::npos)
      << loss;
  const std::string quoted = one("%22metrics.a:%20b%22,metrics.none");
  EXPECT_TRUE(quoted.find(R"("a: b":{"value":3)") != std::string::npos &&
              quoted.find("loss") == std::string::npos)
      << quoted;
  EXPECT_NE(one("metrics").find("loss"), std::string::npos);
  EXPECT_NE(one("metrics,metrics.loss").find("a: b"), std::string::npos);
  EXPECT_EQ(one("metrics.none"), "{}");
  expect_problem(as(member_, runs + "fields=%22id"), 400, "invalid");

  const auto ordered = as(member_, runs + "order_by=%22metrics.a:%20b%22%20desc&fields=name");
  EXPECT_EQ(ordered.status, 200) << ordered.body;
  const std::string groups = "GET /api/v1/runs/groups?group_by=params.opt&agg=";
  const auto grouped = as(member_, groups + "%22metrics.a:%20b%22:max,metrics.loss");
  EXPECT_NE(grouped.body.find(R"("metrics.a: b:max":3)"), std::string::npos) << grouped.body;
  EXPECT_NE(grouped.body.find(R"("metrics.loss":0.5)"), std::string::npos) << grouped.body;
  expect_problem(as(member_, groups + "%22metrics.loss%22max"), 400, "invalid");
}

TEST_F(ApiTest, LineageGoesBothWays) {
  start();
  const auto object = control::need(world_.objects->put("bytes"));
  const Manifest manifest{{{"a.txt", object.digest, object.size_bytes}}};
  control::need(records_->add_dataset_version(world_.member, "", "mnist", manifest, "", {}));
  const std::string job = submit(member_, "datasets: [{name: mnist, at: data}]\n");
  const std::string run = text_of(as(member_, "GET /api/v1/jobs/" + job), "run_id");
  const auto ask_for = [&](const std::string& thing) {
    return as(viewer_, "GET /api/v1/lineage?thing=" + thing);
  };
  for (const char* thing : {"dataset:mnist@1", "mnist", "mnist@v1"}) {
    const auto down = ask_for(thing);
    ASSERT_EQ(down.status, 200) << down.body;
    EXPECT_TRUE(text_of(down, "root").starts_with("dataset:")) << down.body;
    EXPECT_NE(down.body.find(format(R"("to":"run:{}","how":"read")", run)), std::string::npos)
        << down.body;
  }
  for (const std::string& thing : {"job:" + job, std::string("run:train-1"), run}) {
    const auto up = ask_for(thing);
    ASSERT_EQ(up.status, 200) << up.body;
    EXPECT_EQ(text_of(up, "root"), "run:" + run);
    EXPECT_NE(up.body.find(R"("name":"mnist@1")"), std::string::npos) << up.body;
  }
  control::need(records_->add_dataset_version(world_.member, "", "train-1", manifest, "", {}));
  const auto two = ask_for("train-1");
  expect_problem(two, 400, "invalid");
  EXPECT_NE(text_of(two, "mend").find("dataset:train-1"), std::string::npos) << two.body;
  expect_problem(ask_for(""), 400, "invalid");
  expect_problem(ask_for("cake:mnist"), 400, "invalid");
  expect_problem(ask_for("dataset:none"), 404, "not_found");
  expect_problem(as(stranger_, "GET /api/v1/lineage?thing=mnist"), 404, "not_found");
}

TEST_F(ApiTest, LineageOfADigestIsThatOfWhatHasIt) {
  start();
  const auto object = control::need(world_.objects->put("bytes"));
  const Manifest manifest{{{"a.txt", object.digest, object.size_bytes}}};
  const auto added =
      control::need(records_->add_dataset_version(world_.member, "", "mnist", manifest, "", {}));
  const auto ask_for = [&](const std::string& digest) {
    return as(viewer_, "GET /api/v1/lineage?thing=" + digest);
  };
  const auto found = ask_for(added.manifest_digest);
  ASSERT_EQ(found.status, 200) << found.body;
  EXPECT_TRUE(text_of(found, "root").starts_with("dataset:")) << found.body;
  expect_problem(ask_for(object.digest), 404, "not_found");  // no thing of its own
  const hearth::Run run =
      control::need(tracking_->create_run(world_.member, {.name = "made-it"})).run;
  world_.write([&](db::Session& session) -> Result<void> {
    Artifact artifact{.id = new_id(world_.clock, system_random()), .run_id = run.id};
    artifact.project = "default";
    artifact.path = "plot.png";
    artifact.digest = object.digest;
    TRY(db::Table<Artifact>::insert(session, artifact));
    return db::pin(session, object.digest, "artifact:" + artifact.id, world_.clock.now());
  });
  EXPECT_EQ(text_of(ask_for(object.digest), "root"), "run:" + run.id);
  expect_problem(as(stranger_, "GET /api/v1/lineage?thing=" + object.digest), 404, "not_found");
  const std::string job = submit(member_);
  const auto code = control::need(world_.objects->put("code"));
  world_.write([&](db::Session& session) {
    return db::pin(session, code.digest, "code:" + job, world_.clock.now());
  });
  EXPECT_EQ(text_of(ask_for(code.digest), "root"), "code:" + code.digest);
  expect_problem(as(stranger_, "GET /api/v1/lineage?thing=" + code.digest), 404, "not_found");
  expect_problem(ask_for("sha256:" + std::string(64, '0')), 404, "not_found");
  expect_problem(as(stranger_, "GET /api/v1/lineage?thing=" + added.manifest_digest), 404,
                 "not_found");
}

TEST_F(ApiTest, RunsAreDeletedAndRestored) {
  start();
  const std::string job = submit(member_);
  const std::string own = text_of(as(member_, "GET /api/v1/jobs/" + job), "run_id");
  expect_problem(as(member_, "DELETE /api/v1/runs/" + own), 409, "conflict");
  const hearth::Run run =
      control::need(tracking_->create_run(world_.member, {.name = "by-hand"})).run;
  expect_problem(as(stranger_, "DELETE /api/v1/runs/" + run.id), 404, "not_found");
  expect_problem(as(viewer_, "DELETE /api/v1/runs/" + run.id), 403, "denied");
  const auto listed = [&](const std::string& query) {
    return as(viewer_, "GET /api/v1/runs" + query).body.find(run.id) != std::string::npos;
  };
  EXPECT_TRUE(listed(""));
  expect_problem(as(member_, "POST /api/v1/runs/" + run.id + "/restore", "{}"), 409, "conflict");
  EXPECT_EQ(as(member_, "DELETE /api/v1/runs/by-hand").status, 204);
  expect_problem(as(member_, "DELETE /api/v1/runs/by-hand"), 409, "conflict");
  EXPECT_FALSE(listed(""));
  EXPECT_TRUE(listed("?deleted=true"));
  const auto back = as(member_, "POST /api/v1/runs/" + run.id + "/restore", "{}");
  EXPECT_EQ(back.status, 200) << back.body;
  EXPECT_TRUE(listed(""));
}

TEST_F(ApiTest, WhichOfManyObjectsAreHere) {
  start();
  const auto here = control::need(world_.objects->put("bytes"));
  const std::string absent = sha256("nobody sent this");
  const std::string have = "POST /api/v1/objects/have";
  const auto answer =
      as(member_, have, format(R"({{"digests":["{}","{}"]}})", here.digest, absent));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body, format(R"({{"sizes":{{"{}":5}}}})", here.digest));
  EXPECT_EQ(world_.count(format("SELECT COUNT(*) FROM pins WHERE digest = '{}' AND holder LIKE "
                                "'upload:%'",
                                here.digest)),
            1);
  EXPECT_EQ(as(member_, have, R"({"digests":[]})").body, "{}");
  expect_problem(as(member_, have, R"({"digests":["sha256:short"]})"), 400, "invalid");
  expect_problem(as(member_, have, "{}"), 400, "invalid");
}

TEST_F(ApiTest, FilesHaveRanges) {
  const std::string file = world_.folder.file("ten");
  std::ofstream(file) << "0123456789";
  net::RequestHead head;
  head.method = "GET";
  const auto ask_for = [&](const std::string& range) {
    head.headers.set("Range", range);
    return control::need(file_answer(head, file, "e", "text/plain", "a b"));
  };
  const struct {
    const char* range;
    int status;
    int64_t offset, length;
  } cases[] = {{"bytes=2-4", 206, 2, 3},  {"bytes=7-", 206, 7, 3},   {"bytes=-3", 206, 7, 3},
               {"bytes=8-99", 206, 8, 2}, {"bytes=4-2", 200, 0, 10}, {"bytes=1-2,4-5", 200, 0, 10},
               {"lines=1-2", 200, 0, 10}, {"bytes=-99", 206, 0, 10}, {"bytes=x-", 200, 0, 10}};
  for (const auto& one : cases) {
    const net::Response answer = ask_for(one.range);
    EXPECT_EQ(answer.status, one.status) << one.range;
    EXPECT_EQ(std::get<net::FileBody>(answer.body).offset, one.offset) << one.range;
    EXPECT_EQ(std::get<net::FileBody>(answer.body).length, one.length) << one.range;
  }
  EXPECT_EQ(ask_for("bytes=2-4").headers.get("content-range"), "bytes 2-4/10");
  EXPECT_EQ(ask_for("").headers.get("etag"), "\"e\"");
  EXPECT_EQ(ask_for("").headers.get("content-disposition"), "attachment; filename*=UTF-8''a%20b");
  for (const char* range : {"bytes=10-", "bytes=99-100", "bytes=-0"}) {
    const net::Response behind = ask_for(range);
    EXPECT_EQ(behind.status, 416) << range;
    EXPECT_EQ(behind.headers.get("content-range"), "bytes */10");
  }
}

TEST_F(ApiTest, ACheckReportsWhatIsWrongAsAnAnswer) {
  start();
  const std::string body = "hearth: 1\nname: x\ncommand: y\nprio: 3\n";
  const std::string type = "Content-Type: application/yaml\r\n";
  EXPECT_EQ(as(member_, "POST /api/v1/jobs/check", body, type).status, 400);
  const auto told = as(member_, "POST /api/v1/jobs/check?report=1", body, type);
  EXPECT_EQ(told.status, 200) << told.body;
  EXPECT_NE(told.body.find("\"line\":4"), std::string::npos) << told.body;
  EXPECT_NE(told.body.find("did you mean 'priority'?"), std::string::npos) << told.body;
  EXPECT_NE(told.body.find("\"runnable\":false"), std::string::npos) << told.body;
}

TEST_F(ApiTest, ThePageIsStaticAndHasNoInlineCode) {
  start();
  const auto index = ask("GET /");
  EXPECT_EQ(index.status, 200);
  EXPECT_EQ(index.headers.get("content-type"), "text/html; charset=utf-8");
  const std::string policy(index.headers.get("content-security-policy").value_or(""));
  EXPECT_NE(policy.find("script-src 'self';"), std::string::npos) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
  // A view is opened by its address, too; what is no view is not there.
  EXPECT_EQ(ask("GET /jobs/01JZZZ/log").body, index.body);
  EXPECT_EQ(ask("GET /nothing").status, 404);
  // A browser is told so by the page, a program by a problem.
  const std::string browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
  const auto lost = ask("GET /nothing/at/all", browser);
  EXPECT_EQ(lost.status, 404);
  EXPECT_EQ(lost.body, index.body);
  EXPECT_FALSE(lost.headers.get("content-security-policy").value_or("").empty());
  EXPECT_EQ(ask("GET /api/v1/nothing", browser).headers.get("content-type"),
            "application/problem+json");
  for (const std::string& body : {index.body, ask("GET /sign-in").body}) {
    EXPECT_EQ(body.find("style="), std::string::npos);
    EXPECT_EQ(body.find("http://"), std::string::npos);
    EXPECT_EQ(body.find("https://"), std::string::npos);
    for (size_t at = body.find("<script"); at != std::string::npos;
         at = body.find("<script", at + 1))
      EXPECT_EQ(body.find("></script>", at), body.find('>', at)) << "inline code";
  }
  const size_t from = index.body.find("/assets/");
  ASSERT_NE(from, std::string::npos);
  const std::string script = index.body.substr(from, index.body.find('"', from) - from);
  const auto plain = ask("GET " + script),
             packed = ask("GET " + script, "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(plain.status, 200) << script;
  EXPECT_NE(plain.headers.get("cache-control").value_or("").find("immutable"), std::string::npos);
  EXPECT_EQ(plain.headers.get("content-encoding"), std::nullopt);
  EXPECT_EQ(packed.headers.get("content-encoding"), "gzip");
  EXPECT_LT(packed.body.size(), plain.body.size() / 2);
  const std::string etag(index.headers.get("etag").value_or(""));
  EXPECT_EQ(ask("GET /", "If-None-Match: " + etag + "\r\n").status, 304);
  EXPECT_EQ(ask("GET /assets/none.js").status, 404);
  EXPECT_EQ(ask("POST /", "", "x").status, 404);
  const auto evil = ask("GET /", "Host: evil.example\r\n");
  EXPECT_EQ(evil.status, 403);
  EXPECT_EQ(evil.headers.get("x-frame-options"), "DENY");
}

TEST_F(ApiTest, AnAnswerFromMemoryIsNeverStale) {
  start();
  const std::string job = started(member_);
  const std::string get = "GET /api/v1/jobs/" + job;
  const std::string first = as(member_, get).body;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(as(member_, get).body, first);
  expect_problem(as(stranger_, get), 404, "not_found");
  expect_problem(ask(get), 401, "unauthenticated");
  EXPECT_EQ(as(member_, "POST /api/v1/jobs/" + job + "/cancel").status, 200);
  EXPECT_FALSE(text_of(as(member_, get), "stop_asked_at").empty());
  const std::string second = token_of(world_.member);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(as(second, get).status, 200);
  const auto tokens = control::need(world_.access->list_tokens(world_.member));
  for (const Token& token : tokens)
    control::need(world_.access->revoke_token(world_.member, token.id));
  expect_problem(as(second, get), 401, "unauthenticated");
}

TEST_F(ApiTest, TheSchemaOfAJobFileIsTheOneOfTheDocs) {
  start();
  const auto answer = as(stranger_, "GET /api/v1/schema/job");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.get("content-type"), "application/json");
  EXPECT_TRUE(answer.body == job_file_schema());
  EXPECT_NE(answer.body.find("\"description\""), std::string::npos);
}

TEST_F(ApiTest, ATemplateIsSubmittedByItsDigest) {
  start();
  const auto answer = as(member_, "GET /api/v1/templates");
  EXPECT_EQ(answer.status, 200);
  const Node list = control::need(parse_json(answer.body));
  size_t with_code = 0;
  for (const Node& item : list.find("items")->items) {
    const auto one = control::need(from_node<JobTemplate>(item));
    with_code += one.code_digest.empty() ? 0 : 1;
    const auto made = as(member_, "POST /api/v1/jobs?code_digest=" + one.code_digest, one.job_yaml,
                         "Content-Type: application/yaml\r\n");
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(text_of(made, "code_digest"), one.code_digest);
  }
  EXPECT_EQ(with_code, 2u);
}

TEST_F(ApiTest, EventsStreamWhatOneMaySee) {
  start();
  net::RawClient mine(server_->port()), foreign(server_->port());
  const auto listen = [](net::RawClient& client, const std::string& token) {
    client.send(
        format("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
               token));
    EXPECT_TRUE(client.receive_until("\r\n\r\n"));
  };
  listen(mine, member_);
  listen(foreign, stranger_);
  const std::string job = submit(member_);
  EXPECT_TRUE(mine.receive_until("\"job.submitted\""));
  EXPECT_TRUE(mine.receive_until(job));
  world_.signals.notify(control::kEventsTopic);
  foreign.receive(Duration::millis(200));
  EXPECT_EQ(foreign.held().find(job), std::string::npos);
}

}  // namespace
}  // namespace hearth::api
