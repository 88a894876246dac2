// Quotas, pools, nodes and reservations.
#include "api/answer.h"
#include "domain/capacity.h"
#include "domain/what_if.h"

namespace hearth::api {

struct ReasonBody {
  std::string reason;
  bool operator==(const ReasonBody&) const = default;
};
struct DrainBody {
  std::string reason;
  double deadline_seconds = 0;
  bool operator==(const DrainBody&) const = default;
};
struct MoveBody {
  std::string pool;
  bool operator==(const MoveBody&) const = default;
};

}  // namespace hearth::api

namespace hearth {

template <>
struct Describe<api::ReasonBody> {
  static constexpr std::string_view name = "ReasonBody", doc = "Why something is done.";
  static void fields(Fields<api::ReasonBody>& f) {
    f("reason", &api::ReasonBody::reason, "for people").max(1024);
  }
};
template <>
struct Describe<api::DrainBody> {
  static constexpr std::string_view name = "DrainBody", doc = "How a node is emptied.";
  static void fields(Fields<api::DrainBody>& f) {
    f("reason", &api::DrainBody::reason, "for people").max(1024);
    f("deadline_seconds", &api::DrainBody::deadline_seconds,
      "what runs may go on so long, then it is stopped and goes elsewhere")
        .min(0)
        .max(366.0 * 86400);
  }
};
template <>
struct Describe<api::MoveBody> {
  static constexpr std::string_view name = "MoveBody", doc = "Where a node goes.";
  static void fields(Fields<api::MoveBody>& f) {
    f("pool", &api::MoveBody::pool, "name of the pool; empty: as its executor says").max(63);
  }
};

}  // namespace hearth

namespace hearth::api {
namespace {

Result<std::string> project_of(const Call& call) {
  return call.services.access.project_name(call.who, call.at("project"));
}

void add_quota_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/quotas", "listQuotas", "capacity",
           "Quotas of the projects one may see, and what is used of them",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.capacity.quotas(call.who)));
           })
      .lists<QuotaStatus>();
  table
      .add("GET", "/api/v1/projects/{project}/quota", "getQuota", "capacity",
           "The quota of a project and what is used of it",
           [](Call& call) -> Result<net::Response> {
             return json(TRY(call.services.capacity.quota(call.who, TRY(project_of(call)))));
           })
      .answers<QuotaStatus>();
  table
      .add("PUT", "/api/v1/projects/{project}/quota", "setQuota", "capacity",
           "Sets the whole quota of a project (admin of the project above)",
           [](Call& call) -> Result<net::Response> {
             const auto wanted = TRY(call.body<Quota>());
             return versioned(TRY(call.services.capacity.set_quota(call.who, TRY(project_of(call)),
                                                                   wanted, TRY(call.if_match()))));
           })
      .takes<Quota>()
      .answers<Quota>()
      .versioned();
  table
      .add("DELETE", "/api/v1/projects/{project}/quota", "deleteQuota", "capacity",
           "The project has no quota of its own any more (admin of the project above)",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.capacity.delete_quota(call.who, TRY(project_of(call))));
             return no_content();
           })
      .nothing();
}

void add_pool_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/pools", "listPools", "capacity",
           "Pools: their rules and what is in them",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.capacity.pools(call.who)));
           })
      .lists<PoolStatus>();
  table
      .add("GET", "/api/v1/pools/{pool}", "getPool", "capacity", "One pool",
           [](Call& call) -> Result<net::Response> {
             return json(TRY(call.services.capacity.pool(call.who, call.at("pool"))));
           })
      .answers<PoolStatus>();
  table
      .add("PUT", "/api/v1/pools/{pool}", "setPool", "capacity",
           "Sets all rules of a pool; it need not have nodes yet (admin)",
           [](Call& call) -> Result<net::Response> {
             const auto wanted = TRY(call.body<Pool>());
             return versioned(TRY(call.services.capacity.set_pool(call.who, call.at("pool"), wanted,
                                                                  TRY(call.if_match()))));
           })
      .takes<Pool>()
      .answers<Pool>()
      .versioned();
  table
      .add("DELETE", "/api/v1/pools/{pool}", "deletePool", "capacity",
           "The pool has the default rules again (admin)",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.capacity.delete_pool(call.who, call.at("pool")));
             return no_content();
           })
      .nothing();
}

