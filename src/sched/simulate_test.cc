#include "sched/simulate.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "sched/predict.h"

namespace hearth::sched {
namespace {

TEST(Trace, SaysWhereAFileIsWrong) {
  const auto text_of = [](const auto& result) { return result.ok() ? "" : result.error().detail; };
  EXPECT_EQ(text_of(read_openb_nodes("n.csv", "sn,cpu_milli,memory_mib,gpu,model\na,x,1,2,T4\n")),
            "n.csv:2: cpu_milli is 'x', allowed is a number from 0 to 1e+09");
  EXPECT_EQ(text_of(read_openb_nodes("n.csv", "sn,cpu_milli\na,1,2\n")),
            "n.csv:2: has 3 fields, the first line names 2");
  EXPECT_EQ(
      text_of(read_philly("p.csv", "submit_time,duration_s,vc\n2017-10-03 18:41:20,1,a\n", "", 0)),
      "p.csv: the first line names no column num_gpus");
  EXPECT_EQ(text_of(read_philly("p.csv", "submit_time,duration_s,num_gpus,vc\nnow,1,1,a\n", "", 0)),
            "p.csv:2: submit_time is 'now', allowed is YYYY-MM-DD HH:MM:SS");
  EXPECT_EQ(text_of(read_gangs("g.csv", "", 8)), "g.csv: is empty");
  EXPECT_FALSE(cluster_of("3x").ok());
  EXPECT_FALSE(cluster_of("0x8").ok());
  EXPECT_FALSE(cluster_of("3x8,racks=4").ok());
  EXPECT_FALSE(cluster_of("3x8,cpus").ok());
  EXPECT_FALSE(cluster_of("3x8,disks=4").ok());
}

TEST(Trace, TellsAllWrongLinesTogether) {
  const auto read = read_hearth_jobs(
      "j.csv", "submit_seconds,duration_seconds,gpus\n0,soon,1\n1,2,3\n4,5\n6,7,-1\n");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().text(),
            "j.csv: 3 lines are wrong\n"
            "  line 2: duration_seconds: found 'soon', allowed: a number from 0 to 1e+11\n"
            "  line 4: the line: found 2 fields, allowed: 3, as the first line names\n"
            "  line 5: gpus: found '-1', allowed: a number from 0 to 1e+06");
  std::string many = "submit_seconds,duration_seconds\n";
  for (int i = 0; i < 12; ++i) many += "x,1\n";
  const auto more = read_hearth_jobs("j.csv", many);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().detail, "j.csv: 12 lines are wrong, of which the first 10");
  EXPECT_EQ(more.error().errors.size(), 10U);
}

TEST(Trace, AClusterMayHaveRacksAndAnEnd) {
  const auto nodes = cluster_of("5x2,racks=2,cpus=4,memory=32GiB");
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 5U);
  EXPECT_EQ((*nodes)[2].rack, (*nodes)[0].rack);
  EXPECT_NE((*nodes)[3].rack, (*nodes)[0].rack);
  EXPECT_EQ((*nodes)[4].cpus, 4);
  EXPECT_EQ((*nodes)[4].memory_bytes, int64_t{32} << 30);
  EXPECT_EQ((*nodes)[4].gpus.size(), 2U);
}

TEST(Trace, ReadsEachFormat) {
  const auto pods = read_openb_pods(
      "p",
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
      "a,6000,12288,1,460,,5,25\nb,1000,1,2,1000,T4|P100,0,0\n");
  ASSERT_TRUE(pods.ok());
  EXPECT_EQ((*pods)[0].job.tasks[0].gpu_share_milli, 460);
  EXPECT_EQ((*pods)[0].job.tasks[0].milli_gpus, 460);
  EXPECT_EQ((*pods)[0].runs.seconds(), 20);
  EXPECT_EQ((*pods)[1].job.tasks[0].milli_gpus, 2000);
  EXPECT_EQ((*pods)[1].job.tasks[0].gpu_model, (std::vector<std::string>{"T4", "P100"}));

  const auto sacct =
      read_sacct("s",
                 "JobID|User|JobName|Account|Submit|Elapsed|NNodes|ReqCPUS|AllocTRES\n"
                 "7|ann|train|vision|2026-01-02T03:04:05|1-00:00:10|2|16|cpu=16,gres/gpu=4,node=2\n"
                 "7.batch|||vision|2026-01-02T03:04:05|00:00:01|1|1|\n");
  ASSERT_TRUE(sacct.ok());
  ASSERT_EQ(sacct->size(), 1U);
  EXPECT_EQ(sacct->front().job.tasks.size(), 2U);
  EXPECT_EQ(sacct->front().job.tasks[1].milli_gpus, 2000);
  EXPECT_EQ(sacct->front().job.tasks[1].milli_cpus, 8000);
  EXPECT_EQ(sacct->front().runs.seconds(), 86410);
  EXPECT_EQ(sacct->front().job.project, "vision");

  const auto own = read_hearth_jobs(
      "h", "submit_seconds,duration_seconds,tasks,gpus,gpu_share\n9,5,1,1,0.5\n2,1,3,2,\n");
  ASSERT_TRUE(own.ok());
  EXPECT_EQ((*own)[0].job.tasks.size(), 3U);  // in the order of their coming
  EXPECT_EQ((*own)[1].job.tasks[0].milli_gpus, 500);
}

