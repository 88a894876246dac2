#include "sched/forecast.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

#include "sched/limits.h"
#include "sched/run_times.h"

namespace hearth::sched {
namespace {

// Plays the queue forward on the overlay; what it did is undone.
class Forward {
 public:
  Forward(Cluster::State& state, const std::vector<std::string>& waiting, Time now,
          SeededRandom& random)
      : state_(state),
        now_(now),
        random_(random),
        cells_mark_(state.cells.mark()),
        quota_mark_(state.quotas.mark()) {
    for (const std::string& id : waiting) {
      const auto key = state.queue_keys.find(id);
      if (key == state.queue_keys.end()) continue;
      Queued& queued = state.queues[key->second.first].at(key->second.second);
      state.ask(queued);
      waiting_.push_back({&queued, queued.job.opportunistic ? -1 : key->second.first});
    }
    left_ = waiting_.size();
    std::map<std::pair<int32_t, std::string_view>, size_t> lines;
    for (const Waiting& one : waiting_) {
      const std::pair<int32_t, std::string_view> alike{one.payer, one.queued->shape};
      const auto [at, is_new] = lines.try_emplace(alike, lines_.size());
      if (is_new) lines_.emplace_back();
      lines_[at->second].jobs.push_back(static_cast<size_t>(&one - waiting_.data()));
    }
    for (const auto& [id, running] : state.running) add_running(running);
    for (const int32_t node : state.closing)
      if (const Time opens = state.cells.node(node).info.opens_at; opens > now)
        ends_.push({opens, kOpens, true});
  }
  ~Forward() {
    state_.cells.undo(cells_mark_);
    state_.quotas.undo(quota_mark_);
  }
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  // Nodes and running jobs that were looked at.
  size_t looks() const { return kForecastLooks - looks_ + works_.size(); }

  // When each of them starts that does.
  std::map<std::string, Time> run() {
    for (size_t i = 0; i < kForecastEnds && !ends_.empty() && left_ > 0 && looks_ > 0; ++i) {
      const Time at = ends_.top().at;
      std::vector<size_t> freed;
      for (; !ends_.empty() && ends_.top().at == at; ends_.pop()) {
        if (ends_.top().work == kOpens) continue;
        Work& work = works_[ends_.top().work];
        if (work.over) continue;
        account(work, -1);
        work.over = true;
        if (!ends_.top().ends) freed.push_back(ends_.top().work);
      }
      const size_t before = left_;
      start_what_fits(at);
      // Who only fell to a lower level goes on when nobody took its place.
      for (const size_t one : freed) {
        if (left_ < before) break;
        works_[one].over = false;
        account(works_[one], +1);
      }
    }
    return found_;
  }

 private:
  struct Waiting {
    Queued* queued;
    int32_t payer;
  };
  // Those of one payer and shape: none starts before the first of them.
  struct Line {
    std::vector<size_t> jobs;  // in the order of the queue
    size_t started = 0;
  };
  // The first that found no room has its place kept until then, as by the plan (reserve.h), which
  // goes by how long jobs are expected to run.
  struct Held {
    size_t job = SIZE_MAX;
    Time due;  // {0}: nobody knows, and nothing is kept
    std::vector<Grant> grants;
  };
  struct Work {
    Time started_at;
    Duration expected;  // 0: nobody knows
    std::vector<Grant> grants;
    int32_t payer = -1;
    Amounts amounts;
    bool over = false;
  };
  static constexpr size_t kOpens = SIZE_MAX;  // no work ends: a node opens again
  struct End {
    Time at;
    size_t work;
    bool ends;  // false: falls to a lower level of service
    bool operator>(const End& o) const { return std::tie(at, work) > std::tie(o.at, o.work); }
  };

  void add_running(const Running& running) {
    const auto ends = running.expected_end(now_);
    works_.push_back({.started_at = running.started_at,
                      .expected = ends ? *ends - running.started_at : Duration{},
                      .grants = running.grants,
                      .payer = running.project,
                      .amounts = running.amounts});
    const size_t index = works_.size() - 1;
    if (running.stopping) return ends_.push({now_, index, true});
    if (const auto end = end_of(running)) ends_.push({*end, index, true});
    // It makes room then for those that have had less.
    if (const Time next = state_.next_level(running, now_); next.micros != 0)
      ends_.push({next, index, false});
  }

