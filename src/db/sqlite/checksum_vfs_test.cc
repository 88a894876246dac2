// Flipped bits: each is found when its page is first read, and none is served.
#include "db/sqlite/checksum_vfs.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/log.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/pages.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/test_folder.h"
#include "db/sqlite/wal.h"

namespace hearth::db {
namespace {

void flip(const std::string& path, uint64_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(bit / 8);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ (1 << (bit % 8))));
  ASSERT_TRUE(file.good());
}

class ChecksumTest : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 160;

  void SetUp() override {
    set_log_sink([](Level, std::string_view) {});
    reopen();
    must(database_->write([](Session& session) -> Result<void> {
      TRY(session.execute(
          "CREATE TABLE line (id BIGINT PRIMARY KEY, name TEXT UNIQUE, body BLOB)"));
      for (int64_t id = 0; id < kRows; ++id)
        TRY(session.execute("INSERT INTO line (id, name, body) VALUES ($1, $2, $3)",
                            {id, format("name {}", id), body_of(id)}));
      return {};
    }));
  }
  void TearDown() override {
    database_.reset();
    set_log_sink(nullptr);
  }
  static Bytes body_of(int64_t id) {
    return Bytes(static_cast<size_t>(id % 7) * 900, static_cast<std::byte>(id));
  }
  static void must(const Result<void>& result) {
    ASSERT_TRUE(result.ok()) << result.error().text();
  }
  void reopen() {
    database_.reset();
    auto opened = open_sqlite({.path = path_});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    database_ = std::move(opened).value();
  }
  // Every row by its key and by its name; counts what is served wrong.
  Result<void> read_all(int& wrong) {
    return database_->read([&](Session& session) -> Result<void> {
      for (int64_t id = 0; id < kRows; ++id) {
        int rows = 0;
        TRY(session.query("SELECT id, body FROM line WHERE name = $1", {format("name {}", id)},
                          [&](const Row& row) -> Result<void> {
                            ++rows;
                            if (row.integer(0) != id) ++wrong;
                            if (!std::ranges::equal(row.bytes(1), body_of(id))) ++wrong;
                            return {};
                          }));
        if (rows != 1) ++wrong;
      }
      return {};
    });
  }

  const TestFolder folder_;
  const std::string path_ = folder_.file("h.db");
  std::unique_ptr<Database> database_;
};

TEST_F(ChecksumTest, EachOf200FlippedBitsIsFoundAndNoneServed) {
  database_.reset();
  const std::string whole = folder_.file("whole.db");
  std::filesystem::copy_file(path_, whole);
  const uint64_t bits = std::filesystem::file_size(path_) * 8;
  SeededRandom random(200);
  int found = 0;
  int named = 0;
  for (int i = 0; i < 200; ++i) {
    std::filesystem::remove(path_ + "-wal");
    std::filesystem::copy_file(whole, path_, std::filesystem::copy_options::overwrite_existing);
    const uint64_t bit = random.below(bits);
    flip(path_, bit);
    const std::string page = format("page {}", bit / 8 / kPageBytes + 1);
    auto opened = open_sqlite({.path = path_});
    if (!opened.ok()) {  // the first page, or the tables' own
      ++found;
      if (opened.error().detail.find("page") != std::string::npos) ++named;
      continue;
    }
    database_ = std::move(opened).value();
    int wrong = 0;
    const bool read_fails = !read_all(wrong).ok();
    EXPECT_EQ(wrong, 0) << "bit " << bit;
    const auto checked = database_->check();
    if (!checked.ok()) ++found;
    if (database_->refusing().find(page) != std::string::npos) ++named;
    if (read_fails) EXPECT_FALSE(checked.ok());
    const auto refused = database_->write([](Session&) -> Result<void> { return {}; });
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::unavailable);
    database_.reset();
  }
  EXPECT_EQ(found, 200);
  EXPECT_EQ(named, 200);
}

