// Runs testdata/*.txt. A file is a list of lines:
//
//   case NAME                      a fresh cluster
//   node NAME cpus N memory SIZE [gpus N model M numa N switch N] [links 0-2,1-3] [pool P] [rack R]
//       [spine S] [down] [cordoned] [ill I] [closes SECOND [kept P|Q]]
//                                  GPUs g0.. in N NUMA nodes of N switches each, or with these
//                                  linked; ill: GPU I is sick
//   project NAME [parent P] [weight W] [gpus G L] [cpus G L] [model M G L]
//                                  guaranteed, limit; -: none
//   pool NAME [equalized] [by_name] [stays] [minimum_run S] [levels S,S]
//                                  stays: nothing is evicted there
//   gone NODE                      that node
//   job NAME [cpus N] [memory SIZE] [gpus N] [model A|B] [share S] [tasks N] [priority P]
//       [at SECOND] [not_before SECOND] [project P] [within LEVEL] [inside CELL]
//       [expected SECONDS] [served S] [spread] [balanced] [opportunistic] [lost_place]
//       [once]                     once: it would not be tried again after an eviction
//   fill NODE COUNT NAME [as job]  runs there since second 0, as NAME-NODE-0, ...: 1 CPU, 1 GPU
//                                  each unless said; GPUs in their order
//   end NAME [SECOND]              the attempt of that job
//   saved NAME SECOND              a checkpoint of it
//   plan SECOND                    plans, then carries its starts out; the lines after it that
//                                  begin with > must be the plan:
//   > start JOB NODE[:GPUS]...     a place per task
//   > evict JOB for JOB|node_closes   it is asked to stop, what it frees is kept for the other
//   > hold JOB NODE...
//   > wait JOB CODE [NUMBER=VALUE]... [closed=NODE] [with FIELD=VALUE[@PROJECT]]...   all numbers
//                                                                                   and changes
//   why JOB SECOND                 then > why CODE NUMBERS CHANGES
//   > wake SECOND
//   > ... *                        a line that begins so; > * alone: whatever else it says
//   never JOBLINE                  then > never CODE NUMBERS, or > fits
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/units.h"
#include "sched/scheduler.h"

