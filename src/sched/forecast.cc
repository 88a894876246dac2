#include "sched/forecast.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
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
      if (waiting_.size() >= kForecast) break;
      const auto key = state.queue_keys.find(id);
      if (key == state.queue_keys.end()) continue;
      Queued& queued = state.queues[key->second.first].at(key->second.second);
      state.ask(queued);
      waiting_.push_back({&queued, queued.job.opportunistic ? -1 : key->second.first});
    }
    left_ = waiting_.size();
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

  std::map<std::string, Duration> run() {
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
    bool started = false;
  };
  struct Work {
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
    works_.push_back({running.grants, running.project, running.amounts});
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

  void start_what_fits(Time at) {
    std::set<std::pair<int32_t, std::string>> failed;
    for (Waiting& one : waiting_) {
      if (one.started || failed.contains({one.payer, one.queued->shape})) continue;
      const auto ask = within_limits(state_, one.payer, *one.queued);
      const size_t looks = state_.cells.nodes().size();
      looks_ -= std::min(looks_, looks);
      Choice choice = state_.choice(one.queued->job, at);
      choice.cache = nullptr;
      choice.worth = nullptr;
      auto placed = ask ? place(state_.cells, *ask, choice) : std::nullopt;
      if (!placed) {
        failed.emplace(one.payer, one.queued->shape);
        continue;
      }
      one.started = true;
      --left_;
      found_[one.queued->job.id] = at - now_;
      Work work{.grants = std::move(placed->grants), .payer = one.payer};
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
  std::vector<Work> works_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  size_t left_ = 0, looks_ = kForecastLooks;
  std::map<std::string, Duration> found_;
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

std::map<std::string, StartsIn> forecast(Cluster& cluster, const std::vector<std::string>& waiting,
                                         Time now) {
  Cluster::State& state = cluster.state();
  std::map<std::string, std::vector<double>> seconds;
  SeededRandom random(1);  // the same state gives the same forecast
  size_t runs = 0, looks = 0;
  while (runs < kForecastRuns && (runs < kForecastLeastRuns || looks < kForecastAllLooks) &&
         !waiting.empty()) {
    Forward forward(state, waiting, now, random);
    for (const auto& [id, wait] : forward.run()) seconds[id].push_back(wait.seconds());
    looks += forward.looks();
    ++runs;
  }
  std::map<std::string, StartsIn> found;
  for (const auto& [id, samples] : seconds) {
    if (samples.size() < runs) continue;  // it waits for an end that nobody knows
    const Said said = said_of(samples, now);
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

}  // namespace hearth::sched
