// What is named as the smallest change starts the job, and the next smaller one does not: on random
// clusters and queues, by whole plans. HEARTH_SCHED_WORLDS says how many (default 2,000).
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/units.h"
#include "sched/change.h"
#include "sched/state.h"

namespace hearth::sched {
namespace {

constexpr std::array<const char*, 3> kModelNames = {"A100", "T4", "V100"};

double number(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class World {
 public:
  explicit World(uint64_t seed) : random_(seed) {
    const auto nodes = 1 + random_.below(5);
    for (uint64_t i = 0; i < nodes; ++i) cluster_.apply(NodeChanged{node(i)});
    if (random_.below(2) == 0) add_projects();
    PoolPolicy policy{.pool = "local", .preempts = random_.below(3) != 0};
    policy.equalized = random_.below(4) != 0;  // without values, so that a world costs less
    if (random_.below(5) == 0) policy.service_levels = {100, 5000};
    cluster_.apply(PoolChanged{policy});
    fill();
    for (uint64_t i = 1 + random_.below(4); i > 0; --i) submit();
  }

  // Every change that a plan, or `why`, names.
  void check(std::map<std::string, int64_t>& seen) {
    const Plan found = plan(cluster_, now_);
    for (const auto& [id, reason] : found.reasons) {
      ASSERT_NO_FATAL_FAILURE(check(id, reason, "plan", seen));
      if (random_.below(12) == 0)
        ASSERT_NO_FATAL_FAILURE(check(id, why(cluster_, id, now_), "why", seen));
    }
  }

 private:
  void check(const std::string& id, const Reason& reason, const std::string& by,
             std::map<std::string, int64_t>& seen) {
    ++seen[by + " " + reason.code];
    for (const Change& change : reason.changes) {
      const std::string what = format("{}: {} {} {} of {} ({})", by, id, change.field, change.value,
                                      change.project, reason.code);
      const std::string kind = change.field.substr(change.field.rfind('.') + 1);
      ++seen[by + (change.project.empty() ? " change " : " limit ") + kind];
      ASSERT_TRUE(starts(id, change)) << what << told_;
      for (const Change& smaller : next_smaller(id, change))
        ASSERT_FALSE(starts(id, smaller)) << what << ", but also with " << smaller.value;
    }
  }

  std::vector<Change> next_smaller(const std::string& id, const Change& change) {
    const auto with = [&](const std::string& value) {
      return std::vector<Change>{{change.field, value, change.project}};
    };
    const double value = number(change.value);
    const auto thousandths = [](double milli) { return format("{:.12g}", milli / 1000); };
    const std::string kind = change.field.substr(change.field.rfind('.') + 1);
    if (!change.project.empty()) return with(thousandths(std::round(value * 1000) - 1));
    if (kind == "gpus" || kind == "replicas") return with(format("{}", value + 1));
    if (kind == "cpus") return with(thousandths(value * 1000 + kCpuStep));
    if (kind == "gpu_share") return with(thousandths(value * 1000 + kShareStep));
    if (kind == "memory" || kind == "gpu_memory")
      return with(format("{}MiB", static_cast<int64_t>(value) + 1));
    if (kind == "inside" && change.value == "any" &&
        jobs_.at(id).tasks.front().inside == Inside::link)
      return with("numa");
    if (kind != "within") return {};
    std::vector<Change> smaller;
    for (const char* level : {"any", "spine", "rack"}) {
      const Change other{"placement.within", level, ""};
      const Level mine = changed(jobs_.at(id), change).within;
      const Level theirs = changed(jobs_.at(id), other).within;
      if (theirs > mine && theirs < jobs_.at(id).within) smaller.push_back(other);
    }
    return smaller;
  }

  bool starts(const std::string& id, const Change& change) {
    const auto quota = quotas_.find(change.project);
    if (quota != quotas_.end()) {
      ProjectQuota raised = quota->second;
      const auto milli = std::llround(number(change.value) * 1000);
      if (change.field == "limit.cpus") {
        raised.limit.milli_cpus = milli;
      } else if (change.field == "limit.gpus") {
        raised.limit.milli_gpus = milli;
      } else {
        raised.limit.milli_gpus_of[change.field.substr(6)] = milli;
      }
      cluster_.apply(ProjectChanged{raised});
    } else {
      cluster_.apply(JobQueued{changed(jobs_.at(id), change), true});
    }
    const Plan found = plan(cluster_, now_, {.reasons = false});
    if (quota != quotas_.end())
      cluster_.apply(ProjectChanged{quota->second});
    else
      cluster_.apply(JobQueued{jobs_.at(id), true});
    told_ = "\nthen starts";
    for (const Start& start : found.starts) told_ += " " + start.job_id;
    for (const Eviction& eviction : found.evictions)
      told_ += format("\n{} makes room for {}", eviction.attempt_id, eviction.job_id);
    return std::any_of(found.starts.begin(), found.starts.end(),
                       [&](const Start& start) { return start.job_id == id; });
  }

  NodeInfo node(uint64_t index) {
    NodeInfo node{.name = format("n{}", index), .pool = "local"};
    node.cpus = 4.0 + static_cast<double>(random_.below(3)) * 6;
    node.memory_bytes = int64_t{8} << (30 + random_.below(3));
    node.rack = format("r{}", index / 2);
    node.spine = format("s{}", index / 4);
    node.cordoned = random_.below(12) == 0;
    const bool cells = random_.below(2) == 0;
    const auto gpus = random_.below(5) == 0 ? 0 : 2 + random_.below(7);
    const auto model = random_.below(3);
    for (uint64_t i = 0; i < gpus; ++i) {
      Gpu gpu{.uuid = format("n{}g{}", index, i), .index = static_cast<int64_t>(i)};
      // Some nodes have GPUs of two models, as those with MIG instances do.
      gpu.model = kModelNames[index == 3 ? (model + i % 2) % 3 : model];
      gpu.memory_bytes = int64_t{16} << (30 + model);
      gpu.healthy = random_.below(20) != 0;
      if (cells) gpu.numa = format("{}", i / 4);
      if (cells) gpu.link = format("{}", i / 2);
      node.gpus.push_back(gpu);
    }
    return node;
  }

  void add_projects() {
    const auto some = [&](uint64_t chance, uint64_t most, int64_t unit) -> std::optional<int64_t> {
      if (random_.below(chance) != 0) return std::nullopt;
      return static_cast<int64_t>(2 + random_.below(most)) * unit;
    };
    for (const char* name : {"all", "a", "b"}) {
      ProjectQuota quota{.name = name, .parent = name == std::string("all") ? "" : "all"};
      quota.guaranteed.milli_gpus = some(3, 5, 1000);
      quota.limit.milli_gpus = some(2, 12, 1000);
      quota.limit.milli_cpus = some(3, 20, 1000);
      if (const auto milli = some(3, 5, 1000)) quota.limit.milli_gpus_of["A100"] = *milli;
      quotas_[name] = quota;
      cluster_.apply(ProjectChanged{quota});
    }
  }

  QueuedJob job() {
    QueuedJob job{.id = format("j{:03}", ++count_), .project = random_.below(2) == 0 ? "a" : "b"};
    job.name = job.id;
    job.priority = static_cast<int64_t>(random_.below(3)) * 25;
    job.queued_at = now_ - Duration::seconds(static_cast<double>(random_.below(400)));
    job.opportunistic = random_.below(8) == 0;
    job.within = random_.below(2) == 0 ? static_cast<Level>(random_.below(4)) : Level::any;
    job.spread = random_.below(4) == 0;
    job.balanced = random_.below(8) == 0;
    job.roles = random_.below(2) == 0;
    job.expected = Duration::seconds(static_cast<double>(random_.below(2) * random_.below(600)));
    const auto roles = 1 + (random_.below(6) == 0 ? 1U : 0U);
    for (uint64_t role = 0; role < roles; ++role) {
      TaskNeed need{.role = role == 0 ? "worker" : "server"};
      need.milli_cpus = 250 + static_cast<int64_t>(random_.below(8)) * 750;
      need.memory_bytes = static_cast<int64_t>(random_.below(8)) << 30;
      if (random_.below(5) == 0)
        need.gpu_share_milli = 100 + static_cast<int64_t>(random_.below(8)) * 100;
      need.milli_gpus = static_cast<int64_t>(random_.below(5)) * need.gpu_share_milli;
      need.inside = random_.below(2) == 0 ? static_cast<Inside>(random_.below(3)) : Inside::any;
      if (random_.below(5) == 0) need.gpu_model = {kModelNames[random_.below(3)]};
      if (random_.below(6) == 0) need.gpu_memory_bytes = int64_t{20} << 30;
      for (uint64_t i = random_.below(3) == 0 ? 1 + random_.below(5) : 1; i > 0; --i) {
        need.rank = static_cast<int64_t>(job.tasks.size());
        job.tasks.push_back(need);
      }
    }
    return job;
  }

  // Until the next one does not fit.
  void fill() {
    for (uint64_t i = random_.below(20); i > 0; --i) {
      const QueuedJob one = job();
      cluster_.apply(JobQueued{one});
      const Plan found = plan(cluster_, now_, {.reasons = false, .only_starts = true});
      if (found.starts.empty()) {
        cluster_.apply(JobGone{one.id});
        continue;
      }
      const Start& start = found.starts.front();
      const Time at = now_ - Duration::seconds(static_cast<double>(random_.below(300)));
      cluster_.apply(AttemptStarted{one.id, start.pool, one, start.places, at});
    }
  }

  void submit() {
    QueuedJob one = job();
    for (int i = 0; i < 8 && never_fits(cluster_, one); ++i) one = job();
    jobs_[one.id] = one;
    cluster_.apply(JobQueued{one});
  }

  SeededRandom random_;
  Cluster cluster_;
  const Time now_{1'000'000'000};
  std::map<std::string, QueuedJob> jobs_;
  std::map<std::string, ProjectQuota> quotas_;
  uint64_t count_ = 0;
  std::string told_;  // of the last trial
};

TEST(Reasons, TheSmallestChangeStartsItAndTheNextSmallerDoesNot) {
  int64_t worlds = 2'000;
  if (const char* wanted = std::getenv("HEARTH_SCHED_WORLDS"); wanted != nullptr)
    std::from_chars(wanted, wanted + std::strlen(wanted), worlds);
  std::map<std::string, int64_t> seen;
  for (int64_t i = 0; i < worlds; ++i) {
    World world(static_cast<uint64_t>(i));
    ASSERT_NO_FATAL_FAILURE(world.check(seen)) << "seed " << i;
  }
  std::string text;
  for (const auto& [what, count] : seen) text += format("\n{:8} {}", count, what);
  for (const char* kind : {"gpus", "replicas", "cpus", "memory", "gpu_model", "gpu_share", "inside",
                           "within", "spread"})
    EXPECT_GT(seen[format("plan change {}", kind)], worlds / 1000) << kind << text;
  EXPECT_GT(seen["plan limit gpus"], worlds / 200) << text;
  EXPECT_GT(seen["why limit gpus"], worlds / 2000) << text;
  if (std::getenv("HEARTH_SCHED_WORLDS") != nullptr) std::printf("%s\n", text.c_str());
}

}  // namespace
}  // namespace hearth::sched
