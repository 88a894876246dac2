#include "control/records/audit.h"

#include "control/emit.h"
#include "control/small_world_test.h"

namespace hearth::control {
namespace {

class AuditTest : public ::testing::Test {
 protected:
  // In a project, by somebody, a second after the one before.
  void happens(const std::string& user, const std::string& kind, const std::string& id,
               const std::string& project = "default") {
    world.clock.advance(Duration::seconds(1));
    world.write([&](db::Session& session) -> Result<void> {
      TRY(emit(session, world.clock, Actor{.kind = user.empty() ? "server" : "user", .name = user},
               project, kind, id, 1));
      return {};
    });
  }
  AuditPage page(const Identity& who, AuditQuery query) {
    Context context = world.context();
    return need(audit(context, *world.access, who, query));
  }
  // What a query finds, over all its pages.
  std::vector<std::string> found(const Identity& who, AuditQuery query) {
    std::vector<std::string> all;
    for (int pages = 0; pages < 100; ++pages) {
      const AuditPage one = page(who, query);
      for (const Event& event : one.items)
        if (event.kind.starts_with("t.") || event.kind.starts_with("t_.")) all.push_back(event.id);
      if (one.next_cursor.empty()) return all;
      query.cursor = one.next_cursor;
    }
    ADD_FAILURE() << "the pages have no end";
    return all;
  }
  using Ids = std::vector<std::string>;
  SmallWorld world;
};

TEST_F(AuditTest, TheNewestFirstByWhatIsAskedFor) {
  happens("ann", "t.made", "a");
  happens("bob", "t.made", "b");
  const Time middle = world.clock.now();
  happens("ann", "t.gone", "a");
  happens("", "t.gone", "c");
  happens("x%_\"\\", "t.made", "d");
  EXPECT_EQ(found(world.admin, {}), (Ids{"d", "c", "a", "b", "a"}));
  EXPECT_EQ(found(world.admin, {.actor = "ann"}), (Ids{"a", "a"}));
  EXPECT_EQ(found(world.admin, {.actor = "server"}), Ids{"c"});
  EXPECT_EQ(found(world.admin, {.actor = "an"}), Ids{});
  EXPECT_EQ(found(world.admin, {.actor = "x%_\"\\"}), Ids{"d"});
  EXPECT_EQ(found(world.admin, {.kind = "t.made"}), (Ids{"d", "b", "a"}));
  EXPECT_EQ(found(world.admin, {.kind = "t"}), (Ids{"d", "c", "a", "b", "a"}));
  EXPECT_EQ(found(world.admin, {.kind = "_"}), Ids{});
  EXPECT_EQ(found(world.admin, {.thing = "a"}), (Ids{"a", "a"}));
  EXPECT_EQ(found(world.admin, {.since = middle}), (Ids{"d", "c", "a", "b"}));
  EXPECT_EQ(found(world.admin, {.until = middle}), Ids{"a"});
  EXPECT_EQ(found(world.admin, {.since = middle, .until = middle + Duration::seconds(1)}),
            Ids{"b"});
  for (const int64_t limit : {1, 2, 3})
    EXPECT_EQ(found(world.admin, {.limit = limit}), (Ids{"d", "c", "a", "b", "a"})) << limit;
}

TEST_F(AuditTest, OnlyOfWhatOneMaySee) {
  happens("ann", "t.made", "a");
  happens("eve", "t.made", "s", "secret");
  happens("eve", "t.made", "none", "");
  EXPECT_EQ(found(world.admin, {}), (Ids{"none", "s", "a"}));
  EXPECT_EQ(found(world.viewer, {}), Ids{"a"});
  EXPECT_EQ(found(world.viewer, {.project = "default"}), Ids{"a"});
  EXPECT_EQ(found(world.stranger, {}), Ids{});
  Context context = world.context();
  EXPECT_EQ(audit(context, *world.access, world.stranger, {.project = "default"}).error().code,
            Code::not_found);
  EXPECT_EQ(audit(context, *world.access, world.admin, {.cursor = "x"}).error().code,
            Code::invalid);
}

// One event in very many: pages come empty, each after a bounded look, and find it at last.
TEST_F(AuditTest, APageLooksAtNoMoreThanItsBound) {
  happens("ann", "t.made", "old");
  world.write([&](db::Session& session) -> Result<void> {
    TRY(session.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) "
        "INSERT INTO events (seq, time, project, kind, id, body) SELECT (SELECT value FROM "
        "counters "
        "WHERE name = 'events') + i, $2, 'default', 'noise.made', 'n', '{}' FROM n",
        {kAuditLooks + 10, world.clock.now().micros}));
    TRY(session.execute("UPDATE counters SET value = value + $1 WHERE name = 'events'",
                        {kAuditLooks + 10}));
    return {};
  });
  const AuditPage first = page(world.admin, {.kind = "t.made"});
  EXPECT_TRUE(first.items.empty());
  EXPECT_FALSE(first.next_cursor.empty());
  EXPECT_EQ(found(world.admin, {.kind = "t.made"}), Ids{"old"});
}

}  // namespace
}  // namespace hearth::control