TEST(Trace, ReadsWhatSacctSaysOfGpus) {
  const auto gpus_of = [](const std::string& tres) -> std::string {
    const auto read = read_sacct(
        "s", "JobID|Submit|Elapsed|AllocTRES\n1|2026-01-02T03:04:05|00:10:00|" + tres + "\n");
    return read.ok() ? format("{:g}", read->front().job.tasks[0].milli_gpus / 1000.0)
                     : read.error().detail;
  };
  EXPECT_EQ(gpus_of("cpu=8,gres/gpu=4,gres/gpu:h100=4,mem=1G"), "4");
  EXPECT_EQ(gpus_of("cpu=8,gres/gpu:h100=4,gres/gpu:a100=2"), "6");
  EXPECT_EQ(gpus_of("cpu=8,gres/gpumem=80G"), "0");
  EXPECT_EQ(gpus_of(""), "0");
  const std::string_view wrong =
      "is '{}', allowed is gres/gpu=N or gres/gpu:TYPE=N among its parts";
  for (const char* tres : {"gres/gpu=eight", "gres/gpu=-5", "gres/gpu:h100"})
    EXPECT_EQ(gpus_of(tres), "s:2: AllocTRES " + format(fmt::runtime(wrong), tres));
  const std::string head = "JobID|Submit|Elapsed|AllocTRES\n1|2026-01-02T03:04:05|";
  EXPECT_EQ(read_sacct("s", head + "02:99:00|\n").error().detail,
            "s:2: Elapsed is '02:99:00', allowed is [DD-]HH:MM:SS");
  EXPECT_EQ(read_sacct("s", head + "00:00:00|\n").error().detail, "s: has no job that began");
}

TEST(Trace, ReadsProjects) {
  const auto read =
      read_projects("p", "project,parent,guaranteed_gpus,limit_gpus\na,top,2,\ntop,,,8\n");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ((*read)[0].parent, "top");
  EXPECT_EQ((*read)[0].guaranteed.milli_gpus, 2000);
  EXPECT_FALSE((*read)[0].limit.milli_gpus.has_value());
  EXPECT_EQ((*read)[1].limit.milli_gpus, 8000);
  EXPECT_FALSE(read_projects("p", "project,weight\na,0\n").ok());
  EXPECT_FALSE(read_projects("p", "project,guaranteed_gpus,limit_gpus\na,4,2\n").ok());
  EXPECT_FALSE(read_projects("p", "project,guaranteed_cpus,limit_cpus\na,4,2\n").ok());
  EXPECT_EQ(read_projects("p", "project,parent\na,nope\n").error().detail,
            "p:2: parent is 'nope', allowed is a project of the file, or nothing");
}

TEST(Trace, AMisspeltColumnOfOursIsNamed) {
  const auto jobs = read_hearth_jobs("h", "submit_seconds,duration_seconds,gpu\n1,2,3\n");
  ASSERT_FALSE(jobs.ok());
  EXPECT_TRUE(jobs.error().detail.starts_with("h:1: unknown column 'gpu', allowed are submit_s"))
      << jobs.error().detail;
  const auto projects = read_projects("p", "project,guaranteed_gpu\na,4\n");
  ASSERT_FALSE(projects.ok());
  EXPECT_NE(projects.error().detail.find("'guaranteed_gpu'"), std::string::npos);
}

Trace philly(const std::string& rows, std::string_view cluster) {
  Trace trace;
  trace.nodes = cluster_of(cluster).value();
  trace.jobs = read_philly("p", "submit_time,duration_s,num_gpus,vc\n" + rows, "", 0).value();
  return trace;
}

TEST(Simulate, JobsWaitForRoomAndEnd) {
  const Trace trace = philly(
      "2017-10-03 00:00:00,100,8,a\n2017-10-03 00:00:10,50,8,a\n2017-10-03 00:00:20,10,4,a\n",
      "1x8");
  const auto done = simulate(trace, {});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->jobs[0].finished_at.seconds(), 100);
  EXPECT_EQ(done->jobs[1].started_at.seconds(), 100);
  EXPECT_EQ(done->jobs[2].started_at.seconds(), 150);
  EXPECT_EQ(done->gpu_seconds, 8 * 100 + 8 * 50 + 4 * 10);
  EXPECT_EQ(done->evictions, 0);
}

