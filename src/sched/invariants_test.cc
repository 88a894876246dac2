// Random events against what must always hold. HEARTH_SCHED_EVENTS says how many (default 2,400),
// and HEARTH_SCHED_SEED the number of the first of the worlds that they happen in (default 0).
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "base/format.h"
#include "sched/state.h"

namespace hearth::sched {
namespace {

// Everything that a plan or an undone trial must leave as it was, as numbers: what is compared
// twice a plan must cost little.
std::vector<int64_t> dump(const Cluster::State& state) {
  std::vector<int64_t> all;
  const auto add = [&](const auto& values) { all.insert(all.end(), values.begin(), values.end()); };
  for (const Node& node : state.cells.nodes()) {
    all.insert(all.end(), {node.open, node.free_cpus, node.free_memory,
                           static_cast<int64_t>(node.whole), static_cast<int64_t>(node.healthy)});
    add(node.free_milli);
  }
  for (const Tier tier : kTiers) {
    for (const Domain& domain : state.cells.domains(tier)) {
      all.insert(all.end(), {domain.free_cpus, domain.free_memory});
      add(domain.whole_gpus);
      add(domain.milli_gpus);
    }
  }
  for (size_t i = 0; i < state.quotas.size(); ++i) {
    const Amounts& used = state.quotas.at(static_cast<int32_t>(i)).used;
    const auto last =
        std::find_if(used.rbegin(), used.rend(), [](int64_t one) { return one != 0; });
    all.push_back(last.base() - used.begin());
    all.insert(all.end(), used.begin(), last.base());
  }
  for (const auto& [id, running] : state.running)
    all.insert(all.end(), {running.stopping, running.evicted});
  return all;
}

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 12; ++i) cluster_.apply(NodeChanged{node(i)});
    for (const char* name : {"a", "b", "c"}) {
      ProjectQuota quota{.name = name, .parent = "all"};
      if (quota.name == "c")
        quota.guaranteed.milli_gpus_of["A100"] = 16'000;
      else
        quota.guaranteed.milli_gpus = 16'000;
      quota.limit.milli_gpus = 40'000;
      cluster_.apply(ProjectChanged{quota});
    }
    ProjectQuota all{.name = "all"};
    all.limit.milli_cpus = 150'000;
    cluster_.apply(ProjectChanged{all});
    cluster_.apply(PoolChanged{{.pool = "local", .minimum_run = Duration::seconds(3)}});
  }

  // What events have brought forward is what counting all anew gives.
  void recount() {
    Cluster fresh;
    const Cluster::State& state = cluster_.state();
    for (const Node& node : state.cells.nodes()) fresh.apply(NodeChanged{node.info});
    for (size_t i = 0; i < state.quotas.size(); ++i)
      fresh.apply(ProjectChanged{state.quotas.at(static_cast<int32_t>(i)).quota});
    for (const auto& [id, running] : state.running) {
      const Start& start = starts_.at(id);
      fresh.apply(AttemptStarted{id, start.pool, jobs_.at(start.job_id), start.places, now_});
      if (running.stopping) fresh.apply(AttemptStopping{id});
    }
    ASSERT_EQ(dump(state), dump(fresh.state())) << "counters have gone astray";
  }

  void step() {
    now_ = now_ + Duration::seconds(1);
    switch (random_.below(12)) {
      case 0:
        return change_node();
      case 1:
      case 2:
      case 3:
      case 4:
        return submit();
      case 5:
        if (!queued_.empty()) {
          const std::string id = any(queued_);
          queued_.erase(id);
          cluster_.apply(JobGone{id});
        }
        return;
      case 6:
      case 7:
      case 8:
        if (!running_.empty()) end(any(running_));
        return;
      default:
        return make_plan();
    }
  }

  void check() {
    std::map<NodeKey, std::map<std::string, int64_t>> milli;
    for (const auto& [id, running] : cluster_.state().running) {
      ASSERT_TRUE(running_.contains(id)) << "an orphan";
      for (const Use& use : running.uses) {
        for (const std::string& gpu : use.gpus) milli[use.node][gpu] += use.milli;
      }
    }
    for (const auto& [node, gpus] : milli) {
      for (const auto& [gpu, used] : gpus) ASSERT_LE(used, kWholeGpu) << node.second << " " << gpu;
    }
    for (const Node& node : cluster_.state().cells.nodes()) {
      if (shrunk_.contains(node.key.second)) continue;
      ASSERT_GE(node.free_cpus, 0) << node.key.second;
      ASSERT_GE(node.free_memory, 0) << node.key.second;
    }
    const Quotas& quotas = cluster_.state().quotas;
    for (size_t i = 0; i < quotas.size(); ++i)
      ASSERT_FALSE(quotas.passed_limit(static_cast<int32_t>(i)));
  }

 private:
  NodeInfo node(int index) {
    NodeInfo node{.name = format("n{}", index), .pool = "local"};
    node.cpus = 16;
    node.memory_bytes = int64_t{64} << 30;
    node.rack = format("r{}", index / 4);
    node.spine = format("s{}", index / 8);
    for (int i = 0; i < (index % 3 == 0 ? 0 : 8); ++i) {
      node.gpus.push_back({.uuid = format("n{}g{}", index, i),
                           .model = index % 2 == 0 ? "A100" : "T4",
                           .index = i,
                           .memory_bytes = int64_t{40} << 30,
                           .numa = format("{}", i / 4),
                           .link = index == 5 ? "" : format("{}", i / 2)});
    }
    return node;
  }

  void change_node() {
    const int index = static_cast<int>(random_.below(12));
    NodeInfo info = node(index);
    info.cordoned = random_.below(4) == 0;
    info.ready = random_.below(6) != 0;
    if (!info.gpus.empty() && random_.below(3) == 0)
      info.gpus[random_.below(info.gpus.size())].healthy = false;
    if (random_.below(4) == 0) {
      info.closes_at = now_ + Duration::seconds(static_cast<double>(random_.below(60)) - 10);
      if (random_.below(2) == 0) info.kept_for = {"a"};
    }
    if (random_.below(6) == 0) {
      info.cpus = 4;
      shrunk_.insert(info.name);
    } else if (cluster_.state()
                   .cells.node(cluster_.state().cells.find({"local", info.name}))
                   .total_cpus == 16'000) {
      shrunk_.erase(info.name);
    }
    cluster_.apply(NodeChanged{info});
  }

  void submit() {
    QueuedJob job{.id = format("j{:06}", ++count_),
                  .project = std::string(1, "abc"[random_.below(3)])};
    job.name = job.id;
    job.priority = static_cast<int64_t>(random_.below(4)) * 25;
    job.queued_at = now_;
    job.opportunistic = random_.below(8) == 0;
    job.within = static_cast<Level>(random_.below(4));
    job.spread = random_.below(6) == 0;
    job.balanced = random_.below(4) == 0;
    job.expected = Duration::seconds(random_.below(2) == 0 ? 0 : random_.below(60));
    const auto tasks = 1 + random_.below(random_.below(3) == 0 ? 6 : 1);
    const auto gpus = static_cast<int64_t>(random_.below(5));
    for (uint64_t i = 0; i < tasks; ++i) {
      TaskNeed need{.role = "worker", .rank = static_cast<int64_t>(i)};
      need.milli_cpus = static_cast<int64_t>(random_.below(8)) * 500 + 50;
      need.memory_bytes = static_cast<int64_t>(random_.below(16)) << 30;
      if (random_.below(4) == 0)
        need.gpu_share_milli = 100 + static_cast<int64_t>(random_.below(9)) * 100;
      need.milli_gpus = gpus * need.gpu_share_milli;
      need.inside = static_cast<Inside>(random_.below(3));
      if (random_.below(3) == 0) need.gpu_model = {random_.below(2) == 0 ? "A100" : "T4"};
      job.tasks.push_back(need);
    }
    jobs_[job.id] = job;
    queued_.insert(job.id);
    cluster_.apply(JobQueued{job});
  }

  void end(const std::string& attempt) {
    cluster_.apply(AttemptEnded{attempt, now_});
    running_.erase(attempt);
    starts_.erase(attempt);
  }

  // Nobody begins where the node closes before it is to end.
  void check_closing(const Start& start) {
    const QueuedJob& job = jobs_.at(start.job_id);
    const Duration run = job.expected.micros > 0 ? job.expected : kUnknownRun;
    for (const Place& place : start.places) {
      const Cells& cells = cluster_.state().cells;
      const NodeInfo& info = cells.node(cells.find({start.pool, place.node})).info;
      if (info.closes_at.micros == 0 || (!info.kept_for.empty() && job.project == "a")) continue;
      ASSERT_LE(now_ + run, info.closes_at) << job.id << " on " << info.name;
    }
  }

  void make_plan() {
    const std::vector<int64_t> before = dump(cluster_.state());
    const Plan found = plan(cluster_, now_);
    ASSERT_EQ(before, dump(cluster_.state())) << "a plan leaves traces";
    for (const Start& start : found.starts) {
      ASSERT_EQ(start.places.size(), jobs_.at(start.job_id).tasks.size()) << "not whole";
      ASSERT_TRUE(queued_.erase(start.job_id) == 1) << "started twice";
      ASSERT_NO_FATAL_FAILURE(check_closing(start));
      const std::string attempt = format("{}-{}", start.job_id, ++count_);
      cluster_.apply(
          AttemptStarted{attempt, start.pool, jobs_.at(start.job_id), start.places, now_});
      running_.insert(attempt);
      starts_[attempt] = start;
    }
    ASSERT_NO_FATAL_FAILURE(check());
    for (const Eviction& eviction : found.evictions) {
      ASSERT_TRUE(running_.contains(eviction.attempt_id)) << "evicts what does not run";
      cluster_.apply(AttemptStopping{eviction.attempt_id});
    }
    for (const Hold& hold : found.holds) {
      if (hold.preempts) cluster_.apply(JobReserved{hold.job_id, hold.pool, hold.places});
    }
    for (const std::string& id : queued_)
      ASSERT_TRUE(found.reasons.contains(id)) << "waits without a reason: " << id;
  }

  std::string any(const std::set<std::string>& set) {
    return *std::next(set.begin(), static_cast<ptrdiff_t>(random_.below(set.size())));
  }

  SeededRandom random_;
  Cluster cluster_;
  Time now_{1'000'000'000};
  std::map<std::string, QueuedJob> jobs_;
  std::map<std::string, Start> starts_;  // of those that run
  std::set<std::string> queued_, running_, shrunk_;
  uint64_t count_ = 0;
};