namespace hearth::sched {
namespace {

using Words = std::vector<std::string>;
constexpr int64_t kWhole = 1000;  // milli-GPU

Words words_of(const std::string& line) {
  std::stringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string value_of(const Words& words, const std::string& key, const std::string& other) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == key) return words[i + 1];
  }
  return other;
}
bool has(const Words& words, const std::string& key) {
  return std::find(words.begin(), words.end(), key) != words.end();
}
double number(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
int64_t size(const std::string& text) {
  return parse_size(text).value_or(0);
}

// "0-2,1-3": GPUs that are linked make a cell.
void link_gpus(NodeInfo& node, const std::string& links) {
  for (const auto pair : split(links, ',')) {
    for (const auto index : split(pair, '-'))
      node.gpus.at(static_cast<size_t>(number(std::string(index)))).link = std::string(pair);
  }
}

Time at_second(const std::string& text) {
  return {static_cast<int64_t>(number(text) * 1e6)};
}

NodeInfo node_from(const Words& words) {
  NodeInfo node;
  node.name = words.at(1);
  node.pool = value_of(words, "pool", "local");
  node.cpus = number(value_of(words, "cpus", "8"));
  node.memory_bytes = size(value_of(words, "memory", "64GiB"));
  node.ready = !has(words, "down");
  node.cordoned = has(words, "cordoned");
  node.rack = value_of(words, "rack", "");
  node.spine = value_of(words, "spine", "");
  node.closes_at = at_second(value_of(words, "closes", "0"));
  const std::string kept = value_of(words, "kept", "");
  for (const auto project : split(kept, '|')) {
    if (!project.empty()) node.kept_for.emplace_back(project);
  }
  const auto gpus = static_cast<int64_t>(number(value_of(words, "gpus", "0")));
  const auto numa = static_cast<int64_t>(number(value_of(words, "numa", "1")));
  const auto switches = static_cast<int64_t>(number(value_of(words, "switch", "1")));
  const std::string ill = value_of(words, "ill", "");
  for (int64_t i = 0; i < gpus; ++i) {
    Gpu gpu;
    gpu.index = i;
    gpu.uuid = format("g{}", i);
    gpu.model = value_of(words, "model", "A100");
    gpu.memory_bytes = size(value_of(words, "gpu_memory", "80GiB"));
    gpu.numa = format("numa{}", i * numa / gpus);
    if (switches > 1) gpu.link = format("switch{}", i * numa * switches / gpus);
    gpu.healthy = format("{}", i) != ill;
    node.gpus.push_back(gpu);
  }
  if (has(words, "links")) link_gpus(node, value_of(words, "links", ""));
  return node;
}

std::optional<int64_t> amount_of(const std::string& text, double unit) {
  if (text == "-") return std::nullopt;
  return std::llround(number(text) * unit);
}

ProjectQuota project_from(const Words& words) {
  ProjectQuota quota{.name = words.at(1), .parent = value_of(words, "parent", "")};
  quota.weight = number(value_of(words, "weight", "1"));
  for (size_t i = 2; i + 2 < words.size(); ++i) {
    if (words[i] == "gpus") {
      quota.guaranteed.milli_gpus = amount_of(words[i + 1], 1000);
      quota.limit.milli_gpus = amount_of(words[i + 2], 1000);
    } else if (words[i] == "cpus") {
      quota.guaranteed.milli_cpus = amount_of(words[i + 1], 1000);
      quota.limit.milli_cpus = amount_of(words[i + 2], 1000);
    } else if (words[i] == "model") {
      if (auto milli = amount_of(words.at(i + 2), 1000))
        quota.guaranteed.milli_gpus_of[words[i + 1]] = *milli;
      if (auto milli = amount_of(words.at(i + 3), 1000))
        quota.limit.milli_gpus_of[words[i + 1]] = *milli;
    }
  }
  return quota;
}

Level level_from(const std::string& word) {
  return word == "node"    ? Level::node
         : word == "rack"  ? Level::rack
         : word == "spine" ? Level::spine
                           : Level::any;
}

QueuedJob job_from(const Words& words) {
  QueuedJob job;
  job.id = job.name = words.at(1);
  job.priority = static_cast<int64_t>(number(value_of(words, "priority", "50")));
  job.queued_at = at_second(value_of(words, "at", "0"));
  job.not_before = at_second(value_of(words, "not_before", "0"));
  job.project = value_of(words, "project", "default");
  job.pool = value_of(words, "pool", "");
  job.within = level_from(value_of(words, "within", ""));
  job.spread = has(words, "spread");
  job.balanced = has(words, "balanced");
  job.opportunistic = has(words, "opportunistic");
  job.lost_place = has(words, "lost_place");
  job.ends_when_evicted = has(words, "once");
  job.expected = Duration::seconds(number(value_of(words, "expected", "0")));
  job.served = number(value_of(words, "served", "0"));
  const auto tasks = static_cast<int64_t>(number(value_of(words, "tasks", "1")));
  for (int64_t i = 0; i < tasks; ++i) {
    TaskNeed need{.role = "worker", .rank = i};
    need.milli_cpus = std::llround(number(value_of(words, "cpus", "1")) * 1000);
    need.memory_bytes = size(value_of(words, "memory", "1GiB"));
    need.gpu_share_milli = std::llround(number(value_of(words, "share", "1")) * 1000);
    need.milli_gpus = std::llround(number(value_of(words, "gpus", "0"))) * need.gpu_share_milli;
    need.gpu_memory_bytes = size(value_of(words, "gpu_memory", "0B"));
    const std::string inside = value_of(words, "inside", "");
    need.inside = inside == "numa" ? Inside::numa : inside == "link" ? Inside::link : Inside::any;
    const std::string models = value_of(words, "model", "");
    for (const auto model : split(models, '|')) {
      if (!model.empty()) need.gpu_model.emplace_back(model);
    }
    job.tasks.push_back(need);
  }
  return job;
}

std::string numbers_of(const Reason& reason) {
  std::string text;
  for (const auto& [name, value] : reason.numbers) {
    const bool bytes = value >= 1 << 20;
    text += bytes ? format(" {}={}MiB", name, static_cast<int64_t>(value) >> 20)
                  : format(" {}={:g}", name, value);
  }
  return text;
}

std::string changes_of(const Reason& reason) {
  std::string text;
  for (const Change& change : reason.changes)
    text += format(" with {}={}{}", change.field, change.value,
                   change.project.empty() ? "" : "@" + change.project);
  return text;
}

std::string closed_of(const Reason& reason) {
  const auto node = reason.names.find("closed");
  return node == reason.names.end() ? "" : " closed=" + node->second;
}

class Case {
 public:
  // What the line says back: lines of the plan, or none.
  std::vector<std::string> run(const Words& words) {
    if (words[0] == "node") {
      node_[words.at(1)] = node_from(words);
      cluster_.apply(NodeChanged{node_from(words)});
    } else if (words[0] == "gone") {
      cluster_.apply(NodeGone{"local", words.at(1)});
    } else if (words[0] == "job") {
      jobs_[words.at(1)] = job_from(words);
      cluster_.apply(JobQueued{jobs_[words.at(1)]});
    } else if (words[0] == "fill") {
      fill(words);
    } else if (words[0] == "end") {
      cluster_.apply(AttemptEnded{words.at(1), at_second(words.size() > 2 ? words[2] : "0")});
    } else if (words[0] == "saved") {
      cluster_.apply(AttemptSaved{words.at(1), at_second(words.at(2))});
    } else if (words[0] == "project") {
      cluster_.apply(ProjectChanged{project_from(words)});
    } else if (words[0] == "pool") {
      PoolPolicy policy{.pool = words.at(1)};
      policy.equalized = has(words, "equalized");
      policy.by_name_only = has(words, "by_name");
      policy.preempts = !has(words, "stays");
      const std::string levels = value_of(words, "levels", "");
      for (const auto level : split(levels, ',')) {
        if (!level.empty()) policy.service_levels.push_back(number(std::string(level)));
      }
      policy.minimum_run = Duration::seconds(number(value_of(words, "minimum_run", "60")));
      cluster_.apply(PoolChanged{policy});
    } else if (words[0] == "cancel") {
      cluster_.apply(JobGone{words.at(1)});
    } else if (words[0] == "plan") {
      return show_plan(at_second(words.at(1)));
    } else if (words[0] == "why") {
      const Reason reason = why(cluster_, words.at(1), at_second(words.at(2)));
      return {"why " + reason.code + numbers_of(reason) + changes_of(reason)};
    } else if (words[0] == "never") {
      const auto reason = never_fits(cluster_, job_from(words));
      return {reason ? "never " + reason->code + numbers_of(*reason) : "fits"};
    } else {
      ADD_FAILURE() << "unknown word " << words[0];
    }
    return {};
  }

 private:
  void fill(Words words) {
    const std::string node = words.at(1), name = words.at(3);
    const bool has_gpus = !node_.at(node).gpus.empty();
    if (has_gpus && !has(words, "gpus")) words.insert(words.end(), {"gpus", "1"});
    for (int i = 0; i < number(words.at(2)); ++i) {
      QueuedJob job = job_from(words);
      job.id = job.name = format("{}-{}-{}", name, node, i);
      Place place{.role = "worker", .rank = 0, .node = node};
      const int64_t count = job.tasks[0].milli_gpus / kWhole;
      for (const Gpu& gpu : node_.at(node).gpus) {
        if (static_cast<int64_t>(place.gpus.size()) == count) break;
        if (used_[node].insert(gpu.uuid).second) place.gpus.push_back(gpu.uuid);
      }
      jobs_[job.id] = job;
      cluster_.apply(AttemptStarted{job.id, "local", job, {place}, {}});
    }
  }

  std::vector<std::string> show_plan(Time now) {
    const Plan found = plan(cluster_, now);
    const Plan again = plan(cluster_, now);
    EXPECT_EQ(found.starts.size(), again.starts.size()) << "the same input, another plan";
    std::vector<std::string> lines;
    for (const Start& start : found.starts) {
      std::string line = "start " + start.job_id;
      for (const Place& place : start.places) {
        line += " " + place.node;
        if (!place.gpus.empty()) line += format(":{}", join(place.gpus, ","));
        if (place.gpu_milli != kWhole) line += format("@{}", place.gpu_milli);
      }
      lines.push_back(line);
      cluster_.apply(
          AttemptStarted{start.job_id, start.pool, jobs_[start.job_id], start.places, now});
    }
    for (const Eviction& eviction : found.evictions) {
      lines.push_back(format("evict {} for {}", eviction.attempt_id,
                             eviction.job_id.empty() ? eviction.reason.code : eviction.job_id));
      cluster_.apply(AttemptStopping{eviction.attempt_id});
    }
    for (const Hold& hold : found.holds) {
      std::string line = "hold " + hold.job_id;
      for (const Place& place : hold.places) line += " " + place.node;
      lines.push_back(line);
      if (hold.preempts) cluster_.apply(JobReserved{hold.job_id, hold.pool, hold.places});
    }
    for (auto [job, reason] : found.reasons) {
      lines.push_back("wait " + job + " " + reason.code + numbers_of(reason) + closed_of(reason) +
                      changes_of(reason));
      explain(reason);
      EXPECT_FALSE(reason.text.empty()) << reason.code;
      EXPECT_FALSE(reason.mend.empty()) << reason.code;
    }
    if (found.wake_at.micros != 0) lines.push_back(format("wake {:g}", found.wake_at.seconds()));
    return lines;
  }

  Cluster cluster_;
  std::map<std::string, QueuedJob> jobs_;
  std::map<std::string, NodeInfo> node_;
  std::map<std::string, std::set<std::string>> used_;  // by fill, of each node
};

void run_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  Case one;
  std::string name;
  std::vector<std::string> said;
  size_t next = 0;
  int line_number = 0;
  const auto all_told = [&] {
    for (; next < said.size(); ++next) {
      ADD_FAILURE() << path.filename() << ":" << line_number << " " << name << ": also > "
                    << said[next];
    }
  };
  for (std::string line; std::getline(in, line);) {
    ++line_number;
    const Words words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    if (words[0] == ">") {
      const std::string expected = format("{}", join(words.begin() + 1, words.end(), " "));
      const std::string found = next < said.size() ? said[next] : "nothing";
      if (expected == "*") {
        next = said.size();
      } else if (expected.ends_with(" *")) {
        EXPECT_EQ(found.substr(0, expected.size() - 1), expected.substr(0, expected.size() - 1))
            << path.filename() << ":" << line_number << " " << name;
        ++next;
      } else {
        EXPECT_EQ(found, expected) << path.filename() << ":" << line_number << " " << name;
        ++next;
      }
      continue;
    }
    all_told();
    if (words[0] == "case") {
      one = Case();
      name = words.at(1);
      said.clear();
    } else {
      said = one.run(words);
    }
    next = 0;
  }
  all_told();
}

