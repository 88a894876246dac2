// What commands ask for, print and exit with.
#include "tests/cli/flow_test.h"

#include "base/bytes.h"
#include "domain/lineage.h"
#include "domain/model.h"
#include "domain/wire/logs.h"

namespace hearth::cli {
namespace {

constexpr const char* kJob =
    R"({"id":"01HF0000000000000000000001","name":"it-1","project":"default","owner":"ann",)"
    R"("state":"STATE","run_id":"01HF0000000000000000000002","spec":{"hearth":1,"name":"it",)"
    R"("command":"true"},"created_at":"2023-11-14T22:13:20.000000Z","version":1})";

std::string job_in(const std::string& state) {
  std::string text = kJob;
  return text.replace(text.find("STATE"), 5, state);
}

TEST_F(FlowTest, SubmitSendsTheFileItsChangesAndAbsolutePaths) {
  handler_.answer("POST /api/v1/jobs", job_in("queued"), 201);
  write("sub/job.yaml",
        "hearth: 1\nname: it\ncommand: \"true\"\nparams: {lr: 0.1}\n"
        "datasets: [{path: data, at: d}]\n");
  const Done done = hearth(
      {"job", "submit", "--set", "params.lr=0.5", "sub/job.yaml", "--json", "--project", "vision"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out,
            "{\"id\":\"01HF0000000000000000000001\",\"name\":\"it-1\",\"state\":\"queued\"}\n");
  const auto asked = handler_.asked("POST /api/v1/jobs");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].headers.get("Authorization"), "Bearer hth_test");
  EXPECT_TRUE(asked[0].headers.get("Idempotency-Key"));
  const auto body = from_json<SubmitBody>(asked[0].body).value();
  EXPECT_EQ(body.yaml, read("sub/job.yaml"));
  EXPECT_EQ(body.set,
            (std::vector<std::string>{"params.lr=0.5", "project=vision",
                                      format("datasets[0].path=\"{}/sub/data\"", folder_)}));
  EXPECT_EQ(body.code_digest, "");
  EXPECT_EQ(hearth({"job", "submit", "sub/job.yaml", "-q"}).out, "01HF0000000000000000000001\n");
}

TEST_F(FlowTest, SubmitOfACommandBundlesTheDirectory) {
  take_uploads();
  handler_.answer("POST /api/v1/jobs", job_in("queued"), 201);
  write("main.py", "print(1)\n");
  const Done done = hearth({"job", "submit", "--cpus", "0.5", "--memory", "100MiB", "--",
                            "/usr/bin/Python3", "main.py", "--json", "it's \"x\""});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "it-1\tqueued\t01HF0000000000000000000001\n");
  const auto body = from_json<SubmitBody>(handler_.asked("POST /api/v1/jobs")[0].body).value();
  const auto spec = parse_job_yaml(body.yaml);
  ASSERT_TRUE(spec.ok()) << spec.error().text();
  EXPECT_EQ(spec->name, "python3");
  EXPECT_EQ(spec->command.words,
            (std::vector<std::string>{"/usr/bin/Python3", "main.py", "--json", "it's \"x\""}));
  EXPECT_EQ(spec->resources.cpus, 0.5);
  EXPECT_EQ(spec->resources.memory.bytes, 100 << 20);
  ASSERT_EQ(uploads_.size(), 1U);
  EXPECT_EQ(body.code_digest, uploads_[0]);
  EXPECT_NE(done.err.find(format("Packing {}: 1 file, 9 B.\n", folder_)), std::string::npos)
      << done.err;
}

