// What is SQLite's own: locks, places, failures of the disk, copies, the batches of the writer.
#include "db/sqlite/sqlite.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <thread>

#include <gtest/gtest.h>
#include <sys/fsuid.h>

#include "base/format.h"
#include "base/log.h"
#include "db/sqlite/place.h"
#include "db/sqlite/test_folder.h"
#include "db/sqlite/watched_vfs.h"
#include "db/sqlite/writer.h"

namespace hearth::db {
namespace {

// A disk that can be told to fail.
class Disk : public FileWatcher {
 public:
  int before(const FileChange& change) override {
    if (change.what == Change::sync && change.path.ends_with("-wal")) {
      ++wal_syncs;
      while (hold_syncs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (change.what == Change::write && full) return SQLITE_FULL;
    if (change.what == Change::sync && change.path.ends_with(broken_sync))
      return SQLITE_IOERR_FSYNC;
    return SQLITE_OK;
  }
  std::atomic<bool> full = false, hold_syncs = false;
  std::atomic<int> wal_syncs = 0;
  std::string broken_sync = "none";
};

class SqliteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([](Level, std::string_view) {});
    open();
    must(database_->write([](Session& session) -> Result<void> {
      TRY(session.execute("CREATE TABLE item (id BIGINT PRIMARY KEY, body BLOB)"));
      return {};
    }));
  }
  void TearDown() override {
    database_.reset();
    set_log_sink(nullptr);
  }
  static void must(const Result<void>& result) {
    ASSERT_TRUE(result.ok()) << result.error().text();
  }
  SqliteOptions options() { return {.path = path_, .base_vfs = vfs_.name()}; }
  void open() {
    auto opened = open_sqlite(options());
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    database_ = std::move(opened).value();
  }
  Result<void> insert(int64_t id) {
    return database_->write([&](Session& session) -> Result<void> {
      TRY(session.execute("INSERT INTO item (id) VALUES ($1)", {id}));
      return {};
    });
  }
  static int64_t count(Database& database) {
    int64_t rows = -1;
    must(database.read([&](Session& session) {
      return session.query("SELECT count(*) FROM item", {}, [&](const Row& row) -> Result<void> {
        rows = row.integer(0);
        return {};
      });
    }));
    return rows;
  }

  const TestFolder folder_;
  const std::string path_ = folder_.file("h.db");
  Disk disk_;
  WatchedVfs vfs_{disk_};
  std::unique_ptr<Database> database_;
};

TEST_F(SqliteTest, ASecondServerIsRefusedAndTheFirstNamed) {
  const auto second = open_sqlite(options());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::conflict);
  EXPECT_NE(second.error().detail.find(format("process {}", ::getpid())), std::string::npos)
      << second.error().text();
  database_.reset();
  open();
}

TEST_F(SqliteTest, OnlyTheOwnerMayReadTheFiles) {
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
    EXPECT_EQ(entry.status().permissions() & others, std::filesystem::perms::none) << entry.path();
  }
}