TEST(Plan, Cases) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEARTH_SCHED_TESTDATA)) {
    if (entry.path().extension() != ".txt") continue;
    run_file(entry.path());
    ++files;
  }
  EXPECT_GE(files, 3U);
}

TEST(QueuedJob, TasksOfAllRoles) {
  Job job;
  job.id = "01J";
  job.name = "a-1";
  job.priority = 70;
  job.created_at = {5};
  job.next_attempt_at = {9};
  job.spec.roles["ps"] = {.replicas = 1, .resources = {.cpus = 0.05}};
  job.spec.roles["worker"] = {.replicas = 2,
                              .resources = {.cpus = 4, .gpus = 2, .gpu_model = {"H100"}}};
  const QueuedJob queued = queued_job(job);
  EXPECT_EQ(queued.priority, 70);
  EXPECT_EQ(queued.queued_at.micros, 5);
  EXPECT_EQ(queued.not_before.micros, 9);
  ASSERT_EQ(queued.tasks.size(), 3U);
  EXPECT_EQ(queued.tasks[0].role, "ps");
  EXPECT_EQ(queued.tasks[0].milli_cpus, 50);
  EXPECT_EQ(queued.tasks[2].rank, 2);
  EXPECT_EQ(queued.tasks[2].milli_gpus, 2000);
  EXPECT_EQ(queued.tasks[2].gpu_model, std::vector<std::string>{"H100"});
}

