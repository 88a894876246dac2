#include "sched/link_use.h"

#include <gtest/gtest.h>

#include "sched/state.h"
#include "sched/trace.h"

namespace hearth::sched {
namespace {

class Links : public testing::Test {
 protected:
  Links() {  // two nodes of two switches, four GPUs each
    const auto nodes = cluster_of("2x8/2");
    for (const NodeInfo& node : nodes.value()) cluster_.apply(NodeChanged{node});
  }
  // Runs there; counted if told to.
  void start(const std::string& node, std::vector<std::string> gpus, bool counted = true) {
    QueuedJob job{.id = std::to_string(++jobs_)};
    job.tasks.push_back({.milli_gpus = static_cast<int64_t>(gpus.size()) * kWholeGpu});
    const Place place{.node = node, .gpus = std::move(gpus)};
    const Start start{job.id, "trace", {place}};
    if (counted) use_.add(cluster_.state().cells, job, start);
    cluster_.apply(AttemptStarted{job.id, "trace", job, {place}, {}});
  }
  Cluster cluster_;
  LinkUse use_;
  int jobs_ = 0;
};

TEST_F(Links, AcrossSwitchesIsMissedOnlyWhereOneHadRoom) {
  start("n00000", {"0", "1"});
  EXPECT_EQ(use_.jobs, 1);
  EXPECT_EQ(use_.inside, 1);
  start("n00000", {"2", "4"});  // 5 to 7 were free, and all of the other node
  EXPECT_EQ(use_.missed, 1);
  start("n00001", {"0", "1", "2"}, false);
  start("n00001", {"4", "5", "6"}, false);
  start("n00000", {"5", "6"}, false);
  start("n00001", {"3", "7"});  // a switch with two was nowhere left
  EXPECT_EQ(use_.jobs, 3);
  EXPECT_EQ(use_.inside, 1);
  EXPECT_EQ(use_.missed, 1);
}

TEST_F(Links, JobsOfOneOrOfMoreThanASwitchAreNotAsked) {
  start("n00000", {"0"});
  start("n00001", {"0", "1", "2", "3", "4"});
  EXPECT_EQ(use_.jobs, 0);
}

TEST_F(Links, ACleanSwitchIsBrokenOnlyWhereAPartlyUsedOneHadRoom) {
  start("n00000", {"0", "1"});
  EXPECT_EQ(use_.broke_clean, 0);  // all were clean
  start("n00000", {"4", "5", "6"});
  EXPECT_EQ(use_.broke_clean, 0);  // two were free on the other
  start("n00001", {"0"});
  EXPECT_EQ(use_.broke_clean, 1);
  start("n00001", {"4", "5", "6", "7"});
  EXPECT_EQ(use_.broke_clean, 1);  // it was used up whole
}

}  // namespace
}  // namespace hearth::sched
