#include "control/capacity/what_if.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/units.h"
#include "control/capacity/rows.h"
#include "control/supply.h"
#include "sched/simulate.h"

namespace hearth::control {
namespace {

// What a job did, as one piece of work that comes anew.
std::optional<sched::TraceJob> trace_job(const Job& job, Time now) {
  sched::TraceJob one{.job = sched::queued_job(job)};
  one.runs = sched::has_run(job, now);
  if (one.runs.micros <= 0)
    return std::nullopt;  // never began: nobody knows how long it would have run
  one.job.served = 0;
  one.job.lost_place = false;
  one.job.not_before = {};
  one.job.expected = {};
  return one;
}

WaitSpread spread(const std::vector<double>& values) {
  const sched::Spread found = sched::spread_of(values);
  return {static_cast<int64_t>(values.size()), found.mean, found.p50, found.p99};
}

// Times are of those jobs alone that ended in `other`, too: a change that lets the slowest ones fit
// nowhere is not shown as quicker.
WhatIfOutcome outcome_of(const sched::Trace& trace, const sched::Simulated& done,
                         const sched::Simulated& other) {
  WhatIfOutcome outcome;
  std::vector<double> waits, completion;
  std::map<std::string, std::vector<double>> by_project, by_gpus;
  for (size_t i = 0; i < done.jobs.size(); ++i) {
    const sched::JobOutcome& job = done.jobs[i];
    if (job.finished_at.micros == 0) {
      ++outcome.never_started;
      continue;
    }
    if (other.jobs[i].finished_at.micros == 0) continue;
    const double wait = (job.started_at - job.queued_at).seconds();
    waits.push_back(wait);
    completion.push_back((job.finished_at - job.queued_at).seconds());
    by_project[trace.jobs[i].job.project].push_back(wait);
    by_gpus[std::to_string(job.gpus)].push_back(wait);
  }
  outcome.waits = spread(waits);
  outcome.completion = spread(completion);
  for (const auto& [project, values] : by_project) outcome.by_project[project] = spread(values);
  for (const auto& [gpus, values] : by_gpus) outcome.by_gpus[gpus] = spread(values);
  outcome.evictions = done.evictions;
  for (const NodeInfo& node : trace.nodes) outcome.gpus += static_cast<int64_t>(node.gpus.size());
  const double there = static_cast<double>(outcome.gpus) * (done.last - done.first).seconds();
  outcome.gpus_used = there > 0 ? done.gpu_seconds / there : 0;
  return outcome;
}

Result<void> check_question(const WhatIf& question) {
  if (question.add.empty() && question.without.empty() && question.quotas.empty())
    return Error::invalid("nothing is changed", "name nodes to add or leave out, or a quota");
  for (const auto& [project, quota] : question.quotas)
    TRY(check_limits(quota.guaranteed, quota.limit, format("quotas.{}.", project)));
  return {};
}

Result<std::vector<NodeInfo>> changed_nodes(const std::vector<NodeInfo>& nodes,
                                            const WhatIf& question) {
  const std::set<std::string> without(question.without.begin(), question.without.end());
  std::vector<NodeInfo> made = nodes;
  for (const std::string& name : without) {
    if (std::erase_if(made, [&](const NodeInfo& node) { return node.name == name; }) == 0)
      return no_such_node(name);
  }
  std::map<std::string, int64_t> added;  // by the node that they are like
  for (const WhatIfNodes& more : question.add) {
    const auto like = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const NodeInfo& node) { return node.name == more.like; });
    if (like == nodes.end()) return no_such_node(more.like);
    for (int64_t i = 0; i < more.count; ++i) {
      NodeInfo& node = made.emplace_back(*like);
      node.name = format("{}+{}", more.like, ++added[more.like]);
      for (Gpu& gpu : node.gpus) gpu.uuid = format("{}/{}", node.name, gpu.uuid);
    }
  }
  return made;
}

struct Past {
  sched::Trace trace;
  sched::SimulateOptions options;
  std::map<std::string, sched::ProjectQuota> quotas;
  int64_t left_out = 0;
};

