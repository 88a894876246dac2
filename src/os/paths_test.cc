#include "os/paths.h"

#include <atomic>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/format.h"

namespace hearth::os {
namespace {

TEST(Glob, MatchesWithinAndAcrossFolders) {
  struct Case {
    const char* pattern;
    const char* path;
    bool matches;
  };
  const Case cases[] = {
      {"plots/**", "plots/a.png", true},
      {"plots/**", "plots/a/b.png", true},
      {"plots/**", "plots", false},
      {"plots/**", "plotsx/a", false},
      {"*.png", "a.png", true},
      {"*.png", "a/b.png", false},
      {"**/*.png", "a.png", true},
      {"**/*.png", "x/y/a.png", true},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**/b", "ab", false},
      {"a/**/b", "a/xb", false},
      {"**", "a/b", true},
      {"a**", "a/b", false},
      {"a?c", "abc", true},
      {"a?c", "a/c", false},
      {"[a-c]x", "bx", true},
      {"[a-c]x", "dx", false},
      {"[!a-c]x", "dx", true},
      {"[!a]x", "/x", false},
      {"[]a]x", "]x", true},
      {"[a-]x", "-x", true},
      {"[[:digit:]]", "7", true},
      {"[[:digit:]]", "x", false},
      {"[[:nope:]]", "x", false},
      {"[a", "[a", false},
      {"\\*", "*", true},
      {"\\*", "x", false},
      {"x\\", "x\\", false},
      {"a*b*c", "aXbYc", true},
      {"a*b*c", "aXbY", false},
      {"", "", true},
      {"**/a/**/b/**", "x/a/y/b/z", true},
      {"**/a/**/b/**", "a/b/z", true},
      {"**/a/**/b/**", "a/b", false},
      {"*/b", "a/b", true},
      {"*", "", true},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Glob(c.pattern).matches(c.path), c.matches) << c.pattern << " on " << c.path;
}

TEST(Glob, ANastyPatternIsNoTrouble) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a**/";
  EXPECT_FALSE(Glob(pattern + "b").matches(std::string(2000, 'a')));
}

class Paths : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_directories(at("root/a/b")).ok());
    ASSERT_TRUE(append_file(at("root/a/file"), "inside", Sync::no).ok());
    ASSERT_TRUE(append_file(at("outside"), "outside", Sync::no).ok());
    ASSERT_TRUE(make_symlink("a/file", at("root/good")).ok());
    ASSERT_TRUE(make_symlink("../outside", at("root/bad")).ok());
    ASSERT_TRUE(make_symlink(at("outside"), at("root/absolute")).ok());
    ASSERT_TRUE(make_symlink("..", at("root/up")).ok());
    ASSERT_TRUE(make_symlink("../nowhere", at("root/dangling")).ok());
  }
  TemporaryDirectory dir_ = std::move(TemporaryDirectory::make("hearth-paths").value());
  std::string at(std::string_view name) const { return dir_ / name; }
  std::string root() const { return at("root"); }
};

TEST_F(Paths, JoinsByTheTextAlone) {
  EXPECT_EQ(*safe_join("/r/", "a//./b/"), "/r/a/b");
  EXPECT_EQ(*safe_join("/r", "."), "/r");
  EXPECT_EQ(*safe_join("/", "a"), "/a");
  for (const std::string_view wrong : {"", "/a", "..", "a/../b", "a/..", "../a"})
    EXPECT_EQ(safe_join("/r", wrong).error().code, Code::invalid) << wrong;
  EXPECT_FALSE(safe_join("/r", std::string_view("a\0b", 3)).ok());
}

TEST_F(Paths, ResolvesLinksThatStayInside) {
  const auto good = safe_join_resolved(root(), "good");
  ASSERT_TRUE(good.ok()) << good.error().text();
  EXPECT_EQ(*good, at("root/a/file"));
  EXPECT_EQ(*safe_join_resolved(root(), "a/new"), at("root/a/new"));
  for (const char* wrong : {"bad", "absolute", "up", "up/outside", "dangling"})
    EXPECT_EQ(safe_join_resolved(root(), wrong).error().code, Code::denied) << wrong;
  EXPECT_EQ(safe_join_resolved(root(), "no/such").error().code, Code::not_found);
}

