// What every Database does alike: one suite, instantiated beside each implementation.
//
//   INSTANTIATE_TEST_SUITE_P(Sqlite, DatabaseContract, ::testing::Values(DatabaseFactory{...}));
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "db/database.h"
#include "db/migrate.h"

namespace hearth::db {

// An empty database with `migrations`; opened again with the same `id` it is the same one.
struct DatabaseFactory {
  std::string name;
  Dialect dialect = Dialect::sqlite;
  std::function<std::string()> fresh;  // a new id
  std::function<Result<std::unique_ptr<Database>>(const std::string& id,
                                                  std::span<const Migration> migrations)>
      open;
  std::function<void(const std::string& id)> destroy;
};

class DatabaseContract : public ::testing::TestWithParam<DatabaseFactory> {
 protected:
  void SetUp() override {
    id_ = GetParam().fresh();
    open({});
    must(
        write_all({"CREATE TABLE item (id BIGINT PRIMARY KEY, name TEXT UNIQUE, size DOUBLE "
                   "PRECISION, body BYTES)",
                   "CREATE TABLE part (id BIGINT PRIMARY KEY, item_id BIGINT NOT NULL REFERENCES "
                   "item (id))"}));
  }
  void TearDown() override {
    database_.reset();
    GetParam().destroy(id_);
  }
  void open(std::span<const Migration> migrations) {
    database_.reset();
    auto opened = GetParam().open(id_, migrations);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    database_ = std::move(opened).value();
  }
  static void must(const Result<void>& result) {
    ASSERT_TRUE(result.ok()) << result.error().text();
  }
  Result<void> write_all(const std::vector<std::string>& sql) {
    return database_->write([&](Session& session) -> Result<void> {
      for (const std::string& one : sql)
        for (const std::string& statement : statements(one, GetParam().dialect))
          TRY(session.execute(statement));
      return {};
    });
  }
  Result<void> insert(int64_t id) {
    return database_->write([&](Session& session) -> Result<void> {
      TRY(session.execute("INSERT INTO item (id, name) VALUES ($1, $2)", {id, format("n{}", id)}));
      return {};
    });
  }
  int64_t number(const std::string& sql) {
    int64_t value = -1;
    must(database_->read([&](Session& session) {
      return session.query(sql, {}, [&](const Row& row) -> Result<void> {
        value = row.integer(0);
        return {};
      });
    }));
    return value;
  }

