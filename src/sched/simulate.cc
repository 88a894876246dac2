#include "sched/simulate.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>

#include "base/format.h"
#include "sched/limits.h"
#include "sched/outlook.h"
#include "sched/predict.h"
#include "sched/state.h"

namespace hearth::sched {
namespace {

class Engine {
 public:
  Engine(const Trace& trace, const SimulateOptions& options) : trace_(trace), options_(options) {}

  Result<Simulated> run() {
    for (const NodeInfo& node : trace_.nodes) cluster_.apply(NodeChanged{node});
    for (const PoolPolicy& policy : options_.pools) cluster_.apply(PoolChanged{policy});
    for (const ProjectQuota& quota : options_.projects) cluster_.apply(ProjectChanged{quota});
    jobs_.resize(trace_.jobs.size());
    done_.jobs.resize(trace_.jobs.size());
    for (size_t i = 0; i < trace_.jobs.size(); ++i) {
      const TraceJob& one = trace_.jobs[i];
      by_id_[one.job.id] = i;
      jobs_[i].left = one.runs;
      done_.jobs[i].queued_at = one.job.queued_at;
      for (const TaskNeed& need : one.job.tasks) {
        done_.jobs[i].gpus += need.milli_gpus / kWholeGpu;
        done_.jobs[i].milli_gpus += need.milli_gpus;
      }
      events_.push({one.job.queued_at, i, Event::comes, 0});
    }
    if (by_id_.size() != trace_.jobs.size())
      return Error{Code::invalid, "two jobs of the trace have one name"};
    std::tie(done_.first, last_comes_) = coming(trace_);
    while (!events_.empty()) {
      if (options_.stop && options_.stop())
        return Error::of(Code::timeout, "the simulation was stopped before its end");
      turn();
    }
    if (!plan_seconds_.empty()) {
      const auto at = plan_seconds_.begin() +
                      static_cast<ptrdiff_t>(0.99 * static_cast<double>(plan_seconds_.size()));
      std::nth_element(plan_seconds_.begin(), at, plan_seconds_.end());
      done_.p99_plan_seconds = *at;
    }
    if (seen_seconds_ > 0) done_.fragmented /= seen_seconds_;
    return std::move(done_);
  }

 private:
  struct Event {
    enum Kind { ends, comes, wakes };
    Time at;
    size_t job;
    Kind kind;
    int64_t attempt;
    bool operator>(const Event& o) const {
      return std::tie(at, kind, job) > std::tie(o.at, o.kind, o.job);
    }
  };
  struct State {
    Duration left;      // of its work
    double served = 0;  // GPU-seconds
    Time since;         // runs since
    int64_t attempt = 0;
    bool running = false;
  };

  std::string attempt_id(size_t job) const { return trace_.jobs[job].job.id; }

  // In earlier attempts.
  Duration ran_before(size_t job) const {
    return Duration{std::max<int64_t>(0, trace_.jobs[job].runs.micros - jobs_[job].left.micros)};
  }
  // Only forecasts read it.
  std::shared_ptr<const RunTimes> like(const QueuedJob& job, Duration before) const {
    return options_.forecast ? outlook_.like(job, before) : nullptr;
  }

  QueuedJob queued(size_t job) {
    QueuedJob made = trace_.jobs[job].job;
    const State& state = jobs_[job];
    made.served = state.served;
    made.lost_place = state.attempt > 0;
    const Duration ran = ran_before(job);
    if (options_.know_durations) {
      made.expected = state.left;
    } else if (options_.predict) {
      if (const auto all = predictor_.predict(made, 0.5, ran))
        made.expected = Duration{all->micros - ran.micros};
      made.like = like(made, ran);
      made.levels = outlook_.levels(made);
    }
    return made;
  }

  void turn() {
    const Time now = events_.top().at;
    done_.needless_wait_seconds += static_cast<double>(needless_) * (now - looked_at_).seconds();
    done_.gpu_seconds_while_coming +=
        in_use_ * std::max(0.0, (std::min(now, last_comes_) - turned_at_).seconds());
    turned_at_ = now;
    while (!events_.empty() && events_.top().at == now) {
      const Event event = events_.top();
      events_.pop();
      if (event.kind == Event::comes) {
        cluster_.apply(JobQueued{queued(event.job)});
        here_.insert(event.job);
        ++waiting_;
      } else if (event.kind == Event::ends && jobs_[event.job].running &&
                 jobs_[event.job].attempt == event.attempt) {
        end(event.job, now);
        here_.erase(event.job);
        done_.jobs[event.job].finished_at = now;
        done_.last = now;
        learn(event.job);
        if (options_.progress && ++finished_ % 256 == 0)
          options_.progress(static_cast<double>(finished_) / static_cast<double>(jobs_.size()));
      }
    }
    if (waiting_ > 0) make_plan(now);
    if (options_.check_waits) look_for_needless(now);
    sample(now);
  }

