#include "cli/tree.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "domain/codec.h"
#include "os/files.h"
#include "os/process.h"

namespace hearth::cli {
namespace {

// What the commands of this machine were called with.
struct Local {
  UpArgs up;
  DownArgs down;
  ShimArgs shim;
  TokenAddArgs token;
  bool doctor_json = false;
  std::string called;

  LocalCommands commands() {
    LocalCommands local;
    local.up = [this](const UpArgs& args) { return up = args, called = "up", 0; };
    local.down = [this](const DownArgs& args) { return down = args, called = "down", 0; };
    local.shim = [this](const ShimArgs& args) { return shim = args, called = "shim", 3; };
    local.restore = [this](const RestoreArgs&) { return called = "restore", 0; };
    local.token_add_data = [this](const TokenAddArgs& args) {
      return token = args, called = "token", 0;
    };
    local.doctor = [this](const DoctorArgs&, bool json) {
      return doctor_json = json, called = "doctor", 0;
    };
    local.openapi = [this] { return called = "openapi", 0; };
    return local;
  }
};

struct Done {
  int code = -1;
  std::string out, err;
};

Done run_line(Local& local, std::vector<std::string> words) {
  words.insert(words.begin(), "hearth");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const LocalCommands commands = local.commands();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Done done;
  done.code = run(static_cast<int>(argv.size()), argv.data(), commands);
  std::fflush(stdout);
  done.out = testing::internal::GetCapturedStdout();
  done.err = testing::internal::GetCapturedStderr();
  return done;
}

Done run_line(std::vector<std::string> words) {
  Local local;
  return run_line(local, std::move(words));
}

class TreeTest : public testing::Test {
 protected:
  void SetUp() override {
    // No server and no context of this machine's user.
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    unsetenv("HEARTH_URL");
    unsetenv("HEARTH_TOKEN");
  }
};

TEST_F(TreeTest, CommandsOfThisMachineGetTheirArguments) {
  Local local;
  EXPECT_EQ(run_line(local, {"up", "--data", "d", "--listen", "127.0.0.1:0", "--public-url", "a",
                             "--public-url", "b", "--executor", "mock", "--no-webhooks"})
                .code,
            0);
  EXPECT_EQ(local.called, "up");
  EXPECT_EQ(local.up.data, "d");
  EXPECT_EQ(local.up.public_urls, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(local.up.mock_executor);
  EXPECT_FALSE(local.up.webhooks);

  EXPECT_EQ(run_line(local, {"shim", "--drain", "dir"}).code, 3);
  EXPECT_TRUE(local.shim.drain);
  EXPECT_EQ(local.shim.directory, "dir");

  EXPECT_EQ(run_line(local, {"doctor", "--json"}).code, 0);
  EXPECT_TRUE(local.doctor_json);

  EXPECT_EQ(run_line(local, {"token", "add", "ci", "--data", "d", "-q", "--project", "p"}).code, 0);
  EXPECT_EQ(local.called, "token");
  EXPECT_EQ(local.token.name, "ci");
  EXPECT_EQ(local.token.project, "p");
  EXPECT_TRUE(local.token.quiet);
}

TEST_F(TreeTest, OptionsComeFromAFileWhereTheLineDoesNotSayThem) {
  const std::string path = testing::TempDir() + "hearth-options.yaml";
  const auto up = [&](const std::string& text, std::vector<std::string> more = {}) {
    EXPECT_TRUE(os::write_file_atomic(path, text).ok());
    Local local;
    std::vector<std::string> words{"up", "--config", path};
    words.insert(words.end(), more.begin(), more.end());
    const Done done = run_line(local, words);
    return std::pair(done, local);
  };
  const std::string text =
      "listen: 127.0.0.1:1\ninsecure: true\ndetach: false\n"
      "public-url: [a, b]\ntrust-proxy: 10.0.0.0/8\nkeep-logs: 7d\n"
      "task-uids: 100-200\nexecutor: mock\nno-webhooks: true\n";
  const auto [done, local] = up(text, {"--listen", "127.0.0.1:2", "--public-url", "c"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(local.up.listen, "127.0.0.1:2");
  EXPECT_TRUE(local.up.insecure);
  EXPECT_FALSE(local.up.detach);
  EXPECT_EQ(local.up.public_urls, (std::vector<std::string>{"c"}));
  EXPECT_EQ(local.up.trusted_proxies, (std::vector<std::string>{"10.0.0.0/8"}));
  EXPECT_EQ(local.up.keep_logs, "7d");
  EXPECT_EQ(local.up.task_uids, "100-200");
  EXPECT_TRUE(local.up.mock_executor);
  EXPECT_FALSE(local.up.webhooks);
  EXPECT_EQ(up(text).second.up.public_urls, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(up("# nothing yet\n").first.code, 0);

  for (const auto& [wrong, said] : std::vector<std::pair<std::string, std::string>>{
           {"listen: a\nlisen: b\n", "did you mean `listen`?"},
           {"insecure: perhaps\n", "true or false"},
           {"listen: [a, b]\n", "a text"},
           {"public-url: {a: b}\n", "a text or a list of texts"},
           {"- listen\n", "a mapping"},
           {"config: other.yaml\n", "config"},
           {"listen: 'a\n", path}}) {
    const auto [failed, unused] = up(wrong);
    EXPECT_EQ(failed.code, 7) << wrong << failed.err;
    EXPECT_NE(failed.err.find(said), std::string::npos) << wrong << failed.err;
    EXPECT_EQ(unused.called, "") << wrong;
  }
  EXPECT_NE(up("\nlisen: b\n").first.err.find("2"), std::string::npos);  // the line
  EXPECT_NE(run_line({"up", "--config", path + "-none"}).err.find(path), std::string::npos);
}

TEST_F(TreeTest, WrongUsageIsExit2WithTheNearestCommand) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{},
                                             {"upp"},
                                             {"job"},
                                             {"job", "lst"},
                                             {"up", "--nope"},
                                             {"job", "show"},
                                             {"job", "list", "--limit", "many"},
                                             {"job", "submit"},
                                             {"doctor", "--", "x"},
                                             {"job", "submit", "file.yaml", "--", "true"}}) {
    const Done done = run_line(words);
    EXPECT_EQ(done.code, kExitUsage) << testing::PrintToString(words);
    EXPECT_TRUE(done.err.starts_with("error: ")) << done.err;
    EXPECT_EQ(done.out, "");
  }
  EXPECT_NE(run_line({"upp"}).err.find("did you mean `hearth up`?"), std::string::npos);
  EXPECT_NE(run_line({"job", "lst"}).err.find("did you mean `hearth job list`?"),
            std::string::npos);
}

TEST_F(TreeTest, AnUnknownOptionNamesTheNearest) {
  for (const auto& [words, near] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"job", "submit", "file.yaml", "--gpu", "2"}, "`--gpus`"},
           {{"job", "submit", "file.yaml", "--sets=params.lr=1"}, "`--set`"},
           {{"job", "list", "--jsn"}, "`--json`"},
           {{"--contxt", "x", "job", "list"}, "`--context`"}}) {
    const Done done = run_line(words);
    EXPECT_EQ(done.code, kExitUsage) << done.err;
    EXPECT_NE(done.err.find("has no option --"), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("did you mean " + near + "?"), std::string::npos) << done.err;
  }
  const Done early = run_line({"--data", "/x", "down"});
  EXPECT_NE(early.err.find("--data goes behind the command"), std::string::npos) << early.err;
  const Done far = run_line({"job", "list", "--qwertz"});
  EXPECT_EQ(far.code, kExitUsage);
  EXPECT_NE(far.err.find("`hearth job list` has no option --qwertz"), std::string::npos) << far.err;
  EXPECT_EQ(far.err.find("did you mean"), std::string::npos) << far.err;
}

