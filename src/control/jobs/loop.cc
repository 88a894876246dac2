#include "control/jobs/loop.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/format.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/units.h"
#include "control/emit.h"
#include "control/jobs/update.h"

namespace hearth::control {

using executors::NodeEvent;
using executors::TaskEvent;

JobLoop::JobLoop(Context context, Access& access, executors::Executor& executor,
                 JobsOptions options)
    : context_(context), access_(access), executor_(executor), options_(std::move(options)) {}

JobLoop::~JobLoop() {
  stop();
}

Result<void> JobLoop::start() {
  TRY(load_all());
  if (auto recovered = recover(); !recovered.ok()) {
    // A database that refuses writes refuses them until the next start, which recovers anew.
    if (context_.database.refusing().empty()) return recovered;
    log_error("what ran before is not looked after: {}", recovered.error().text());
  }
  executor_.watch(this);
  thread_ = std::thread([this] { run(); });
  return {};
}

void JobLoop::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  context_.signals.notify(kQueueTopic);
  thread_.join();
  executor_.watch(nullptr);
  keep_errors(Duration{});
}

void JobLoop::on_task(const TaskEvent& event) {
  ExecutorEvent item = event;
  if (!executor_events_.try_push(item))
    log_error("more than {} executor events wait; one of task {} was dropped", kMostExecutorEvents,
              event.task_id);
  context_.signals.notify(kQueueTopic);
}

void JobLoop::on_node(const NodeEvent& event) {
  ExecutorEvent item = event;
  if (executor_events_.try_push(item)) context_.signals.notify(kQueueTopic);
}

void JobLoop::release() {
  holding_ = false;
  context_.signals.notify(kQueueTopic);
}

namespace {

// A job that is tried again waits anew.
Time queued_since(const Job& job) {
  const bool known = !job.phases.empty() && job.phases.back().name == "queued";
  return known ? job.phases.back().started_at : job.created_at;
}

// Whatever else a job would wait for: nothing starts while the server is drained.
Reason held_back() {
  Reason reason;
  reason.code = "draining";
  reason.text = "the server is being drained: it starts no job any more, and ends when none runs";
  reason.mend = "it goes on after the next start, or after `hearth down --resume`";
  return reason;
}

}  // namespace

std::optional<Reason> JobLoop::reason_of(const std::string& job_id) {
  if (holding_) return held_back();
  const std::lock_guard lock(mutex_);
  const auto found = reasons_.find(job_id);
  if (found == reasons_.end()) return std::nullopt;
  Reason reason = found->second;
  // As why() tells it: the plan's own time is when a place is free at the earliest.
  if (const auto start = forecasts_.of(job_id)) {
    add_start(reason, *start);
    sched::explain(reason);
  }
  return reason;
}

WaitingJobs JobLoop::waiting() {
  WaitingJobs waiting;
  const std::lock_guard lock(mutex_);
  for (const auto& [job_id, reason] : reasons_) ++waiting.by_reason[reason.code];
  waiting.queued_since = oldest_queued_;
  return waiting;
}

std::optional<Reason> JobLoop::never_fits(const sched::QueuedJob& job) {
  const std::lock_guard lock(mutex_);
  return sched::never_fits(cluster_, job);
}

std::optional<Reason> JobLoop::why(const std::string& job_id) {
  if (holding_) return held_back();
  const std::lock_guard lock(mutex_);
  Reason reason = sched::why(cluster_, job_id, context_.clock.now());
  if (reason.code == "now" || reason.code == "unknown") return std::nullopt;
  if (const auto start = forecasts_.of(job_id)) add_start(reason, *start);
  sched::explain(reason);
  return reason;
}

JobLoop::Outlook JobLoop::would_wait(sched::QueuedJob job) {
  if (holding_) return {held_back(), std::nullopt};
  const std::lock_guard lock(mutex_);
  Outlook outlook;
  history_.foresee(job);
  cluster_.apply(sched::JobQueued{job, true});
  Reason& reason = outlook.reason = sched::why(cluster_, job.id, context_.clock.now());
  if (reason.code == "now")
    outlook.start = StartGuess{};
  else
    outlook.start = forecasts_.of_draft(cluster_, job.id);
  cluster_.apply(sched::JobGone{job.id});
  if (reason.code == "now")
    reason.text = "would start at once";
  else if (outlook.start)
    add_start(reason, *outlook.start);
  sched::explain(reason);
  return outlook;
}

std::vector<NodeInfo> JobLoop::nodes() {
  const std::lock_guard lock(mutex_);
  return cluster_.nodes();
}

