// What the loop does when there is nothing else to do: it asks when jobs will end, and tells those
// that wait when they will start.
#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "control/jobs/loop.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

constexpr const char* kErrorsKey = "forecast_errors";

sched::OutlookChanged outlook_of(const sched::QueuedJob& job, const std::string& attempt_id) {
  return {job.id, attempt_id, nullptr, job.like, job.expected};
}

}  // namespace

bool JobLoop::forecast_is_due() {
  const std::lock_guard lock(mutex_);
  const auto due = forecasts_.due();
  return due && *due <= context_.clock.steady();
}

Result<void> JobLoop::ask_for_ends() {
  const Time now = context_.clock.steady();
  if (asked_at_.micros != 0 && now - asked_at_ < kAskEvery) return {};
  asked_at_ = now;
  std::vector<Job> run, changed;
  std::vector<std::string> owners;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    if (options_.part_done)
      run = TRY(db::Table<Job>::select(session,
                                       "WHERE state = 'running' AND id > $1 ORDER BY id LIMIT $2",
                                       {asked_last_, kMostAsked}));
    for (const std::string& owner : ended_of_) {
      if (std::ssize(changed) >= kMostAsked) break;  // the others the next time
      auto jobs = TRY(
          db::Table<Job>::select(session,
                                 "WHERE owner = $1 AND state IN ('preparing', 'running', 'saving') "
                                 "ORDER BY id LIMIT $2",
                                 {owner, kMostAsked}));
      std::move(jobs.begin(), jobs.end(), std::back_inserter(changed));
      owners.push_back(owner);
    }
    return {};
  }));
  asked_last_ = std::ssize(run) < kMostAsked ? "" : run.back().id;  // the others the next time
  for (const std::string& owner : owners) ended_of_.erase(owner);
  for (const Job& job : run) {
    if (!active_.contains(job.attempt_id)) continue;
    const auto done = options_.part_done(job.run_id);
    if (!done) continue;
    if (const auto ends = told_ends_.ends_at(job.attempt_id, *done))
      apply(sched::AttemptProgressed{job.attempt_id, *ends});
  }
  for (const Job& job : changed) apply(outlook_of(history_.queued(job), job.attempt_id));
  return {};
}

// Round and round, as far as forecasts reach: a long queue hears of an end some seconds later.
void JobLoop::renew_waiting() {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string>& waiting = forecasts_.waiting();
  const size_t jobs = std::min(waiting.size(), sched::kForecast);
  size_t changed = 0;
  for (size_t i = 0; i < jobs && changed < kMostRenewed; ++i) {
    last_renewed_ = last_renewed_ + 1 < jobs ? last_renewed_ + 1 : 0;
    const std::string& id = waiting[last_renewed_];
    const auto at = queued_.find(id);
    const sched::QueuedJob* job = cluster_.waiting(id);
    if (at == queued_.end() || job == nullptr) continue;
    const auto ends = ends_of_.find(job->owner);
    if (ends == ends_of_.end() || ends->second == at->second.ends) continue;
    at->second.ends = ends->second;
    sched::QueuedJob foreseen = *job;
    history_.foresee(foreseen);
    cluster_.apply(outlook_of(foreseen, ""));
    ++changed;
  }
}

void JobLoop::remember(History history) {
  const std::lock_guard lock(mutex_);
  history_ = std::move(history);
}

void JobLoop::learn(const Job& ended) {
  const std::lock_guard lock(mutex_);
  history_.learn(ended);
}

void JobLoop::load_errors() {
  std::optional<std::string> kept;
  const auto read = context_.database.read([&](db::Session& session) -> Result<void> {
    kept = TRY(db::get_setting(session, kErrorsKey));
    return {};
  });
  if (!read.ok()) log_warning("how far forecasts were off is not known: {}", read.error().detail);
  if (!read.ok() || !kept) return;
  auto errors = from_json<LearntErrors>(*kept, Origin::client);
  if (!errors.ok()) {
    log_warning("how far forecasts were off is learnt anew: {}", errors.error().text());
    return;
  }
  kept_errors_ = *errors;
  apply(sched::ErrorsLearnt{kept_errors_});
}

void JobLoop::keep_errors(Duration at_most_every) {
  const Time now = context_.clock.steady();
  if (errors_kept_at_.micros != 0 && now - errors_kept_at_ < at_most_every) return;
  LearntErrors errors;
  {
    const std::lock_guard lock(mutex_);
    errors = cluster_.errors();
  }
  if (errors == kept_errors_) return;
  errors_kept_at_ = now;
  const auto kept = context_.database.write(
      [&](db::Session& session) { return db::set_setting(session, kErrorsKey, to_json(errors)); });
  if (kept.ok()) kept_errors_ = errors;  // else the next time
}

// Once there is nothing else to do: a plan, or who asks, never waits long for it.
std::optional<Duration> JobLoop::forecast_when_due(uint64_t version) {
  if (forecast_is_due()) {
    if (const auto asked = ask_for_ends(); !asked.ok())
      log_warning("when jobs end is not known: {}", asked.error().detail);
    renew_waiting();
  }
  do {
    const std::lock_guard lock(mutex_);
    const auto due = forecasts_.due();
    if (!due) return std::nullopt;
    const Duration left = *due - context_.clock.steady();
    if (left.micros > 0 || stopping_) return left;
    forecasts_.run(cluster_);
    // The pause lets those at the lock that wait for it.
  } while (!context_.signals.wait_for(kQueueTopic, version, Duration::millis(1).micros));
  return Duration{};
}

}  // namespace hearth::control