TEST_F(ChecksumTest, TheRestIsReadAndTheTableNamed) {
  must(database_->write([](Session& session) -> Result<void> {
    TRY(session.execute("CREATE TABLE other (id BIGINT PRIMARY KEY)"));
    TRY(session.execute("INSERT INTO other (id) VALUES (5)"));
    return {};
  }));
  database_.reset();
  std::string content;
  {
    std::ifstream in(path_, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(in), {});
  }
  const size_t at = content.find(std::string(900, '\x0f'));  // inside a body of `line`
  ASSERT_NE(at, std::string::npos);
  flip(path_, at * 8);
  reopen();
  int wrong = 0;
  const auto read = read_all(wrong);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::internal);
  EXPECT_EQ(wrong, 0);
  // In the same transaction, too: what is damaged is passed over.
  int rows = 0, lines = 0;
  must(database_->read([&](Session& session) -> Result<void> {
    const auto count = [](int& to) {
      return [&to](const Row&) -> Result<void> {
        ++to;
        return {};
      };
    };
    EXPECT_FALSE(session.query("SELECT body FROM line ORDER BY id", {}, count(lines)).ok());
    EXPECT_LE(lines, 15);
    lines = 0;
    TRY(session.query("SELECT body FROM line WHERE id >= 100", {}, count(lines)));
    return session.query("SELECT id FROM other", {}, count(rows));
  }));
  EXPECT_EQ(rows, 1);
  EXPECT_EQ(lines, kRows - 100);
  EXPECT_FALSE(database_->check().ok());
  EXPECT_NE(database_->refusing().find("table line"), std::string::npos) << database_->refusing();
  EXPECT_EQ(database_->refusing().find("other"), std::string::npos) << database_->refusing();
  EXPECT_FALSE(database_->snapshot(folder_.file("copy.db")).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.file("copy.db")));
}

TEST_F(ChecksumTest, DamageThatWasFoundStopsTheNextOpenFromWriting) {
  const auto nothing = [](Session&) -> Result<void> { return {}; };
  database_.reset();
  const uint64_t bit = (std::filesystem::file_size(path_) - kPageBytes) * 8 + 99;
  flip(path_, bit);
  reopen();
  must(database_->write(nothing));  // nobody has read that page yet
  EXPECT_FALSE(database_->check().ok());
  reopen();
  const auto refused = database_->write(nothing);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().detail.find("page"), std::string::npos) << refused.error().text();
  database_.reset();
  flip(path_, bit);  // somebody has mended it
  reopen();
  must(database_->write(nothing));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".damaged"));
}

TEST(Pages, OneFlippedBitIsPutRightAndNoMore) {
  std::array<std::byte, kPageBytes> page{};
  for (size_t i = 0; i < page.size(); ++i) page[i] = static_cast<std::byte>(i * 7);
  stamp_page(page, 5);
  const auto whole = page;
  for (const size_t bit : {0, 4711, kPageBytes * 8 - 1, (kPageBytes - 8) * 8 + 3}) {
    page[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_TRUE(mend_page(page, 5));
    EXPECT_EQ(page, whole);
  }
  page[9] ^= std::byte{3};
  const auto hurt = page;
  EXPECT_FALSE(mend_page(page, 5));
  EXPECT_EQ(page, hurt);
  page = whole;
  EXPECT_FALSE(mend_page(page, 6));  // whole, but of another place
}

TEST_F(ChecksumTest, APageInTheWrongPlaceIsFound) {
  database_.reset();
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  std::string page(kPageBytes, '\0');
  file.seekg(std::streamoff{4} * kPageBytes);
  file.read(page.data(), kPageBytes);
  file.seekp(std::streamoff{5} * kPageBytes);
  file.write(page.data(), kPageBytes);
  file.close();
  reopen();
  EXPECT_FALSE(database_->check().ok());
  EXPECT_NE(database_->refusing().find("page 6 (page 5 lies there)"), std::string::npos)
      << database_->refusing();
}

TEST_F(ChecksumTest, ACutFileIsFound) {
  database_.reset();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1000);
  reopen();
  EXPECT_FALSE(database_->check().ok());
  EXPECT_NE(database_->refusing().find("is cut off"), std::string::npos) << database_->refusing();
}

