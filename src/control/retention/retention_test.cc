#include "control/retention/retention.h"

#include <atomic>
#include <thread>

#include "base/format.h"
#include "base/id.h"
#include "control/fixture_test.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

class RetentionTest : public ControlTest {
 protected:
  Result<void> pin(const std::string& digest, const std::string& holder) {
    return write(
        [&](db::Session& session) { return db::pin(session, digest, holder, clock_.now()); });
  }
  Result<void> unpin(const std::string& holder) {
    return write([&](db::Session& session) { return db::unpin(session, holder); });
  }
  Retention retention_{context(), {}};
};

TEST_F(RetentionTest, AnObjectGoesInTwoStepsAndOnlyUnpinned) {
  const std::string kept = put("kept"), loose = put("loose");
  must(pin(kept, "code:j"));
  must(retention_.sweep());
  EXPECT_TRUE(have(loose));
  EXPECT_EQ(number("SELECT COUNT(*) FROM dying_objects"), 1);
  clock_.advance(Duration::seconds(3599));
  must(retention_.sweep());
  EXPECT_TRUE(have(loose));
  clock_.advance(Duration::seconds(2));
  must(retention_.sweep());
  EXPECT_FALSE(have(loose));
  EXPECT_TRUE(have(kept));
  EXPECT_EQ(number("SELECT COUNT(*) FROM dying_objects"), 0);
}

TEST_F(RetentionTest, APinSavesWhatWasDying) {
  const std::string digest = put("x");
  must(retention_.sweep());
  clock_.advance(Duration::seconds(7200));
  must(pin(digest, "upload:t"));
  EXPECT_EQ(number("SELECT COUNT(*) FROM dying_objects"), 0);
  must(retention_.sweep());
  EXPECT_TRUE(have(digest));
  // The pin of an upload ends by itself; then the two steps begin anew.
  clock_.advance(Duration::seconds(3601));
  must(retention_.sweep());
  EXPECT_TRUE(have(digest));
  clock_.advance(Duration::seconds(3601));
  must(retention_.sweep());
  EXPECT_FALSE(have(digest));
}

TEST_F(RetentionTest, WhileHeldNothingIsRemoved) {
  const std::string digest = put("x");
  must(retention_.sweep());
  clock_.advance(Duration::seconds(7200));
  {
    const CollectionGate::Hold hold(retention_);
    must(retention_.sweep());
    EXPECT_TRUE(have(digest));
  }
  must(retention_.sweep());
  EXPECT_FALSE(have(digest));
}

// Who pins and then sees the object has it for good, whatever is swept meanwhile.
TEST_F(RetentionTest, WhatWasPinnedAndSeenStays) {
  Retention eager(context(), {.object_grace = Duration{0}});
  std::atomic<bool> stop = false;
  std::thread sweeper([&] {
    while (!stop) must(eager.sweep());
  });
  int seen = 0;
  for (int i = 0; i < 150; ++i) {
    const std::string digest = put(format("object {}", i));
    must(pin(digest, format("code:{}", i)));
    if (!have(digest)) continue;  // it was gone already: who wants it sends it again
    ++seen;
    std::this_thread::yield();
    EXPECT_TRUE(have(digest)) << i;
  }
  must(eager.sweep());
  EXPECT_EQ(number("SELECT COUNT(*) FROM pins"), 150);
  stop = true;
  sweeper.join();
  EXPECT_GT(seen, 0);
}

TEST_F(RetentionTest, RowsThatAreKeptForATime) {
  const Time now = clock_.now();
  must(write([&](db::Session& session) -> Result<void> {
    for (int i = 0; i < 1200; ++i)  // more than one transaction's bound
      TRY(db::save_replay(session, "ann", format("old {}", i), {}, now));
    TRY(
        session.execute("INSERT INTO sign_in_codes (hash, \"user\", expires_at, used_at) VALUES "
                        "('a', 'ann', $1, 0), ('b', 'ann', $2, 0)",
                        {now.micros + 1, now.micros + 100'000'000'000'000}));
    for (const auto& [expires, revoked] :
         std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {1, 0}, {0, 1}}) {
      Token token{.id = new_id(clock_, random_), .hash = format("{}{}", expires, revoked)};
      if (expires != 0) token.expires_at = now;
      if (revoked != 0) token.revoked_at = now;
      TRY(db::Table<Token>::insert(session, token));
    }
    for (int i = 0; i < 700; ++i) TRY(db::append_event(session, {.time = now, .kind = "job.x"}));
    return {};
  }));
  clock_.advance(Duration::seconds(2 * 86400.0));
  must(write([&](db::Session& session) -> Result<void> {
    TRY(db::save_replay(session, "ann", "new", {}, clock_.now()));
    return {};
  }));
  must(retention_.sweep());
  EXPECT_EQ(number("SELECT COUNT(*) FROM idempotency"), 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM sign_in_codes"), 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM tokens"), 3);
  EXPECT_EQ(number("SELECT COUNT(*) FROM events"), 700);
  clock_.advance(Duration::seconds(89 * 86400.0));
  must(write([&](db::Session& session) -> Result<void> {
    TRY(db::append_event(session, {.time = clock_.now(), .kind = "job.y"}));
    return {};
  }));
  must(retention_.sweep());
  EXPECT_EQ(number("SELECT COUNT(*) FROM tokens"), 1);
  EXPECT_EQ(number("SELECT MIN(seq) FROM events"), 701);
}