  void learn(size_t ended) {
    const TraceJob& done = trace_.jobs[ended];
    predictor_.learn(done.job, done.runs);
    if (!options_.predict) return;
    outlook_.learn(done.job, done.runs);
    // What holds for all changes slowly.
    const bool all = outlook_.learnt() >= learn_all_at_;
    if (all) learn_all_at_ = outlook_.learnt() + outlook_.learnt() / 16 + 1;
    for (const size_t job : here_) {
      if (!all && !Outlook::near(trace_.jobs[job].job, done.job)) continue;
      const QueuedJob& changed = trace_.jobs[job].job;
      cluster_.apply(OutlookChanged{attempt_id(job), attempt_id(job), outlook_.levels(changed),
                                    like(changed, ran_before(job))});
    }
  }

  void sample(Time now) {
    if (now < next_sample_) return;
    done_.samples.push_back({now, in_use_, waiting_});
    if (options_.fragments && now <= last_comes_) {
      Cluster::State& cluster = cluster_.state();
      // What was seen last held until now.
      if (seen_since_) done_.fragmented += fragmented_ * (now - *seen_since_).seconds();
      if (seen_since_) seen_seconds_ += (now - *seen_since_).seconds();
      fragmented_ = cluster.worth.fragmented(cluster.cells, trace_.nodes.front().pool);
      seen_since_ = now;
    }
    next_sample_ = now + every_;
    if (done_.samples.size() < kMostSamples) return;
    for (size_t i = 0; 2 * i < done_.samples.size(); ++i) done_.samples[i] = done_.samples[2 * i];
    done_.samples.resize(done_.samples.size() / 2);
    const Duration span = now - done_.samples.front().at;
    every_ = Duration{span.micros * 2 / static_cast<int64_t>(kMostSamples)};
  }

  // Counts the jobs that wait though there is room for them, each by itself.
  void look_for_needless(Time now) {
    looked_at_ = now;
    needless_ = 0;
    sched::Cluster::State& cluster = cluster_.state();
    for (auto& [project, queue] : cluster.queues) {
      std::map<std::string, bool> known;  // by shape
      for (auto& [key, queued] : queue) {
        const auto [at, fresh] = known.try_emplace(queued.shape);
        if (fresh) {
          cluster.ask(queued);
          const auto ask = within_limits(cluster, queued.job.opportunistic ? -1 : project, queued);
          at->second =
              ask && place(cluster.cells, *ask, cluster.choice(queued.job, now)).has_value();
        }
        needless_ += at->second ? 1 : 0;
      }
    }
  }

  double gpus_of(size_t job) const {
    return static_cast<double>(done_.jobs[job].milli_gpus) / kWholeGpu;
  }

  // It stops running now, for good or to be queued again.
  void end(size_t job, Time now) {
    State& state = jobs_[job];
    state.running = false;
    in_use_ -= gpus_of(job);
    const Duration ran = now - state.since;
    state.left = Duration{state.left.micros - ran.micros};
    const double gpu_seconds = gpus_of(job) * ran.seconds();
    state.served += gpu_seconds;
    done_.gpu_seconds += gpu_seconds;
    cluster_.apply(AttemptEnded{attempt_id(job), now});
  }

  void make_plan(Time now) {
    // Evictions free their cells at once here; what they were for starts in the plan after.
    for (bool again = true; again;) {
      again = false;
      const Time before = system_clock().steady();
      const Plan found = plan(cluster_, now, {.reasons = options_.forecast, .trials = 0});
      const double took = (system_clock().steady() - before).seconds();
      ++done_.plans;
      done_.plan_seconds += took;
      done_.slowest_plan_seconds = std::max(done_.slowest_plan_seconds, took);
      plan_seconds_.push_back(static_cast<float>(took));
      for (const sched::Start& start : found.starts) begin(start, now);
      for (const Hold& hold : found.holds) {
        if (hold.preempts) cluster_.apply(JobReserved{hold.job_id, hold.pool, hold.places});
      }
      for (const Eviction& eviction : found.evictions) evict(eviction, now);
      again = !found.evictions.empty();
      if (!again && options_.forecast) tell(found.waiting, now);
      if (found.wake_at > now && waiting_ > 0) wake(found.wake_at, now);
    }
  }