  // As long as one of the like of it runs, of those longer than `already`.
  Duration run_like(const RunTimes& like, Duration already) {
    return like.at(random_.unit(), already);
  }
  std::optional<Time> end_of(const Running& running) {
    if (!running.like || running.told_end > now_) return running.expected_end(now_);
    return running.started_at + run_like(*running.like, now_ - running.started_at);
  }
  Duration run_of(const Queued& queued) {
    if (!queued.job.like) return queued.job.expected;
    return run_like(*queued.job.like, Duration{});
  }

  void account(const Work& work, int sign) {
    state_.account(work.grants, work.payer, work.amounts, sign);
  }

  std::optional<Placed> place_on_free(const Ask& ask, Choice choice) {
    looks_ -= std::min(looks_, state_.cells.nodes().size());
    choice.cache = nullptr;
    choice.worth = nullptr;
    return place(state_.cells, ask, choice);
  }

  void hold(size_t job, const Ask& ask, Time at) {
    held_ = {.job = job, .due = {}, .grants = {}};
    std::vector<std::pair<Time, const Work*>> ends;
    for (const Work& work : works_) {
      if (work.over || work.expected.micros <= 0) continue;
      ends.emplace_back(expected_end(work.started_at, work.expected, at), &work);
    }
    std::sort(ends.begin(), ends.end());
    const size_t cells_mark = state_.cells.mark(), quota_mark = state_.quotas.mark();
    const Choice choice = state_.choice(waiting_[job].queued->job, at);
    for (size_t i = 0; i < std::min(ends.size(), kForecastHoldEnds); ++i) {
      account(*ends[i].second, -1);
      auto placed = place_on_free(ask, choice);
      if (!placed) continue;
      held_.due = ends[i].first;
      held_.grants = std::move(placed->grants);
      break;
    }
    state_.cells.undo(cells_mark);
    state_.quotas.undo(quota_mark);
  }

  // Over before what is held begins, or beside it.
  std::optional<Placed> place_beside(const QueuedJob& job, const Ask& ask, Time at) {
    const Choice choice = state_.choice(job, at);
    const bool over_by_then = job.expected.micros > 0 && at + job.expected <= held_.due;
    if (held_.due.micros == 0 || over_by_then) return place_on_free(ask, choice);
    const size_t mark = state_.cells.mark();
    for (const Grant& grant : held_.grants) state_.cells.take(grant);
    auto placed = place_on_free(ask, choice);
    state_.cells.undo(mark);
    return placed;
  }

  // In the order of the queue; who finds no room keeps those back that are like it.
  void start_what_fits(Time at) {
    using First = std::pair<size_t, Line*>;
    std::priority_queue<First, std::vector<First>, std::greater<>> firsts;
    const auto enter = [&](Line& line) {
      if (line.started < line.jobs.size()) firsts.emplace(line.jobs[line.started], &line);
    };
    for (Line& line : lines_) enter(line);
    const bool keeps = !state_.has_levels();  // as the plan
    bool holds = false;
    while (!firsts.empty()) {
      const auto [index, line] = firsts.top();
      firsts.pop();
      const Waiting& one = waiting_[index];
      const auto ask = within_limits(state_, one.payer, *one.queued);
      if (!ask) continue;
      auto placed = holds ? place_beside(one.queued->job, *ask, at)
                          : place_on_free(*ask, state_.choice(one.queued->job, at));
      if (!placed) {
        if (!keeps || firsts.empty() || std::exchange(holds, true)) continue;
        if (held_.job != index || held_.due <= at) hold(index, *ask, at);
        continue;
      }
      ++line->started;
      enter(*line);
      --left_;
      found_[one.queued->job.id] = at;
      Work work{.started_at = at,
                .expected = one.queued->job.expected,
                .grants = std::move(placed->grants),
                .payer = one.payer,
                .amounts = {}};
      work.amounts = amounts_of(state_.cells, work.grants);
      account(work, +1);
      works_.push_back(std::move(work));
      if (const Duration run = run_of(*one.queued); run.micros > 0)
        ends_.push({at + run, works_.size() - 1, true});
    }
  }

