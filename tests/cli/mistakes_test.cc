// What commands say to a line that is well formed and cannot be meant.
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

}  // namespace
}  // namespace hearth::cli