  // Each job that has begun to wait is told when it will start.
  void tell(const std::vector<std::string>& waiting, Time now) {
    const auto told = [&](const std::string& id) {
      const JobOutcome& job = done_.jobs[by_id_.at(id)];
      return job.said_at.micros != 0 || job.started_at.micros != 0;
    };
    if (std::all_of(waiting.begin(), waiting.end(), told)) return;
    for (const size_t job : here_) {
      const State& state = jobs_[job];
      if (state.running && tells_end(job) && now - state.since >= kTellsAfter)
        cluster_.apply(AttemptProgressed{attempt_id(job), state.since + state.left});
    }
    const auto found = forecast(cluster_, waiting, now);
    for (const auto& [id, starts_in] : found) {
      JobOutcome& job = done_.jobs[by_id_.at(id)];
      if (job.started_at.micros != 0) continue;  // it waits for its next start
      if (!is_kept(random_, job.moments)) continue;
      job.said_at_any_time = starts_in;
      job.any_time = now;
    }
    for (const std::string& id : waiting) {
      if (told(id)) continue;
      JobOutcome& job = done_.jobs[by_id_.at(id)];
      job.said_at = now;
      if (const auto at = found.find(id); at != found.end()) job.said = at->second;
    }
  }

  // The same ones in each run, evenly spread over the trace.
  bool tells_end(size_t job) const {
    return trace_.jobs[job].runs.micros > 0 && static_cast<int64_t>(job * 61 % 100) < options_.tell;
  }

  void wake(Time at, Time now) {
    if (next_wake_ > now && next_wake_ <= at) return;
    next_wake_ = at;
    events_.push({at, 0, Event::wakes, 0});
  }

  void begin(const sched::Start& start, Time now) {
    const size_t job = by_id_.at(start.job_id);
    State& state = jobs_[job];
    state.running = true;
    in_use_ += gpus_of(job);
    state.since = now;
    ++state.attempt;
    ++done_.starts;
    --waiting_;
    state.left = Duration{state.left.micros + options_.start_cost.micros};
    JobOutcome& outcome = done_.jobs[job];
    if (state.attempt == 1) outcome.started_at = now;
    outcome.places = start.places;
    done_.links.add(cluster_.state().cells, trace_.jobs[job].job, start);
    cluster_.apply(AttemptStarted{attempt_id(job), start.pool, queued(job), start.places, now});
    if (trace_.jobs[job].runs.micros > 0)
      events_.push({now + state.left, job, Event::ends, state.attempt});
  }

  void evict(const Eviction& eviction, Time now) {
    const size_t job = by_id_.at(eviction.attempt_id);
    end(job, now);
    jobs_[job].left = Duration{jobs_[job].left.micros + options_.eviction_cost.micros};
    ++done_.jobs[job].evictions;
    ++done_.evictions;
    ++waiting_;
    cluster_.apply(JobQueued{queued(job)});
  }

