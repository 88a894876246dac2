#include "control/jobs/update.h"

#include <gtest/gtest.h>

namespace hearth::control {
namespace {

constexpr Time kNow{1'000'000'000};

Task task(int64_t rank, TaskState state) {
  Task t;
  t.rank = rank;
  t.state = state;
  return t;
}
Task failed_task(int64_t rank, FailureClass why, int64_t finished_micros) {
  Task t = task(rank, TaskState::failed);
  t.failure = Failure{};
  t.failure->failure_class = why;
  t.finished_at = {finished_micros};
  return t;
}

TEST(Judge, AGangIsAsFarAsItsSlowestTask) {
  const Attempt attempt;
  std::vector<Task> tasks{task(0, TaskState::running), task(1, TaskState::preparing)};
  EXPECT_EQ(judge(attempt, tasks).state, AttemptState::starting);
  tasks[1].state = TaskState::running;
  EXPECT_EQ(judge(attempt, tasks).state, AttemptState::running);
  tasks[0].state = TaskState::succeeded;
  EXPECT_EQ(judge(attempt, tasks).state, AttemptState::running);
  tasks[1].state = TaskState::saving;
  EXPECT_EQ(judge(attempt, tasks).state, AttemptState::saving);
  tasks[1].state = TaskState::succeeded;
  const Verdict verdict = judge(attempt, tasks);
  EXPECT_EQ(verdict.state, AttemptState::succeeded);
  EXPECT_TRUE(verdict.ended);
}

TEST(Judge, OneFailureEndsTheGangAndTheFirstCauseIsNamed) {
  const Attempt attempt;
  std::vector<Task> tasks{task(0, TaskState::running), failed_task(1, FailureClass::oom, 500)};
  Verdict verdict = judge(attempt, tasks);
  EXPECT_TRUE(verdict.stop_rest);
  EXPECT_FALSE(verdict.ended);
  // Rank 0 ends because we stopped it, earlier on its own clock: still not the cause.
  tasks[0] = failed_task(0, FailureClass::cancelled, 400);
  verdict = judge(attempt, tasks);
  EXPECT_TRUE(verdict.ended);
  EXPECT_EQ(verdict.state, AttemptState::failed);
  EXPECT_EQ(verdict.failure->failure_class, FailureClass::oom);
  EXPECT_EQ(verdict.failure->rank, 1);
}

// Its process ended then; it is still saving.
Task saving_task(int64_t rank, FailureClass why, int64_t ended_micros) {
  Task t = failed_task(rank, why, 0);
  t.state = TaskState::saving;
  t.saving_at = {ended_micros};
  return t;
}

TEST(Judge, AFailedProcessEndsTheGangBeforeItsTaskHasSaved) {
  const Attempt attempt;
  std::vector<Task> tasks{task(0, TaskState::running), saving_task(1, FailureClass::signal, 500)};
  tasks[1].role = "worker";
  tasks[1].failure->text = "ended by SIGKILL";
  const Verdict verdict = judge(attempt, tasks);
  EXPECT_TRUE(verdict.stop_rest);
  EXPECT_EQ(verdict.failure->text, "worker (rank 1): ended by SIGKILL");
  // One that saves after a good end is no failure.
  tasks[1].failure.reset();
  EXPECT_FALSE(judge(attempt, tasks).stop_rest);
  EXPECT_FALSE(judge(attempt, {tasks.data() + 1, 1}).stop_rest);
}

TEST(Judge, TheCauseIsTheFirstEndNotTheFirstReport) {
  const Attempt attempt;
  // Rank 1 died first and took longer to save; rank 0 lost its connection to it.
  std::vector<Task> tasks{failed_task(0, FailureClass::exit, 600),
                          failed_task(1, FailureClass::signal, 900)};
  tasks[0].saving_at = {550};
  tasks[1].saving_at = {500};
  EXPECT_EQ(judge(attempt, tasks).failure->rank, 1);
  // What its supervisor took with it is found out last.
  tasks[1] = failed_task(1, FailureClass::lost, 5000);
  EXPECT_EQ(judge(attempt, tasks).failure->rank, 1);
}

Job running_job() {
  Job job;
  job.state = JobState::running;
  job.attempts = 1;
  return job;
}
Attempt failed_attempt(FailureClass why) {
  Attempt attempt;
  attempt.state = AttemptState::failed;
  attempt.failure = Failure{};
  attempt.failure->failure_class = why;
  return attempt;
}

TEST(AfterAttempt, OnlyNamedClassesAreTriedAgainWithGrowingBackOff) {
  Job job = running_job();
  EXPECT_EQ(after_attempt(job, failed_attempt(FailureClass::exit), 0.5).trigger,
            JobTrigger::failed_final);
  Outcome outcome = after_attempt(job, failed_attempt(FailureClass::lost), 0.5);
  EXPECT_EQ(outcome.trigger, JobTrigger::failed_retry);
  EXPECT_TRUE(outcome.counts);
  EXPECT_EQ(outcome.back_off, kFirstBackOff);
  job.retries_used = 2;
  EXPECT_EQ(after_attempt(job, failed_attempt(FailureClass::lost), 0.5).back_off.seconds(), 8);
  job.retries_used = 3;
  EXPECT_EQ(after_attempt(job, failed_attempt(FailureClass::lost), 0.5).trigger,
            JobTrigger::failed_final);
}

TEST(AfterAttempt, APreemptedJobGoesOnWithoutPauseOrCount) {
  Job job = running_job();
  job.retries_used = job.spec.retries.limit;
  const Outcome outcome = after_attempt(job, failed_attempt(FailureClass::preemption), 0.5);
  EXPECT_EQ(outcome.trigger, JobTrigger::failed_retry);
  EXPECT_FALSE(outcome.counts);
  EXPECT_EQ(outcome.back_off.micros, 0);
  job.spec.retries.on = {FailureClass::lost};
  EXPECT_EQ(after_attempt(job, failed_attempt(FailureClass::preemption), 0.5).trigger,
            JobTrigger::failed_final);
}

TEST(AfterAttempt, AStopThatWasAskedForIsNoFailureToRetry) {
  Job job = running_job();
  job.stop_asked_at = kNow;
  job.stop_asked_by = "ann";
  const Outcome outcome = after_attempt(job, failed_attempt(FailureClass::lost), 0);
  EXPECT_EQ(outcome.trigger, JobTrigger::stopped);
  EXPECT_EQ(outcome.failure->failure_class, FailureClass::cancelled);
}

TEST(Advance, EndedJobsMoveOnlyByRetry) {
  for (const JobState end : {JobState::succeeded, JobState::failed, JobState::cancelled})
    for (int t = 0; t <= static_cast<int>(JobTrigger::retry_asked); ++t) {
      Job job = running_job();
      job.state = end;
      const auto trigger = static_cast<JobTrigger>(t);
      EXPECT_EQ(advance(job, trigger, kNow), trigger == JobTrigger::retry_asked);
    }
}

TEST(Advance, PhasesFollowEachOtherWithoutGaps) {
  Job job;
  enter_phase(job, "queued", {0});
  enter_phase(job, "preparing", {2'000'000});
  enter_phase(job, "preparing", {3'000'000});
  job.state = JobState::running;
  ASSERT_TRUE(advance(job, JobTrigger::failed_final, {5'000'000}));
  ASSERT_EQ(job.phases.size(), 2u);
  EXPECT_EQ(job.phases[0].seconds, 2);
  EXPECT_EQ(job.phases[1].seconds, 3);
  EXPECT_EQ(job.finished_at.micros, 5'000'000);
}

TEST(TakePhases, TheTasksTellTheTimesEvenOfWhatNobodySaw) {
  Job job;
  job.attempts = 1;
  enter_phase(job, "queued", {0});
  enter_phase(job, "preparing", {1'000'000});
  Attempt attempt;
  attempt.created_at = {1'000'000};
  Task fast = task(0, TaskState::saving), slow = task(1, TaskState::saving);
  fast.starting_at = {2'000'000};
  slow.starting_at = {3'000'000};
  fast.running_at = slow.running_at = {4'000'000};
  fast.saving_at = {5'000'000};
  slow.saving_at = {9'000'000};
  const std::vector<Task> tasks{fast, slow};
  take_phases(job, attempt, tasks);
  take_phases(job, attempt, tasks);  // once more changes nothing
  std::vector<std::pair<std::string, double>> seen;
  for (const Phase& phase : job.phases) seen.emplace_back(phase.name, phase.seconds);
  const std::vector<std::pair<std::string, double>> wanted{
      {"queued", 1}, {"preparing", 2}, {"starting", 1}, {"running", 5}, {"saving", 0}};
  EXPECT_EQ(seen, wanted);
  EXPECT_EQ(job.started_at.micros, 4'000'000);
}

TEST(StateTable, EveryStateCanBeLeftAndReached) {
  for (const auto state :
       {JobState::queued, JobState::preparing, JobState::running, JobState::saving,
        JobState::succeeded, JobState::failed, JobState::cancelled}) {
    bool left = false, reached = false;
    for (const Transition& t : job_transitions()) {
      left |= t.from == state;
      reached |= t.to == state;
    }
    EXPECT_TRUE(left && reached) << word(state);
  }
  EXPECT_NE(job_state_chart().find("queued --> preparing"), std::string::npos);
}

}  // namespace
}  // namespace hearth::control