TEST_F(Paths, OpensBeneathAndNowhereElse) {
  EXPECT_TRUE(open_beneath(root(), "good", O_RDONLY).ok());
  EXPECT_TRUE(open_beneath(root(), "a", O_RDONLY | O_DIRECTORY).ok());
  EXPECT_TRUE(open_beneath(root(), "a/file", O_RDONLY, 0, Links::refuse).ok());
  EXPECT_EQ(open_beneath(root(), "good", O_RDONLY, 0, Links::refuse).error().code, Code::denied);
  for (const char* wrong : {"bad", "absolute", "up/outside"})
    EXPECT_EQ(open_beneath(root(), wrong, O_RDONLY).error().code, Code::denied) << wrong;
  EXPECT_EQ(open_beneath(root(), "../outside", O_RDONLY).error().code, Code::invalid);
  EXPECT_TRUE(open_beneath(root(), "a/made", O_WRONLY | O_CREAT | O_EXCL).ok());
  EXPECT_EQ(open_beneath(root(), "dangling", O_WRONLY | O_CREAT).error().code, Code::denied);
  EXPECT_FALSE(exists(at("nowhere")));
}

TEST_F(Paths, AFolderSwappedForALinkIsNeverFollowedOut) {
  std::atomic<bool> stop = false;
  ASSERT_TRUE(make_directories(at("root/swap")).ok());
  ASSERT_TRUE(append_file(at("root/swap/outside"), "inside", Sync::no).ok());
  std::thread swapper([&] {
    while (!stop) {
      ::rename(at("root/swap").c_str(), at("root/away").c_str());
      ignore(make_symlink("..", at("root/swap")));
      ::unlink(at("root/swap").c_str());
      ::rename(at("root/away").c_str(), at("root/swap").c_str());
    }
  });
  for (int i = 0; i < 2000; ++i) {
    auto fd = open_beneath(root(), "swap/outside", O_RDONLY);
    if (!fd.ok()) continue;
    char text[16] = {};
    EXPECT_EQ(read(fd->get(), text, 7), 6);
  }
  stop = true;
  swapper.join();
}

TEST_F(Paths, MakesFoldersBeneath) {
  EXPECT_TRUE(make_directories_beneath(root(), "a/b/c/d").ok());
  EXPECT_TRUE(exists(at("root/a/b/c/d")));
  EXPECT_EQ(make_directories_beneath(root(), "up/x").error().code, Code::denied);
  EXPECT_EQ(make_directories_beneath(root(), "a/file/x").error().code, Code::denied);
  EXPECT_FALSE(exists(at("x")));
}

TEST_F(Paths, LinksThatStayInside) {
  EXPECT_TRUE(link_stays_inside("a", "b/c"));
  EXPECT_TRUE(link_stays_inside("a/b", "../c"));
  EXPECT_TRUE(link_stays_inside("a/b", ".."));
  EXPECT_FALSE(link_stays_inside("a", "../c"));
  EXPECT_FALSE(link_stays_inside("a/b", "../../c"));
  EXPECT_FALSE(link_stays_inside("a/b", "c/../d"));  // c may be a link itself
  EXPECT_FALSE(link_stays_inside("a", "/etc"));
  EXPECT_FALSE(link_stays_inside("a", ""));
}

TEST_F(Paths, WalksSortedWithoutFollowingLinks) {
  std::vector<std::string> seen;
  ASSERT_TRUE(walk(root(), [&](const Found& found) -> Result<bool> {
                seen.push_back(found.path);
                return true;
              }).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "a/b", "a/file", "absolute", "bad", "dangling",
                                            "good", "up"}));
  const auto all = [](const Found&) -> Result<bool> { return true; };
  EXPECT_EQ(walk(root(), all, 3).error().code, Code::too_large);
}

TEST_F(Paths, FindsFilesByPatterns) {
  ASSERT_TRUE(make_directories(at("root/plots/x")).ok());
  ASSERT_TRUE(append_file(at("root/plots/x/1.png"), "", Sync::no).ok());
  ASSERT_TRUE(append_file(at("root/plots/2.png"), "", Sync::no).ok());
  EXPECT_EQ(*glob_files(root(), {"plots/**", "a/*"}),
            (std::vector<std::string>{"a/file", "plots/2.png", "plots/x/1.png"}));
  EXPECT_EQ(*glob_files(root(), {"**/*.png"}),
            (std::vector<std::string>{"plots/2.png", "plots/x/1.png"}));
  EXPECT_TRUE(glob_files(root(), {"good", "bad"})->empty());  // links are no files
}

}  // namespace
}  // namespace hearth::os