std::map<std::string, sched::ProjectUse> JobLoop::use() {
  const std::lock_guard lock(mutex_);
  return cluster_.use();
}

Result<void> JobLoop::load_supply() {
  TRY(context_.database.read([&](db::Session& session) { return supply_.load(session); }));
  feed_supply();
  return {};
}

void JobLoop::feed_supply() {
  for (const sched::ClusterEvent& event : supply_.changes(context_.clock.now())) apply(event);
}

void JobLoop::apply(const sched::ClusterEvent& event) {
  const std::lock_guard lock(mutex_);
  cluster_.apply(event);
}

void JobLoop::run() {
  while (!stopping_) {
    const uint64_t version = context_.signals.version(kQueueTopic);
    const auto turn = [&]() -> Result<bool> {
      TRY(take_executor_events());
      const bool news = TRY(read_events());
      TRY(carry_out_plan());
      return news;
    };
    look_at_clock();
    const auto done = turn();
    force_stops();
    if (!done.ok()) {
      // The database refuses or is full: nothing is guessed, the same work is tried again.
      if (const std::string text = done.error().text(); text != last_error_)
        log_error("job loop: {}", last_error_ = text);
      context_.signals.wait_for(kQueueTopic, version, Duration::seconds(1).micros);
      continue;
    }
    last_error_.clear();
    if (*done) continue;
    keep_errors(kKeepErrorsEvery);
    Duration sleep = forecast_when_due(version).value_or(kLongestSleep);
    if (wake_at_.micros != 0) sleep = std::min(sleep, wake_at_ - context_.clock.now());
    sleep = std::clamp(sleep, Duration::millis(1), kLongestSleep);
    context_.signals.wait_for(kQueueTopic, version, sleep.micros);
  }
}

Result<void> JobLoop::load_all() {
  for (const NodeInfo& node : TRY(executor_.topology())) supply_.set_node(node);
  std::vector<Job> jobs;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    last_seq_ = TRY(db::last_event_seq(session));
    TRY(supply_.load(session));
    jobs = TRY(db::Table<Job>::select(
        session, "WHERE state IN ('queued', 'preparing', 'running', 'saving') ORDER BY id", {}));
    return {};
  }));
  feed_supply();
  // What jobs took before is of use, but nothing hangs on it.
  History history;
  const auto remembered = context_.database.read(
      [&](db::Session& session) -> Result<void> { return history.load(session); });
  if (remembered.ok()) remember(std::move(history));
  if (!remembered.ok())
    log_warning("how long jobs ran is not known: {}", remembered.error().detail);
  load_errors();
  for (const Job& job : jobs) {
    if (job.state == JobState::queued) {
      queued_[job.id] = {queued_since(job), ends_of_[job.owner]};
      apply(sched::JobQueued{history_.queued(job)});
      continue;
    }
    TRY(context_.database.read([&](db::Session& session) -> Result<void> {
      const auto attempt = TRY(db::Table<Attempt>::need(session, job.attempt_id));
      bool makes_room = false;
      for (const Task& task :
           TRY(db::Table<Task>::select(session, "WHERE attempt_id = $1", {attempt.id}))) {
        open_[attempt.id].insert(task.id);
        makes_room = makes_room || task.stop_class == word(FailureClass::preemption);
      }
      active_[attempt.id] = job.id;
      told_ends_.begin(attempt.id, attempt.created_at);
      apply(sched::AttemptStarted{attempt.id, attempt.pool, history_.queued(job), attempt.places,
                                  attempt.created_at});
      // Whoever was evicted before this server started makes room all the same.
      if (makes_room) {
        evicted_.insert(attempt.id);
        apply(sched::AttemptStopping{attempt.id});
      }
      return {};
    }));
  }
  return {};
}

