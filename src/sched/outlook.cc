#include "sched/outlook.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "sched/predict.h"
#include "sched/state.h"

namespace hearth::sched {
namespace {

// While nothing is known, three of four that reach a doubling of their time end within it: then who
// has had the least is the first. Where none has ended yet, that holds on.
constexpr double kRootHazard = 0.3;

std::array<std::string, 4> kinds_of(const QueuedJob& job) {
  const std::string shape = shape_of(job), user = format("{}\n{}", job.owner, shape);
  return {"", "\n" + shape, "u" + user, format("n{}\n{}", stem(job.name), user)};
}

}  // namespace

void Outlook::Seen::add(size_t step) {
  for (size_t i = 0; i <= step; ++i) ++reached[i];
  ++ended[step];
  ++jobs;
}

double Outlook::Strength::mixed(double ended, double reached, double wider) const {
  if (reached == 0) return wider;
  double mixed = 0;
  for (size_t i = 0; i < kStrengths.size(); ++i)
    mixed += weight[i] * (ended + kStrengths[i] * wider) / (reached + kStrengths[i]);
  return mixed;
}

void Outlook::Strength::learn(double ended, double reached, double wider, bool ends) {
  for (size_t i = 0; i < kStrengths.size(); ++i) {
    const double told = (ended + kStrengths[i] * wider) / (reached + kStrengths[i]);
    log[i] += std::log(std::clamp(ends ? told : 1 - told, 1e-6, 1.0));
  }
}

void Outlook::Strength::settle() {
  const double most = *std::max_element(log.begin(), log.end());
  double sum = 0;
  for (size_t i = 0; i < log.size(); ++i) {
    log[i] -= most;
    sum += weight[i] = std::exp(log[i]);
  }
  for (double& one : weight) one /= sum;
}

// Null where a kind is all of the wider one, and would say the same again.
Outlook::Views Outlook::views(const QueuedJob& job, Near& near) const {
  Views found{};
  const auto kinds = kinds_of(job);
  double jobs = 0;
  for (size_t i = 0; i < kWider; ++i) {
    const auto at = kinds_.find(kinds[i]);
    if (at == kinds_.end() || at->second.jobs == jobs) continue;
    found[i] = &at->second;
    jobs = at->second.jobs;
  }
  const auto came = came_.find(kinds[2]);
  if (came == came_.end()) return found;
  const auto add = [&](const std::pair<const int64_t, size_t>& one) {
    const double apart = std::abs(static_cast<double>(one.first - job.queued_at.micros)) / 1e6;
    for (size_t i = 0; i < kWithin.size() && apart <= kWithin[i]; ++i) near.seen[i].add(one.second);
    return apart <= kWithin[0];
  };
  auto after = came->second.lower_bound(job.queued_at.micros), before = after;
  for (size_t i = 0; i < kNear && after != came->second.end() && add(*after); ++i) ++after;
  for (size_t i = 0; i < kNear && before != came->second.begin() && add(*std::prev(before)); ++i)
    --before;
  for (size_t i = 0; i < kWithin.size(); ++i) {
    if (near.seen[i].jobs == 0) break;
    found[kWider + i] = &near.seen[i];
  }
  return found;
}

void Outlook::learn(const QueuedJob& job, Duration ran) {
  const size_t last = step_of(ran.seconds());
  Near near;
  const Views seen = views(job, near);
  for (size_t step = 0; step <= last; ++step) {
    double hazard = kRootHazard;
    for (size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] == nullptr || seen[i]->reached[step] == 0) continue;
      const double ended = seen[i]->ended[step], reached = seen[i]->reached[step];
      strengths_[i].learn(ended, reached, hazard, step == last);
      hazard = strengths_[i].mixed(ended, reached, hazard);
    }
  }
  for (Strength& one : strengths_) one.settle();
  const auto kinds = kinds_of(job);
  for (const std::string& kind : kinds) {
    if (kinds_.size() < kMostKinds || kinds_.contains(kind)) kinds_[kind].add(last);
  }
  ++learnt_;
  if (!kinds_.contains(kinds[2])) return;
  auto& came = came_[kinds[2]];
  came.emplace(job.queued_at.micros, last);
  if (came.size() > kRemembers) came.erase(came.begin());
}

bool Outlook::near(const QueuedJob& job, const QueuedJob& ended) {
  const Duration apart = job.queued_at - ended.queued_at;
  return std::abs(apart.seconds()) <= kWithin[0] && job.owner == ended.owner &&
         shape_of(job) == shape_of(ended);
}

StepHazards Outlook::hazards_of(const QueuedJob& job) const {
  Near near;
  const Views seen = views(job, near);
  StepHazards hazards;
  for (size_t step = 0; step < kSteps; ++step) {
    double hazard = kRootHazard;
    for (size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] != nullptr)
        hazard = strengths_[i].mixed(seen[i]->ended[step], seen[i]->reached[step], hazard);
    }
    hazards[step] = std::clamp(hazard, 1e-5, 0.9999);
  }
  return hazards;
}

std::shared_ptr<const RunTimes> Outlook::like(const QueuedJob& job, Duration before) const {
  if (learnt_ < kFewest) return nullptr;
  if (learnt_ < kEnough && !kinds_.contains(kinds_of(job)[1])) return nullptr;
  return std::make_shared<const RunTimes>(hazards_of(job), before);
}

std::shared_ptr<const std::vector<ServiceLevel>> Outlook::levels(const QueuedJob& job) const {
  const StepHazards hazards = hazards_of(job);
  const double servers = servers_of(job);
  auto levels = std::make_shared<std::vector<ServiceLevel>>();
  for (size_t step = 0; step < kSteps; ++step) {
    // The best of all spans of work to give it: the time it takes, for each chance that it ends.
    double left = 1, takes = 0, best = INFINITY;
    for (size_t at = step; at < kSteps && left > 1e-4; ++at) {
      const double wide = step_begins(at + 1) - step_begins(at);
      takes += left * wide * (1 - hazards[at] / 2);
      left *= 1 - hazards[at];
      best = std::min(best, takes / (1 - left));
    }
    const int64_t level = rank_level(best * servers);
    if (levels->empty() || levels->back().level != level)
      levels->push_back({step_begins(step) * servers, level});
  }
  return levels;
}

}  // namespace hearth::sched