TEST_F(FlowTest, SubmitTellsOfMuchCode) {
  take_uploads();
  handler_.answer("POST /api/v1/jobs", job_in("queued"), 201);
  write("job.yaml", "hearth: 1\nname: it\ncode: .\ncommand: \"true\"\n");
  write("data/large", "");
  EXPECT_EQ(hearth({"job", "submit", "job.yaml"}).err.find("Packing"), std::string::npos);
  EXPECT_EQ(hearth({"job", "submit", "-q", "--", "true"}).err.find("Packing"), std::string::npos);
  fs::resize_file(fs::path(folder_) / "data/large", 101 << 20);  // a hole: it takes no room
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"job", "submit", "job.yaml", "-q"}, {"job", "submit", "--json", "--", "true"}}) {
    const Done done = hearth(words);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.out.find("Packing"), std::string::npos) << done.out;
    for (const char* said : {"Packing", "101 MiB of it in data/", ".hearthignore"})
      EXPECT_NE(done.err.find(said), std::string::npos) << said << "\n" << done.err;
  }
}

TEST_F(FlowTest, MistakesOfAJobFileAreToldWithoutAServer) {
  write("bad.yaml", "hearth: 1\nname: Bad Name\ncomand: true\nresources: {cpus: lots}\n");
  for (const char* verb : {"check", "submit"}) {
    const Done done = hearth({"job", verb, "bad.yaml"});
    EXPECT_EQ(done.code, 7);
    for (const char* words : {"bad.yaml:2: name", "comand", "bad.yaml:4: resources.cpus"})
      EXPECT_NE(done.err.find(words), std::string::npos) << words << "\n" << done.err;
  }
  EXPECT_TRUE(handler_.asked("POST /api/v1/jobs").empty());
  EXPECT_EQ(hearth({"job", "check", "gone.yaml"}).code, 3);
}