TEST(Simulate, WhoHasHadMuchMakesRoom) {
  const Trace trace = philly("2017-10-03 00:00:00,10000,8,a\n2017-10-03 01:00:00,60,8,a\n", "1x8");
  SimulateOptions options;
  options.pools = {{.pool = "trace", .service_levels = {3600.0 * 4}}};
  const auto done = simulate(trace, options);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->evictions, 1);
  EXPECT_EQ(done->jobs[1].finished_at.seconds(), 3660);
  // The time it was away, and what its eviction cost.
  EXPECT_EQ(done->jobs[0].finished_at.seconds(), 10000 + 60 + 30);
}

TEST(Simulate, TheSameInputGivesTheSameAnswer) {
  std::string rows;
  SeededRandom random(3);
  for (int i = 0; i < 60; ++i)
    rows += "2017-10-03 0" + std::to_string(i / 60) + ":" + (i % 60 < 10 ? "0" : "") +
            std::to_string(i % 60) + ":00," + std::to_string(random.below(4000) + 1) + "," +
            std::to_string(random.below(8) + 1) + ",a\n";
  const Trace trace = philly(rows, "2x8");
  SimulateOptions options;
  options.predict = true;
  options.pools = {{.pool = "trace", .service_levels = {3600}}};
  const auto a = simulate(trace, options), b = simulate(trace, options);
  for (size_t i = 0; i < a->jobs.size(); ++i) {
    EXPECT_EQ(a->jobs[i].finished_at, b->jobs[i].finished_at);
    EXPECT_GT(a->jobs[i].finished_at.micros, 0);
  }
}

// 4 GPUs for 100 s and 4 for 300 s while 1000 s go by: a load of 0.2 of 8 GPUs.
TEST(Simulate, JobsComeAsQuickAsTheLoadAsks) {
  Trace trace = philly("2017-10-03 00:00:00,100,4,a\n2017-10-03 00:16:40,300,4,a\n", "1x8");
  scale_to_load(trace, 0.2);
  EXPECT_EQ(coming(trace).second.seconds(), 1000);
  scale_to_load(trace, 0.8);
  EXPECT_EQ(coming(trace).second.seconds(), 250);
  EXPECT_EQ(trace.jobs[1].runs.seconds(), 300);
  const auto done = simulate(trace, {.fragments = true});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->gpu_seconds_while_coming, 4 * 100);
}

TEST(Fill, AnotherScoreDecidesOtherwise) {
  Trace trace;
  trace.nodes = cluster_of("12x4,cpus=32").value();
  std::string rows = "submit_seconds,duration_seconds,gpus,gpu_share,cpus\n";
  SeededRandom random(5);
  for (int i = 0; i < 100; ++i) {
    const bool shares = random.below(2) == 0;
    rows += format("0,0,{},{},{}\n", shares ? 1 : 1 + random.below(4),
                   shares ? "0." + std::to_string(1 + random.below(9)) : "1", 1 + random.below(12));
  }
  trace.jobs = read_hearth_jobs("h", rows).value();
  const FillOptions blend{.fill = 1.3};
  FillOptions fragmentation = blend;
  fragmentation.weights = Weights::fragmentation_only();
  EXPECT_EQ(fill(trace, blend)->digest, fill(trace, blend)->digest);
  EXPECT_NE(fill(trace, blend)->digest, fill(trace, fragmentation)->digest);
}

TEST(Fill, CountsWhatWasDroppedAsAskedFor) {
  Trace trace;
  trace.nodes = cluster_of("1x4").value();
  trace.jobs =
      read_philly("p", "submit_time,duration_s,num_gpus,vc\n2017-10-03 00:00:00,1,3,a\n", "", 0)
          .value();
  const auto done = fill(trace, {.fill = 1.3, .at = {0.75, 1.3}});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->allocated, (std::vector<double>{0.75, 0.75}));  // the second does not fit
  EXPECT_EQ(done->decisions, 2);
}

TEST(Predictor, LearnsOfTheSameUserAndNameFirst) {
  Predictor predictor;
  QueuedJob mine{.name = "train-1", .owner = "ann"}, other{.name = "eval-1", .owner = "bob"};
  for (int i = 1; i <= 5; ++i) predictor.learn(mine, Duration::seconds(100 * i));
  for (int i = 1; i <= 5; ++i) predictor.learn(other, Duration::seconds(1));
  EXPECT_EQ(predictor.predict({.name = "train-77", .owner = "ann"})->seconds(), 300);
  EXPECT_EQ(predictor.predict({.name = "train-77", .owner = "ann"}, 0.5, Duration::seconds(250))
                ->seconds(),
            400);
  EXPECT_EQ(predictor.predict({.name = "new", .owner = "bob"})->seconds(), 1);
  EXPECT_TRUE(predictor.predict({.name = "x", .owner = "nobody"}).has_value());  // of this shape
  EXPECT_FALSE(Predictor().predict(mine).has_value());
}

}  // namespace
}  // namespace hearth::sched
