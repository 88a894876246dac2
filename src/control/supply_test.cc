#include "control/supply.h"

#include <gtest/gtest.h>

#include "control/small_world_test.h"

namespace hearth::control {
namespace {

class SupplyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    supply_.set_node({.name = "n1", .pool = "local", .cpus = 8});
    supply_.set_node({.name = "n2", .pool = "local", .cpus = 8});
  }
  void load() {
    need(world_.database->read([&](db::Session& session) { return supply_.load(session); }));
  }
  template <typename T>
  void insert(T row) {
    row.id = new_id(world_.clock, system_random());
    world_.write([&](db::Session& session) { return db::Table<T>::insert(session, row); });
  }
  Time now() { return world_.clock.now(); }
  // The node as the scheduler was told of it by these events; nothing when it was not.
  static std::optional<NodeInfo> told(const std::vector<sched::ClusterEvent>& events,
                                      const std::string& name) {
    std::optional<NodeInfo> found;
    for (const auto& event : events)
      if (const auto* changed = std::get_if<sched::NodeChanged>(&event))
        if (changed->node.name == name) found = changed->node;
    return found;
  }

  SmallWorld world_;
  Supply supply_;
};

TEST_F(SupplyTest, SaysOnlyWhatHasChanged) {
  load();
  EXPECT_EQ(supply_.changes(now()).size(), 2U);
  EXPECT_TRUE(supply_.changes(now()).empty());
  EXPECT_FALSE(supply_.closes());
  supply_.set_node({.name = "n1", .pool = "local", .cpus = 9});
  const auto events = supply_.changes(now());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(told(events, "n1")->cpus, 9);
}

TEST_F(SupplyTest, OrdersOfAdmins) {
  insert(NodeOrder{.node = "n1", .cordoned = true, .reason = "fan", .changed_by = "ann"});
  insert(NodeOrder{.node = "n2",
                   .cordoned = true,
                   .drain_at = now() + Duration::seconds(60),
                   .changed_by = "ann",
                   .pool = "other"});
  load();
  const auto events = supply_.changes(now());
  const NodeInfo n1 = *told(events, "n1"), n2 = *told(events, "n2");
  EXPECT_TRUE(n1.cordoned);
  EXPECT_EQ(n1.closes_at.micros, 0);
  EXPECT_EQ(n1.closes_for, "cordoned by ann: fan");
  EXPECT_EQ(n2.pool, "other");
  EXPECT_EQ(n2.closes_at, now() + Duration::seconds(60));
  EXPECT_EQ(n2.closes_for, "drained by ann");
  EXPECT_TRUE(supply_.closes());
}

TEST_F(SupplyTest, ANodeThatMovesIsGoneFromItsOldPool) {
  load();
  supply_.changes(now());
  insert(NodeOrder{.node = "n1", .pool = "serving"});
  load();
  const auto events = supply_.changes(now());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(std::get<sched::NodeGone>(events[0]).pool, "local");
  EXPECT_EQ(std::get<sched::NodeChanged>(events[1]).node.pool, "serving");
}

TEST_F(SupplyTest, ReservationsComeAndGo) {
  need(world_.access->add_project(world_.admin, {.name = "vision"}));
  need(world_.access->add_project(world_.admin, {.name = "vision-cars", .parent = "vision"}));
  const Time from = now() + Duration::seconds(100), until = from + Duration::seconds(50);
  insert(Reservation{.name = "demo",
                     .nodes = {"n1"},
                     .from = from,
                     .until = until,
                     .projects = {"vision"},
                     .reason = "the talk"});
  load();
  auto events = supply_.changes(now());
  NodeInfo node = *told(events, "n1");
  EXPECT_EQ(node.closes_at, from);
  EXPECT_EQ(node.opens_at, until);
  EXPECT_EQ(node.kept_for, (std::vector<std::string>{"vision", "vision-cars"}));
  EXPECT_EQ(node.closes_for, "reserved for vision as demo: the talk");
  EXPECT_EQ(told(events, "n2")->closes_at.micros, 0);
  EXPECT_EQ(supply_.next_change(), from);
  // Maintenance in the midst of it counts first.
  const Time midst = from + Duration::seconds(10);
  insert(Reservation{.name = "fans",
                     .pool = "local",
                     .from = midst,
                     .until = midst + Duration::seconds(10),
                     .maintenance = true});
  load();
  node = *told(supply_.changes(midst), "n1");
  EXPECT_TRUE(node.kept_for.empty());
  EXPECT_EQ(node.opens_at, until) << "the reservation goes on behind the maintenance";
  EXPECT_EQ(supply_.next_change(), midst + Duration::seconds(10));
  node = *told(supply_.changes(midst + Duration::seconds(11)), "n1");
  EXPECT_EQ(node.closes_for, "reserved for vision as demo: the talk");
  node = *told(supply_.changes(until), "n1");
  EXPECT_EQ(node.closes_at.micros, 0);
  EXPECT_TRUE(node.closes_for.empty());
  EXPECT_EQ(supply_.next_change().micros, 0);
  EXPECT_FALSE(supply_.closes());
}

TEST_F(SupplyTest, QuotasAndPoolsInTheSchedulersUnits) {
  need(world_.access->add_project(world_.admin, {.name = "vision", .parent = "default"}));
  Quota quota{.project = "vision", .weight = 2};
  quota.guaranteed.gpus = 1.5;
  quota.limit.gpu_models["H100"] = 4;
  insert(quota);
  insert(Pool{.name = "p", .packing = Packing::equalized, .by_name_only = true});
  load();
  bool project = false, pool = false;
  for (const auto& event : supply_.changes(now())) {
    if (const auto* changed = std::get_if<sched::ProjectChanged>(&event)) {
      project = true;
      EXPECT_EQ(changed->quota.parent, "default");
      EXPECT_EQ(changed->quota.guaranteed.milli_gpus, 1500);
      EXPECT_EQ(changed->quota.limit.milli_gpus_of.at("H100"), 4000);
      EXPECT_EQ(changed->quota.weight, 2);
    }
    if (const auto* changed = std::get_if<sched::PoolChanged>(&event)) {
      pool = true;
      EXPECT_TRUE(changed->policy.equalized && changed->policy.by_name_only);
    }
  }
  EXPECT_TRUE(project && pool);
  world_.write([](db::Session& session) -> Result<void> {
    TRY(session.execute("DELETE FROM quotas", {}));
    TRY(session.execute("DELETE FROM pools", {}));
    return {};
  });
  load();
  const auto events = supply_.changes(now());
  ASSERT_EQ(events.size(), 2U);  // the pool has no rules, the project has only its parent
  EXPECT_FALSE(std::get<sched::PoolChanged>(events[0]).policy.equalized);
  EXPECT_FALSE(std::get<sched::ProjectChanged>(events[1]).quota.guaranteed.milli_gpus);
}

}  // namespace
}  // namespace hearth::control