  Cluster::State& state_;
  const Time now_;
  SeededRandom& random_;
  const size_t cells_mark_, quota_mark_;
  std::vector<Waiting> waiting_;
  std::vector<Line> lines_;
  std::vector<Work> works_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  Held held_;
  size_t left_ = 0, looks_ = kForecastLooks;
  std::map<std::string, Time> found_;
};

double quantile(std::vector<double> values, double part) {
  const auto at = static_cast<ptrdiff_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

double log_of(double seconds) {
  return std::log(seconds + Calibration::kShortest);
}

Said said_of(const std::vector<double>& waits, Time at) {
  const auto count = static_cast<double>(waits.size());
  Said said{.at = at, .middle = Duration::seconds(quantile(waits, 0.5))};
  for (const double wait : waits) said.mean += log_of(wait) / count;
  for (const double wait : waits)
    said.spread += (log_of(wait) - said.mean) * (log_of(wait) - said.mean) / count;
  said.spread = std::sqrt(said.spread);
  return said;
}

}  // namespace

void Calibration::learn(const Said& said, Duration real) {
  const double off = log_of(real.seconds()) - said.mean;
  const double error = off / std::max(kNarrowest, said.spread);
  errors_.low += kStep * (kMissLow - (error < errors_.low ? 1 : 0));
  errors_.high += kStep * (1 - kMissHigh - (error < errors_.high ? 1 : 0));
  ++errors_.starts;
}

StartsIn Calibration::around(const Said& said) const {
  const auto at = [&](double error) {
    const double log = said.mean + error * std::max(kNarrowest, said.spread);
    return Duration::seconds(std::clamp(std::exp(log) - kShortest, 0.0, kLongest));
  };
  const auto [below, above] = std::minmax(errors_.low, errors_.high);
  const Duration low = at(below), high = at(above);
  return {low, std::clamp(said.middle, low, high), high, errors_.starts};
}

ForecastRuns::ForecastRuns(std::vector<std::string> waiting) : waiting_(std::move(waiting)) {
  keep_first(kForecast);
}

void ForecastRuns::keep_first(size_t jobs) {
  if (waiting_.size() > jobs) waiting_.resize(jobs);
}

bool ForecastRuns::done() const {
  if (waiting_.empty() || runs_ >= kForecastRuns) return true;
  return runs_ >= kForecastLeastRuns && looks_ >= kForecastAllLooks;
}

void ForecastRuns::play(Cluster& cluster, Time now) {
  Forward forward(cluster.state(), waiting_, now, random_);
  for (const auto& [id, at] : forward.run()) starts_[id].push_back(at);
  looks_ += forward.looks();
  ++runs_;
}

std::map<std::string, StartsIn> ForecastRuns::told(Cluster& cluster, Time now) const {
  Cluster::State& state = cluster.state();
  std::map<std::string, StartsIn> found;
  for (const auto& [id, starts] : starts_) {
    if (starts.size() < runs_) continue;  // it waits for an end that nobody knows, or no more
    std::vector<double> waits;
    for (const Time at : starts) waits.push_back(std::max(0.0, (at - now).seconds()));
    const Said said = said_of(waits, now);
    SaidOf& of = state.said.try_emplace(id, SaidOf{said, {}}).first->second;
    if (of.first.at == now) {
      found[id] = state.calibration.around(said);
      continue;
    }
    found[id] = state.later_calibration.around(said);
    if (is_kept(state.said_random, of.later_moments)) of.later = said;
  }
  return found;
}

std::map<std::string, StartsIn> forecast(Cluster& cluster, const std::vector<std::string>& waiting,
                                         Time now) {
  ForecastRuns runs(waiting);
  while (!runs.done()) runs.play(cluster, now);
  return runs.told(cluster, now);
}

}  // namespace hearth::sched
