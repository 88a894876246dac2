// What a service is given, for tests: a database and objects in a folder of their own, a clock that
// stands still, numbers from a seed.
#pragma once

#include <gtest/gtest.h>

#include "base/log.h"
#include "control/context.h"
#include "db/sqlite/sqlite.h"
#include "objects/directory/directory.h"
#include "os/files.h"

namespace hearth::control {

// The lock makes the seeded numbers fit for several threads.
class LockedRandom : public Random {
 public:
  explicit LockedRandom(uint64_t seed) : random_(seed) {}
  void fill(std::span<std::byte> out) override {
    const std::lock_guard lock(mutex_);
    random_.fill(out);
  }

 private:
  std::mutex mutex_;
  SeededRandom random_;
};

class ControlTest : public ::testing::Test {
 protected:
  ControlTest() : folder_(os::TemporaryDirectory::make("hearth-control", memory()).value()) {
    auto database = db::open_sqlite({.path = folder_ / "hearth.db"});
    CHECK(database.ok());
    database_ = std::move(database).value();
    CHECK(database_->migrate().ok());
    auto objects = objects::DirectoryObjects::open(folder_ / "objects");
    CHECK(objects.ok());
    objects_ = std::move(objects).value();
  }
  // Syncs cost nothing there, and no test here needs a real disk's.
  static std::string memory() { return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ""; }

  Context context() { return {*database_, *objects_, signals_, clock_, random_}; }
  static void must(const Result<void>& result) {
    ASSERT_TRUE(result.ok()) << result.error().text();
  }
  Result<void> write(const db::Work& work) { return database_->write(work); }
  int64_t number(const std::string& sql, std::vector<db::Value> values = {}) {
    int64_t value = -1;
    must(database_->read([&](db::Session& session) {
      return session.query(sql, values, [&](const db::Row& row) -> Result<void> {
        value = row.integer(0);
        return {};
      });
    }));
    return value;
  }
  std::string put(const std::string& bytes) {
    auto stored = objects_->put(bytes);
    EXPECT_TRUE(stored.ok());
    return stored->digest;
  }
  bool have(const std::string& digest) {
    const auto found = objects_->have(digest);
    EXPECT_TRUE(found.ok());
    return found->has_value();
  }

  os::TemporaryDirectory folder_;
  Signals signals_;
  ManualClock clock_;
  LockedRandom random_{1};
  std::unique_ptr<db::Database> database_;
  std::unique_ptr<objects::Objects> objects_;
};

}  // namespace hearth::control