Result<void> JobLoop::recover() {
  const auto found = TRY(executor_.recover());
  std::set<std::string> known;
  for (const executors::Found& task : found) {
    known.insert(task.attempt_id);
    if (!task.alive && task.drained)
      on_task({TaskEvent::Kind::ended, task.attempt_id, task.task_id, task.epoch, ""});
    // Directories of attempts that are over and were not forgotten before the crash.
    if (!active_.contains(task.attempt_id) && task.drained)
      ignore(executor_.forget(task.attempt_id));
  }
  const auto active = active_;
  for (const auto& [attempt_id, job_id] : active) {
    if (known.contains(attempt_id)) {
      TRY(update_job(job_id));
      continue;
    }
    // Written down but never started: the server died in between.
    PreparedLaunch prepared;
    TRY(context_.database.write([&](db::Session& session) -> Result<void> {
      prepared = {};
      prepared.job = TRY(db::Table<Job>::need(session, job_id));
      prepared.attempt = TRY(db::Table<Attempt>::need(session, attempt_id));
      prepared.tasks = TRY(
          db::Table<Task>::select(session, "WHERE attempt_id = $1 ORDER BY rank", {attempt_id}));
      const bool untouched =
          std::all_of(prepared.tasks.begin(), prepared.tasks.end(),
                      [](const Task& t) { return t.state == TaskState::created; });
      if (untouched) {
        prepared.launch = TRY(rebuild_launch(session, context_, access_, options_, prepared.job,
                                             prepared.attempt, prepared.tasks));
        return {};
      }
      for (const Task& task : prepared.tasks)
        TRY(mark_lost(session, context_, task.id, FailureClass::lost,
                      "its directory was gone when the server came back"));
      return {};
    }));
    if (!prepared.launch.tasks.empty())
      launch(std::move(prepared));
    else
      TRY(update_job(job_id));
  }
  return {};
}

namespace {

bool changes_supply(const std::string& kind) {
  constexpr std::array<std::string_view, 5> kNouns = {"quota.", "pool.", "node.", "reservation.",
                                                      "project."};
  return std::any_of(kNouns.begin(), kNouns.end(),
                     [&](std::string_view noun) { return kind.starts_with(noun); });
}

}  // namespace

Result<bool> JobLoop::read_events() {
  std::vector<Event> events;
  std::set<std::string> jobs;
  bool supply = false;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    events = TRY(db::events_since(session, last_seq_, kEventsAtOnce));
    for (const Event& event : events) {
      if (event.kind.starts_with("job.")) jobs.insert(event.id);
      supply = supply || changes_supply(event.kind);
      if (event.kind == "checkpoint.added") {
        // An eviction would cost its job the work since then.
        const auto saved = TRY(db::Table<Checkpoint>::get(session, event.id));
        if (saved) apply(sched::AttemptSaved{saved->attempt_id, event.time});
      }
      if (!event.kind.starts_with("task.")) continue;
      const auto task = TRY(db::Table<Task>::get(session, event.id));
      if (task) jobs.insert(task->job_id);
    }
    return {};
  }));
  if (supply) TRY(load_supply());
  for (const std::string& job_id : jobs) TRY(update_job(job_id));
  if (!events.empty()) last_seq_ = events.back().seq;
  return !events.empty();
}

Result<void> JobLoop::take_executor_events() {
  while (auto item = executor_events_.pop_for(Duration{0})) {
    if (const auto* node = std::get_if<NodeEvent>(&*item)) {
      supply_.set_node(node->node);
      feed_supply();
      continue;
    }
    const TaskEvent& event = std::get<TaskEvent>(*item);
    if (event.kind == TaskEvent::Kind::started) continue;
    TRY(context_.database.write([&](db::Session& session) -> Result<void> {
      return mark_lost(session, context_, event.task_id, FailureClass::lost,
                       event.text.empty() ? "its shim ended without a last word" : event.text);
    }));
    const auto open = open_.find(event.attempt_id);
    if (open == open_.end()) {
      ignore(executor_.forget(event.attempt_id));
      continue;
    }
    open->second.erase(event.task_id);
    const auto active = active_.find(event.attempt_id);
    if (active != active_.end()) TRY(update_job(active->second));
    if (open_.contains(event.attempt_id) && open_[event.attempt_id].empty()) {
      open_.erase(event.attempt_id);
      ignore(executor_.forget(event.attempt_id));
    }
  }
  return {};
}

Result<void> JobLoop::update_job(const std::string& job_id) {
  std::optional<Reconciled> r;
  TRY(context_.database.read([&](db::Session& session) -> Result<void> {
    r = TRY(look(session, context_, job_id));
    return {};
  }));
  if (r && r->changed)
    TRY(context_.database.write([&](db::Session& session) -> Result<void> {
      r = TRY(reconcile(session, context_, access_, job_id));
      return {};
    }));
  if (r) {
    follow(*r);
  } else if (queued_.erase(job_id) > 0) {
    apply(sched::JobGone{job_id});
  }
  return {};
}