TEST_F(SqliteTest, AFullDiskRefusesUntilThereIsRoom) {
  must(insert(1));
  disk_.full = true;
  const auto refused = insert(2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_NE(database_->refusing().find("the disk is full"), std::string::npos)
      << database_->refusing();
  EXPECT_FALSE(insert(3).ok());
  EXPECT_EQ(count(*database_), 1);  // reads go on
  disk_.full = false;
  for (int i = 0; i < 500 && !database_->refusing().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(database_->refusing(), "");
  must(insert(2));
  EXPECT_EQ(count(*database_), 2);
  must(database_->check());
}

TEST_F(SqliteTest, DamageBesideItStopsWritesAndIsTold) {
  must(insert(1));
  database_.reset();
  SqliteOptions with = options();
  with.damage_advice = [] { return std::string("look into the cupboard"); };
  database_ = open_sqlite(with).value();
  database_->refuse("object x (model m 1) is damaged");
  database_->refuse("object x (model m 1) is damaged");
  const auto refused = insert(2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unavailable);
  EXPECT_EQ(refused.error().mend, "look into the cupboard");
  EXPECT_EQ(database_->refusing(), "object x (model m 1) is damaged");
  EXPECT_EQ(count(*database_), 1);                     // reads go on
  must(database_->snapshot(folder_.file("copy.db")));  // the database itself is whole
  must(database_->check());
  database_.reset();
  open();
  must(insert(2));
}

TEST_F(SqliteTest, AFailedSyncOfTheWalRefusesForGood) {
  must(insert(1));
  disk_.broken_sync = "-wal";
  const auto unknown = insert(2);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::unavailable);
  EXPECT_NE(unknown.error().detail.find("syncing"), std::string::npos) << unknown.error().text();
  disk_.broken_sync = "none";
  EXPECT_FALSE(insert(3).ok());
  EXPECT_NE(database_->refusing(), "");
  EXPECT_EQ(count(*database_), 1);
  database_.reset();
  open();  // what was in doubt may be there or not; what was acknowledged is
  EXPECT_GE(count(*database_), 1);
  must(insert(3));
}

// The pages that the failed sync left in doubt are still in the WAL.
TEST_F(SqliteTest, AFailedSyncOfTheFileLeavesTheWalAlone) {
  disk_.broken_sync = "h.db";
  const Bytes body(3000);
  int64_t done = 0;
  for (; done < 3000 && database_->refusing().empty(); ++done) {
    const auto written = database_->write([&](Session& session) -> Result<void> {
      for (int64_t i = 0; i < 10; ++i)
        TRY(session.execute("INSERT INTO item (id, body) VALUES ($1, $2)", {done * 10 + i, body}));
      return {};
    });
    if (!written.ok()) break;
  }
  ASSERT_NE(database_->refusing().find("syncing"), std::string::npos) << database_->refusing();
  const auto size = std::filesystem::file_size(path_ + "-wal");
  database_.reset();
  EXPECT_EQ(std::filesystem::file_size(path_ + "-wal"), size);
  disk_.broken_sync = "none";
  open();
  EXPECT_EQ(count(*database_), done * 10);
  must(database_->check());
}

TEST_F(SqliteTest, ManyWritersShareACommit) {
  constexpr int64_t kThreads = 32;
  const int before = disk_.wal_syncs;
  // The first one's sync lasts until all the others have come, however slow this machine is.
  disk_.hold_syncs = true;
  std::latch came(kThreads);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      came.count_down();
      must(insert(t));
    });
  came.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // from there into the queue
  disk_.hold_syncs = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count(*database_), kThreads);
  EXPECT_LT(disk_.wal_syncs - before, kThreads / 2);
}

TEST_F(SqliteTest, AReaderThatStaysDoesNotStopCheckpointsForever) {
  const Bytes body(3000);
  const auto fill = [&](int64_t from) {
    for (int64_t n = 0; n < 40; ++n)
      must(database_->write([&](Session& session) -> Result<void> {
        for (int64_t i = 0; i < 50; ++i)
          TRY(
              session.execute("INSERT INTO item (id, body) VALUES ($1, $2) ON CONFLICT (id) DO "
                              "UPDATE SET body = excluded.body",
                              {from + i, body}));
        return {};
      }));
  };
  fill(0);
  must(database_->read([&](Session& session) {
    return session.query("SELECT count(*) FROM item", {}, [&](const Row&) -> Result<void> {
      std::thread([&] { fill(0); }).join();
      return {};
    });
  }));
  fill(0);  // checkpointed now: the WAL begins anew instead of growing
  const auto size = std::filesystem::file_size(path_ + "-wal");
  for (int i = 0; i < 4; ++i) fill(0);
  EXPECT_EQ(std::filesystem::file_size(path_ + "-wal"), size);
}

TEST_F(SqliteTest, DeletedRowsGiveTheirDiskBack) {
  constexpr int64_t kRows = 300;
  constexpr int64_t kRowBytes = 100'000;
  for (int64_t id = 0; id < kRows; ++id)
    must(database_->write([&](Session& session) -> Result<void> {
      TRY(session.execute("INSERT INTO item (id, body) VALUES ($1, $2)",
                          {id, Bytes(kRowBytes, std::byte(id))}));
      return {};
    }));
  database_.reset();  // the WAL goes into the file
  const auto full = std::filesystem::file_size(path_);
  EXPECT_GT(full, kRows * kRowBytes);
  open();
  must(database_->write([](Session& session) -> Result<void> {
    TRY(session.execute("DELETE FROM item WHERE id >= 10"));
    return {};
  }));
  // Nobody writes any more: the file becomes small by itself.
  for (int i = 0; i < 1000 && std::filesystem::file_size(path_) > full / 3; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(std::filesystem::file_size(path_), full / 3);
  must(database_->check());
  EXPECT_EQ(count(*database_), 10);
}

TEST_F(SqliteTest, ASnapshotIsOneStateAndOpensByItself) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    // Two rows at a time: a copy with an odd number is of no one state.
    for (int64_t n = 0; !stop; ++n)
      must(database_->write([&](Session& session) -> Result<void> {
        TRY(session.execute("INSERT INTO item (id) VALUES ($1), ($2)", {2 * n, 2 * n + 1}));
        return {};
      }));
  });
  for (int i = 0; i < 5; ++i) {
    const std::string copy = folder_.file(format("copy{}.db", i));
    const int64_t before = count(*database_);
    must(database_->snapshot(copy));
    EXPECT_EQ(database_->snapshot(copy).error().code, Code::exists);
    auto opened = open_sqlite({.path = copy});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    must((*opened)->check());
    EXPECT_GE(count(**opened), before);
    EXPECT_EQ(count(**opened) % 2, 0);
    EXPECT_FALSE(std::filesystem::exists(copy + ".partial"));
  }
  stop = true;
  writer.join();
}

