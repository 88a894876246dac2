#include "os/ignore.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/units.h"
#include "os/files.h"
#include "os/process.h"

namespace hearth::os {
namespace {

TEST(Ignore, FollowsTheManual) {
  struct Case {
    const char* rules;
    const char* path;
    bool directory;
    bool ignored;
  };
  const Case cases[] = {
      {"*.o", "a.o", false, true},
      {"*.o", "x/y/a.o", false, true},
      {"/a", "a", false, true},
      {"/a", "x/a", false, false},
      {"a/b", "a/b", false, true},
      {"a/b", "x/a/b", false, false},
      {"build/", "build", true, true},
      {"build/", "build", false, false},
      {"build/", "x/build/y", false, true},
      {"*\n!keep", "keep", false, false},
      {"d\n!d/keep", "d/keep", false, true},
      {"d/*\n!d/keep", "d/keep", false, false},
      {"# a\n\\#b", "#b", false, true},
      {"\\!a", "!a", false, true},
      {"a  ", "a", false, true},
      {"a\\ ", "a ", false, true},
      {"a\r\nb", "a", false, true},
      {"**/x", "x", false, true},
      {"x/**", "x/y/z", false, true},
      {"a/**/b", "a/b", false, true},
      {"!", "a", false, false},
      {"/", "a", true, false},
      {"\xEF\xBB\xBF"
       "a",
       "a", false, true},
  };
  for (const Case& c : cases) {
    IgnoreRules rules;
    rules.add("", c.rules);
    EXPECT_EQ(rules.ignored(c.path, c.directory), c.ignored) << c.rules << " on " << c.path;
  }
}

TEST(Ignore, DeeperFoldersWinAndCanBeForgotten) {
  IgnoreRules rules;
  rules.add("", "*.log");
  const size_t before = rules.count();
  rules.add("a", "!keep.log\n/top");
  EXPECT_FALSE(rules.ignored("a/keep.log", false));
  EXPECT_FALSE(rules.ignored("a/b/keep.log", false));
  EXPECT_TRUE(rules.ignored("keep.log", false));
  EXPECT_TRUE(rules.ignored("a/top", false));
  EXPECT_FALSE(rules.ignored("a/b/top", false));
  rules.shrink(before);
  EXPECT_TRUE(rules.ignored("a/keep.log", false));
}

// Random rules and paths over a small alphabet, so that they meet often.
class RandomCases {
 public:
  explicit RandomCases(uint64_t seed) : random_(seed) {}

  std::string rules() {
    std::string out;
    for (uint64_t n = 1 + random_.below(4); n > 0; --n) out += rule() + "\n";
    return out;
  }
  std::string path() {
    std::string out;
    for (uint64_t n = 1 + random_.below(4); n > 0; --n) {
      if (!out.empty()) out += '/';
      out += name();
    }
    return out;
  }

