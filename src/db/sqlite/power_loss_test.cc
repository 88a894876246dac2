// Whatever moment the power goes at: every acknowledged write is there, no half transaction is, and
// the file is whole. And the same check finds a sync that is left out.
#include "db/sqlite/power_loss.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/format.h"
#include "base/log.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/test_folder.h"

namespace hearth::db {
namespace {

constexpr int64_t kRows = 30;
constexpr int64_t kTransactions = 90;

// The crash group looks at more.
int points() {
  const char* text = std::getenv("HEARTH_CRASH_POINTS");
  return text == nullptr ? 150 : std::max(1, static_cast<int>(std::strtol(text, nullptr, 10)));
}

// What transaction n does, from n alone.
struct Update {
  int64_t row;
  Bytes body;
};
std::vector<Update> updates_of(int64_t n) {
  SeededRandom random(static_cast<uint64_t>(n));
  std::vector<Update> updates(1 + random.below(4));
  for (Update& update : updates) {
    update.row = static_cast<int64_t>(random.below(kRows));
    update.body.resize(random.below(6000));  // some lie over several pages
    random.fill(update.body);
  }
  return updates;
}

// The rows' digests after transaction n.
using State = std::map<int64_t, std::string>;
std::vector<State> all_states() {
  std::vector<State> states{{}};
  for (int64_t n = 1; n <= kTransactions; ++n) {
    State state = states.back();
    for (const Update& update : updates_of(n)) state[update.row] = sha256(as_text(update.body));
    states.push_back(std::move(state));
  }
  return states;
}

class PowerLossTest : public ::testing::Test {
 protected:
  // The run whose every moment is looked at: small checkpoints, so that many fall into it.
  void SetUp() override {
    set_log_sink([](Level, std::string_view) {});  // damage is what some of these look for
    WatchedVfs vfs(recorder_);
    auto opened = open_sqlite(
        {.path = folder_.file("run.db"), .checkpoint_pages = 20, .base_vfs = vfs.name()});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    Database& database = **opened;
    must(database.write([](Session& session) -> Result<void> {
      TRY(session.execute("CREATE TABLE line (id BIGINT PRIMARY KEY, body BLOB NOT NULL)"));
      TRY(session.execute("CREATE TABLE last (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)"));
      TRY(session.execute("INSERT INTO last (id, n) VALUES (1, 0)"));
      return {};
    }));
    acknowledged_.push_back(recorder_.size());
    for (int64_t n = 1; n <= kTransactions; ++n) {
      must(database.write([&](Session& session) -> Result<void> {
        for (const Update& update : updates_of(n))
          TRY(
              session.execute("INSERT INTO line (id, body) VALUES ($1, $2) ON CONFLICT (id) DO "
                              "UPDATE SET body = excluded.body",
                              {update.row, update.body}));
        TRY(session.execute("UPDATE last SET n = $1", {n}));
        return {};
      }));
      acknowledged_.push_back(recorder_.size());
    }
  }

  void TearDown() override { set_log_sink(nullptr); }

  static void must(const Result<void>& result) {
    ASSERT_TRUE(result.ok()) << result.error().text();
  }

  // "" or what was lost when the power went after `cut` changes.
  std::string lost_at(size_t cut, Random& random, const PowerLoss::Ignore& ignore = {}) const {
    const TestFolder image;
    if (auto built = recorder_.build(cut, random, image.path(), ignore); !built.ok())
      return built.error().text();
    auto opened = open_sqlite({.path = image.file("run.db")});
    if (!opened.ok()) return opened.error().text();
    if (auto checked = (*opened)->check(); !checked.ok()) return checked.error().text();
    int64_t last = -1;  // the tables themselves may not be there yet
    State state;
    const auto read = (*opened)->read([&](Session& session) -> Result<void> {
      int64_t tables = 0;
      TRY(session.query("SELECT count(*) FROM sqlite_schema WHERE name = 'last'", {},
                        [&](const Row& row) -> Result<void> {
                          tables = row.integer(0);
                          return {};
                        }));
      if (tables == 0) return {};
      TRY(session.query("SELECT n FROM last", {}, [&](const Row& row) -> Result<void> {
        last = row.integer(0);
        return {};
      }));
      return session.query("SELECT id, body FROM line", {}, [&](const Row& row) -> Result<void> {
        state[row.integer(0)] = sha256(as_text(row.bytes(1)));
        return {};
      });
    });
    if (!read.ok()) return read.error().text();
    const auto acknowledged = std::ranges::upper_bound(acknowledged_, cut) - acknowledged_.begin();
    if (last < acknowledged - 1)
      return format("transaction {} was acknowledged, {} is there", acknowledged - 1, last);
    if (last >= 0 && state != states_[static_cast<size_t>(last)])
      return format("the rows are not those of transaction {}", last);
    return "";
  }

  int losses(const PowerLoss::Ignore& ignore) const {
    SeededRandom random(7);
    int count = 0;
    for (int i = 0; i < 50; ++i)
      if (!lost_at(random.below(recorder_.size() + 1), random, ignore).empty()) ++count;
    return count;
  }

  const TestFolder folder_;
  PowerLoss recorder_;
  std::vector<size_t> acknowledged_;  // [n]: changes made when transaction n was
  const std::vector<State> states_ = all_states();
};

TEST_F(PowerLossTest, NothingAcknowledgedIsLost) {
  SeededRandom random(42);
  for (int i = 0; i < points(); ++i) {
    const size_t cut = random.below(recorder_.size() + 1);
    ASSERT_EQ(lost_at(cut, random), "") << "at change " << cut << " of " << recorder_.size();
  }
}

TEST_F(PowerLossTest, ASyncThatIsLeftOutIsFound) {
  const auto of = [](std::string_view ending) {
    return [ending](Change what, const std::string& path) {
      return what == Change::sync && path.ends_with(ending);
    };
  };
  EXPECT_GT(losses(of("-wal")), 0);
  EXPECT_GT(losses(of(".db")), 0);
  EXPECT_GT(losses([](Change what, const std::string&) { return what == Change::sync_folder; }), 0);
}

}  // namespace
}  // namespace hearth::db