constexpr std::array kTwo = {Migration{1, "a", "CREATE TABLE a (id BIGINT PRIMARY KEY);\n"},
                             Migration{2, "b", "DROP TABLE a;\n"}};

TEST_F(SqliteTest, ACopyIsKeptBeforeAMigration) {
  SqliteOptions with = options();
  database_.reset();
  with.migrations = std::span(kTwo).first(1);
  must(open_sqlite(with).value()->migrate());
  EXPECT_FALSE(std::filesystem::exists(path_ + ".v0"));  // nothing was there to keep
  with.migrations = kTwo;
  must(open_sqlite(with).value()->migrate());
  with.migrations = std::span(kTwo).first(1);
  with.path = path_ + ".v1";
  auto copy = open_sqlite(with);
  ASSERT_TRUE(copy.ok()) << copy.error().text();
  EXPECT_EQ((*copy)->version(), 1);
  must((*copy)->migrate());
}

TEST_F(SqliteTest, TheTablesOfThisProgramAreMade) {
  must(database_->migrate());
  EXPECT_EQ(database_->version(), migrations().back().version);
  must(database_->check());
}

TEST(Place, ForeignFilesAreLeftAlone) {
  set_log_sink([](Level, std::string_view) {});
  const TestFolder folder;
  const std::string text = folder.file("text.db");
  std::ofstream(text) << std::string(9000, 'x');
  const auto opened = open_sqlite({.path = text});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().detail.find("is not a database"), std::string::npos)
      << opened.error().text();
  EXPECT_EQ(std::filesystem::file_size(text), 9000U);

  const std::string foreign = folder.file("foreign.db");
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(foreign.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE t (x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  const auto refused = open_sqlite({.path = foreign});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_NE(refused.error().detail.find("another program"), std::string::npos)
      << refused.error().text();
  set_log_sink(nullptr);
}

TEST(Place, NetworkAndUserSpaceFilesystemsAreRefused) {
  for (const auto& [magic, name] :
       std::map<int64_t, std::string>{{0x6969, "NFS"},
                                      {0xff534d42, "CIFS"},
                                      {-0xacb2be, "CIFS"},  // 32 bits, signed
                                      {0x65735546, "FUSE"},
                                      {0x01021997, "9p"}}) {
    const auto refused = check_filesystem(magic, "/data");
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_NE(refused.error().detail.find(name), std::string::npos) << refused.error().text();
    EXPECT_NE(refused.error().mend.find("--data"), std::string::npos);
  }
  for (const int64_t fit :
       std::vector<int64_t>{0xef53, 0x58465342, 0x9123683e, 0x01021994})  // ext4, XFS, Btrfs, tmpfs
    EXPECT_TRUE(check_filesystem(fit, "/data").ok());
}

TEST(Place, OfAFolderThatWillBeMadeTheOneAboveIsLookedAt) {
  const TestFolder folder;
  EXPECT_TRUE(check_place(folder.file("not/yet/there")).ok());
  const auto kernel = check_place("/proc/no/such/place");  // what it says is of /proc
  EXPECT_TRUE(kernel.ok());
}

TEST(Place, AFolderThatMayNotBeWrittenIsSaidSo) {
  const TestFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read |
                                                  std::filesystem::perms::owner_exec |
                                                  std::filesystem::perms::others_exec);
  // Root may write everywhere, so as somebody else; the identity for files is this thread's alone.
  std::thread([&] {
    if (::geteuid() == 0) ::setfsuid(65534);
    const auto refused = open_sqlite({.path = folder.file("h.db")});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::denied);
    EXPECT_NE(refused.error().detail.find("cannot write in " + folder.path()), std::string::npos)
        << refused.error().text();
  }).join();
  const auto missing = open_sqlite({.path = folder.file("nowhere/h.db")});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::not_found);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace hearth::db
