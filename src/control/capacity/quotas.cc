#include <algorithm>

#include "base/format.h"
#include "control/capacity/capacity.h"
#include "control/capacity/rows.h"
#include "control/emit.h"

namespace hearth::control {
namespace {

// What is promised to the children of a project must be there: each amount that `parent` is itself
// promised is at least the sum of theirs.
Result<void> check_sum(db::Session& session, const std::string& parent, const Quota& changed) {
  if (parent.empty()) return {};
  auto above = TRY(db::Table<Quota>::find(session, "WHERE project = $1", {parent}));
  if (parent == changed.project) above = changed;
  if (!above) return {};
  std::map<std::string, double> sum;
  for (const Project& child :
       TRY(db::Table<Project>::select(session, "WHERE parent = $1", {parent}))) {
    auto quota = TRY(db::Table<Quota>::find(session, "WHERE project = $1", {child.name}));
    if (child.name == changed.project) quota = changed;
    if (!quota) continue;
    for (const auto& [what, amount] : flat(quota->guaranteed)) sum[what] += amount;
  }
  Error error = Error::invalid(
      format("more would be guaranteed below project {} than it is guaranteed itself", parent),
      format("guarantee more to {}, or less to those below it", parent));
  for (const auto& [what, promised] : flat(above->guaranteed)) {
    if (sum[what] > promised + 1e-9)
      error.errors.push_back({"guaranteed." + what, 0, format("{:g} in all", sum[what]),
                              format("at most {:g}", promised), ""});
  }
  if (error.errors.empty()) return {};
  return error;
}

std::optional<double> beyond(const std::optional<double>& guaranteed, double used) {
  if (!guaranteed || used <= *guaranteed) return std::nullopt;
  return used - *guaranteed;
}

void fill_use(QuotaStatus& status, const sched::ProjectUse& use) {
  const auto whole = [](int64_t milli) { return static_cast<double>(milli) / 1000; };
  const Amounts& guaranteed = status.quota.guaranteed;
  status.used.cpus = whole(use.milli_cpus);
  status.used.gpus = whole(use.milli_gpus);
  status.used.memory_bytes = use.memory_bytes;
  for (const auto& [model, milli] : use.milli_gpus_of) status.used.gpu_models[model] = whole(milli);
  status.borrowed.cpus = beyond(guaranteed.cpus, *status.used.cpus);
  status.borrowed.gpus = beyond(guaranteed.gpus, *status.used.gpus);
  if (guaranteed.memory_bytes && use.memory_bytes > *guaranteed.memory_bytes)
    status.borrowed.memory_bytes = use.memory_bytes - *guaranteed.memory_bytes;
  status.share = use.share;
}

}  // namespace

Result<void> check_limits(const Amounts& guaranteed, const Amounts& limit,
                          const std::string& path) {
  const auto limits = flat(limit);
  Error error = Error::invalid("the quota promises more than it allows");
  for (const auto& [what, promised] : flat(guaranteed)) {
    const auto most = limits.find(what);
    if (most == limits.end() || promised <= most->second) continue;
    error.errors.push_back({path + "guaranteed." + what, 0, format("{:g}", promised),
                            format("at most {}limit.{}: {:g}", path, what, most->second), ""});
  }
  if (error.errors.empty()) return {};
  error.mend = "raise the limit or promise less";
  return error;
}

Result<void> Capacity::may_set_quota(const Identity& who, const std::string& project) {
  // Not there for whoever may not see it.
  TRY(access_.require(who, project, Grade::viewer));
  std::string parent;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    const auto found = TRY(db::Table<Project>::find(session, "WHERE name = $1", {project}));
    if (!found) return no_such_project(project);
    parent = found->parent;
    return {};
  }));
  if (parent.empty()) return access_.require_admin(who);
  if (access_.require(who, parent, Grade::admin).ok()) return {};
  return Error::denied(format("the quota of {} is set by the admins of {}", project, parent),
                       "ask one of them");
}

Result<std::vector<QuotaStatus>> Capacity::quotas(const Identity& who) {
  const auto visible = TRY(access_.visible_projects(who));
  std::map<std::string, QuotaStatus> by_project;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    by_project.clear();
    for (const Project& project :
         TRY(db::Table<Project>::select(session, "ORDER BY name LIMIT 10000", {}))) {
      QuotaStatus& one = by_project[project.name];
      one.parent = project.parent;
      one.quota.project = project.name;
    }
    for (Quota& set : TRY(db::Table<Quota>::select(session, "ORDER BY project", {}))) {
      const auto at = by_project.find(set.project);
      if (at != by_project.end()) at->second.quota = std::move(set);
    }
    return session.query(
        "SELECT project, state, COUNT(*) FROM jobs WHERE state IN "
        "('queued', 'preparing', 'running', 'saving') GROUP BY project, state",
        {}, [&](const db::Row& row) -> Result<void> {
          const auto at = by_project.find(std::string(row.text(0)));
          if (at == by_project.end()) return {};
          (row.text(1) == "queued" ? at->second.queued : at->second.running) += row.integer(2);
          return {};
        });
  }));
  const auto use = view_.use();
  std::vector<QuotaStatus> all;
  for (auto& [project, one] : by_project) {
    if (visible && std::find(visible->begin(), visible->end(), project) == visible->end()) continue;
    const auto at = use.find(project);
    fill_use(one, at == use.end() ? sched::ProjectUse{} : at->second);
    all.push_back(std::move(one));
  }
  return all;
}

Result<QuotaStatus> Capacity::quota(const Identity& who, const std::string& project) {
  TRY(access_.require(who, project, Grade::viewer));
  for (QuotaStatus& one : TRY(quotas(who)))
    if (one.quota.project == project) return std::move(one);
  return no_such_project(project);
}

Result<Quota> Capacity::set_quota(const Identity& who, const std::string& project, Quota wanted,
                                  std::optional<int64_t> if_version) {
  TRY(may_set_quota(who, project));
  TRY(check_limits(wanted.guaranteed, wanted.limit, ""));
  Quota made;
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    const auto owner = TRY(db::Table<Project>::find(session, "WHERE name = $1", {project}));
    if (!owner) return no_such_project(project);
    const auto before = TRY(db::Table<Quota>::find(session, "WHERE project = $1", {project}));
    TRY(check_version(before, if_version, "the quota of " + project));
    made = wanted;
    made.project = project;
    TRY(check_sum(session, owner->parent, made));
    TRY(check_sum(session, project, made));
    TRY(put_row(session, context_, who, before, made));
    TRY(emit(
        session, context_.clock, who.actor(), project, "quota.set", made.id, made.version,
        format(R"({{"project":{},"weight":{:g},"guaranteed":{},"limit":{}}})", json_quote(project),
               made.weight, to_json(made.guaranteed), to_json(made.limit))));
    return {};
  }));
  wake();
  return made;
}

Result<void> Capacity::delete_quota(const Identity& who, const std::string& project) {
  TRY(may_set_quota(who, project));
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    const auto before = TRY(db::Table<Quota>::find(session, "WHERE project = $1", {project}));
    if (!before)
      return Error::not_found(format("project {} has no quota of its own", project),
                              "`hearth quota list` shows those there are");
    TRY(db::Table<Quota>::remove(session, before->id));
    TRY(emit(session, context_.clock, who.actor(), project, "quota.deleted", before->id,
             before->version + 1));
    return {};
  }));
  wake();
  return {};
}

void Capacity::wake() {
  context_.signals.notify(kQueueTopic);
  context_.signals.notify(kEventsTopic);
}

}  // namespace hearth::control