int64_t number_of(const char* variable, int64_t otherwise) {
  if (const char* text = std::getenv(variable); text != nullptr)
    std::from_chars(text, text + std::strlen(text), otherwise);
  return otherwise;
}

TEST(Invariants, RandomEvents) {
  const int64_t events = number_of("HEARTH_SCHED_EVENTS", 2'400);
  const int64_t first = number_of("HEARTH_SCHED_SEED", 0);
  constexpr int64_t kOfOneWorld = 400, kRecountEvery = 50;
  for (int64_t seed = first; seed < first + events / kOfOneWorld; ++seed) {
    World world(static_cast<uint64_t>(seed));
    for (int64_t step = 1; step <= kOfOneWorld; ++step) {
      ASSERT_NO_FATAL_FAILURE(world.step()) << "seed " << seed << " step " << step;
      if (step % kRecountEvery == 0) {
        ASSERT_NO_FATAL_FAILURE(world.recount()) << "seed " << seed << " step " << step;
      }
    }
  }
}

// Gangs that come faster than they end: whoever is first starts as soon as it fits, all end.
// (kubernetes-sigs/scheduler-plugins 117, 114)
TEST(Plan, GangsDoNotDeadlock) {
  Cluster cluster;
  for (const char* name : {"n0", "n1"}) {
    NodeInfo node{.name = name, .pool = "local", .cpus = 64, .memory_bytes = int64_t{64} << 30};
    for (int i = 0; i < 8; ++i)
      node.gpus.push_back({.uuid = format("{}g{}", name, i), .model = "A100", .index = i});
    cluster.apply(NodeChanged{node});
  }
  std::map<std::string, QueuedJob> waiting;
  std::multimap<int64_t, std::string> ends;
  size_t ended = 0;
  for (int64_t second = 0; second < 4000 && ended < 60; ++second) {
    const Time now = Time{1'000'000'000} + Duration::seconds(static_cast<double>(second));
    for (auto at = ends.begin(); at != ends.end() && at->first <= second; at = ends.erase(at)) {
      cluster.apply(AttemptEnded{at->second, now});
      ++ended;
    }
    if (second % 15 == 0 && second / 15 < 60) {
      QueuedJob job{.id = format("g{:02}", second / 15), .queued_at = now};
      const int64_t tasks = 1 + (second / 15 * 5) % 8;
      for (int64_t i = 0; i < tasks; ++i)
        job.tasks.push_back({.role = "w", .rank = i, .milli_gpus = kWholeGpu});
      cluster.apply(JobQueued{job});
      waiting[job.id] = job;
    }
    const Plan found = plan(cluster, now);
    for (const Start& start : found.starts) {
      cluster.apply(
          AttemptStarted{start.job_id, start.pool, waiting.at(start.job_id), start.places, now});
      waiting.erase(start.job_id);
      ends.emplace(second + 30, start.job_id);
    }
  }
  EXPECT_EQ(ended, 60U);
}

}  // namespace
}  // namespace hearth::sched