TEST_F(TreeTest, WhatIsNoNumberIsSaidSo) {
  for (const char* text : {"x", "1.5", "99999999999999999999"}) {
    const Done done = run_line({"job", "submit", "--gpus", text, "--", "true"});
    EXPECT_EQ(done.code, kExitUsage);
    EXPECT_NE(done.err.find(format("--gpus: '{}' is no whole number", text)), std::string::npos)
        << done.err;
    EXPECT_EQ(done.err.find("goes behind"), std::string::npos) << done.err;
  }
}

TEST_F(TreeTest, ErrorsAreDocumentsUnderJson) {
  for (const auto& [words, code] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"job", "lst", "--json"}, "usage"},
           {{"--json", "job", "list", "--qwertz"}, "usage"},
           {{"env", "list", "--json"}, "usage"},
           {{"job", "submit", "--json=true"}, "usage"},
           {{"job", "check", "/none.yaml", "--json"}, "not_found"}}) {
    const Done done = run_line(words);
    const auto said = parse_json(done.err);
    ASSERT_TRUE(said.ok()) << done.err;
    ASSERT_NE(said->find("code"), nullptr) << done.err;
    EXPECT_EQ(said->find("code")->text, code);
    EXPECT_NE(said->find("detail")->text, "");
    EXPECT_EQ(done.err.find('\n'), done.err.size() - 1);
  }
  EXPECT_TRUE(run_line({"job", "lst"}).err.starts_with("error: "));
  EXPECT_TRUE(run_line({"doctor", "--", "--json"}).err.starts_with("error: "));
}