// A frame of the WAL that was committed and is read back.
TEST_F(ChecksumTest, AFlippedBitInTheWalOfARunningServerIsFound) {
  SeededRandom random(3);
  int wrong = 0;
  must(read_all(wrong));
  const auto frames =
      static_cast<int64_t>(std::filesystem::file_size(path_ + "-wal") - kWalHeaderBytes) /
      kWalFrameBytes;
  ASSERT_GT(frames, 60);
  // A new page cache for each: the pages that the connections hold were checked already.
  for (int i = 0; i < 20; ++i) {
    const auto frame = static_cast<int64_t>(random.below(static_cast<uint64_t>(frames))) + 1;
    const uint64_t bit = static_cast<uint64_t>(wal_frame_offset(frame) + kWalFrameHeaderBytes) * 8 +
                         random.below(uint64_t{kPageBytes} * 8);
    flip(path_ + "-wal", bit);
    Health health(path_);
    Stats stats;
    const ChecksumVfs vfs("", health, stats, system_clock());
    auto connection = Connection::open(path_, Access::read, vfs.name(), health);
    // The newest frame of each page alone is read; a page that was written again hides this one.
    auto read = connection.ok()
                    ? (*connection)
                          ->query("SELECT id, name, body FROM line", {},
                                  [&](const Row& row) -> Result<void> {
                                    if (!std::ranges::equal(row.bytes(2), body_of(row.integer(0))))
                                      ++wrong;
                                    return {};
                                  })
                    : Result<void>(connection.error());
    if (read.ok())  // it lies in the index of names
      read = (*connection)
                 ->query("SELECT count(name) FROM line WHERE name > ''", {},
                         [](const Row&) -> Result<void> { return {}; });
    if (read.ok())  // it says where rows' pages lie
      read = (*connection)->query("PRAGMA integrity_check", {}, [](const Row& row) -> Result<void> {
        if (row.text(0) == "ok") return {};
        return Error::internal(std::string(row.text(0)));
      });
    EXPECT_FALSE(read.ok()) << "frame " << frame;
    EXPECT_NE(health.text().find(format("frame {}", frame)), std::string::npos) << health.text();
    flip(path_ + "-wal", bit);
  }
  EXPECT_EQ(wrong, 0);
}

// SQLite's recovery drops a bad frame and all after it without a word.
TEST_F(ChecksumTest, AFlippedBitInTheWalOfADeadServerIsFound) {
  for (int64_t n = 0; n < 20; ++n)
    must(database_->write([&](Session& session) -> Result<void> {
      TRY(session.execute("UPDATE line SET body = $1 WHERE id = $2", {body_of(n + 3), n}));
      return {};
    }));
  const TestFolder dead;  // the files as a killed server leaves them
  const std::string path = dead.file("h.db");
  std::filesystem::copy_file(path_, path);
  std::filesystem::copy_file(path_ + "-wal", path + "-wal");
  must(check_wal(path + "-wal"));
  SeededRandom random(4);
  // All but the last two commits; frames that those left are one or two pages each.
  const uint64_t bytes = std::filesystem::file_size(path + "-wal") - 8 * kWalFrameBytes;
  for (int i = 0; i < 200; ++i) {
    const uint64_t bit = random.below(bytes * 8);
    flip(path + "-wal", bit);
    const auto checked = check_wal(path + "-wal");
    EXPECT_FALSE(checked.ok()) << "bit " << bit;
    flip(path + "-wal", bit);
  }
  flip(path + "-wal", 5000 * 8);
  const auto opened = open_sqlite({.path = path});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::internal);
  EXPECT_NE(opened.error().detail.find("frame 2"), std::string::npos) << opened.error().text();
}

}  // namespace
}  // namespace hearth::db