 private:
  const char* pick(std::initializer_list<const char*> from) {
    return from.begin()[random_.below(from.size())];
  }
  std::string name() {
    std::string out;
    for (uint64_t n = 1 + random_.below(2); n > 0; --n) out += pick({"a", "b", "c", ".", "-", "]"});
    return out == "." || out == ".." ? "a" : out;
  }
  std::string part() {
    if (random_.below(6) == 0) return "**";
    std::string out;
    for (uint64_t n = 1 + random_.below(3); n > 0; --n)
      out += pick({"a",    "b",     "c",     "a",   "b",   "?",           "*",    "[ab]",
                   "[!a]", "[a-c]", "[^b-]", "\\a", "\\*", "[[:alpha:]]", "[]a]", "[",
                   ".",    "-",     "[\\]]", "[a-", "\\",  "[b-a]"});
    return out;
  }
  std::string rule() {
    std::string out = pick({"", "", "", "!", "#", "\\!", "!"});
    out += pick({"", "", "/"});
    for (uint64_t n = 1 + random_.below(3); n > 0; --n) {
      out += part();
      if (n > 1) out += '/';
    }
    out += pick({"", "", "", "/", "/**", " ", "\\ ", "\r", "  "});
    return out;
  }
  SeededRandom random_;
};

// git 2.39 strips the part before the first wildcard, and so takes "x/y**" for "**" (mended in
// later versions): stars next to a letter are made single in both.
std::string without_glued_stars(const std::string& rules) {
  std::string out;
  for (size_t i = 0; i < rules.size(); ++i) {
    const size_t end = rules.find_first_not_of('*', i);
    const size_t stars = (end == std::string::npos ? rules.size() : end) - i;
    if (stars >= 2) {
      const bool left = i == 0 || rules[i - 1] == '/' || rules[i - 1] == '\n';
      const bool right = end == std::string::npos || rules[end] == '/' || rules[end] == '\n';
      out += left && right ? "**" : "*";
      i += stars - 1;
    } else {
      out += rules[i];
    }
  }
  return out;
}

class AgainstGit : public testing::Test {
 protected:
  void SetUp() override {
    if (!git("init -q .").ok()) GTEST_SKIP() << "git is not there";
  }
  Result<RunResult> git(const std::string& words) {
    SpawnOptions options;
    options.shell = "git " + words;
    options.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir_.path(),
                           "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"};
    options.working_directory = dir_.path();
    auto done = run(options, Duration::seconds(20));
    if (done.ok() && done->exit.code > 1) return Error::internal(done->errors);
    return done;
  }
  // In memory where there is such a place: thousands of small files.
  TemporaryDirectory dir_ = std::move(
      TemporaryDirectory::make("hearth-git", exists("/dev/shm") ? "/dev/shm" : "").value());
};

TEST_F(AgainstGit, AThousandRandomCases) {
  constexpr int kCases = 1000, kPaths = 12;
  int ignored = 0;
  std::string list, expected;
  // One folder a case, and one call of git for all.
  for (int seed = 0; seed < kCases; ++seed) {
    RandomCases cases(static_cast<uint64_t>(seed));
    const std::string top = without_glued_stars(cases.rules());
    const std::string deep = without_glued_stars(cases.rules());
    const std::string folder = format("{}", seed);
    ASSERT_TRUE(make_directories(dir_ / (folder + "/a")).ok());
    ASSERT_TRUE(append_file(dir_ / (folder + "/.gitignore"), top, Sync::no).ok());
    ASSERT_TRUE(append_file(dir_ / (folder + "/a/.gitignore"), deep, Sync::no).ok());
    IgnoreRules rules;
    rules.add("", top);
    rules.add("a", deep);
    for (int i = 0; i < kPaths; ++i) {
      const std::string path = cases.path();
      const std::string line = format("{}/{}\n", folder, path);
      list += line;
      // "a" is a folder in the tree; nothing else is there, so a name is taken for a file.
      if (!rules.ignored(path, path == "a")) continue;
      expected += line;
      ++ignored;
    }
  }
  ASSERT_TRUE(append_file(dir_ / "list", list, Sync::no).ok());
  const auto answer = git("check-ignore --no-index --stdin <list");
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  const auto ours = split(expected, '\n'), theirs = split(answer->output, '\n');
  for (size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const auto our = i < ours.size() ? ours[i] : "(end)";
    const auto their = i < theirs.size() ? theirs[i] : "(end)";
    const std::string folder(split(our, '/')[0]);
    ASSERT_EQ(our, their) << "the first difference; rules\n"
                          << read_file(dir_ / (folder + "/.gitignore"), 9999).value_or("")
                          << "and below a/\n"
                          << read_file(dir_ / (folder + "/a/.gitignore"), 9999).value_or("");
  }
  std::printf("%d of %d random paths ignored\n", ignored, kCases * kPaths);
  EXPECT_GT(ignored, 1000);
  EXPECT_LT(ignored, 11'000);
}

}  // namespace
}  // namespace hearth::os