void JobLoop::follow(const Reconciled& r) {
  const Job& job = r.job;
  for (const std::string& task : r.stop_tasks) context_.signals.notify(task_topic(task));
  if (!r.stop_tasks.empty())
    force_at_[r.attempt->id] = context_.clock.now() + kGrace + kStopPatience;
  if (r.changed) {
    context_.signals.notify(kEventsTopic);
    context_.signals.notify(job_topic(job.id));
    context_.signals.notify(run_topic(job.run_id));
    context_.signals.notify(kOutboxTopic);
  }
  const bool over = finished(job.state) || job.state == JobState::queued;
  if (over && !job.attempt_id.empty() && active_.erase(job.attempt_id) > 0) {
    apply(sched::AttemptEnded{job.attempt_id, context_.clock.now()});
    learn(job);
    told_ends_.forget(job.attempt_id);
    ended_of_.insert(job.owner);
    ++ends_of_[job.owner];
    force_at_.erase(job.attempt_id);
    evicted_.erase(job.attempt_id);
  }
  if (job.state == JobState::queued) {
    queued_[job.id] = {queued_since(job), ends_of_[job.owner]};
    apply(sched::JobQueued{history_.queued(job)});
  } else if (queued_.erase(job.id) > 0) {
    apply(sched::JobGone{job.id});
  }
}

void JobLoop::look_at_queue() {
  Time oldest;
  for (const auto& [job_id, waits] : queued_)
    if (oldest.micros == 0 || waits.since < oldest) oldest = waits.since;
  const std::lock_guard lock(mutex_);
  oldest_queued_ = oldest;
}

Result<void> JobLoop::carry_out_plan() {
  const Time now = context_.clock.now();
  const Time change = supply_.next_change();
  if (change.micros != 0 && change <= now) feed_supply();
  look_at_queue();
  if ((queued_.empty() && !supply_.closes()) || holding_) {
    wake_at_ = {};
    const std::lock_guard lock(mutex_);
    forecasts_.set_waiting({});
    reasons_.clear();
    return {};
  }
  sched::Plan plan;
  {
    const std::lock_guard lock(mutex_);
    plan = sched::plan(cluster_, now);
    forecasts_.set_waiting(std::move(plan.waiting));
  }
  wake_at_ = plan.wake_at;
  TRY(evict_attempts(plan.evictions));
  for (sched::Hold& hold : plan.holds) {
    // What the evicted leave is for this job, whoever comes in between.
    if (hold.preempts)
      apply(sched::JobReserved{hold.job_id, std::move(hold.pool), std::move(hold.places)});
  }
  for (size_t i = 0; i < plan.starts.size(); i += kStartsAtOnce) {
    const auto first = plan.starts.begin() + static_cast<ptrdiff_t>(i);
    const auto last =
        first + static_cast<ptrdiff_t>(std::min(kStartsAtOnce, plan.starts.size() - i));
    TRY(start_jobs({first, last}));
  }
  return write_reasons(plan.reasons);
}

// Their place is free when they have ended; it is kept for whom they were evicted.
Result<void> JobLoop::evict_attempts(const std::vector<sched::Eviction>& evictions) {
  for (const sched::Eviction& eviction : evictions) {
    const std::string& id = eviction.attempt_id;
    if (!active_.contains(id) || evicted_.contains(id)) continue;
    Reason reason = eviction.reason;
    sched::explain(reason);
    std::vector<std::string> told;
    TRY(context_.database.write([&](db::Session& session) -> Result<void> {
      told = TRY(evict(session, context_, id, reason));
      return {};
    }));
    evicted_.insert(id);
    apply(sched::AttemptStopping{id});
    if (told.empty()) continue;
    evictions_.add();
    for (const std::string& task : told) context_.signals.notify(task_topic(task));
    force_at_[id] = context_.clock.now() + kGrace + kStopPatience;
    context_.signals.notify(kEventsTopic);
    context_.signals.notify(job_topic(active_[id]));
  }
  return {};
}

