#include "control/jobs/forecasts.h"

#include <algorithm>

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
  // A job that went has no start any more.
  std::erase_if(told_, [&](const auto& one) {
    return std::find(waiting_.begin(), waiting_.end(), one.first) == waiting_.end();
  });
}

std::optional<Time> Forecasts::due() const {
  if (waiting_.empty()) return std::nullopt;
  const Duration pause = std::max(stale_ ? kSoonest : kEvery, Duration{kShare * took_.micros});
  return told_at_.micros == 0 ? clock_.steady() : told_at_ + pause;
}

void Forecasts::run(sched::Cluster& cluster) {
  told_ = ask(cluster, waiting_);
  told_at_ = clock_.steady();
  stale_ = false;
  if (took_ > kLongest)
    most_jobs_ = std::max<size_t>(1, most_jobs_ / 2);
  else if (took_ < Duration{kLongest.micros / 4})
    most_jobs_ = std::min(sched::kForecast, most_jobs_ * 2);
}

std::map<std::string, sched::StartsIn> Forecasts::ask(sched::Cluster& cluster,
                                                      std::vector<std::string> waiting) {
  if (waiting.size() > most_jobs_) waiting.resize(most_jobs_);
  const Time begun = clock_.steady();
  auto found = sched::forecast(cluster, waiting, clock_.now());
  took_ = clock_.steady() - begun;
  return found;
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
  const auto found = ask(cluster, std::move(waiting));
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
