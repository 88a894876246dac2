#include "control/capacity/what_if.h"

#include <gtest/gtest.h>

#include "control/small_world_test.h"

namespace hearth::control {
namespace {

// One GPU, and ten jobs of 100 s that came at once a day ago.
class WhatIfTest : public ::testing::Test {
 protected:
  WhatIfTest()
      : what_ifs_(world_.context(), *world_.access,
                  ClusterView{[this] { return nodes_; },
                              [] { return std::map<std::string, sched::ProjectUse>(); }}) {
    nodes_.push_back({.name = "n1",
                      .pool = "local",
                      .cpus = 64,
                      .memory_bytes = 1LL << 36,
                      .gpus = {{.uuid = "g0", .model = "A100"}}});
  }
  void add_jobs(int count, const std::string& project = "default") {
    const Time came = world_.clock.now() - Duration::seconds(86'400);
    for (int i = 0; i < count; ++i) {
      Job job{.id = new_id(world_.clock, system_random()),
              .name = format("{}-{}", project, i),
              .project = project,
              .state = JobState::succeeded,
              .run_id = "r"};
      job.created_at = came;
      job.spec.resources.gpus = 1;
      job.phases = {{"queued", came, 5, 0}, {"running", came, 100, 1}};
      world_.write([&](db::Session& session) { return db::Table<Job>::insert(session, job); });
    }
  }

  SmallWorld world_;
  std::vector<NodeInfo> nodes_;
  WhatIfs what_ifs_;
};

TEST_F(WhatIfTest, MoreNodes) {
  add_jobs(10);
  WhatIf question;
  question.add = {{"n1", 1}};
  const WhatIfAnswer answer = need(what_ifs_.answer(world_.admin, question));
  EXPECT_EQ(answer.jobs, 10);
  EXPECT_DOUBLE_EQ(answer.now.waits.mean, 450);
  EXPECT_DOUBLE_EQ(answer.then.waits.mean, 200);
  EXPECT_EQ(answer.then.gpus, 2);
  EXPECT_DOUBLE_EQ(answer.now.gpus_used, 1);
  EXPECT_EQ(answer.now.by_project.at("default").jobs, 10);
}

// Nodes that are named twice are as many more, each with a name of its own; left out twice is once.
TEST_F(WhatIfTest, NodesNamedTwice) {
  add_jobs(10);
  WhatIf question;
  question.add = {{"n1", 1}, {"n1", 2}};
  question.without = {"n1", "n1"};
  const WhatIfAnswer answer = need(what_ifs_.answer(world_.admin, question));
  EXPECT_EQ(answer.then.gpus, 3);
  EXPECT_EQ(answer.then.never_started, 0);
  EXPECT_DOUBLE_EQ(answer.then.waits.mean, 120);
}

TEST_F(WhatIfTest, AnotherQuota) {
  add_jobs(4);
  add_jobs(4, "other");
  nodes_[0].gpus.push_back({.uuid = "g1", .model = "A100"});
  WhatIf question;
  question.quotas["other"].limit.gpus = 0;
  const WhatIfAnswer answer = need(what_ifs_.answer(world_.admin, question));
  EXPECT_EQ(answer.now.never_started, 0);
  EXPECT_EQ(answer.then.never_started, 4);
  EXPECT_LT(answer.then.waits.mean, answer.now.waits.mean);
}

// Those that are left are not compared with all there were.
TEST_F(WhatIfTest, TimesAreOfThoseThatRunBothWays) {
  add_jobs(10);
  WhatIf question;
  question.without = {"n1"};
  const WhatIfAnswer answer = need(what_ifs_.answer(world_.admin, question));
  EXPECT_EQ(answer.now.never_started, 0);
  EXPECT_EQ(answer.then.never_started, 10);
  for (const WhatIfOutcome* one : {&answer.now, &answer.then}) {
    EXPECT_EQ(one->waits.jobs, 0);
    EXPECT_EQ(one->completion.jobs, 0);
    EXPECT_TRUE(one->by_project.empty());
  }
}

TEST_F(WhatIfTest, Refusals) {
  WhatIf question;
  EXPECT_EQ(what_ifs_.answer(world_.member, question).error().code, Code::denied);
  EXPECT_EQ(what_ifs_.answer(world_.admin, question).error().code, Code::invalid);
  question.add = {{"n1", 1}};
  EXPECT_EQ(what_ifs_.answer(world_.admin, question).error().code, Code::conflict);
  question.quotas["other"].guaranteed.gpus = 2;
  question.quotas["other"].limit.gpus = 1;
  const auto above = what_ifs_.answer(world_.admin, question);
  EXPECT_EQ(above.error().code, Code::invalid);
  EXPECT_EQ(above.error().errors.at(0).path, "quotas.other.guaranteed.gpus");
  question.quotas.clear();
  question.quotas["othr"].limit.gpus = 1;
  EXPECT_EQ(what_ifs_.answer(world_.admin, question).error().text(),
            "there is no project 'othr' (`hearth project list` shows those you may see)");
  question.quotas.clear();
  add_jobs(1);
  question.without = {"n9"};
  EXPECT_EQ(what_ifs_.answer(world_.admin, question).error().code, Code::not_found);
  EXPECT_FALSE(need(what_ifs_.cancel(world_.admin)));
}

}  // namespace
}  // namespace hearth::control
