#include "control/records/views.h"

#include "control/small_world_test.h"

namespace hearth::control {
namespace {

class ViewsTest : public ::testing::Test {
 protected:
  SavedView add(const Identity& who, const std::string& name, bool shared = false,
                const std::string& project = "default") {
    return need(views.add(
        who, {.name = name, .page = "runs", .project = project, .query = "f=1", .shared = shared}));
  }
  std::set<std::string> names(const Identity& who, const std::string& page = "",
                              const std::string& project = "") {
    std::set<std::string> found;
    for (const SavedView& view : need(views.list(who, page, project, {})).items)
      found.insert(view.name);
    return found;
  }
  SmallWorld world;
  Views views{world.context(), *world.access};
};

TEST_F(ViewsTest, OnesOwnAndWhatOthersShareAreSeen) {
  const SavedView mine = add(world.member, "mine");
  const SavedView ours = add(world.member, "ours", true);
  add(world.viewer, "viewers");
  add(world.member, "everywhere", false, "");
  using Names = std::set<std::string>;
  EXPECT_EQ(names(world.member), (Names{"mine", "ours", "everywhere"}));
  EXPECT_EQ(names(world.member, "runs", "default"), (Names{"mine", "ours"}));
  EXPECT_EQ(names(world.member, "jobs"), Names{});
  EXPECT_EQ(names(world.viewer), (Names{"ours", "viewers"}));
  EXPECT_EQ(names(world.stranger), Names{});
  EXPECT_EQ(need(views.get(world.member, mine.id)), mine);
  EXPECT_EQ(mine.owner, world.member.user);
  EXPECT_EQ(need(views.get(world.viewer, ours.id)).query, "f=1");
  EXPECT_EQ(views.get(world.viewer, mine.id).error().code, Code::not_found);
  EXPECT_EQ(views.get(world.stranger, ours.id).error().code, Code::not_found);
}

TEST_F(ViewsTest, WhoMaySubmitMayShare) {
  const auto refused = [&](const Identity& who, SavedView view) {
    const auto made = views.add(who, std::move(view));
    return made.ok() ? Code::internal : made.error().code;
  };
  const SavedView shared{.name = "v", .page = "runs", .project = "default", .shared = true};
  EXPECT_EQ(refused(world.viewer, shared), Code::denied);
  EXPECT_EQ(refused(world.stranger, shared), Code::not_found);
  EXPECT_EQ(refused(world.member, {.name = "v", .page = "runs", .shared = true}), Code::invalid);
  Identity job = world.member;
  job.kind = TokenKind::job;
  EXPECT_EQ(refused(job, {.name = "v", .page = "runs"}), Code::denied);
}

TEST_F(ViewsTest, TheOwnerDeletesAndMaintainersWhatIsShared) {
  const SavedView mine = add(world.member, "mine");
  const SavedView ours = add(world.member, "ours", true);
  EXPECT_EQ(views.remove(world.viewer, mine.id).error().code, Code::not_found);
  EXPECT_EQ(views.remove(world.viewer, ours.id).error().code, Code::denied);
  need(views.remove(world.admin, ours.id));
  need(views.remove(world.member, mine.id));
  EXPECT_TRUE(names(world.member).empty());
  EXPECT_EQ(views.remove(world.member, mine.id).error().code, Code::not_found);
}

TEST_F(ViewsTest, TheOwnerChangesWhatNobodyChangedMeanwhile) {
  const SavedView first = add(world.member, "ours", true);
  SavedView wanted = first;
  wanted.name = "renamed";
  wanted.query = "f=2";
  wanted.shared = false;
  wanted.owner = "viewer";  // not to be had
  const SavedView changed = need(views.change(world.member, first.id, wanted, first.version));
  EXPECT_EQ(changed.owner, world.member.user);
  EXPECT_EQ(changed.created_at, first.created_at);
  EXPECT_GT(changed.version, first.version);
  EXPECT_EQ(need(views.get(world.member, first.id)), changed);
  EXPECT_EQ(world.last_event(), "view.changed");
  EXPECT_EQ(views.get(world.viewer, first.id).error().code, Code::not_found);
  const auto refused = [&](const Identity& who, std::optional<int64_t> version = {}) {
    return views.change(who, first.id, wanted, version).error().code;
  };
  EXPECT_EQ(refused(world.member, first.version), Code::conflict);
  EXPECT_EQ(refused(world.viewer), Code::not_found);
  wanted.shared = true;
  wanted.project = "";
  EXPECT_EQ(refused(world.member), Code::invalid);
  EXPECT_EQ(need(views.get(world.member, first.id)), changed);
}

TEST_F(ViewsTest, AViewOfOthersIsNotOnesOwnToChange) {
  const SavedView ours = add(world.member, "ours", true);
  EXPECT_EQ(views.change(world.admin, ours.id, ours, {}).error().code, Code::denied);
}

TEST_F(ViewsTest, NobodyHasMoreThanTheMost) {
  world.write([&](db::Session& session) -> Result<void> {
    for (int64_t i = 0; i < kMostViews; ++i) {
      const SavedView one{.id = new_id(), .name = "v", .page = "runs", .owner = world.member.user};
      TRY(db::Table<SavedView>::insert(session, one));
    }
    return {};
  });
  EXPECT_EQ(views.add(world.member, {.name = "v", .page = "runs"}).error().code, Code::too_large);
  add(world.viewer, "v");
}

}  // namespace
}  // namespace hearth::control
