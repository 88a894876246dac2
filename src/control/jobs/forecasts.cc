#include "control/jobs/forecasts.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace hearth::control {
namespace {

StartGuess guess_of(const sched::StartsIn& starts, Duration since) {
  const auto left = [&](Duration wait) { return std::max(0.0, wait.seconds() - since.seconds()); };
  return {left(starts.middle), left(starts.low), left(starts.high), starts.learnt_from};
}

}  // namespace

void Forecasts::set_waiting(std::vector<std::string> waiting) {
  if (waiting == waiting_) return;
  waiting_ = std::move(waiting);
  stale_ = true;
  if (waiting_.empty()) making_.reset();
  drop_others();
}

void Forecasts::drop_others() {
  if (told_.empty()) return;
  const std::unordered_set<std::string_view> wait(waiting_.begin(), waiting_.end());
  std::erase_if(told_, [&](const auto& one) { return !wait.contains(one.first); });
}

std::optional<Time> Forecasts::due() const {
  if (waiting_.empty()) return std::nullopt;
  if (making_) return told_at_;
  const Duration pause = std::max(stale_ ? kSoonest : kEvery, Duration{kShare * took_.micros});
  return told_at_.micros == 0 ? clock_.steady() : told_at_ + pause;
}

void Forecasts::run(sched::Cluster& cluster) {
  if (!making_) {
    const size_t jobs = std::min(waiting_.size(), most_jobs_);
    const auto end = waiting_.begin() + static_cast<ptrdiff_t>(jobs);
    making_.emplace(Making{.runs = sched::ForecastRuns({waiting_.begin(), end}), .jobs = jobs});
    stale_ = false;
  }
  Making& making = *making_;
  Duration spent;
  while (!making.runs.done() && spent < kAtOnce) {
    const Time begun = clock_.steady();
    making.runs.play(cluster, clock_.now());
    const Duration took = clock_.steady() - begun;
    spent.micros += took.micros;
    making.slowest = std::max(making.slowest, took);
    if (took <= kLongest) continue;
    most_jobs_ = making.jobs = std::max<size_t>(1, making.jobs / 2);
    making.runs.keep_first(making.jobs);
  }
  making.took.micros += spent.micros;
  if (!making.runs.done()) return;
  told_ = making.runs.told(cluster, clock_.now());
  drop_others();
  told_at_ = clock_.steady();
  took_ = making.took;
  if (making.jobs == most_jobs_ && making.slowest < Duration{kLongest.micros / 4}) {
    most_jobs_ = std::min(sched::kForecast, most_jobs_ * 2);
    stale_ = stale_ || (making.jobs < most_jobs_ && making.jobs < waiting_.size());
  }
  making_.reset();
}

std::optional<StartGuess> Forecasts::of(const std::string& job_id) const {
  const auto told = told_.find(job_id);
  if (told == told_.end()) return std::nullopt;
  return guess_of(told->second, clock_.steady() - told_at_);
}

std::optional<StartGuess> Forecasts::of_draft(sched::Cluster& cluster, const std::string& job_id) {
  // Above these bounds it would keep the plan waiting for too long, or not be told at all.
  if (waiting_.size() >= most_jobs_ || took_ > kLongest) return std::nullopt;
  std::vector<std::string> waiting = waiting_;
  waiting.push_back(job_id);
  const Time begun = clock_.steady();
  const auto found = sched::forecast(cluster, waiting, clock_.now());
  took_ = clock_.steady() - begun;
  const auto told = found.find(job_id);
  if (told == found.end()) return std::nullopt;
  return guess_of(told->second, Duration{});
}

void add_start(Reason& reason, const StartGuess& start) {
  reason.numbers["starts_in_seconds"] = start.in_seconds;
  reason.numbers["starts_from_seconds"] = start.from_seconds;
  reason.numbers["starts_to_seconds"] = start.to_seconds;
  reason.numbers["starts_learnt_from"] = static_cast<double>(start.learnt_from);
}

}  // namespace hearth::control