void add_node_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/nodes", "listNodes", "capacity", "The machines and their GPUs",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.jobs.nodes(call.who)));
           })
      .lists<NodeInfo>();
  table
      .add("GET", "/api/v1/cluster", "getCluster", "capacity",
           "The machines with what runs on each and what is free",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.capacity.nodes(call.who)));
           })
      .lists<NodeStatus>();
  table
      .add("GET", "/api/v1/nodes/{node}", "getNode", "capacity", "One machine and what runs there",
           [](Call& call) -> Result<net::Response> {
             return json(TRY(call.services.capacity.node(call.who, call.at("node"))));
           })
      .answers<NodeStatus>();
  table
      .add(
          "POST", "/api/v1/nodes/{node}/cordon", "cordonNode", "capacity",
          "It takes no new tasks; what runs goes on (admin)",
          [](Call& call) -> Result<net::Response> {
            const auto body = TRY(call.body<ReasonBody>());
            return json(TRY(call.services.capacity.cordon(call.who, call.at("node"), body.reason)));
          })
      .takes<ReasonBody>()
      .answers<NodeOrder>();
  table
      .add("POST", "/api/v1/nodes/{node}/uncordon", "uncordonNode", "capacity",
           "It takes tasks again (admin)",
           [](Call& call) -> Result<net::Response> {
             return json(TRY(call.services.capacity.uncordon(call.who, call.at("node"))));
           })
      .answers<NodeOrder>();
  table
      .add("POST", "/api/v1/nodes/{node}/drain", "drainNode", "capacity",
           "It takes no new tasks, and what runs is stopped and goes elsewhere (admin)",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<DrainBody>());
             const Time at =
                 call.services.context.clock.now() + Duration::seconds(body.deadline_seconds);
             return json(
                 TRY(call.services.capacity.drain(call.who, call.at("node"), {body.reason, at})));
           })
      .takes<DrainBody>()
      .answers<NodeOrder>();
  table
      .add("POST", "/api/v1/nodes/{node}/move", "moveNode", "capacity",
           "Puts it into another pool while nothing runs there (admin)",
           [](Call& call) -> Result<net::Response> {
             const auto body = TRY(call.body<MoveBody>());
             return json(TRY(call.services.capacity.move(call.who, call.at("node"), body.pool)));
           })
      .takes<MoveBody>()
      .answers<NodeOrder>();
}

void add_reservation_routes(RouteTable& table) {
  table
      .add("GET", "/api/v1/reservations", "listReservations", "capacity",
           "Reservations and maintenance, by their beginning",
           [](Call& call) -> Result<net::Response> {
             return json_list(TRY(call.services.capacity.reservations(call.who)));
           })
      .lists<Reservation>();
  table
      .add("POST", "/api/v1/reservations", "createReservation", "capacity",
           "Keeps nodes for projects, or for maintenance, for a time (admin)",
           [](Call& call) -> Result<net::Response> {
             return json(TRY(call.services.capacity.add_reservation(call.who,
                                                                    TRY(call.body<Reservation>()))),
                         201);
           })
      .takes<Reservation>()
      .answers<Reservation>(201)
      .makes();
  table
      .add("DELETE", "/api/v1/reservations/{reservation}", "deleteReservation", "capacity",
           "Ends a reservation, by name or id (admin)",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.capacity.delete_reservation(call.who, call.at("reservation")));
             return no_content();
           })
      .nothing();
}

void add_what_if_routes(RouteTable& table) {
  table
      .add("POST", "/api/v1/what-if", "askWhatIf", "capacity",
           "Replays past jobs with other machines or quotas, beside as they are (admin)",
           [](Call& call) -> Result<net::Response> {
             return json(TRY(call.services.what_ifs.answer(call.who, TRY(call.body<WhatIf>()))));
           })
      .takes<WhatIf>()
      .answers<WhatIfAnswer>();
  table
      .add("DELETE", "/api/v1/what-if", "cancelWhatIf", "capacity",
           "Ends the question that is being answered, if any (admin)",
           [](Call& call) -> Result<net::Response> {
             TRY(call.services.what_ifs.cancel(call.who));
             return no_content();
           })
      .nothing();
}

}  // namespace

void add_capacity_routes(RouteTable& table) {
  add_quota_routes(table);
  add_pool_routes(table);
  add_node_routes(table);
  add_reservation_routes(table);
  add_what_if_routes(table);
}

}  // namespace hearth::api