  const Trace& trace_;
  const SimulateOptions& options_;
  Cluster cluster_;
  Predictor predictor_;
  Outlook outlook_;
  size_t learn_all_at_ = 0;
  std::set<size_t> here_;  // jobs that have come and not ended
  std::vector<State> jobs_;
  std::unordered_map<std::string, size_t> by_id_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Time next_wake_, next_sample_, looked_at_, turned_at_, last_comes_;
  int64_t needless_ = 0;
  double fragmented_ = 0, seen_seconds_ = 0;
  std::optional<Time> seen_since_;
  std::vector<float> plan_seconds_;
  Duration every_;  // between samples
  double in_use_ = 0;
  int64_t waiting_ = 0;
  size_t finished_ = 0;
  SeededRandom random_{1};
  Simulated done_;
};

}  // namespace

Result<Simulated> simulate(const Trace& trace, const SimulateOptions& options) {
  return Engine(trace, options).run();
}

Forecasts forecasts_of(const Simulated& done) {
  Forecasts found;
  const auto holds = [](const StartsIn& said, Duration real) {
    return said.low <= real && real <= said.high;
  };
  const auto width = [](const StartsIn& said) { return said.high.seconds() - said.low.seconds(); };
  std::vector<double> widths, waits, any_time_widths;
  for (const JobOutcome& job : done.jobs) {
    if (!job.said || job.started_at.micros == 0) continue;
    const Duration wait = job.started_at - job.said_at;
    found.within += holds(*job.said, wait) ? 1 : 0;
    widths.push_back(width(*job.said));
    waits.push_back(wait.seconds());
    const Duration left = job.started_at - job.any_time;
    found.any_time_within += holds(*job.said_at_any_time, left) ? 1 : 0;
    any_time_widths.push_back(width(*job.said_at_any_time));
  }
  found.jobs = waits.size();
  const double all = std::max(1.0, static_cast<double>(waits.size()));
  found.within /= all;
  found.any_time_within /= all;
  found.any_time_median_width_seconds = spread_of(any_time_widths).p50;
  found.median_width_seconds = spread_of(widths).p50;
  found.median_wait_seconds = spread_of(waits).p50;
  return found;
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  Spread spread;
  for (const double value : values) spread.mean += value / static_cast<double>(values.size());
  const auto at = [&](double part) {
    return values[std::min(values.size() - 1,
                           static_cast<size_t>(part * static_cast<double>(values.size())))];
  };
  spread.p50 = at(0.5);
  spread.p99 = at(0.99);
  return spread;
}

namespace {

// FNV-1a over the names of a start's nodes and GPUs.
uint64_t digest_of(const Start& start, uint64_t digest) {
  const auto add = [&](std::string_view text) {
    for (const char c : text) digest = (digest ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
    digest = (digest ^ 0xff) * 0x100000001b3ULL;
  };
  add(start.job_id);
  for (const Place& place : start.places) {
    add(place.node);
    for (const std::string& gpu : place.gpus) add(gpu);
  }
  return digest;
}

}  // namespace

Result<Filled> fill(const Trace& trace, const FillOptions& options) {
  Cluster cluster;
  cluster.state().worth.reweigh(options.weights);
  for (const NodeInfo& node : trace.nodes) cluster.apply(NodeChanged{node});
  const auto asked_by = [](const TraceJob& one) {
    int64_t milli = 0;
    for (const TaskNeed& need : one.job.tasks) milli += need.milli_gpus;
    return milli;
  };
  int64_t there = 0, asked = 0;
  for (const NodeInfo& node : trace.nodes)
    there += static_cast<int64_t>(node.gpus.size()) * kWholeGpu;
  if (there == 0) return Error{Code::invalid, "the nodes have no GPU to fill"};
  if (trace.jobs.empty()) return Error{Code::invalid, "there are no jobs to fill them with"};
  SeededRandom random(options.seed);
  std::vector<size_t> order(trace.jobs.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    asked += asked_by(trace.jobs[i]);
  }
  if (asked == 0) return Error{Code::invalid, "none of the jobs asks for a GPU"};
  const double until = options.fill * static_cast<double>(there);
  while (static_cast<double>(asked) < until) {
    order.push_back(random.below(trace.jobs.size()));
    asked += asked_by(trace.jobs[order.back()]);
  }
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);

  Filled filled;
  int64_t allocated = 0;
  asked = 0;
  size_t next = 0;
  const Time before = system_clock().steady();
  for (size_t i = 0; i < order.size(); ++i) {
    QueuedJob job = trace.jobs[order[i]].job;
    job.id = job.name = format("{}", i);
    job.queued_at = {};
    asked += asked_by(trace.jobs[order[i]]);
    cluster.apply(JobQueued{job});
    const Plan found = plan(cluster, {1}, {.reasons = false, .only_starts = true});
    ++filled.decisions;
    if (found.starts.empty()) {
      cluster.apply(JobGone{job.id});
    } else {
      allocated += asked_by(trace.jobs[order[i]]);
      const Start& start = found.starts.front();
      filled.digest = digest_of(start, filled.digest);
      cluster.apply(AttemptStarted{job.id, start.pool, job, start.places, {1}});
    }
    while (next < options.at.size() &&
           static_cast<double>(asked) >= options.at[next] * static_cast<double>(there)) {
      filled.allocated.push_back(static_cast<double>(allocated) / static_cast<double>(there));
      Cluster::State& state = cluster.state();
      filled.fragmented.push_back(state.worth.fragmented(state.cells, trace.nodes.front().pool));
      ++next;
    }
  }
  filled.seconds = (system_clock().steady() - before).seconds();
  return filled;
}

}  // namespace hearth::sched
