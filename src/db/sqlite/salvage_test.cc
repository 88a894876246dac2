// Whatever page of a database is hurt: what is salvaged is right, and what is lost is told.
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/log.h"
#include "db/sqlite/pages.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/test_folder.h"
#include "db/tables.h"

namespace hearth::db {
namespace {

using Content = std::map<std::string, std::string>;  // "table key" -> all of the row

class SalvageTest : public ::testing::Test {
 protected:
  static constexpr int kJobs = 120;

  void SetUp() override {
    set_log_sink([](Level, std::string_view) {});
    auto database = open_sqlite({.path = path_}).value();
    must(database->migrate());
    must(database->write([](Session& session) -> Result<void> {
      for (int i = 0; i < kJobs; ++i) {
        const Job job{.id = format("01JOB{:05}", i),
                      .name = format("cnn-{}", i),
                      .number = i,
                      .project = "p",
                      .code_digest = std::string(static_cast<size_t>(i % 5) * 1500, 'x')};
        TRY(Table<Job>::insert(session, job));
        TRY(append_event(session, {.kind = "job.submitted", .id = job.id}));
        TRY(session.execute(
            "INSERT INTO metric_batches (run_id, id, kind, task_id, points, first_time, body) "
            "VALUES ($1, $2, 'metric', 't', 1, 5, $3)",
            {format("run {}", i % 7), job.id, Bytes(static_cast<size_t>(i), std::byte{9})}));
        TRY(session.execute(
            "INSERT INTO task_marks (task_id, state, metrics, synced_at) VALUES ($1, $2, 3, 4)",
            {job.id, int64_t{i}}));
      }
      return {};
    }));
    content_ = content_of(*database);
    database.reset();
    std::ifstream in(path_, std::ios::binary);
    whole_.assign(std::istreambuf_iterator<char>(in), {});
  }
  void TearDown() override { set_log_sink(nullptr); }
  static void must(const Result<void>& result) {
    ASSERT_TRUE(result.ok()) << result.error().text();
  }
  static Content content_of(Database& database) {
    Content all;
    must(database.read([&](Session& session) -> Result<void> {
      for (const auto& [table, columns] :
           {std::pair("jobs", "id, name || number || project || body"),
            std::pair("events", "seq, kind || id || body"),
            std::pair("metric_batches", "id, run_id || points || hex(body)"),
            std::pair("task_marks", "task_id, state"), std::pair("counters", "name, value")})
        TRY(session.query(format("SELECT {} FROM {}", columns, table), {},
                          [&](const Row& row) -> Result<void> {
                            all[format("{} {}", table, row.text(0))] = row.text(1);
                            return {};
                          }));
      return {};
    }));
    return all;
  }
  void hurt(size_t at, size_t count, uint8_t mask) const {
    std::string bytes = whole_;
    for (size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<char>(bytes[at + i] ^ mask);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  Result<Salvaged> salvage() {
    std::filesystem::remove(to_);
    for (const char* end : {"-wal", "-shm", ".owner"}) std::filesystem::remove(to_ + end);
    return salvage_sqlite(path_, to_);
  }

  const TestFolder folder_;
  const std::string path_ = folder_.file("h.db"), to_ = folder_.file("saved.db");
  Content content_;
  std::string whole_;
};

TEST_F(SalvageTest, AWholeDatabaseIsCopied) {
  const auto saved = salvage();
  ASSERT_TRUE(saved.ok()) << saved.error().text();
  EXPECT_TRUE(saved->lost.empty());
  EXPECT_TRUE(saved->mended.empty());
  auto copy = open_sqlite({.path = to_}).value();
  EXPECT_EQ(content_of(*copy), content_);
  EXPECT_FALSE(std::filesystem::exists(to_ + ".hurt"));
  EXPECT_EQ(salvage_sqlite(folder_.file("none.db"), folder_.file("x.db")).error().code,
            Code::not_found);
}

TEST_F(SalvageTest, OneFlippedBitAnywhereIsPutRight) {
  SeededRandom random(17);
  for (int i = 0; i < 15; ++i) {
    const size_t at = random.below(whole_.size());
    hurt(at, 1, static_cast<uint8_t>(1u << random.below(8)));
    const auto saved = salvage();
    ASSERT_TRUE(saved.ok()) << saved.error().text();
    EXPECT_TRUE(saved->lost.empty()) << at;
    EXPECT_EQ(saved->mended,
              std::vector{format("page {}: one bit was put right", at / kPageBytes + 1)});
    auto copy = open_sqlite({.path = to_}).value();
    ASSERT_EQ(content_of(*copy), content_) << at;
  }
}

// Each page in turn beyond mending: nothing wrong is served, and what lacks is told.
TEST_F(SalvageTest, OfAHurtPageTheRestIsSaved) {
  size_t pages_with_loss = 0, saved_rows = 0, hurt_rows = 0, unreadable = 0;
  for (size_t page = 1; page < whole_.size() / kPageBytes; page += 3) {
    hurt(page * kPageBytes + 100, 600, 0x5a);
    const auto saved = salvage();
    if (!saved.ok()) {  // a page of the schema
      EXPECT_TRUE(saved.error().detail.starts_with("nothing of the database can be read"))
          << saved.error().text();
      ++unreadable;
      continue;
    }
    EXPECT_TRUE(saved->mended.empty());
    auto copy = open_sqlite({.path = to_}).value();
    must(copy->check());
    const Content found = content_of(*copy);
    for (const auto& [key, row] : found) {
      ASSERT_TRUE(content_.contains(key)) << key;
      EXPECT_EQ(content_.at(key), row) << key;
    }
    pages_with_loss += saved->lost.empty() ? 0 : 1;
    if (found.size() < content_.size()) EXPECT_FALSE(saved->lost.empty()) << page;
    saved_rows += found.size();
    hurt_rows += content_.size() - found.size();
    // A lost job is told by its name.
    for (int i = 0; i < kJobs; ++i)
      if (!found.contains(format("jobs 01JOB{:05}", i)) && saved->lost.size() == 1 &&
          saved->lost[0].find("more") == std::string::npos)
        EXPECT_NE(saved->lost[0].find(format("cnn-{}", i)), std::string::npos) << saved->lost[0];
  }
  EXPECT_LT(unreadable, 5U);
  EXPECT_GT(pages_with_loss, 10U);
  EXPECT_LT(hurt_rows * 10, saved_rows);
}

TEST_F(SalvageTest, AnotherVersionOfTheTablesIsRefused) {
  {
    auto database = open_sqlite({.path = path_}).value();
    must(database->write([](Session& session) -> Result<void> {
      TRY(session.execute(
          "INSERT INTO hearth_schema (version, name, migrated_at) VALUES (99, 'later', 1)"));
      return {};
    }));
  }
  const auto refused = salvage();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::conflict) << refused.error().text();
}

TEST_F(SalvageTest, WhatAKilledServerLeftInTheLogIsSavedToo) {
  std::filesystem::copy_file(path_, folder_.file("live.db"));
  auto database = open_sqlite({.path = folder_.file("live.db")}).value();
  must(database->write(
      [](Session& session) -> Result<void> { return set_setting(session, "late", "yes"); }));
  for (const char* end : {"", "-wal"})  // as it lies there while it runs
    std::filesystem::copy_file(folder_.file("live.db") + end, path_ + end,
                               std::filesystem::copy_options::overwrite_existing);
  ASSERT_TRUE(salvage().ok());
  auto copy = open_sqlite({.path = to_}).value();
  must(copy->read([](Session& session) -> Result<void> {
    EXPECT_EQ(TRY(get_setting(session, "late")).value_or("no"), "yes");
    return {};
  }));
}

}  // namespace
}  // namespace hearth::db