// Many starts share one commit; a job whose secrets or data are missing fails alone.
Result<void> JobLoop::start_jobs(const std::vector<sched::Start>& starts) {
  std::vector<PreparedLaunch> prepared;
  std::vector<std::pair<std::string, Error>> failed;
  TRY(context_.database.write([&](db::Session& session) -> Result<void> {
    prepared.clear();
    failed.clear();
    for (const sched::Start& start : starts) {
      auto one = prepare_launch(session, context_, access_, options_, start);
      if (!one.ok() && one.error().code == Code::not_found) {
        failed.emplace_back(start.job_id, one.error());
        TRY(fail_queued(session, context_, start.job_id, one.error()));
      } else if (!one.ok()) {
        return std::move(one).error();
      } else if (*one) {
        prepared.push_back(std::move(**one));
      }
    }
    return {};
  }));
  for (PreparedLaunch& one : prepared) {
    queued_.erase(one.job.id);
    active_[one.attempt.id] = one.job.id;
    for (const Task& task : one.tasks) open_[one.attempt.id].insert(task.id);
    apply(sched::AttemptStarted{one.attempt.id, one.attempt.pool, history_.queued(one.job),
                                one.attempt.places, one.attempt.created_at});
    told_ends_.begin(one.attempt.id, one.attempt.created_at);
    starts_.add();
    if (one.attempt.number == 1)
      waits_.observe((one.attempt.created_at - one.job.created_at).seconds());
    launch(std::move(one));
  }
  for (const auto& [job_id, error] : failed) TRY(update_job(job_id));
  if (!prepared.empty() || !failed.empty()) context_.signals.notify(kEventsTopic);
  return {};
}

void JobLoop::launch(PreparedLaunch prepared) {
  const auto started = executor_.start(prepared.launch);
  if (!started.ok()) fail_launch(prepared, started.error());
  context_.signals.notify(job_topic(prepared.job.id));
}

void JobLoop::fail_launch(const PreparedLaunch& prepared, const Error& error) {
  log_warning("job {} could not be started: {}", prepared.job.name, error.text());
  const FailureClass why = error.code == Code::invalid || error.code == Code::denied
                               ? FailureClass::start
                               : FailureClass::node;
  const auto done = context_.database.write([&](db::Session& session) -> Result<void> {
    for (const Task& task : prepared.tasks)
      TRY(mark_lost(session, context_, task.id, why, "could not be started: " + error.text()));
    return {};
  });
  if (!done.ok()) log_error("job {}: {}", prepared.job.name, done.error().text());
  open_.erase(prepared.attempt.id);
}

Result<void> JobLoop::write_reasons(const std::map<std::string, Reason>& reasons) {
  std::vector<std::pair<std::string, Reason>> news;
  {
    const std::lock_guard lock(mutex_);
    std::map<std::string, Reason> next;
    for (const auto& [job_id, reason] : reasons) {
      if (!queued_.contains(job_id)) continue;
      Reason& worded = next[job_id] = reason;
      sched::explain(worded);
      const auto old = reasons_.find(job_id);
      // Numbers change all the time; only another kind of reason is worth a write.
      if (old == reasons_.end() || old->second.code != worded.code)
        news.emplace_back(job_id, worded);
    }
    reasons_ = std::move(next);
  }
  if (news.empty()) return {};
  return context_.database.write([&](db::Session& session) -> Result<void> {
    for (const auto& [job_id, reason] : news) {
      auto job = TRY(db::Table<Job>::get(session, job_id));
      if (!job || job->state != JobState::queued) continue;
      if (job->reason && job->reason->code == reason.code) continue;
      job->reason = reason;
      TRY(db::Table<Job>::update(session, *job));
    }
    return {};
  });
}

// A jump of the wall clock is left out while a job is queued or runs, so that none ends early or
// waits for a time that does not come, and durations are true.
void JobLoop::look_at_clock() {
  if (options_.clock == nullptr) return;
  EvenClock& clock = *options_.clock;
  const Duration jump = clock.take_jump();
  const bool idle = queued_.empty() && active_.empty();
  if (idle && clock.ahead().micros != 0) {
    log_info("no job runs: the clock of this machine is followed again");
    clock.follow();
  }
  if (jump.micros == 0) return;
  log_warning("the clock of this machine was set {} by {}{}", jump.micros > 0 ? "forward" : "back",
              format_duration(Duration{std::abs(jump.micros)}),
              idle ? "" : "; jobs go on by the time before, until none is queued or runs");
  const auto told = context_.database.write([&](db::Session& session) -> Result<void> {
    TRY(emit(session, context_.clock, server_actor(), "", "server.clock_jumped", "clock", 0,
             format(R"({{"seconds":{},"followed":{}}})", jump.seconds(), idle)));
    return {};
  });
  if (told.ok()) context_.signals.notify(kEventsTopic);
}

void JobLoop::force_stops() {
  const Time now = context_.clock.now();
  for (auto at = force_at_.begin(); at != force_at_.end();) {
    if (at->second > now) {
      ++at;
      continue;
    }
    const auto done = executor_.stop(at->first, kGrace);
    if (!done.ok()) log_warning("attempt {}: {}", at->first, done.error().text());
    at = force_at_.erase(at);
  }
}

}  // namespace hearth::control
