// What commands say to a line that is well formed and cannot be meant.
#include <cstring>

#include "base/bytes.h"
#include "domain/dataset.h"
#include "domain/model.h"
#include "tests/cli/flow_test.h"

namespace hearth::cli {
namespace {

TEST_F(FlowTest, ExportOfAMetricThatIsNotThereNamesThoseThatAre) {
  handler_.answer("GET /api/v1/runs/it-1",
                  R"({"id":"r","name":"it-1","metrics":{"accuracy":{"value":1,"step":1},)"
                  R"("loss":{"value":1,"step":1}}})");
  handler_.answer("GET /api/v1/runs/bare", R"({"id":"b","name":"bare"})");
  for (const auto& [metric, said] : std::vector<std::pair<std::string, std::string>>{
           {"los", "did you mean 'loss'?"}, {"throughput", "there are accuracy, loss"}}) {
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--json"}, {"--tensorboard", "there"}}) {
      std::vector<std::string> words{"run", "export", "it-1", "--metric", metric};
      words.insert(words.end(), more.begin(), more.end());
      const Done done = hearth(words);
      EXPECT_EQ(done.code, 3) << done.err;
      EXPECT_EQ(done.out, "");
      EXPECT_NE(done.err.find("run it-1 has no metric '" + metric + "'"), std::string::npos)
          << done.err;
      EXPECT_NE(done.err.find(said), std::string::npos) << done.err;
    }
  }
  EXPECT_FALSE(fs::exists(fs::path(folder_) / "there"));
  const Done bare = hearth({"run", "export", "bare", "--metric", "loss"});
  EXPECT_EQ(bare.code, 3);
  EXPECT_NE(bare.err.find("has logged none"), std::string::npos) << bare.err;
}

TEST_F(FlowTest, AReservationEndsByOneOfTwoOptions) {
  const std::vector<std::string> begin{"reservation", "add", "demo",
                                       "--node",      "a",   "--maintenance"};
  const auto add = [&](std::vector<std::string> more) {
    more.insert(more.begin(), begin.begin(), begin.end());
    return hearth(more);
  };
  const Done both = add({"--for", "2h", "--until", "2026-12-01T18:00:00Z"});
  EXPECT_EQ(both.code, 7);
  EXPECT_NE(both.err.find("--for 2h and --until 2026-12-01T18:00:00Z both say"), std::string::npos)
      << both.err;
  EXPECT_NE(both.err.find("take one of them out"), std::string::npos) << both.err;
  const Done none = add({});
  EXPECT_EQ(none.code, 7);
  EXPECT_NE(none.err.find("say --for 2h, or --until"), std::string::npos) << none.err;
  EXPECT_TRUE(handler_.asked("POST /api/v1/reservations").empty());
}

// A model of a folder: a manifest and its files.
TEST_F(FlowTest, ModelGetMixesNoVersions) {
  Manifest manifest;
  for (const auto& [name, text] : {std::pair{"a.txt", "one"}, {"sub/b.txt", "two"}}) {
    const std::string digest = sha256(text);
    manifest.files.push_back(
        {.path = name, .digest = digest, .size_bytes = static_cast<int64_t>(std::strlen(text))});
    handler_.answer("GET /api/v1/objects/" + digest, text);
  }
  ModelVersion version;
  version.model = "net";
  version.number = 1;
  version.file_name = "net";
  version.directory = true;
  version.digest = sha256(to_json(manifest));
  handler_.answer("GET /api/v1/objects/" + version.digest, to_json(manifest));
  handler_.answer("GET /api/v1/models/net/versions", "{\"items\":[" + to_json(version) + "]}");
  const auto get = [&](std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"model", "get", "net"});
    return hearth(more);
  };
  EXPECT_EQ(get().code, 0);
  EXPECT_EQ(read("net/sub/b.txt"), "two");
  fs::remove(fs::path(folder_) / "net/a.txt");  // one that broke off goes on
  EXPECT_EQ(get().code, 0);
  EXPECT_EQ(read("net/a.txt"), "one");

  write("net/sub/b.txt", "too");
  fs::remove(fs::path(folder_) / "net/a.txt");
  Done refused = get();
  EXPECT_EQ(refused.code, 5);
  EXPECT_NE(refused.err.find("net/sub/b.txt is there already, and is another file"),
            std::string::npos)
      << refused.err;
  EXPECT_FALSE(fs::exists(fs::path(folder_) / "net/a.txt"));  // nothing was begun
  write("net/sub/b.txt", "two");
  write("net/c.txt", "mine");
  refused = get();
  EXPECT_EQ(refused.code, 5);
  EXPECT_NE(refused.err.find("c.txt is there already, and is no file of this version"),
            std::string::npos)
      << refused.err;
  write("net/sub/b.txt", "too");
  EXPECT_EQ(get({"--force"}).code, 0);
  EXPECT_EQ(read("net/sub/b.txt"), "two");
  EXPECT_EQ(read("net/c.txt"), "mine");
}

TEST_F(FlowTest, RunGetWritesOverNothingUnasked) {
  handler_.answer("GET /api/v1/runs/it-1", R"({"id":"r","name":"it-1"})");
  handler_.answer("GET /api/v1/runs/r/artifacts",
                  format(R"({{"items":[{{"path":"out/x.txt","digest":"{}","size_bytes":3}}]}})",
                         sha256("new")));
  handler_.answer("GET /api/v1/runs/r/artifacts/out/x.txt", "new");
  write("x.txt", "old");
  const Done refused = hearth({"run", "get", "it-1", "out/x.txt"});
  EXPECT_EQ(refused.code, 5);
  EXPECT_NE(refused.err.find("x.txt is there already"), std::string::npos) << refused.err;
  EXPECT_EQ(read("x.txt"), "old");
  EXPECT_EQ(hearth({"run", "get", "it-1", "out/x.txt", "--force"}).code, 0);
  EXPECT_EQ(read("x.txt"), "new");
  const size_t asked = handler_.asked("GET /api/v1/runs/r/artifacts/out/x.txt").size();
  EXPECT_EQ(hearth({"run", "get", "it-1", "out/x.txt"}).code, 0);
  EXPECT_EQ(handler_.asked("GET /api/v1/runs/r/artifacts/out/x.txt").size(), asked);
}

}  // namespace
}  // namespace hearth::cli
