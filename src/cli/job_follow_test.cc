#include "cli/job_follow.h"

#include <gtest/gtest.h>

#include "cli/code.h"
#include "cli/progress.h"
#include "os/files.h"
#include "os/process.h"

namespace hearth::cli {
namespace {

const Time kNow{1'700'000'000'000'000};

Job running_for(double seconds) {
  Job job;
  job.state = JobState::running;
  job.started_at = kNow - Duration::seconds(seconds);
  return job;
}

TEST(Progress, SaysEpochLossAccuracyRateAndTimeLeft) {
  hearth::Run run;
  run.params["epochs"] = "5";
  run.metrics["epoch"] = {2.5, 100, {}};
  run.metrics["loss"] = {0.31249, 100, {}};
  run.metrics["accuracy"] = {0.891, 100, {}};
  run.metrics["images_per_second"] = {6512.4, 100, {}};
  EXPECT_EQ(progress_text(running_for(60), run, kNow),
            "running  epoch 2.5/5  1:00 left  loss 0.3125  acc 89.1 %  6512/s");
}

TEST(Progress, SaysWhatThereIsWhenThereIsLittle) {
  hearth::Run run;
  EXPECT_EQ(progress_text(running_for(3725), run, kNow), "running  1:02:05");
  run.metrics["val/top5_acc"] = {12.5, 7, {}};
  EXPECT_EQ(progress_text(running_for(5), run, kNow), "running  step 7  0:05  acc 12.5");
  run.params["epochs"] = "many";
  run.metrics["epoch"] = {1, 7, {}};
}

TEST(Progress, SaysWhyAJobWaits) {
  Job job;
  job.reason = Reason{"cpus_short", {}, "waits for 2 CPUs\033[2J", ""};
  EXPECT_EQ(progress_text(job, {}, kNow), "queued  waits for 2 CPUs?[2J");
}

TEST(Progress, Bar) {
  EXPECT_EQ(bar(0.5, 4), "[##..]");
  EXPECT_EQ(bar(7, 4), "[####]");
  EXPECT_EQ(bar(-1, 2), "[..]");
}

TEST(Ends, ExitCodes) {
  Job job;
  for (const auto& [state, code] :
       {std::pair{JobState::succeeded, 0}, {JobState::failed, 1}, {JobState::cancelled, 1}}) {
    job.state = state;
    EXPECT_EQ(exit_of(job), code);
  }
}

TEST(Git, RemotesLoseTheirCredentials) {
  EXPECT_EQ(without_credentials("https://me:secret@host/x.git"), "https://host/x.git");
  EXPECT_EQ(without_credentials("https://host/a@b.git"), "https://host/a@b.git");
  EXPECT_EQ(without_credentials("git@host:x.git"), "git@host:x.git");
  EXPECT_EQ(without_credentials("https://tok@en@host"), "https://host");
  EXPECT_EQ(without_credentials(""), "");
}

TEST(Git, TellsCommitAndUncommittedChanges) {
  const auto folder = os::TemporaryDirectory::make();
  ASSERT_TRUE(folder.ok());
  const std::string top = *folder / "";
  std::string diff;
  EXPECT_EQ(git_state(top, diff), GitState{});
  os::SpawnOptions options;
  options.shell = "cd '" + top +
                  "' && git init -q -b main && echo one > f && git add f && git -c user.name=t -c "
                  "user.email=t@t commit -qm x && git remote add origin https://u:p@host/r.git";
  options.environment = os::current_environment();
  const auto made = os::run(options, Duration::seconds(20));
  if (!made.ok() || !made->exit.success()) GTEST_SKIP() << "no git here";
  GitState state = git_state(top, diff);
  EXPECT_EQ(state.commit.size(), 40U);
  EXPECT_EQ(state.branch, "main");
  EXPECT_EQ(state.remote, "https://host/r.git");
  EXPECT_FALSE(state.dirty);
  EXPECT_EQ(diff, "");
  ASSERT_TRUE(os::append_file(top + "/f", "two\n", os::Sync::no).ok());
  state = git_state(top, diff);
  EXPECT_TRUE(state.dirty);
  EXPECT_NE(diff.find("+two"), std::string::npos) << diff;
}

}  // namespace
}  // namespace hearth::cli
