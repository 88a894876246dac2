#include "control/capacity/capacity.h"

#include <gtest/gtest.h>

#include "control/small_world_test.h"

namespace hearth::control {
namespace {

class CapacityTest : public ::testing::Test {
 protected:
  CapacityTest()
      : capacity_(world_.context(), *world_.access,
                  ClusterView{[this] { return nodes_; }, [this] { return use_; }}) {
    for (const char* name : {"n1", "n2"})
      nodes_.push_back({.name = name,
                        .pool = "local",
                        .cpus = 8,
                        .memory_bytes = 1LL << 34,
                        .gpus = {{.uuid = std::string(name) + "g0", .model = "A100"}}});
  }
  Quota gpus(double guaranteed, double limit) {
    Quota quota;
    quota.guaranteed.gpus = guaranteed;
    quota.limit.gpus = limit;
    return quota;
  }
  template <typename T>
  static Code code(const Result<T>& result) {
    return result.ok() ? Code::internal : result.error().code;
  }
  Reservation reservation(const std::string& name, const std::string& node, double from,
                          double until) {
    const Time now = world_.clock.now();
    return {.name = name,
            .nodes = {node},
            .from = now + Duration::seconds(from),
            .until = now + Duration::seconds(until),
            .projects = {"default"}};
  }