TEST(Explain, NamesWhatIsClosedThoughItHasRoom) {
  Reason reason{"gpus_short",
                {{"needed", 2}, {"free", 0}, {"total", 4}, {"tasks", 1}, {"ahead", 0}},
                "",
                "",
                {{"closed", "gpu-1"}, {"why_closed", "drained by ann: a fan"}}};
  explain(reason);
  EXPECT_EQ(reason.text,
            "needs 2 GPUs, none is free on the node that comes nearest (it has 4 GPUs); node gpu-1 "
            "has room, but is closed to it (drained by ann: a fan); first in the queue");
  EXPECT_EQ(reason.mend, "wait until a running job ends, or until node gpu-1 is open again");
  Reason pool{"no_pool", {}, "", "", {{"pool", "nope"}}};
  explain(pool);
  EXPECT_EQ(pool.text, "no node is in the pool nope");
}

TEST(Explain, TellsWhenItIsExpectedToStartAndHowSureThatIs) {
  Reason reason{"preempting", {{"victims", 2}, {"ahead", 1}, {"starts_in_seconds", 720}}, "", ""};
  explain(reason);
  const std::string text =
      "starts when 2 jobs that had to make room have ended; 1 job before it in "
      "the queue, expected to start in 12 m 00 s";
  EXPECT_EQ(reason.text, text);  // what the plan itself says has no interval
  reason.numbers["starts_from_seconds"] = 300;
  reason.numbers["starts_to_seconds"] = 2400;
  reason.numbers["starts_learnt_from"] = kFewStarts - 1;
  explain(reason);
  EXPECT_EQ(reason.text, text + " (roughly between 5 m 00 s and 40 m 00 s)");
  reason.numbers["starts_learnt_from"] = kFewStarts;
  explain(reason);
  EXPECT_EQ(reason.text, text + " (8 of 10 times between 5 m 00 s and 40 m 00 s)");
  reason.numbers["starts_to_seconds"] = 300;
  explain(reason);
  EXPECT_EQ(reason.text, text);
}

