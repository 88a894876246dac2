#include "client/contexts.h"

#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::client {
namespace {

class ContextsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "hearth-client-XXXXXX").string();
    folder_ = mkdtemp(path.data());
    setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    unsetenv("HEARTH_URL");
    unsetenv("HEARTH_TOKEN");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void save_two() {
    Contexts contexts;
    contexts.current = "A";
    contexts.contexts["A"] = {"http://a:1", "token-a", "ann", "A", "", "", ""};
    contexts.contexts["B"] = {"http://b:2/", "token-b", "bob", "B", "vision", "", ""};
    ASSERT_TRUE(save_contexts(contexts).ok());
  }

  std::string folder_;
};

TEST_F(ContextsTest, AreKeptForTheirOwnerAlone) {
  EXPECT_TRUE(load_contexts()->contexts.empty());
  save_two();
  struct stat status{};
  ASSERT_EQ(stat(contexts_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const auto read = load_contexts();
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->current, "A");
  EXPECT_EQ(read->contexts.at("B").token, "token-b");
}

TEST_F(ContextsTest, LieInTheHomeThatASystemServiceIsNotTold) {
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  unsetenv("XDG_CONFIG_HOME");
  unsetenv("HOME");
  EXPECT_EQ(contexts_path(),
            std::string(getpwuid(geteuid())->pw_dir) + "/.config/hearth/contexts.json");
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

TEST_F(ContextsTest, TheFlagThenTheVariableThenTheCurrentOne) {
  save_two();
  EXPECT_EQ(choose_context({})->token, "token-a");
  setenv("HEARTH_URL", "http://b:2", 1);
  EXPECT_EQ(choose_context({})->token, "token-b");
  EXPECT_EQ(choose_context({"", "http://a:1/"})->token, "token-a");
  EXPECT_EQ(choose_context({"A", ""})->token, "token-a");
  setenv("HEARTH_TOKEN", "mine", 1);
  EXPECT_EQ(choose_context({"", "http://b:2"})->token, "mine");
  // An address that is not known has no token of another server.
  unsetenv("HEARTH_TOKEN");
  const auto stranger = choose_context({"", "http://c:3"});
  ASSERT_TRUE(stranger.ok());
  EXPECT_EQ(stranger->token, "");
  EXPECT_EQ(stranger->url, "http://c:3");
}

TEST_F(ContextsTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(choose_context({}).error().code, Code::unreachable);
  EXPECT_EQ(choose_context({"C", ""}).error().code, Code::not_found);
}

class PlaceServerTest : public ContextsTest {
 protected:
  void SetUp() override {
    ContextsTest::SetUp();
    for (const char* name : {"live", "trial", "other"})
      std::filesystem::create_directory(data(name));
    known_.current = "A";
    known_.contexts["A"] = {"http://h:1", "token", "ann", "A", "", "", data("live")};
  }
  std::string data(const std::string& name) const { return folder_ + "/" + name; }
  std::string place(const std::string& url, const std::string& name) {
    return place_server(known_, "A", url, data(name), [this](const std::string& at) {
      return running_.contains(std::filesystem::path(at).filename().string());
    });
  }
  Contexts known_;
  std::set<std::string> running_;
};

TEST_F(PlaceServerTest, OnAnotherPortOrInAnotherFolderItIsTheSame) {
  EXPECT_EQ(place("http://h:2", "live"), "A");
  EXPECT_EQ(known_.contexts.at("A").url, "http://h:2");
  EXPECT_EQ(place("http://h:2", "trial"), "A");  // restored, on the first one's port
  EXPECT_EQ(known_.contexts.at("A").data, data("trial"));
  EXPECT_EQ(place_server(known_, "B", "http://h:9", data("other"), {}), "");
  EXPECT_EQ(known_.contexts.size(), 1U);
  // By another way to the same folder.
  std::filesystem::create_directory_symlink(data("trial"), data("link"));
  running_ = {"trial", "link"};
  EXPECT_EQ(place("http://h:3", "link"), "A");
}

TEST_F(PlaceServerTest, ACopyBesideTheFirstOneIsAContextOfItsOwn) {
  running_ = {"live"};
  EXPECT_EQ(place("http://h:2", "trial"), "A-copy");
  EXPECT_EQ(known_.contexts.at("A").url, "http://h:1");
  EXPECT_EQ(known_.contexts.at("A-copy").token, "token");
  EXPECT_EQ(known_.current, "A");
  running_ = {"live", "trial"};
  EXPECT_EQ(place("http://h:3", "other"), "A-copy-2");
  // Each stays what it is, whoever starts first.
  running_ = {"trial"};
  EXPECT_EQ(place("http://h:4", "live"), "A");
  running_ = {};
  EXPECT_EQ(place("http://h:5", "trial"), "A-copy");
  EXPECT_EQ(known_.contexts.at("A").url, "http://h:4");
  EXPECT_EQ(known_.contexts.at("A-copy").url, "http://h:5");
  EXPECT_EQ(known_.contexts.size(), 3U);
  ASSERT_TRUE(save_contexts(known_).ok());
  EXPECT_EQ(choose_context({"A", ""})->url, "http://h:4");
  EXPECT_EQ(choose_context({"A-copy", ""})->url, "http://h:5");
}

TEST_F(PlaceServerTest, ACopyWhoseFirstOneHasGoneTakesItsPlace) {
  running_ = {"live"};
  place("http://h:2", "trial");
  known_.current = "A-copy";
  running_ = {};
  std::filesystem::remove_all(data("live"));
  EXPECT_EQ(place("http://h:6", "trial"), "A");
  EXPECT_EQ(known_.contexts.at("A").url, "http://h:6");
  EXPECT_EQ(known_.contexts.size(), 1U);
  EXPECT_EQ(known_.current, "A");
}

}  // namespace
}  // namespace hearth::client
