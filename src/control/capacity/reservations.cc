#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "base/id.h"
#include "control/capacity/capacity.h"
#include "control/emit.h"

namespace hearth::control {
namespace {

Result<void> check_reservation(const Reservation& wanted, Time now) {
  Error error = Error::invalid("the reservation cannot be made");
  const auto wrong = [&](std::string path, std::string found, std::string allowed) {
    error.errors.push_back({std::move(path), 0, std::move(found), std::move(allowed), ""});
  };
  if (wanted.nodes.empty() == wanted.pool.empty())
    wrong("nodes", wanted.pool.empty() ? "none, and no pool" : "both nodes and a pool",
          "names of nodes, or a pool");
  if (wanted.projects.empty() != wanted.maintenance)
    wrong("projects", wanted.maintenance ? "projects beside maintenance" : "none",
          "the projects it is kept for, or maintenance: true");
  if (wanted.until <= wanted.from)
    wrong("until", to_rfc3339(wanted.until), "a time after `from`");
  else if (wanted.until <= now)
    wrong("until", to_rfc3339(wanted.until), "a time to come");
  else if (wanted.until - wanted.from > Capacity::kLongestReservation)
    wrong("until", to_rfc3339(wanted.until), "at most 366 days after `from`");
  if (error.errors.empty()) return {};
  return error;
}

// A name said twice is said once.
void drop_repeats(std::vector<std::string>& names) {
  std::vector<std::string> kept;
  for (std::string& name : names)
    if (std::find(kept.begin(), kept.end(), name) == kept.end()) kept.push_back(std::move(name));
  names = std::move(kept);
}

// Nodes that it is about, as they are now.
std::vector<std::string> nodes_of(const Reservation& one, const std::vector<NodeInfo>& nodes) {
  if (one.pool.empty()) return one.nodes;
  std::vector<std::string> names;
  for (const NodeInfo& node : nodes)
    if (node.pool == one.pool) names.push_back(node.name);
  return names;
}

}  // namespace

Result<std::vector<Reservation>> Capacity::reservations(const Identity& who) {
  (void)who;  // everybody who is signed in may see when the cluster is whose
  std::vector<Reservation> all;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(db::Table<Reservation>::select(session, "ORDER BY name LIMIT 10000", {}));
    return {};
  }));
  std::sort(all.begin(), all.end(), [](const Reservation& a, const Reservation& b) {
    return std::tie(a.from, a.name) < std::tie(b.from, b.name);
  });
  return all;
}

Result<Reservation> Capacity::add_reservation(const Identity& who, Reservation wanted) {
  TRY(access_.require_admin(who));
  const Time now = context_.clock.now();
  drop_repeats(wanted.nodes);
  drop_repeats(wanted.projects);
  TRY(check_reservation(wanted, now));
  const std::vector<NodeInfo> nodes = view_.nodes();
  const std::vector<std::string> mine = nodes_of(wanted, nodes);
  for (const std::string& name : wanted.nodes) TRY(known_node(name));
  if (mine.empty())
    return Error::not_found(format("there is no node in pool '{}'", wanted.pool),
                            "`hearth pool list` shows those there are");
  wanted.created_by = who.user;
  wanted.created_at = now;
  wanted.version = 0;
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    for (const std::string& project : wanted.projects)
      if (!TRY(db::Table<Project>::find(session, "WHERE name = $1", {project})))
        return no_such_project(project);
    int64_t ahead = 0;
    for (const Reservation& other :
         TRY(db::Table<Reservation>::select(session, "ORDER BY name LIMIT 10000", {}))) {
      if (other.name == wanted.name)
        return Error::of(Code::exists, format("there is a reservation '{}' already", other.name),
                         "give it another name, or delete that one");
      ahead += other.until > now ? 1 : 0;
      if (wanted.maintenance || other.maintenance) continue;
      if (other.until <= wanted.from || wanted.until <= other.from) continue;
      const auto theirs = nodes_of(other, nodes);
      for (const std::string& node : mine)
        if (std::find(theirs.begin(), theirs.end(), node) != theirs.end())
          return Error::conflict(format("node {} is reserved as {} from {} to {}", node, other.name,
                                        to_rfc3339(other.from), to_rfc3339(other.until)),
                                 "take other nodes or another time");
    }
    if (ahead >= kMostReservations)
      return Error::of(Code::too_large,
                       format("there are {} reservations that are not over", ahead),
                       format("at most {} are allowed; delete some", kMostReservations));
    wanted.id = new_id(context_.clock, context_.random);
    TRY(db::Table<Reservation>::insert(session, wanted));
    TRY(emit(session, context_.clock, who.actor(), "", "reservation.added", wanted.id, 0,
             to_json(wanted)));
    return {};
  }));
  wake();
  return wanted;
}

Result<void> Capacity::delete_reservation(const Identity& who, const std::string& name_or_id) {
  TRY(access_.require_admin(who));
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    const auto before = TRY(db::Table<Reservation>::find(
        session, is_id(name_or_id) ? "WHERE id = $1" : "WHERE name = $1", {name_or_id}));
    if (!before)
      return Error::not_found(format("there is no reservation '{}'", name_or_id),
                              "`hearth reservation list` shows those there are");
    TRY(db::Table<Reservation>::remove(session, before->id));
    TRY(emit(session, context_.clock, who.actor(), "", "reservation.deleted", before->id,
             before->version + 1, format(R"({{"name":{}}})", json_quote(before->name))));
    return {};
  }));
  wake();
  return {};
}

}  // namespace hearth::control