Result<Past> read_past(Context& context, Time since, const WhatIf& question) {
  Past past;
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    past = {};
    for (const auto& [project, quota] : question.quotas)
      if (!TRY(db::Table<Project>::find(session, "WHERE name = $1", {project})))
        return no_such_project(project);
    Supply supply;
    TRY(supply.load(session));
    past.quotas = supply.quotas();
    for (const auto& [name, policy] : supply.pools()) past.options.pools.push_back(policy);
    const auto jobs = TRY(db::Table<Job>::select(
        session, "WHERE created_at >= $1 ORDER BY created_at DESC, id DESC LIMIT $2",
        {since.micros, static_cast<int64_t>(WhatIfs::kMostJobs)}));
    TRY(session.query("SELECT COUNT(*) FROM jobs WHERE created_at >= $1", {since.micros},
                      [&](const db::Row& row) -> Result<void> {
                        past.left_out = row.integer(0) - static_cast<int64_t>(jobs.size());
                        return {};
                      }));
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job)
      if (auto one = trace_job(*job, context.clock.now()))
        past.trace.jobs.push_back(std::move(*one));
    return {};
  }));
  return past;
}

}  // namespace

WhatIfs::WhatIfs(Context context, Access& access, ClusterView view)
    : context_(context), access_(access), view_(std::move(view)) {}

Result<bool> WhatIfs::cancel(const Identity& who) {
  TRY(access_.require_admin(who));
  if (!answering_) return false;
  cancelled_ = true;
  return true;
}

Result<WhatIfAnswer> WhatIfs::answer(const Identity& who, const WhatIf& question) {
  TRY(access_.require_admin(who));
  TRY(check_question(question));
  const std::unique_lock lock(one_, std::try_to_lock);
  if (!lock.owns_lock())
    return Error::of(Code::busy, "another such question is being answered",
                     "wait for it, or cancel it");
  const Time began = context_.clock.steady();
  const Time since = context_.clock.now() - Duration::seconds(question.days * 86400);
  Past past = TRY(read_past(context_, since, question));
  if (past.trace.jobs.empty())
    return Error::conflict(format("no job came and ran within the last {:g} days", question.days),
                           "ask of more days");
  past.trace.nodes = view_.nodes();
  for (NodeInfo& node : past.trace.nodes) {  // as they are, not as they are closed just now
    node.cordoned = false;
    node.closes_at = {};
  }
  answering_ = true;
  cancelled_ = false;
  past.options.stop = [&] { return cancelled_ || context_.clock.steady() - began > kLongest; };
  const auto run = [&](const sched::Trace& trace,
                       const std::map<std::string, sched::ProjectQuota>& quotas) {
    past.options.projects.clear();
    for (const auto& [name, quota] : quotas) past.options.projects.push_back(quota);
    return sched::simulate(trace, past.options);
  };
  const auto both = [&]() -> Result<WhatIfAnswer> {
    WhatIfAnswer answer;
    answer.jobs = static_cast<int64_t>(past.trace.jobs.size());
    answer.left_out = past.left_out;
    answer.first = past.trace.jobs.front().job.queued_at;
    answer.last = past.trace.jobs.back().job.queued_at;
    const sched::Simulated now = TRY(run(past.trace, past.quotas));
    sched::Trace changed_trace = past.trace;
    changed_trace.nodes = TRY(changed_nodes(past.trace.nodes, question));
    for (const auto& [project, quota] : question.quotas) {
      sched::ProjectQuota& changed = past.quotas[project];
      changed.name = project;
      changed.weight = quota.weight;
      changed.guaranteed = quota_amounts(quota.guaranteed);
      changed.limit = quota_amounts(quota.limit);
    }
    const sched::Simulated then = TRY(run(changed_trace, past.quotas));
    answer.now = outcome_of(past.trace, now, then);
    answer.then = outcome_of(changed_trace, then, now);
    answer.seconds = (context_.clock.steady() - began).seconds();
    return answer;
  };
  auto answer = both();
  answering_ = false;
  if (!answer.ok() && answer.error().code == Code::timeout) {
    return Error::of(Code::timeout,
                     cancelled_
                         ? "the question was cancelled"
                         : format("{} take longer than {} to replay",
                                  plural(past.trace.jobs.size(), "job"), format_duration(kLongest)),
                     "ask of fewer days");
  }
  return answer;
}

}  // namespace hearth::control