TEST_F(TreeTest, LaterVerbsSaySoWhateverFollows) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"job", "shell", "x"}, {"env", "list", "--all"}, {"runtime", "add", "n"}}) {
    const Done done = run_line(words);
    EXPECT_EQ(done.code, kExitUsage);
    EXPECT_NE(done.err.find("comes with a later version"), std::string::npos) << done.err;
  }
}

TEST_F(TreeTest, HelpAndVersion) {
  const Done help = run_line({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("job"), std::string::npos);
  EXPECT_EQ(help.out.find("  shim"), std::string::npos);  // hidden
  EXPECT_TRUE(run_line({"version"}).out.starts_with("hearth "));
  EXPECT_TRUE(run_line({"version", "--json"}).out.starts_with("{\"version\":"));
  // The flag stands anywhere, and before what else the line lacks.
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--version"}, {"--version", "--json"}, {"--json", "--version"}, {"job", "--version"}}) {
    const bool json = words.front() == "--json" || words.back() == "--json";
    const Done version = run_line(words);
    EXPECT_EQ(version.code, kExitOk) << version.err;
    EXPECT_EQ(version.out, run_line(json ? std::vector<std::string>{"version", "--json"}
                                         : std::vector<std::string>{"version"})
                               .out);
    EXPECT_EQ(version.err, "");
  }
}

TEST_F(TreeTest, WithoutAServerItIsExit6) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"job", "list"},
                                                                 {"status"},
                                                                 {"run", "show", "x"},
                                                                 {"model", "list"},
                                                                 {"whoami"},
                                                                 {"dataset", "list"},
                                                                 {"lineage", "x"},
                                                                 {"backup", "f"},
                                                                 {"login", "--link"}}) {
    const Done done = run_line(words);
    EXPECT_EQ(done.code, 6) << testing::PrintToString(words) << done.err;
    EXPECT_NE(done.err.find("hearth up"), std::string::npos) << done.err;
  }
}

TEST_F(TreeTest, OneRunIsNoComparison) {
  const Done one = run_line({"run", "compare", "cnn-1"});
  EXPECT_EQ(one.code, 7);  // before a server is asked
  EXPECT_NE(one.err.find("two runs at least"), std::string::npos) << one.err;
  EXPECT_NE(one.err.find("hearth run compare cnn-1 RUN"), std::string::npos) << one.err;
  EXPECT_EQ(run_line({"run", "compare", "cnn-1", "cnn-2"}).code, 6);
}

TEST_F(TreeTest, TemplatesAreJobFiles) {
  for (const char* name : {"train", "command", "data"}) {
    const Done done = run_line({"job", "new", "--template", name});
    EXPECT_EQ(done.code, 0);
    EXPECT_NE(("\n" + done.out).find("\nhearth: 1\n"), std::string::npos);
  }
  EXPECT_EQ(run_line({"job", "new", "--template", "trains"}).code, 3);
}

TEST_F(TreeTest, CompletionKnowsEveryCommandAndIsAScript) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Done done = run_line({"completion", shell});
    EXPECT_EQ(done.code, 0);
    for (const char* word : {"submit", "compare", "grep", "lineage"})
      EXPECT_NE(done.out.find(word), std::string::npos) << shell << " " << word;
    EXPECT_EQ(done.out.find("shim"), std::string::npos);
  }
  EXPECT_EQ(run_line({"completion", "tcsh"}).code, 7);

  os::SpawnOptions options;
  options.argv = {"bash", "-c",
                  run_line({"completion", "bash"}).out +
                      "COMP_WORDS=(hearth --json job li); COMP_CWORD=3; _hearth; "
                      "echo \"${COMPREPLY[@]}\""};
  options.environment = os::current_environment();
  const auto ran = os::run(options, Duration::seconds(10));
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->output, "list\n") << ran->errors;
}

}  // namespace
}  // namespace hearth::cli
