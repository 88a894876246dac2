// Lines by number, and a search through them.
#include "domain/wire/logs.h"

#include "api/world_test.h"
#include "track/log_frame.h"

namespace hearth::api {
namespace {

class LogLinesTest : public ApiTest {
 protected:
  void write_lines(const Task& task, int count) {
    track::FrameWriter writer;
    Bytes frames;
    for (int i = 1; i <= count; ++i) {
      if (writer.full()) writer.seal_to(frames);
      writer.append(world_.clock.now(), track::Stream::out, 0, format("step {} \"loss\"", i));
    }
    writer.seal_to(frames);
    Identity shim;
    shim.kind = TokenKind::task;
    shim.task_id = task.id;
    SyncHead head{.epoch = control::need(jobs_->attempts(world_.admin, task.job_id)).at(0).epoch};
    head.log_bytes = static_cast<int64_t>(frames.size());
    control::need(ingest_->sync(shim, task.id, head, as_text(frames)));
  }
  LogLines lines(const std::string& query) {
    const auto answer = as(viewer_, "GET " + at_ + "/logs/lines" + query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return control::need(from_json<LogLines>(answer.body, Origin::server, 64 << 20));
  }
  LogHits hits(const std::string& query) {
    const auto answer = as(viewer_, "GET " + at_ + "/logs/search" + query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return control::need(from_json<LogHits>(answer.body, Origin::server, 64 << 20));
  }
  std::string at_;
};

TEST_F(LogLinesTest, OfATaskByNumber) {
  start();
  const std::string job = started(member_);
  at_ = "/api/v1/jobs/" + job;
  const Task task = task_of(job);
  write_lines(task, 2500);
  const LogLines page = lines("?from=1200&limit=3");
  EXPECT_EQ(page.task_id, task.id);
  EXPECT_EQ(page.attempt, 1);
  EXPECT_EQ(page.rank, 0);
  EXPECT_EQ(page.role, task.role);
  EXPECT_EQ(page.first, 1);
  EXPECT_EQ(page.last, 2500);
  EXPECT_FALSE(page.ended);
  ASSERT_EQ(page.lines.size(), 3u);
  EXPECT_EQ(page.lines[0].seq, 1200);
  EXPECT_EQ(page.lines[0].text, "step 1200 \"loss\"");
  EXPECT_EQ(page.lines[0].stream, "stdout");
  EXPECT_EQ(page.lines[0].time, world_.clock.now());
  EXPECT_EQ(page.next_from, 1203);
  EXPECT_EQ(lines("").lines.size(), 1000u);
  EXPECT_EQ(lines("?tail=2&attempt=1&rank=0").lines.at(0).seq, 2499);
  expect_problem(as(viewer_, "GET " + at_ + "/logs/lines?rank=1"), 404, "not_found");
  expect_problem(as(viewer_, "GET " + at_ + "/logs/lines?attempt=2"), 404, "not_found");
  expect_problem(as(viewer_, "GET " + at_ + "/logs/lines?limit=5001"), 400, "invalid");
}

TEST_F(LogLinesTest, OfAnAttemptOrARankThatIsNotThereNameThoseThatAre) {
  start();
  const std::string job = started(member_);
  at_ = "/api/v1/jobs/" + job;
  for (const char* way : {"/logs?", "/logs/lines?", "/logs/search?re=x&"}) {
    auto answer = as(viewer_, "GET " + at_ + way + "attempt=7");
    expect_problem(answer, 404, "not_found");
    EXPECT_NE(answer.body.find("its only attempt is 1"), std::string::npos) << answer.body;
    answer = as(viewer_, "GET " + at_ + way + "rank=3");
    expect_problem(answer, 404, "not_found");
    EXPECT_NE(answer.body.find("its only task is rank 0"), std::string::npos) << answer.body;
    EXPECT_EQ(as(viewer_, "GET " + at_ + way + "attempt=1&rank=0").status, 200);
  }
  // A rank beyond those of the job file never comes, however long it is followed.
  expect_problem(as(viewer_, "GET " + at_ + "/logs?follow=1&rank=3"), 404, "not_found");
  EXPECT_EQ(as(viewer_, "GET " + at_ + "/logs?attempt=all").status, 200);
}

TEST_F(LogLinesTest, AreFound) {
  start();
  const std::string job = started(member_);
  at_ = "/api/v1/jobs/" + job;
  write_lines(task_of(job), 2500);
  LogHits found = hits("?re=step%20%5B12%5D00%20");
  ASSERT_EQ(found.hits.size(), 2u);
  EXPECT_EQ(found.hits[1].seq, 200);
  EXPECT_EQ(found.next_from, 2501);
  EXPECT_EQ(found.scanned, 2500);
  EXPECT_FALSE(found.ended) << "others may come";
  found = hits("?re=loss&limit=10&from=100");
  EXPECT_EQ(found.hits.size(), 10u);
  EXPECT_EQ(found.hits[0].seq, 100);
  EXPECT_EQ(found.next_from, 110);
  EXPECT_EQ(hits("?re=loss&from=2501").scanned, 0);
  expect_problem(as(viewer_, "GET " + at_ + "/logs/search?re=%28"), 400, "invalid");
  expect_problem(as(viewer_, "GET " + at_ + "/logs/search"), 400, "invalid");
}

TEST_F(LogLinesTest, OfAJobThatWaitsThereAreNone) {
  start();
  submit(member_, "resources: {cpus: 4}\n");
  world_.clock.advance(Duration::millis(10));  // of those that come at once any may be the first
  const std::string other = submit(member_, "resources: {cpus: 4}\n");
  at_ = "/api/v1/jobs/" + other;
  const LogLines none = lines("");
  EXPECT_EQ(none.task_id, "");
  EXPECT_EQ(none.last, 0);
  EXPECT_FALSE(none.ended);
  EXPECT_TRUE(hits("?re=x").hits.empty());
  EXPECT_EQ(as(viewer_, "GET " + at_ + "/logs?attempt=1").status, 200);  // it may begin yet
  EXPECT_EQ(as(member_, "POST " + at_ + "/cancel", "{}").status, 200);
  const auto over = as(viewer_, "GET " + at_ + "/logs?attempt=1");
  expect_problem(over, 404, "not_found");
  EXPECT_NE(over.body.find("none has begun"), std::string::npos) << over.body;
}

}  // namespace
}  // namespace hearth::api
