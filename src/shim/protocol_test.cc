// Shims and servers of different releases: docs/shim-protocol.md.
#include "shim/fixture_test.h"

namespace hearth::shim {
namespace {

using Versions = std::set<int64_t>;
const std::vector<std::string> kOneToThree = {"--protocols", "1", "3"};

TEST_F(Shim, AnOlderServerIsSpokenToInItsVersion) {
  fake_.speak({1, 1});
  spec_.protocol = 3;  // the server that ordered it was newer
  EXPECT_EQ(run("echo one; sleep 0.2; echo two", kOneToThree), kShimDone);
  EXPECT_EQ(fake_.log(), "one\ntwo\n");
  EXPECT_EQ(path_of_states(), "preparing starting running saving succeeded");
  EXPECT_EQ(fake_.heard(), Versions{1});
  EXPECT_TRUE(fake_.in_order());
}

TEST_F(Shim, ItGoesUpWithAServerThatIsReplaced) {
  fake_.speak({1, 1});
  spec_.protocol = 1;
  start("while ! test -e ../go; do sleep 0.02; done; echo gone on", kOneToThree);
  ASSERT_TRUE(until([&] { return last().state == TaskState::running; }));
  EXPECT_EQ(fake_.heard(), Versions{1});
  fake_.speak({2, 4});  // version 1 is not read any more
  ASSERT_TRUE(until([&] { return fake_.heard() == Versions{3}; }));
  ASSERT_TRUE(os::write_file_atomic(task_dir() + "/go", "").ok());
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_EQ(fake_.log(), "gone on\n");
  EXPECT_EQ(fake_.heard(), Versions{3});
}

TEST_F(Shim, WithoutACommonVersionTheTaskGoesOnAndKeepsWhatItSays) {
  fake_.speak({5, 6});
  spec_.protocol = 3;
  start("for i in 1 2 3; do echo $i; done; touch ../ended", kOneToThree);
  ASSERT_TRUE(until([&] { return os::exists(task_dir() + "/ended"); }));
  EXPECT_TRUE(fake_.states().empty());
  fake_.speak({3, 6});
  EXPECT_EQ(wait(), kShimDone);
  EXPECT_EQ(fake_.log(), "1\n2\n3\n");
  EXPECT_EQ(path_of_states(), "preparing starting running saving succeeded");
  EXPECT_TRUE(fake_.in_order());
}

TEST_F(Shim, AnOrderInAVersionItDoesNotSpeakIsNotBegun) {
  spec_.protocol = 4;
  EXPECT_EQ(run("echo never", kOneToThree), kShimFailed);
  EXPECT_TRUE(fake_.states().empty());
  EXPECT_FALSE(os::exists(task_dir() + "/spool"));
}

}  // namespace
}  // namespace hearth::shim
