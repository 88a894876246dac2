#include "sched/quota.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hearth::sched {
namespace {

int64_t sum(const Amounts& amounts, const Clause& clause) {
  int64_t total = 0;
  for (const size_t index : clause.amounts) total += amount(amounts, index);
  return total;
}

void add_clause(std::vector<Clause>& clauses, std::vector<size_t> amounts, const std::string& what,
                std::optional<int64_t> guaranteed, std::optional<int64_t> limit) {
  if (!guaranteed && !limit) return;
  clauses.push_back({std::move(amounts), what, guaranteed.value_or(-1), limit.value_or(-1)});
}

std::optional<int64_t> value_of(const std::map<std::string, int64_t>& map, const std::string& key) {
  const auto at = map.find(key);
  return at == map.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace

void add(Amounts& sum, const Amounts& other, int64_t sign) {
  if (sum.size() < other.size()) sum.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) sum[i] += sign * other[i];
}

int32_t Quotas::project(const std::string& name) {
  const auto [at, fresh] = by_name_.try_emplace(name, static_cast<int32_t>(projects_.size()));
  if (fresh) projects_.push_back({.name = name, .quota = {.name = name}});
  return at->second;
}

void Quotas::compile(Project& project, const std::vector<std::string>& models) const {
  const QuotaAmounts& guaranteed = project.quota.guaranteed;
  const QuotaAmounts& limit = project.quota.limit;
  auto& clauses = project.clauses;
  clauses.clear();
  add_clause(clauses, {kCpus}, "cpus", guaranteed.milli_cpus, limit.milli_cpus);
  add_clause(clauses, {kMemory}, "memory", guaranteed.memory_bytes, limit.memory_bytes);
  add_clause(clauses, {kGpus}, "gpus", guaranteed.milli_gpus, limit.milli_gpus);
  std::map<std::string, bool> named;
  for (const auto& [name, milli] : guaranteed.milli_gpus_of) named[name] = true;
  for (const auto& [name, milli] : limit.milli_gpus_of) named[name] = true;
  for (const auto& [name, unused] : named) {
    std::vector<size_t> which;
    const TaskNeed probe{.milli_gpus = kWholeGpu, .gpu_model = {name}};
    for (const size_t model : bits(need_of(probe, models).models)) which.push_back(kModels + model);
    add_clause(clauses, which, name, value_of(guaranteed.milli_gpus_of, name),
               value_of(limit.milli_gpus_of, name));
  }
  project.promised = std::any_of(clauses.begin(), clauses.end(),
                                 [](const Clause& clause) { return clause.guaranteed >= 0; });
}

void Quotas::set(const ProjectQuota& quota, const std::vector<std::string>& models) {
  const int32_t parent = quota.parent.empty() ? -1 : project(quota.parent);
  const int32_t index = project(quota.name);
  // What it uses moves with it to its new parent.
  const Amounts used = at(index).used;
  const int32_t before = at(index).parent;
  if (before >= 0 && before != parent) apply(before, used, -1);
  projects_[static_cast<size_t>(index)].quota = quota;
  bool circle = false;
  for (int32_t up = parent; up >= 0; up = at(up).parent) circle = circle || up == index;
  projects_[static_cast<size_t>(index)].parent = circle ? -1 : parent;
  if (!circle && parent >= 0 && before != parent) apply(parent, used, +1);
  compile(projects_[static_cast<size_t>(index)], models);
  any_guarantee_ = std::any_of(projects_.begin(), projects_.end(),
                               [](const Project& project) { return project.promised; });
}

void Quotas::remove(const std::string& name) {
  if (by_name_.contains(name)) set({.name = name}, {});
}

void Quotas::learn_models(const std::vector<std::string>& models) {
  for (Project& project : projects_) compile(project, models);
}

void Quotas::apply(int32_t project, const Amounts& amounts, int64_t sign) {
  for (int32_t up = project; up >= 0; up = at(up).parent)
    add(projects_[static_cast<size_t>(up)].used, amounts, sign);
}

void Quotas::charge(int32_t project, const Amounts& amounts, int sign) {
  if (project < 0) return;
  apply(project, amounts, sign);
  log_.push_back({project, amounts, sign});
}

void Quotas::undo(size_t mark) {
  while (log_.size() > mark) {
    const Change last = std::move(log_.back());
    log_.pop_back();
    apply(last.project, last.amounts, -last.sign);
  }
}

std::optional<OverLimit> Quotas::over_limit(int32_t project, const Amounts& asked) const {
  for (int32_t up = project; up >= 0; up = at(up).parent) {
    for (const Clause& clause : at(up).clauses) {
      const int64_t more = sum(asked, clause), used = sum(at(up).used, clause);
      if (clause.limit >= 0 && more > 0 && used + more > clause.limit)
        return OverLimit{at(up).name, clause.what, clause.limit, used, more};
    }
  }
  return std::nullopt;
}

std::vector<Raise> Quotas::raises(int32_t project, const Amounts& asked) const {
  std::vector<Raise> found;
  for (int32_t up = project; up >= 0; up = at(up).parent) {
    for (size_t i = 0; i < at(up).clauses.size(); ++i) {
      const Clause& clause = at(up).clauses[i];
      const int64_t more = sum(asked, clause), used = sum(at(up).used, clause);
      if (clause.limit >= 0 && more > 0 && used + more > clause.limit)
        found.push_back({up, i, used + more});
    }
  }
  return found;
}

bool Quotas::counts_in(int32_t project, int32_t above) const {
  for (int32_t up = project; up >= 0; up = at(up).parent) {
    if (up == above) return true;
  }
  return false;
}

Raise Quotas::set_limit(const Raise& raise) {
  Clause& clause = projects_[static_cast<size_t>(raise.project)].clauses[raise.clause];
  return {raise.project, raise.clause, std::exchange(clause.limit, raise.limit)};
}

bool Quotas::passed_limit(int32_t project) const {
  for (int32_t up = project; up >= 0; up = at(up).parent) {
    for (const Clause& clause : at(up).clauses) {
      if (clause.limit >= 0 && sum(at(up).used, clause) > clause.limit) return true;
    }
  }
  return false;
}

std::optional<OverLimit> Quotas::over_limit_ever(int32_t project, const Amounts& asked) const {
  for (int32_t up = project; up >= 0; up = at(up).parent) {
    for (const Clause& clause : at(up).clauses) {
      const int64_t more = sum(asked, clause);
      if (clause.limit >= 0 && more > clause.limit)
        return OverLimit{at(up).name, clause.what, clause.limit, 0, more};
    }
  }
  return std::nullopt;
}

bool Quotas::entitled(int32_t project, const Amounts& asked) const {
  for (int32_t up = project; up >= 0; up = at(up).parent) {
    if (!at(up).promised) continue;
    bool named = false, within = true;
    for (const Clause& clause : at(up).clauses) {
      const int64_t more = sum(asked, clause);
      if (clause.guaranteed < 0 || more == 0) continue;
      named = true;
      within = within && sum(at(up).used, clause) + more <= clause.guaranteed;
    }
    if (named && within) return true;
  }
  return false;
}

bool Quotas::within_guarantee(int32_t project, const Amounts& asked, const Amounts& held) const {
  if (project < 0 || !at(project).promised) return false;
  const auto& clauses = at(project).clauses;
  const bool any_model = amount(asked, kGpus) > 0 && asked.size() <= kModels;
  const bool by_number = std::any_of(clauses.begin(), clauses.end(), [](const Clause& clause) {
    return clause.guaranteed >= 0 && clause.amounts == std::vector{kGpus};
  });
  const Amounts& models = any_model && !by_number ? held : asked;
  bool named = false;
  for (const Clause& clause : clauses) {
    const bool of_models = !clause.amounts.empty() && clause.amounts.front() >= kModels;
    if (clause.guaranteed < 0 || sum(of_models ? models : asked, clause) == 0) continue;
    named = true;
    if (sum(at(project).used, clause) > clause.guaranteed) return false;
  }
  return named;
}

std::pair<int32_t, int32_t> Quotas::below_common(int32_t a, int32_t b) const {
  std::vector<int32_t> from_a, from_b;
  for (int32_t up = a; up >= 0; up = at(up).parent) from_a.push_back(up);
  for (int32_t up = b; up >= 0; up = at(up).parent) from_b.push_back(up);
  while (!from_a.empty() && !from_b.empty() && from_a.back() == from_b.back()) {
    from_a.pop_back();
    from_b.pop_back();
  }
  return {from_a.empty() ? a : from_a.back(), from_b.empty() ? b : from_b.back()};
}

bool Quotas::may_reclaim(int32_t project, const Amounts& asked, int32_t other,
                         const Amounts& held) const {
  if (other < 0) return true;  // opportunistic
  if (project < 0 || project == other) return false;
  const auto [mine, theirs] = below_common(project, other);
  const Project& claimant = at(mine);
  bool named = false;
  for (const Clause& clause : claimant.clauses) {
    const int64_t more = sum(asked, clause);
    if (clause.guaranteed < 0 || more == 0) continue;
    named = true;
    if (sum(claimant.used, clause) + more > clause.guaranteed) return false;
  }
  return named && !within_guarantee(theirs, asked, held);
}

double Quotas::share(int32_t project, const Amounts& all) const {
  const Project& one = at(project);
  double most = 0;
  for (size_t i = 0; i < std::min<size_t>(one.used.size(), kModels); ++i) {
    const int64_t there = amount(all, i);
    if (there > 0)
      most = std::max(most, static_cast<double>(one.used[i]) / static_cast<double>(there));
  }
  return (most + one.decayed / kHalfLife.seconds()) / std::max(1e-9, one.quota.weight);
}

void Quotas::pass(Time now, const Amounts& all) {
  if (now <= passed_) return;
  const double seconds = passed_.micros == 0 ? 0 : (now - passed_).seconds();
  const double kept = std::exp2(-seconds / kHalfLife.seconds());
  for (size_t i = 0; i < projects_.size(); ++i) {
    Project& one = projects_[i];
    const double decayed = one.decayed;
    one.decayed = 0;
    const double present = share(static_cast<int32_t>(i), all) * one.quota.weight;
    one.decayed = decayed * kept + present * seconds;
  }
  passed_ = now;
}

}  // namespace hearth::sched