TEST_F(FlowTest, CheckAsksTheServerAndTellsHowItWouldStart) {
  write("good.yaml", "hearth: 1\nname: it\ncommand: \"true\"\n");
  CheckResult result;
  result.runnable = true;
  result.reason = {"cpus_short", {}, "waits for 2 CPUs", "ask for less"};
  handler_.answer("POST /api/v1/jobs/check", to_json(result));
  Done done = hearth({"job", "check", "good.yaml"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.err.find("would wait: waits for 2 CPUs"), std::string::npos) << done.err;
  result.runnable = false;
  handler_.answer("POST /api/v1/jobs/check", to_json(result));
  EXPECT_EQ(hearth({"job", "check", "good.yaml"}).code, 7);
  server_.reset();
  done = hearth({"job", "check", "good.yaml"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.err.find("were not checked"), std::string::npos) << done.err;
}

TEST_F(FlowTest, CheckTellsOfQuotaAndStart) {
  write("good.yaml", "hearth: 1\nname: it\ncommand: \"true\"\n");
  CheckResult result;
  result.runnable = true;
  result.reason = {"cpus_short", {}, "waits for 2 CPUs", ""};
  result.start = StartGuess{120, 60, 600};
  result.quota = QuotaCheck{.project = "vision", .asks = {.cpus = 2}, .used = {.cpus = 8}};
  handler_.answer("POST /api/v1/jobs/check", to_json(result));
  Done done = hearth({"job", "check", "good.yaml"});
  EXPECT_NE(done.err.find("between 1 m 00 s and 10 m 00 s from now"), std::string::npos)
      << done.err;
  EXPECT_EQ(done.err.find("vision"), std::string::npos) << "nothing bounds it";
  result.quota->limit.cpus = 9;
  handler_.answer("POST /api/v1/jobs/check", to_json(result));
  done = hearth({"job", "check", "good.yaml"});
  EXPECT_NE(done.err.find("Project vision: it asks for 2 CPUs; used 8 CPUs, limit 9 CPUs."),
            std::string::npos)
      << done.err;
}

TEST_F(FlowTest, NewWritesATemplateAndItsCode) {
  EXPECT_EQ(hearth({"job", "new", "--template", "tabular", "t"}).code, 0);
  EXPECT_NE(read("t/job.yaml").find("name: tabular"), std::string::npos);
  EXPECT_NE(read("t/train.py").find("import hearth"), std::string::npos);
  EXPECT_FALSE(fs::exists(fs::path(folder_) / "t/template.yaml"));
  Done done = hearth({"job", "new", "--template", "tabular", "t"});
  EXPECT_EQ(done.code, 5) << "nothing is written over";
  EXPECT_NE(done.err.find("is there already"), std::string::npos) << done.err;
  done = hearth({"job", "new"});
  EXPECT_NE(done.out.find("name: my-training"), std::string::npos);
  EXPECT_EQ(hearth({"job", "new", "--template", "command", "--out", "c.yaml"}).code, 0);
  EXPECT_NE(read("c.yaml").find("my-command"), std::string::npos);
  done = hearth({"job", "new", "--template", "tabula"});
  EXPECT_NE(done.err.find("there is 'tabular'"), std::string::npos) << done.err;
  done = hearth({"job", "new", "--list", "--json"});
  EXPECT_NE(done.out.find("\"path\":\"params.lr\""), std::string::npos) << done.out;
}

TEST_F(FlowTest, TailPrintsTheLastLinesAndFollowGoesOnBehindThem) {
  const std::string job = "GET /api/v1/jobs/01HF0000000000000000000001";
  handler_.answer("GET /api/v1/jobs/it-1", job_in("succeeded"));
  handler_.answer(job, job_in("succeeded"));
  LogLines lines{.task_id = "T", .first = 1, .last = 9};
  lines.lines = {{.seq = 8, .stream = "stdout", .text = "eight"},
                 {.seq = 9, .stream = "stdout", .text = "nine"}};
  handler_.answer("GET /api/v1/jobs/it-1/logs/lines", to_json(lines));
  handler_.answer(job + "/logs", "id: T:10\ndata: {\"text\":\"ten\"}\n\nevent: end\ndata: {}\n\n",
                  200, "text/event-stream");
  Done done = hearth({"job", "logs", "it-1", "--tail", "2"});
  EXPECT_EQ(done.out, "eight\nnine\n");
  EXPECT_NE(handler_.asked("GET /api/v1/jobs/it-1/logs/lines").at(0).query.find("tail=2"),
            std::string::npos);
  EXPECT_TRUE(handler_.asked(job + "/logs").empty());
  done = hearth({"job", "logs", "it-1", "--tail", "2", "--follow"});
  EXPECT_EQ(done.out, "eight\nnine\nten\n") << done.err;
  const Asked followed = handler_.asked(job + "/logs").at(0);
  EXPECT_EQ(followed.headers.get("Last-Event-ID").value_or(""), "T:9");
  EXPECT_NE(followed.query.find("rank=0"), std::string::npos) << followed.query;
  EXPECT_EQ(hearth({"job", "logs", "it-1", "--tail", "2", "--grep", "x"}).code, 7);
  EXPECT_EQ(hearth({"job", "logs", "it-1", "--tail", "0"}).code, 7);
}

TEST_F(FlowTest, RetryMayNameACheckpoint) {
  const std::string post = "POST /api/v1/jobs/01HF0000000000000000000001/retry";
  handler_.answer("GET /api/v1/jobs/it-1", job_in("failed"));
  handler_.answer(post, job_in("queued"));
  EXPECT_EQ(hearth({"job", "retry", "it-1"}).code, 0);
  EXPECT_EQ(from_json<RetryBody>(handler_.asked(post).at(0).body).value().checkpoint, "");
  EXPECT_EQ(hearth({"job", "retry", "it-1", "--checkpoint", "C"}).code, 0);
  EXPECT_EQ(from_json<RetryBody>(handler_.asked(post).at(1).body).value().checkpoint, "C");
  EXPECT_EQ(hearth({"job", "retry", "it-1", "it-2", "--checkpoint", "C"}).code, 7);
}

TEST_F(FlowTest, AuditTellsWhoDidWhat) {
  handler_.answer(
      "GET /api/v1/audit",
      R"({"items":[{"seq":7,"time":"2026-01-02T03:04:05.000000Z","actor":{"kind":"user",)"
      R"("name":"ann","address":"10.0.0.1"},"project":"vision","kind":"job.submitted",)"
      R"("id":"J"}]})");
  Done done = hearth({"audit", "--actor", "ann", "--kind", "job"});
  for (const char* part :
       {"2026-01-02T03:04:05", "ann", "job.submitted", "vision", "J", "10.0.0.1"})
    EXPECT_NE(done.out.find(part), std::string::npos) << part << done.out;
  const std::string query = handler_.asked("GET /api/v1/audit").at(0).query;
  EXPECT_NE(query.find("actor=ann"), std::string::npos) << query;
  EXPECT_NE(query.find("kind=job"), std::string::npos) << query;
  done = hearth({"audit", "--json"});
  EXPECT_NE(done.out.find("\"seq\":7"), std::string::npos) << done.out;
}

TEST_F(FlowTest, FollowPrintsLinesAndExitsAsTheJobDid) {
  write("job.yaml", "hearth: 1\nname: it\ncommand: \"true\"\n");
  handler_.answer("POST /api/v1/jobs", job_in("queued"), 201);
  handler_.answer(
      "GET /api/v1/jobs/01HF0000000000000000000001/logs",
      "id: t:1\ndata: {\"rank\":0,\"text\":\"first\"}\n\n"
      "id: t:2\ndata: {\"rank\":0,\"text\":\"sec\\u00f6nd\"}\n\nevent: end\ndata: {}\n\n",
      200, "text/event-stream");
  for (const auto& [state, code] : {std::pair{"succeeded", 0}, {"failed", 1}}) {
    handler_.answer("GET /api/v1/jobs/01HF0000000000000000000001", job_in(state));
    const Done done = hearth({"job", "submit", "job.yaml", "--follow"});
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_EQ(done.out, "first\nsec\u00f6nd\n");
    EXPECT_NE(done.err.find(format("it-1 {}", state)), std::string::npos) << done.err;
  }
}

TEST_F(FlowTest, ListsFollowTheirPages) {
  handler_.routes["GET /api/v1/jobs"] = [](net::Request& request) {
    const bool second = request.query_value("cursor") == "c2";
    return net::Response::text(
        200, "application/json",
        second ? "{\"items\":[" + job_in("failed") + "]}"
               : "{\"items\":[" + job_in("running") + "],\"next_cursor\":\"c2\"}");
  };
  Done done = hearth({"job", "list", "--filter", "state = running"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out,
            "it-1\trunning\t2023-11-14T22:13:20Z\t\tann\t01HF0000000000000000000001\t\n"
            "it-1\tfailed\t2023-11-14T22:13:20Z\t\tann\t01HF0000000000000000000001\t\n");
  EXPECT_EQ(hearth({"job", "list", "-q", "--limit", "1"}).out, "01HF0000000000000000000001\n");
  done = hearth({"job", "list", "--json"});
  const auto node = parse_json(done.out);
  ASSERT_TRUE(node.ok()) << done.out;
  EXPECT_EQ(node->items.size(), 2U);
}

TEST_F(FlowTest, WaitTellsTheEndByItsExitCode) {
  handler_.answer("GET /api/v1/jobs/it-1", job_in("running"));
  handler_.answer("GET /api/v1/jobs/01HF0000000000000000000001", job_in("running"));
  const Done late = hearth({"job", "wait", "it-1", "--timeout", "100ms"});
  EXPECT_EQ(late.code, 9) << late.err;
  handler_.answer("GET /api/v1/jobs/01HF0000000000000000000001", job_in("succeeded"));
  EXPECT_EQ(hearth({"job", "wait", "it-1"}).code, 0);
  handler_.answer("GET /api/v1/jobs/01HF0000000000000000000001", job_in("cancelled"));
  EXPECT_EQ(hearth({"job", "wait", "01HF0000000000000000000001"}).code, 1);
  EXPECT_EQ(hearth({"job", "wait", "nobody"}).code, 3);
}

TEST_F(FlowTest, AnAmountIsNamedOnce) {
  handler_.answer("GET /api/v1/projects/vision/quota", "{}");
  const Done done = hearth({"quota", "set", "vision", "--limit", "gpus=4,gpus=5"});
  EXPECT_EQ(done.code, 7);
  EXPECT_NE(done.err.find("gpus is named twice in 'gpus=4,gpus=5'"), std::string::npos) << done.err;
}

TEST_F(FlowTest, AJobOfAnotherProjectIsNamedWithIt) {
  const auto jobs_of = [](const std::string& project) {
    return format(
        R"({{"items":[{{"id":"01HF0000000000000000000001","name":"it-1","project":"{}"}}]}})",
        project);
  };
  handler_.answer("GET /api/v1/jobs", jobs_of("vision"));
  EXPECT_EQ(hearth({"job", "show", "it-1"}).err,
            "error: there is no job 'it-1' in project default\n"
            "  the job of this name is another project's: --project vision\n");
  const std::string query = handler_.asked("GET /api/v1/jobs")[0].query;
  EXPECT_NE(query.find("name%20%3D%20%22it-1%22"), std::string::npos) << query;
  handler_.answer("GET /api/v1/jobs", jobs_of("default"));  // it came this moment
  const Done done = hearth({"job", "show", "it-1"});
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.err, "error: there is no such thing\n  look\n");
}

TEST_F(FlowTest, WhyTellsHowTheLastAttemptEnded) {
  std::string job = job_in("queued");
  job.insert(1, R"("attempts":2,"failure":{"class":"preemption","text":"made room for job big"},)");
  handler_.answer("GET /api/v1/jobs/it-1", job);
  handler_.answer("GET /api/v1/jobs/01HF0000000000000000000001/why",
                  R"({"code":"gpus_short","text":"needs 1 GPU","mend":"wait"})");
  EXPECT_EQ(hearth({"job", "why", "it-1"}).out,
            "needs 1 GPU\n  wait\nattempt 2 ended: made room for job big\n");
}

TEST_F(FlowTest, ErrorsOfTheServerAreToldWithTheirMend) {
  Done done = hearth({"job", "show", "nobody"});
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.err, "error: there is no such thing\n  look\n");
  for (const auto& [code, status, exit] : {std::tuple{"denied", 403, 4},
                                           {"conflict", 409, 5},
                                           {"busy", 429, 10},
                                           {"invalid", 400, 7}}) {
    handler_.answer("GET /api/v1/whoami",
                    format("{{\"code\":\"{}\",\"detail\":\"d\",\"status\":{}}}", code, status),
                    status, "application/problem+json");
    EXPECT_EQ(hearth({"whoami"}).code, exit) << code;
  }
}

TEST_F(FlowTest, LogsAreThePlainBytes) {
  std::string asked;
  const std::string bytes("a\0b\377\nx\n", 7);
  handler_.routes["GET /api/v1/jobs/it-1/logs"] = [&](net::Request& request) {
    asked = request.query;
    return net::Response::text(200, "text/plain", bytes);
  };
  const Done done = hearth({"job", "logs", "it-1", "--rank", "0", "--grep", "a|b", "--timestamps"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, bytes);
  EXPECT_EQ(asked, "rank=0&grep=a%7Cb&timestamps=1");
}

TEST_F(FlowTest, ModelGetChecksTheDigest) {
  const std::string digest = sha256("weights");
  ModelVersion version;
  version.model = "net";
  version.number = 2;
  version.digest = digest;
  version.file_name = "../model.pt";  // of a job that means ill
  version.size_bytes = 7;
  Model model;
  model.name = "net";
  model.versions = 2;
  handler_.answer("GET /api/v1/models/net", to_json(model));
  handler_.answer("GET /api/v1/models/net/versions", "{\"items\":[" + to_json(version) + "]}");
  handler_.answer("GET /api/v1/objects/" + digest, "weights");
  EXPECT_EQ(hearth({"model", "get", "net"}).code, 0);
  EXPECT_EQ(read("model.pt"), "weights");
  EXPECT_EQ(hearth({"model", "get", "net", "--out", "a/b.pt"}).code, 0);
  EXPECT_EQ(read("a/b.pt"), "weights");
  const auto shown = parse_json(hearth({"model", "show", "net", "--json"}).out);
  ASSERT_TRUE(shown.ok());
  EXPECT_EQ(shown->find("versions")->text, "2");
  EXPECT_EQ(shown->find("latest")->find("digest")->text, digest);

  // What is there and the same stays; over anything else nothing is written unasked.
  const std::string object = "GET /api/v1/objects/" + digest;
  const size_t before = handler_.asked(object).size();
  const Done same = hearth({"model", "get", "net"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_NE(same.err.find("there already, and the same"), std::string::npos) << same.err;
  EXPECT_EQ(handler_.asked(object).size(), before);
  write("model.pt", "w");
  const Done other = hearth({"model", "get", "net"});
  EXPECT_EQ(other.code, 5) << other.err;
  EXPECT_NE(other.err.find("model.pt is there already, and is another file"), std::string::npos);
  EXPECT_NE(other.err.find("--force"), std::string::npos) << other.err;
  EXPECT_EQ(read("model.pt"), "w");
  EXPECT_EQ(hearth({"model", "get", "net", "--force"}).code, 0);
  EXPECT_EQ(read("model.pt"), "weights");

  handler_.answer(object, "w3ights");
  const Done damaged = hearth({"model", "get", "net", "--out", "c"});
  EXPECT_EQ(damaged.code, 8);
  EXPECT_FALSE(fs::exists(fs::path(folder_) / "c"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);  // nothing half written
}

TEST_F(FlowTest, DatasetAddHashesUploadsAndSendsTheManifest) {
  take_uploads();
  write("letters/b.txt", "beta");
  write("letters/c.txt", "beta");  // the same bytes go once
  write("letters/d.txt", "known");
  handler_.answer("POST /api/v1/objects/have",
                  format("{{\"sizes\":{{\"{}\":5}}}}", sha256("known")));
  write("letters/a/a.txt", "alpha");
  fs::create_symlink("b.txt", fs::path(folder_) / "letters/link");
  DatasetVersion made;
  made.dataset = "letters";
  handler_.answer("POST /api/v1/datasets/letters/versions", to_json(made), 201);
  Done done = hearth({"dataset", "add", "letters", "--tag", "v1"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "letters@1\n");
  EXPECT_NE(done.err.find("1 links and others left out"), std::string::npos) << done.err;
  const auto asked = handler_.asked("POST /api/v1/datasets/letters/versions");
  auto body = from_json<DatasetVersionBody>(asked[0].body).value();
  ASSERT_EQ(body.manifest.files.size(), 4U);
  EXPECT_EQ(body.manifest.files[0].path, "a/a.txt");
  EXPECT_EQ(body.manifest.files[0].digest, sha256("alpha"));
  EXPECT_EQ(body.manifest.files[1].digest, sha256("beta"));
  EXPECT_EQ(body.tags, std::vector<std::string>{"v1"});
  EXPECT_EQ(uploads_, (std::vector<std::string>{sha256("alpha"), sha256("beta")}));

  uploads_.clear();
  done = hearth({"dataset", "add", "letters", "--in-place"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(uploads_.empty());
  body = from_json<DatasetVersionBody>(
             handler_.asked("POST /api/v1/datasets/letters/versions")[1].body)
             .value();
  EXPECT_EQ(body.in_place, fs::canonical(folder_).string() + "/letters");
  EXPECT_GT(body.manifest.files[0].modified_us, 0);
  EXPECT_EQ(hearth({"dataset", "add", "letters/b.txt"}).code, 7);
  EXPECT_EQ(hearth({"dataset", "add", "gone"}).code, 3);
}

TEST_F(FlowTest, LineageIsATreeBothWays) {
  Lineage lineage;
  lineage.root = "run:1";
  lineage.nodes = {{"run:1", "run", "1", "it-1", "", "finished", "", {}},
                   {"dataset:1", "dataset", "1", "letters@1", "", "", "sha256:d", {}},
                   {"model:1", "model", "1", "net@2", "", "", "sha256:m", {}},
                   {"run:2", "run", "2", "use-1", "", "", "", {}}};
  lineage.edges = {{"dataset:1", "run:1", "read"},
                   {"run:1", "model:1", "made"},
                   {"model:1", "run:2", "read"},
                   {"run:2", "run:1", "a circle ends"}};
  std::vector<std::string> things;
  handler_.routes["GET /api/v1/lineage"] = [&](net::Request& request) {
    things.push_back(*request.query_value("thing"));
    const bool known = things.back() == "it-1";
    return known ? net::Response::text(200, "application/json", to_json(lineage))
                 : net::Response::text(404, "application/problem+json",
                                       R"({"code":"not_found","detail":"no","status":404})");
  };
  const Done done = hearth({"lineage", "it-1"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(things, std::vector<std::string>{"it-1"});
  EXPECT_EQ(done.out.substr(0, done.out.find("became")),
            "run it-1  finished\n"
            "came from\n"
            "  dataset letters@1  sha256:d  (read)\n"
            "  run use-1  (a circle ends)\n"
            "    model net@2  sha256:m  (read)\n");
  EXPECT_NE(done.out.find("became\n  model net@2  sha256:m  (made)\n    run use-1  (read)\n"),
            std::string::npos)
      << done.out;
  EXPECT_EQ(hearth({"lineage", "model:x"}).code, 3);
}

TEST_F(FlowTest, LiveValuesGoAsJson) {
  const std::string run = R"({"id":"01HF0000000000000000000002","name":"it-1",)"
                          R"("job_id":"01HF0000000000000000000001"})";
  handler_.answer("GET /api/v1/runs/it-1", run);
  handler_.answer("PATCH /api/v1/runs/01HF0000000000000000000002/live", R"({"items":[]})");
  EXPECT_EQ(hearth({"run", "set", "it-1", "lr=0.5", "mode=fast", "on=true"}).code, 0);
  const auto asked = handler_.asked("PATCH /api/v1/runs/01HF0000000000000000000002/live");
  const auto body = from_json<LiveBody>(asked.at(0).body).value();
  EXPECT_EQ(body.values.at("lr").text, "0.5");
  EXPECT_EQ(body.values.at("mode").text, "\"fast\"");
  EXPECT_EQ(body.values.at("on").text, "true");
  EXPECT_EQ(hearth({"run", "set", "it-1", "lr"}).code, 7);
}

TEST_F(FlowTest, TagsGoAndComeBack) {
  const std::string run =
      R"({"id":"01HF0000000000000000000002","name":"it-1","tags":{"stage":"best"}})";
  const std::string patch = "PATCH /api/v1/runs/01HF0000000000000000000002/tags";
  handler_.answer("GET /api/v1/runs/it-1", run);
  handler_.answer(patch, run);
  const Done done = hearth({"run", "tag", "it-1", "stage=best", "note=a=b", "old="});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "stage  best\n");
  EXPECT_EQ(from_json<TagsBody>(handler_.asked(patch).at(0).body).value().tags,
            (std::map<std::string, std::string>{{"note", "a=b"}, {"old", ""}, {"stage", "best"}}));
  EXPECT_TRUE(parse_json(hearth({"run", "tag", "it-1", "a=b", "--json"}).out).ok());
  EXPECT_EQ(hearth({"run", "tag", "it-1", "stage"}).code, 7);
  EXPECT_EQ(hearth({"run", "tag", "it-1"}).code, 2);
}

TEST_F(FlowTest, ExportHasEveryPoint) {
  handler_.answer("GET /api/v1/runs/it-1",
                  R"({"id":"r","name":"it-1","metrics":{"loss":{"value":1,"step":1}}})");
  handler_.answer(
      "GET /api/v1/runs/r/metrics",
      R"({"key":"loss","points":[{"step":1,"time":"2023-11-14T22:13:20.000000Z",)"
      R"("value":0.5},{"step":2,"time":"2023-11-14T22:13:21.000000Z","value":"NaN"}]})");
  EXPECT_EQ(hearth({"run", "export", "it-1"}).out,
            "metric,step,time,value\nloss,1,2023-11-14T22:13:20.000000Z,0.5\n"
            "loss,2,2023-11-14T22:13:21.000000Z,NaN\n");
  EXPECT_TRUE(parse_json(hearth({"run", "export", "it-1", "--format", "json"}).out).ok());
}

TEST_F(FlowTest, SignInKeepsAContextByTheServersId) {
  unsetenv("HEARTH_TOKEN");
  unsetenv("HEARTH_URL");
  handler_.answer("GET /api/v1/whoami", R"({"kind":"user","user":"ann","server_id":"S1"})");
  write("token", "hth_ann\n");
  const std::string url = format("http://127.0.0.1:{}", server_->port());
  Done done = hearth({"login", url + "/", "--token-file", "token"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(handler_.asked("GET /api/v1/whoami")[0].headers.get("Authorization"), "Bearer hth_ann");
  EXPECT_EQ(hearth({"whoami", "-q"}).out, "ann\n");
  EXPECT_EQ(hearth({"context", "list", "-q"}).out, "S1\n");
  EXPECT_EQ(hearth({"context", "use", "S2"}).code, 3);
  EXPECT_EQ(hearth({"logout"}).code, 0);
  EXPECT_EQ(hearth({"whoami"}).code, 6);
}

TEST_F(FlowTest, ASignInLinkSignsInOnTheCommandLineToo) {
  unsetenv("HEARTH_TOKEN");
  unsetenv("HEARTH_URL");
  handler_.answer("GET /api/v1/whoami", R"({"kind":"user","user":"ann","server_id":"S1"})");
  handler_.answer("POST /api/v1/sign-in-codes/redeem",
                  R"({"about":{"name":"login on here"},"token":"hth_ann"})", 201);
  const std::string server = format("http://127.0.0.1:{}", server_->port());
  const std::string link = server + "/sign-in#c0de";
  write("token", "hth_other\n");
  EXPECT_EQ(hearth({"login", link, "--token-file", "token"}).code, 7);
  const Done done = hearth({"login", link});
  EXPECT_EQ(done.code, 0) << done.err;
  const auto redeemed = handler_.asked("POST /api/v1/sign-in-codes/redeem");
  ASSERT_EQ(redeemed.size(), 1U);
  EXPECT_FALSE(redeemed[0].headers.get("Authorization"));
  EXPECT_NE(redeemed[0].body.find(R"("code":"c0de")"), std::string::npos) << redeemed[0].body;
  EXPECT_EQ(hearth({"whoami", "-q"}).out, "ann\n");
  EXPECT_EQ(handler_.asked("GET /api/v1/whoami").back().headers.get("Authorization"),
            "Bearer hth_ann");
  write("token", link + "\n");  // as from the prompt
  EXPECT_EQ(hearth({"login", server, "--token-file", "token"}).code, 0);
  EXPECT_EQ(handler_.asked("POST /api/v1/sign-in-codes/redeem").size(), 2U);
}

TEST_F(FlowTest, StatusIsForScripts) {
  handler_.answer("GET /readyz", "ready\n", 200, "text/plain");
  ServerStatus status;
  status.version = "9";
  handler_.answer("GET /api/v1/status", to_json(status));
  EXPECT_EQ(hearth({"status", "--json"}).code, 0);
  EXPECT_EQ(hearth({"status"}).out.find("draining"), std::string::npos);
  status.draining = true;
  status.waits_for_tasks = 2;
  handler_.answer("GET /api/v1/status", to_json(status));
  EXPECT_NE(hearth({"status"}).out.find("the 2 tasks that run"), std::string::npos);
  status.ready = false;
  status.refusing = "the disk is full";
  handler_.answer("GET /api/v1/status", to_json(status));
  const Done done = hearth({"status"});
  EXPECT_EQ(done.code, 10);
  EXPECT_NE(done.out.find("the disk is full"), std::string::npos);
  server_.reset();
  EXPECT_EQ(hearth({"status"}).code, 6);
}

}  // namespace
}  // namespace hearth::cli