TEST(Explain, NamesTheSmallestChange) {
  Reason reason{"cpus_short",
                {{"needed", 4}, {"free", 1.5}, {"total", 8}, {"tasks", 1}, {"ahead", 2}},
                "",
                ""};
  reason.changes = {{"resources.cpus", "1.5", ""}, {"limit.A100", "12", "vision"}};
  explain(reason);
  EXPECT_EQ(
      reason.text,
      "needs 4 CPUs, 1.5 CPUs are free on the node that comes nearest (it has 8 CPUs); 2 jobs "
      "before it in the queue");
  EXPECT_EQ(reason.mend,
            "with cpus: 1.5 it would start now, or with the limit of project vision raised to 12 "
            "GPUs of A100; else wait until a running job ends");
  reason.changes = {{"roles.worker.replicas", "3", ""}};
  explain(reason);
  EXPECT_EQ(reason.mend,
            "with replicas: 3 in role worker it would start now; else wait until a running job "
            "ends");
  Reason never{"never_fits", {{"resource", 2}, {"needed", 8LL << 30}, {"most", 4LL << 30}}, "", ""};
  explain(never);
  EXPECT_EQ(never.text, "needs 8 GiB, the largest node has 4 GiB");
  EXPECT_EQ(never.mend, "ask for memory: 4GiB at most, or add a larger node");
  Reason cell{
      "never_fits", {{"resource", 3}, {"needed", 8}, {"most", 4}}, "", "", {{"cell", "NUMA node"}}};
  explain(cell);
  EXPECT_EQ(cell.text, "needs 8 GPUs of one NUMA node, the largest one has 4 GPUs");
  EXPECT_EQ(cell.mend, "ask for gpus: 4 at most, or leave out placement.inside");
}