  std::string id_;
  std::unique_ptr<Database> database_;
};

TEST_P(DatabaseContract, ValuesComeBackAsTheyWent) {
  const Bytes body{std::byte{0}, std::byte{255}, std::byte{7}};
  must(database_->write([&](Session& session) -> Result<void> {
    // Placeholders go by their number, not by their order in the text.
    EXPECT_EQ(TRY(session.execute("INSERT INTO item (body, size, name, id) VALUES ($4, $3, $2, $1)",
                                  {INT64_MIN, "it's \xc3\xa9 \xe2\x82\xac", 0.1, body})),
              1);
    EXPECT_EQ(TRY(session.execute("INSERT INTO item (id, name, size, body) VALUES ($1, $2, $3, $4)",
                                  {2, "", std::monostate{}, Bytes{}})),
              1);
    return {};
  }));
  int rows = 0;
  must(database_->read([&](Session& session) {
    return session.query("SELECT id, name, size, body FROM item ORDER BY id", {},
                         [&](const Row& row) -> Result<void> {
                           const bool first = rows++ == 0;
                           EXPECT_EQ(row.integer(0), first ? INT64_MIN : 2);
                           EXPECT_EQ(row.text(1), first ? "it's \xc3\xa9 \xe2\x82\xac" : "");
                           EXPECT_EQ(row.null(2), !first);
                           EXPECT_EQ(row.real(2), first ? 0.1 : 0.0);
                           EXPECT_FALSE(row.null(3));
                           EXPECT_EQ(row.bytes(3).size(), first ? 3U : 0U);
                           if (first) EXPECT_TRUE(std::ranges::equal(row.bytes(3), body));
                           return {};
                         });
  }));
  EXPECT_EQ(rows, 2);
}

TEST_P(DatabaseContract, ExecuteCountsRowsAndReturningGivesThem) {
  must(database_->write([&](Session& session) -> Result<void> {
    for (int64_t id = 1; id <= 5; ++id)
      TRY(session.execute("INSERT INTO item (id, name) VALUES ($1, $2)", {id, format("{}", id)}));
    EXPECT_EQ(TRY(session.execute("UPDATE item SET size = 1 WHERE id > $1", {2})), 3);
    EXPECT_EQ(TRY(session.execute("UPDATE item SET size = 1 WHERE id > $1", {20})), 0);
    EXPECT_EQ(TRY(session.execute("DELETE FROM item WHERE id = 5")), 1);
    std::vector<int64_t> ids;
    TRY(
        session.query("INSERT INTO item (id, name) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET "
                      "name = excluded.name RETURNING id",
                      {}, [&](const Row& row) -> Result<void> {
                        ids.push_back(row.integer(0));
                        return {};
                      }));
    EXPECT_EQ(ids, std::vector<int64_t>{1});
    EXPECT_EQ(TRY(session.execute("INSERT INTO item (id) VALUES (1) ON CONFLICT DO NOTHING")), 0);
    return {};
  }));
}

TEST_P(DatabaseContract, ErrorsHaveTheirCodes) {
  must(insert(1));
  const auto code = [&](const std::string& sql, std::vector<Value> values = {}) {
    auto result = database_->write([&](Session& session) -> Result<void> {
      TRY(session.execute(sql, values));
      return {};
    });
    return result.ok() ? std::string("ok") : std::string(info(result.error().code).name);
  };
  EXPECT_EQ(code("INSERT INTO item (id) VALUES (1)"), "exists");
  EXPECT_EQ(code("INSERT INTO item (id, name) VALUES (2, 'n1')"), "exists");
  EXPECT_EQ(code("INSERT INTO part (id, item_id) VALUES (1, 77)"), "conflict");
  EXPECT_EQ(code("INSERT INTO part (id, item_id) VALUES (1, NULL)"), "internal");
  EXPECT_EQ(code("INSERT INTO nowhere (id) VALUES (1)"), "internal");
  EXPECT_EQ(code("INSERT INTO item (id, name) VALUES (2, \"n2\")"), "internal");  // a column
  EXPECT_EQ(code("INSERT INTO item (id) VALUES ($1)"), "internal");
  EXPECT_EQ(code("INSERT INTO item (id) VALUES ($1)", {2, 3}), "internal");
  EXPECT_EQ(code("INSERT INTO item (id) VALUES (2); DELETE FROM item"), "internal");
  EXPECT_EQ(number("SELECT count(*) FROM item"), 1);
  EXPECT_EQ(database_->refusing(), "");
}

TEST_P(DatabaseContract, AFailedWorkLeavesNothing) {
  const auto result = database_->write([&](Session& session) -> Result<void> {
    TRY(session.execute("INSERT INTO item (id) VALUES (1)"));
    return Error::denied("no");
  });
  EXPECT_EQ(result.error().code, Code::denied);
  EXPECT_EQ(number("SELECT count(*) FROM item"), 0);
}

TEST_P(DatabaseContract, AWorkCannotGoOnAfterAFailedStatement) {
  const auto result = database_->write([&](Session& session) -> Result<void> {
    TRY(session.execute("INSERT INTO item (id) VALUES (1)"));
    EXPECT_FALSE(session.execute("INSERT INTO item (id) VALUES (1)").ok());
    EXPECT_FALSE(session.execute("INSERT INTO item (id) VALUES (2)").ok());
    return {};
  });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::internal);
  EXPECT_EQ(number("SELECT count(*) FROM item"), 0);
}

TEST_P(DatabaseContract, AnErrorFromEachEndsTheQueryAlone) {
  for (int64_t id = 1; id <= 3; ++id) must(insert(id));
  int rows = 0;
  must(database_->write([&](Session& session) -> Result<void> {
    rows = 0;
    const auto result = session.query("SELECT id FROM item", {}, [&](const Row&) -> Result<void> {
      return ++rows == 2 ? Result<void>(Error::denied("enough")) : Result<void>();
    });
    EXPECT_EQ(result.error().code, Code::denied);
    TRY(session.execute("INSERT INTO item (id) VALUES (9)"));
    return {};
  }));
  EXPECT_EQ(rows, 2);
  EXPECT_EQ(number("SELECT count(*) FROM item"), 4);
}

TEST_P(DatabaseContract, AQueryRunsInsideItsOwnCallback) {
  for (int64_t id = 1; id <= 3; ++id) must(insert(id));
  int64_t pairs = 0;
  must(database_->read([&](Session& session) {
    pairs = 0;
    const std::string sql = "SELECT id FROM item ORDER BY id";
    return session.query(sql, {}, [&](const Row&) {
      return session.query(sql, {}, [&](const Row&) -> Result<void> {
        ++pairs;
        return {};
      });
    });
  }));
  EXPECT_EQ(pairs, 9);
}

