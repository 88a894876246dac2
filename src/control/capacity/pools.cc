#include <algorithm>

#include "base/format.h"
#include "control/capacity/capacity.h"
#include "control/capacity/rows.h"
#include "control/emit.h"

namespace hearth::control {
namespace {

Result<void> check_pool(const std::string& name, const Pool& wanted) {
  const bool plain =
      !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
      });
  if (!plain)
    return Error::invalid(format("'{}' is no name of a pool", name),
                          "use a-z, 0-9, '.', '_', '-', at most 63 characters");
  for (size_t i = 0; i < wanted.service_levels.size(); ++i) {
    const double before = i == 0 ? 0 : wanted.service_levels[i - 1];
    if (wanted.service_levels[i] > before) continue;
    Error error = Error::invalid("the levels of service do not ascend");
    error.errors.push_back({format("service_levels[{}]", i), 0,
                            format("{:g}", wanted.service_levels[i]),
                            format("more than {:g}", before), ""});
    return error;
  }
  return {};
}

}  // namespace

Result<std::vector<PoolStatus>> Capacity::pools(const Identity& who) {
  std::map<std::string, PoolStatus> all;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    all.clear();
    for (Pool& pool : TRY(db::Table<Pool>::select(session, "ORDER BY name LIMIT 1000", {}))) {
      const std::string name = pool.name;
      all[name].pool = std::move(pool);
    }
    return {};
  }));
  for (const NodeStatus& status : TRY(nodes(who))) {
    const NodeInfo& node = status.node;
    PoolStatus& one = all[node.pool];
    one.pool.name = node.pool;
    ++one.nodes;
    one.cpus += node.cpus;
    one.gpus += static_cast<int64_t>(node.gpus.size());
    for (const Gpu& gpu : node.gpus) ++one.gpu_models[gpu.model];
    one.tasks += static_cast<int64_t>(status.tasks.size());
    if (!node.ready || node.cordoned) continue;
    ++one.open_nodes;
    one.free_cpus += status.free_cpus;
    one.free_gpus += status.free_gpus;
  }
  std::vector<PoolStatus> list;
  for (auto& [name, one] : all) list.push_back(std::move(one));
  return list;
}

Result<PoolStatus> Capacity::pool(const Identity& who, const std::string& name) {
  for (PoolStatus& one : TRY(pools(who)))
    if (one.pool.name == name || one.pool.id == name) return std::move(one);
  return Error::not_found(format("there is no pool '{}'", name),
                          "`hearth pool list` shows those there are");
}

Result<Pool> Capacity::set_pool(const Identity& who, const std::string& name, Pool wanted,
                                std::optional<int64_t> if_version) {
  TRY(access_.require_admin(who));
  TRY(check_pool(name, wanted));
  Pool made;
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    const auto before = TRY(db::Table<Pool>::find(session, "WHERE name = $1", {name}));
    TRY(check_version(before, if_version, "pool " + name));
    made = wanted;
    made.name = name;
    TRY(put_row(session, context_, who, before, made));
    TRY(emit(session, context_.clock, who.actor(), "", "pool.set", made.id, made.version,
             to_json(made)));
    return {};
  }));
  wake();
  return made;
}

Result<void> Capacity::delete_pool(const Identity& who, const std::string& name) {
  TRY(access_.require_admin(who));
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    const auto before = TRY(db::Table<Pool>::find(session, "WHERE name = $1", {name}));
    if (!before)
      return Error::not_found(format("pool '{}' has no rules of its own", name),
                              "`hearth pool list` shows those there are");
    const auto moved = TRY(db::Table<NodeOrder>::select(session, "ORDER BY node LIMIT 100000", {}));
    const auto holds = std::find_if(moved.begin(), moved.end(),
                                    [&](const NodeOrder& order) { return order.pool == name; });
    if (holds != moved.end())
      return Error::conflict(format("node {} was moved into pool {}", holds->node, name),
                             format("`hearth node move {} --pool POOL` moves it", holds->node));
    TRY(db::Table<Pool>::remove(session, before->id));
    TRY(emit(session, context_.clock, who.actor(), "", "pool.deleted", before->id,
             before->version + 1, format(R"({{"name":{}}})", json_quote(name))));
    return {};
  }));
  wake();
  return {};
}

}  // namespace hearth::control