  SmallWorld world_;
  std::vector<NodeInfo> nodes_;
  std::map<std::string, sched::ProjectUse> use_;
  Capacity capacity_;
};

TEST_F(CapacityTest, QuotaIsSetSeenAndDeleted) {
  const Quota set = need(capacity_.set_quota(world_.admin, "default", gpus(2, 4), {}));
  EXPECT_EQ(world_.last_event(), "quota.set");
  use_["default"].milli_gpus = 3000;
  const QuotaStatus seen = need(capacity_.quota(world_.viewer, "default"));
  EXPECT_EQ(seen.quota, set);
  EXPECT_EQ(seen.used.gpus, 3);
  EXPECT_EQ(seen.borrowed.gpus, 1);
  need(capacity_.delete_quota(world_.admin, "default"));
  EXPECT_EQ(world_.last_event(), "quota.deleted");
  EXPECT_FALSE(need(capacity_.quota(world_.viewer, "default")).quota.guaranteed.gpus);
  EXPECT_EQ(code(capacity_.delete_quota(world_.admin, "default")), Code::not_found);
}

TEST_F(CapacityTest, QuotaIsTheAdminsAbove) {
  EXPECT_EQ(code(capacity_.set_quota(world_.member, "default", gpus(1, 1), {})), Code::denied);
  EXPECT_EQ(code(capacity_.set_quota(world_.stranger, "default", gpus(1, 1), {})), Code::not_found);
  need(world_.access->add_project(world_.admin, {.name = "below", .parent = "default"}));
  const Identity boss = world_.person("bob", "default", Grade::admin);
  need(world_.access->set_role(world_.admin, "bob", "below", Grade::admin));
  need(capacity_.set_quota(boss, "below", gpus(1, 1), {}));
  EXPECT_EQ(code(capacity_.set_quota(boss, "default", gpus(9, 9), {})), Code::denied);
  // Others see no more than their own projects.
  for (const QuotaStatus& one : need(capacity_.quotas(world_.stranger)))
    EXPECT_EQ(one.quota.project, "other");
}

TEST_F(CapacityTest, QuotaThatCannotBe) {
  const auto too_much = capacity_.set_quota(world_.admin, "default", gpus(5, 4), {});
  ASSERT_EQ(code(too_much), Code::invalid);
  EXPECT_EQ(too_much.error().errors.at(0).path, "guaranteed.gpus");
  EXPECT_EQ(too_much.error().errors.at(0).allowed, "at most limit.gpus: 4");
  // Children get no more than there is.
  for (const char* name : {"a", "b"})
    need(world_.access->add_project(world_.admin, {.name = name, .parent = "default"}));
  need(capacity_.set_quota(world_.admin, "default", gpus(4, 8), {}));
  need(capacity_.set_quota(world_.admin, "a", gpus(3, 8), {}));
  EXPECT_EQ(code(capacity_.set_quota(world_.admin, "b", gpus(2, 8), {})), Code::invalid);
  need(capacity_.set_quota(world_.admin, "b", gpus(1, 8), {}));
  EXPECT_EQ(code(capacity_.set_quota(world_.admin, "default", gpus(3, 8), {})), Code::invalid);
}

TEST_F(CapacityTest, QuotaOfAnotherVersion) {
  EXPECT_EQ(code(capacity_.set_quota(world_.admin, "default", gpus(1, 1), 0)), Code::conflict);
  const Quota first = need(capacity_.set_quota(world_.admin, "default", gpus(1, 1), {}));
  need(capacity_.set_quota(world_.admin, "default", gpus(2, 2), first.version));
  EXPECT_EQ(code(capacity_.set_quota(world_.admin, "default", gpus(3, 3), first.version)),
            Code::conflict);
}

TEST_F(CapacityTest, NodesAreClosedAndOpened) {
  EXPECT_EQ(code(capacity_.cordon(world_.member, "n1", "")), Code::denied);
  EXPECT_EQ(code(capacity_.cordon(world_.admin, "n9", "")), Code::not_found);
  EXPECT_TRUE(need(capacity_.cordon(world_.admin, "n1", "fan")).cordoned);
  EXPECT_EQ(world_.last_event(), "node.cordoned");
  EXPECT_EQ(need(capacity_.node(world_.viewer, "n1")).reason, "fan");
  const NodeOrder drained = need(capacity_.drain(world_.admin, "n1", {"disk", {}}));
  EXPECT_EQ(drained.drain_at, world_.clock.now());
  EXPECT_EQ(world_.last_event(), "node.drained");
  EXPECT_EQ(drained.reason, "disk");
  EXPECT_EQ(need(capacity_.drain(world_.admin, "n1", {"", {}})).reason, "disk");
  EXPECT_EQ(need(capacity_.cordon(world_.admin, "n1", "")).reason, "disk");
  EXPECT_EQ(need(capacity_.drain(world_.admin, "n1", {"fan", {}})).reason, "fan");
  const NodeOrder open = need(capacity_.uncordon(world_.admin, "n1"));
  EXPECT_EQ(open.reason, "");
  EXPECT_EQ(need(capacity_.cordon(world_.admin, "n1", "")).reason, "");
  need(capacity_.uncordon(world_.admin, "n1"));
  EXPECT_FALSE(open.cordoned);
  EXPECT_EQ(open.drain_at.micros, 0);
}

TEST_F(CapacityTest, OnlyAnEmptyNodeMoves) {
  EXPECT_EQ(code(capacity_.move(world_.admin, "n1", "nowhere")), Code::not_found);
  need(capacity_.set_pool(world_.admin, "serving", {}, {}));
  world_.write([&](db::Session& session) {
    return db::Table<Task>::insert(
        session,
        {.id = "t", .attempt_id = "a", .job_id = "j", .node = "n1", .state = TaskState::running});
  });
  EXPECT_EQ(code(capacity_.move(world_.admin, "n1", "serving")), Code::conflict);
  EXPECT_EQ(need(capacity_.move(world_.admin, "n2", "serving")).pool, "serving");
  EXPECT_EQ(code(capacity_.delete_pool(world_.admin, "serving")), Code::conflict);
  need(capacity_.move(world_.admin, "n2", ""));
  need(capacity_.delete_pool(world_.admin, "serving"));
}

TEST_F(CapacityTest, Pools) {
  EXPECT_EQ(code(capacity_.set_pool(world_.member, "local", {}, {})), Code::denied);
  EXPECT_EQ(code(capacity_.set_pool(world_.admin, "A b", {}, {})), Code::invalid);
  EXPECT_EQ(code(capacity_.set_pool(world_.admin, "p", {.service_levels = {5, 5}}, {})),
            Code::invalid);
  need(capacity_.set_pool(world_.admin, "p", {.by_name_only = true}, {}));
  const auto pools = need(capacity_.pools(world_.viewer));
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[0].pool.name, "local");
  EXPECT_EQ(pools[0].nodes, 2);
  EXPECT_EQ(pools[0].free_gpus, 2);
  EXPECT_EQ(pools[0].gpu_models.at("A100"), 2);
  EXPECT_TRUE(pools[1].pool.by_name_only);
  EXPECT_EQ(code(capacity_.pool(world_.viewer, "q")), Code::not_found);
}

TEST_F(CapacityTest, Reservations) {
  EXPECT_EQ(code(capacity_.add_reservation(world_.member, reservation("r", "n1", 0, 9))),
            Code::denied);
  EXPECT_EQ(code(capacity_.add_reservation(world_.admin, reservation("r", "n9", 0, 9))),
            Code::not_found);
  EXPECT_EQ(code(capacity_.add_reservation(world_.admin, reservation("r", "n1", 9, 9))),
            Code::invalid);
  Reservation nobody = reservation("r", "n1", 0, 9);
  nobody.projects.clear();
  EXPECT_EQ(code(capacity_.add_reservation(world_.admin, nobody)), Code::invalid);
  Reservation twice = reservation("r", "n1", 10, 20);
  twice.nodes.push_back("n1");
  EXPECT_EQ(need(capacity_.add_reservation(world_.admin, twice)).nodes,
            std::vector<std::string>{"n1"});
  EXPECT_EQ(world_.last_event(), "reservation.added");
  EXPECT_EQ(code(capacity_.add_reservation(world_.admin, reservation("r", "n2", 0, 9))),
            Code::exists);
  EXPECT_EQ(code(capacity_.add_reservation(world_.admin, reservation("s", "n1", 15, 30))),
            Code::conflict);
  need(capacity_.add_reservation(world_.admin, reservation("s", "n1", 20, 30)));
  Reservation maintenance = reservation("m", "n1", 15, 16);
  maintenance.projects.clear();
  maintenance.maintenance = true;
  need(capacity_.add_reservation(world_.admin, maintenance));
  const NodeStatus node = need(capacity_.node(world_.viewer, "n1"));
  EXPECT_EQ(node.reservations, (std::vector<std::string>{"r", "m", "s"}));
  need(capacity_.delete_reservation(world_.admin, "r"));
  EXPECT_EQ(code(capacity_.delete_reservation(world_.admin, "r")), Code::not_found);
}

}  // namespace
}  // namespace hearth::control