TEST_P(DatabaseContract, AReadMayNotWrite) {
  const auto result = database_->read([&](Session& session) -> Result<void> {
    TRY(session.execute("INSERT INTO item (id) VALUES (1)"));
    return {};
  });
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(number("SELECT count(*) FROM item"), 0);
  EXPECT_EQ(database_->refusing(), "");
}

TEST_P(DatabaseContract, AReadSeesOneState) {
  must(insert(1));
  must(database_->read([&](Session& session) -> Result<void> {
    const auto count = [&] {
      int64_t value = -1;
      EXPECT_TRUE(session
                      .query("SELECT count(*) FROM item", {},
                             [&](const Row& row) -> Result<void> {
                               value = row.integer(0);
                               return {};
                             })
                      .ok());
      return value;
    };
    EXPECT_EQ(count(), 1);
    std::thread([&] { must(insert(2)); }).join();
    EXPECT_EQ(count(), 1);
    return {};
  }));
  EXPECT_EQ(number("SELECT count(*) FROM item"), 2);
}

TEST_P(DatabaseContract, ManyWritersEachReadTheirOwnAndFailAlone) {
  constexpr int64_t kThreads = 8;
  constexpr int64_t kEach = 40;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < kEach; ++i) {
        const int64_t id = t * 1000 + i;
        if (!insert(id).ok()) ++wrong;
        const auto twice = insert(id);  // fails, in a batch with others that do not
        if (twice.ok() || twice.error().code != Code::exists) ++wrong;
        if (number(format("SELECT count(*) FROM item WHERE id = {}", id)) != 1) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(number("SELECT count(*) FROM item"), kThreads * kEach);
}

TEST_P(DatabaseContract, WritesAreThereAfterReopening) {
  for (int64_t id = 1; id <= 20; ++id) must(insert(id));
  open({});
  EXPECT_EQ(number("SELECT count(*) FROM item"), 20);
  must(database_->check());
}

constexpr std::array kContractMigrations = {
    Migration{1, "first", "CREATE TABLE a (id BIGINT PRIMARY KEY, body BYTES);\n"},
    Migration{2, "second",
              "-- two statements\nCREATE TABLE b (id BIGINT PRIMARY KEY);\n"
              "INSERT INTO b (id)\n  SELECT id FROM a;\n"},
    Migration{3, "third", "ALTER TABLE b ADD COLUMN name TEXT NOT NULL DEFAULT 'none';\n"},
};

TEST_P(DatabaseContract, MigratesFromEveryEarlierVersion) {
  const std::span<const Migration> all(kContractMigrations);
  for (size_t from = 0; from <= all.size(); ++from) {
    const std::string other = GetParam().fresh();
    {
      auto old = GetParam().open(other, all.first(from));
      ASSERT_TRUE(old.ok()) << old.error().text();
      must((*old)->migrate());
      EXPECT_EQ((*old)->version(), static_cast<int>(from));
      if (from > 0)
        must((*old)->write([](Session& session) -> Result<void> {
          TRY(session.execute("INSERT INTO a (id) VALUES (5)"));
          return {};
        }));
    }
    {
      auto now = GetParam().open(other, all);
      ASSERT_TRUE(now.ok()) << now.error().text();
      must((*now)->migrate());
      must((*now)->migrate());  // nothing to do
      EXPECT_EQ((*now)->version(), 3);
      int rows = 0;
      must((*now)->read([&](Session& session) {
        return session.query("SELECT id, name FROM b", {}, [&](const Row& row) -> Result<void> {
          EXPECT_EQ(row.text(1), "none");
          ++rows;
          return {};
        });
      }));
      EXPECT_EQ(rows, from == 1 ? 1 : 0);  // the row that was there before version 2
    }
    GetParam().destroy(other);
  }
}

TEST_P(DatabaseContract, AFailedMigrationLeavesTheVersionBefore) {
  const std::array broken = {kContractMigrations[0],
                             Migration{2, "wrong", "CREATE TABLE c (id BIGINT);\nNONSENSE;\n"}};
  open(std::span(kContractMigrations).first(1));
  must(database_->migrate());
  open(broken);
  EXPECT_FALSE(database_->migrate().ok());
  EXPECT_EQ(database_->version(), 1);
  open(kContractMigrations);
  must(database_->migrate());
  EXPECT_EQ(database_->version(), 3);
}

TEST_P(DatabaseContract, AnOlderProgramRefusesNewerTables) {
  open(kContractMigrations);
  must(database_->migrate());
  open(std::span(kContractMigrations).first(2));
  const auto refused = database_->migrate();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().detail.find("version 3"), std::string::npos) << refused.error().text();
  EXPECT_NE(refused.error().detail.find("version 2"), std::string::npos) << refused.error().text();
}

}  // namespace hearth::db