TEST(Explain, NamesAPoolThatHasTheModel) {
  Cluster cluster;
  cluster.apply(PoolChanged{{.pool = "serving", .by_name_only = true}});
  cluster.apply(NodeChanged{
      node_from({"node", "s", "cpus", "64", "gpus", "8", "model", "A100", "pool", "serving"})});
  const auto says = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"job", "x", "gpus", "2"});
    auto reason = never_fits(cluster, job_from(words));
    if (!reason) return std::string("fits");
    explain(*reason);
    return reason->text + ": " + reason->mend;
  };
  EXPECT_EQ(says({}), "no GPU is where it may run; pool serving has such: ask for pool: serving");
  cluster.apply(NodeChanged{
      node_from({"node", "t", "cpus", "64", "gpus", "4", "model", "H100", "pool", "training"})});
  EXPECT_EQ(says({"model", "A100"}),
            "none of the 4 GPUs where it may run is of a model that it names, or has the memory; "
            "pool serving has such: ask for pool: serving, or for another gpu_model or less "
            "gpu_memory: H100 (80 GiB)");
  EXPECT_EQ(says({"model", "A100", "pool", "serving"}), "fits");
  EXPECT_EQ(says({"model", "L4"}),
            "none of the 4 GPUs here is of a model that it names, or has the memory: name another "
            "gpu_model or less gpu_memory: H100 (80 GiB)");
}

TEST(Explain, NamesWhatAGangMustHaveTogether) {
  Cluster cluster;
  cluster.apply(NodeChanged{node_from({"node", "a", "cpus", "64", "gpus", "4", "model", "A100"})});
  cluster.apply(NodeChanged{node_from({"node", "b", "cpus", "64", "gpus", "8", "model", "H100"})});
  auto reason = never_fits(cluster, job_from({"job", "x", "gpus", "4", "tasks", "3"}));
  ASSERT_TRUE(reason);
  explain(*reason);
  EXPECT_EQ(reason->text,
            "needs 3 tasks at once on GPUs of one model, at most 2 fit here even when nothing else "
            "runs");
  EXPECT_EQ(reason->mend, "ask for 2 tasks or for less per task");
}

TEST(Explain, NamesANodeThatWouldDo) {
  Reason reason{"node_down", {{"nodes", 3}, {"down", 2}}, "", ""};
  explain(reason);
  EXPECT_EQ(reason.text,
            "2 of 3 nodes are out of service, in whole or a GPU of it, and the rest is too small "
            "or of another kind");
  reason.names = {{"closed", "gpu-2"}, {"why_closed", "cordoned"}};
  explain(reason);
  EXPECT_EQ(reason.text,
            "node gpu-2 would do for it, but takes no new job (cordoned); 2 of 3 nodes are out of "
            "service");
  EXPECT_EQ(reason.mend, "wait until node gpu-2 is open again (`hearth node list`)");
}

// A queue of thousands must not make a plan slow: equal jobs are looked at once.
TEST(Plan, LongQueueIsCheap) {
  Cluster cluster;
  cluster.apply(NodeChanged{node_from({"node", "n", "cpus", "2"})});
  for (int i = 0; i < 5000; ++i) {
    auto job = job_from({"job", format("j{:05}", i), "cpus", "1", "at", format("{}", i)});
    cluster.apply(JobQueued{std::move(job)});
  }
  const std::clock_t start = std::clock();  // of this process: others' work does not count
  const Plan found = plan(cluster, {});
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(found.starts.size(), 2U);
  EXPECT_EQ(found.reasons.size(), 4998U);
  EXPECT_EQ(found.reasons.at("j04999").numbers.at("ahead"), 4997);
  EXPECT_LT(took, 5.0);  // 10 ms on an idle machine without sanitizers
}

}  // namespace
}  // namespace hearth::sched