TEST_F(RetentionTest, OfEachJobTheNewestCheckpointsStay) {
  Job job{.id = new_id(clock_, random_), .name = "cnn-1", .project = "p"};
  job.spec.outputs.checkpoints = CheckpointOutput{.path = "ckpt", .keep = 2};
  must(write([&](db::Session& session) { return db::Table<Job>::insert(session, job); }));
  for (int64_t step = 0; step < 5; ++step) {
    clock_.advance(Duration::seconds(1));
    must(write([&](db::Session& session) -> Result<void> {
      const Checkpoint checkpoint{.id = new_id(clock_, random_),
                                  .job_id = job.id,
                                  .project = "p",
                                  .step = step,
                                  .created_at = clock_.now()};
      TRY(db::Table<Checkpoint>::insert(session, checkpoint));
      return db::pin(session, format("sha256:{}", step), "checkpoint:" + checkpoint.id,
                     clock_.now());
    }));
  }
  must(retention_.sweep());
  EXPECT_EQ(number("SELECT COUNT(*) FROM checkpoints"), 2);
  EXPECT_EQ(number("SELECT MIN(step) FROM checkpoints"), 3);
  EXPECT_EQ(number("SELECT COUNT(*) FROM pins"), 2);
  EXPECT_EQ(number("SELECT COUNT(*) FROM events WHERE kind = 'checkpoint.deleted'"), 3);
}

TEST_F(RetentionTest, LogsPastTheirRuleAreSaidSo) {
  must(write([&](db::Session& session) -> Result<void> {
    for (int64_t n = 0; n < 3; ++n) {
      TRY(session.execute(
          "INSERT INTO log_segments (task_id, first_seq, last_seq, lines, first_time, last_time, "
          "digest, size_bytes, raw_bytes) VALUES ('t', $1, $1, 1, $2, $2, $3, 1, 1)",
          {n, clock_.now().micros + n * 1'000'000'000, format("sha256:{}", n)}));
      TRY(db::pin(session, format("sha256:{}", n), "log:t", clock_.now()));
    }
    return {};
  }));
  clock_.advance(Duration::seconds(1500));
  must(retention_.sweep());  // kept for ever unless a rule says otherwise
  EXPECT_EQ(number("SELECT COUNT(*) FROM log_segments"), 3);
  Retention ruled(context(), {.log_life = Duration::seconds(100)});
  must(ruled.sweep());
  EXPECT_EQ(number("SELECT COUNT(*) FROM log_segments"), 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM pins"), 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM events WHERE kind = 'task.log_expired' AND id = 't'"), 1);
}

// A wall clock that is set a year forward has made nothing a year older.
TEST_F(RetentionTest, NothingIsOldBecauseTheClockWasSet) {
  class SetClock : public Clock {
   public:
    Time now() override { return steady_ + set; }
    Time steady() override { return steady_; }
    Time steady_{1'700'000'000'000'000};
    Duration set{0};
  } clock;
  control::Context with = context();
  const control::Context jumping{with.database, with.objects, with.signals, clock, with.random};
  Retention retention(jumping, {});
  const std::string digest = put("x");
  must(write([&](db::Session& session) -> Result<void> {
    TRY(db::append_event(session, {.time = clock.now(), .kind = "job.x"}));
    return db::save_replay(session, "ann", "key", {}, clock.now());
  }));
  must(retention.sweep());
  clock.set = Duration::seconds(365 * 86400.0);
  must(retention.sweep());
  EXPECT_EQ(number("SELECT COUNT(*) FROM events"), 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM idempotency"), 1);
  EXPECT_TRUE(have(digest));
  clock.set = Duration::seconds(-365 * 86400.0);
  must(retention.sweep());
  EXPECT_TRUE(have(digest));
  clock.set = {};
  clock.steady_ = clock.steady_ + Duration::seconds(100 * 86400.0);
  must(retention.sweep());
  EXPECT_EQ(number("SELECT COUNT(*) FROM events"), 0);
  EXPECT_FALSE(have(digest));
}

TEST_F(RetentionTest, TheLoopSweepsAndStops) {
  const std::string digest = put("x");
  Retention loop(context(), {.period = Duration::millis(1), .object_grace = Duration{0}});
  loop.start();
  for (int i = 0; i < 1000 && have(digest); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(have(digest));
  loop.stop();
}

}  // namespace
}  // namespace hearth::control
