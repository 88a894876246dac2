#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "sched/state.h"

namespace hearth::sched {
namespace {

int64_t milli(double amount) {
  return std::llround(amount * 1000);
}

// The grants of a running attempt on the nodes as they are known now.
void find_grants(Cluster::State& state, Running& running) {
  running.grants.clear();
  for (const Use& use : running.uses) {
    const int32_t node = state.cells.find(use.node);
    if (node < 0) continue;
    running.grants.push_back(
        {node, use.cpus, use.memory, state.cells.mask_of(node, use.gpus), use.milli});
  }
}

void recount_all(Cluster::State& state) {
  state.all.assign(kModels + state.cells.models().size(), 0);
  for (const Node& node : state.cells.nodes()) {
    if (!node.open) continue;
    state.all[kCpus] += node.total_cpus;
    state.all[kMemory] += node.total_memory;
    state.all[kGpus] += count_bits(node.healthy) * kWholeGpu;
    for (const auto& [model, mask] : node.models)
      state.all[kModels + static_cast<size_t>(model)] +=
          count_bits(node.healthy & mask) * kWholeGpu;
  }
}

void leave_queue(Cluster::State& state, const std::string& job_id) {
  const auto key = state.queue_keys.find(job_id);
  if (key == state.queue_keys.end()) return;
  const auto queue = state.queues.find(key->second.first);
  queue->second.erase(key->second.second);
  if (queue->second.empty()) state.queues.erase(queue);
  state.queue_keys.erase(key);
}

struct Apply {
  Cluster::State& state;

  void operator()(const NodeChanged& event) const {
    const NodeKey key{event.node.pool, event.node.name};
    const int32_t known = state.cells.find(key);
    std::set<std::string> there;
    if (known >= 0) there = state.on_node[static_cast<size_t>(known)];
    // What runs there is taken anew, as its GPUs may have other places now.
    const size_t models = state.cells.models().size();
    const int32_t index = state.cells.set_node(event.node);
    state.on_node.resize(std::max(state.on_node.size(), static_cast<size_t>(index) + 1));
    for (const std::string& attempt : there) {
      Running& running = state.running.at(attempt);
      find_grants(state, running);
      for (const Grant& grant : running.grants) {
        if (grant.node == index) state.cells.take(grant);
      }
    }
    if (event.node.closes_at.micros != 0)
      state.closing.insert(index);
    else
      state.closing.erase(index);
    if (state.cells.models().size() != models) state.quotas.learn_models(state.cells.models());
    recount_all(state);
  }
  void operator()(const NodeGone& event) const {
    state.closing.erase(state.cells.find({event.pool, event.name}));
    state.cells.remove_node({event.pool, event.name});
    recount_all(state);
  }
  void operator()(const JobQueued& event) const {
    const QueuedJob& job = event.job;
    const bool known = state.queue_keys.contains(job.id);
    leave_queue(state, job.id);
    // What comes for the first time tells what will come.
    if (!event.draft && !known && !job.lost_place && job.served == 0) {
      for (const TaskNeed& task : job.tasks)
        state.worth.arrived(job.pool, need_of(task, state.cells.models()));
    }
    const int32_t project = state.quotas.project(job.project);
    const bool before_others = job.lost_place && !state.has_levels();
    const Time since = before_others ? job.queued_at - kLostPlace : job.queued_at;
    const int64_t standing = state.standing(job) - (job.opportunistic ? kOpportunisticStep : 0);
    QueueKey key{standing, since, job.id};
    Queued queued{.job = job, .shape = shape_of(job)};
    state.queues[project][key] = std::move(queued);
    state.queue_keys[job.id] = {project, std::move(key)};
  }
  void operator()(const JobGone& event) const {
    leave_queue(state, event.job_id);
    state.reserved.erase(event.job_id);
    state.said.erase(event.job_id);
  }
  void operator()(const OutlookChanged& event) const {
    const auto running = state.running.find(event.attempt_id);
    if (running != state.running.end()) {
      if (event.levels) running->second.levels = event.levels;
      if (event.like) running->second.like = event.like;
      if (event.expected.micros > 0) running->second.expected = event.expected;
    }
    const auto key = state.queue_keys.find(event.job_id);
    if (key == state.queue_keys.end()) return;
    auto& [project, at] = key->second;
    auto queued = state.queues[project].extract(at);
    QueuedJob& job = queued.mapped().job;
    at.priority -= state.standing(job);
    if (event.levels) job.levels = event.levels;
    if (event.like) job.like = event.like;
    if (event.expected.micros > 0) job.expected = event.expected;
    at.priority += state.standing(job);
    queued.key() = at;
    state.queues[project].insert(std::move(queued));
  }
  void operator()(const ErrorsLearnt& event) const {
    state.calibration = Calibration(event.errors.first);
    state.later_calibration = Calibration(event.errors.later);
  }
  void operator()(const AttemptProgressed& event) const {
    const auto running = state.running.find(event.attempt_id);
    if (running != state.running.end()) running->second.told_end = event.ends_at;
  }
  void operator()(const AttemptStarted& event) const {
    state.quotas.pass(event.at, state.all);
    leave_queue(state, event.job.id);
    state.reserved.erase(event.job.id);
    if (const auto said = state.said.find(event.job.id); said != state.said.end()) {
      const SaidOf& of = said->second;
      state.calibration.learn(of.first, event.at - of.first.at);
      if (of.later) state.later_calibration.learn(*of.later, event.at - of.later->at);
      state.said.erase(said);
    }
    const auto [at, fresh] = state.running.try_emplace(event.attempt_id);
    if (!fresh) return;  // told twice
    Running& running = at->second;
    running.id = event.attempt_id;
    running.job_id = event.job.id;
    running.pool = event.pool;
    running.shape = shape_of(event.job);
    running.project_name = event.job.project;
    running.project = event.job.opportunistic ? -1 : state.quotas.project(event.job.project);
    running.priority = event.job.priority;
    running.started_at = running.saved_at = event.at;
    running.queued_at = event.job.queued_at;
    running.expected = event.job.expected;
    running.like = event.job.like;
    running.levels = event.job.levels;
    running.served = event.job.served;
    running.ends_when_evicted = event.job.ends_when_evicted;
    for (const Place& place : event.places) running.uses.push_back(use_of(event, place));
    find_grants(state, running);
    for (const Grant& grant : running.grants)
      state.on_node[static_cast<size_t>(grant.node)].insert(event.attempt_id);
    running.amounts = amounts_of(state.cells, running.grants);
    state.account(running, +1);
  }
  void operator()(const AttemptEnded& event) const {
    const auto at = state.running.find(event.attempt_id);
    if (at == state.running.end()) return;
    state.quotas.pass(event.at, state.all);
    const Running& running = at->second;
    state.account(running, -1);
    for (const Grant& grant : running.grants)
      state.on_node[static_cast<size_t>(grant.node)].erase(event.attempt_id);
    state.stopping -= running.stopping;
    state.running.erase(at);
  }
  void operator()(const AttemptSaved& event) const {
    const auto at = state.running.find(event.attempt_id);
    if (at != state.running.end()) at->second.saved_at = event.at;
  }
  void operator()(const AttemptStopping& event) const {
    const auto at = state.running.find(event.attempt_id);
    if (at == state.running.end() || at->second.stopping) return;
    at->second.stopping = true;
    ++state.stopping;
  }
  void operator()(const JobReserved& event) const {
    if (state.queue_keys.contains(event.job_id)) state.reserved[event.job_id] = event;
  }
  void operator()(const ProjectChanged& event) const {
    state.quotas.set(event.quota, state.cells.models());
  }
  void operator()(const ProjectGone& event) const { state.quotas.remove(event.name); }
  void operator()(const PoolChanged& event) const {
    state.pools[event.policy.pool] = event.policy;
    ++state.pools_version;
    state.equalized.erase(event.policy.pool);
    if (event.policy.equalized) state.equalized.insert(event.policy.pool);
  }

  static Use use_of(const AttemptStarted& event, const Place& place) {
    Use use{.node = {event.pool, place.node}, .gpus = place.gpus};
    for (const TaskNeed& need : event.job.tasks) {
      if (need.role != place.role || need.rank != place.rank) continue;
      use.cpus = need.milli_cpus;
      use.memory = need.memory_bytes;
      use.milli = place.gpu_milli > 0 ? place.gpu_milli : need.gpu_share_milli;
    }
    return use;
  }
};

}  // namespace

std::string shape_of(const QueuedJob& job) {
  std::string shape = format("{} {} {} {} {};", job.pool, static_cast<int>(job.within), job.spread,
                             job.balanced, job.opportunistic);
  for (const TaskNeed& need : job.tasks) {
    shape += format("{} {} {} {} {} {} {};", need.milli_cpus, need.memory_bytes, need.milli_gpus,
                    need.gpu_share_milli, need.gpu_memory_bytes, word(need.inside),
                    join(need.gpu_model, "|"));
  }
  return shape;
}

namespace {

bool no_fault_of_its_own(FailureClass why) {
  return why == FailureClass::node || why == FailureClass::preemption || why == FailureClass::lost;
}

}  // namespace

QueuedJob queued_job(const Job& job) {
  QueuedJob queued{.id = job.id,
                   .name = job.name,
                   .project = job.project,
                   .owner = job.owner,
                   .priority = job.priority,
                   .queued_at = job.created_at,
                   .not_before = job.next_attempt_at,
                   .pool = job.spec.pool,
                   .within = job.spec.placement.within,
                   .spread = job.spec.placement.spread,
                   .balanced = job.spec.placement.balanced,
                   .opportunistic = job.spec.opportunistic,
                   .roles = !job.spec.roles.empty()};
  if (job.spec.time_limit) queued.time_limit = job.spec.time_limit->duration;
  const auto& tried_after = job.spec.retries.on;
  queued.ends_when_evicted = std::find(tried_after.begin(), tried_after.end(),
                                       FailureClass::preemption) == tried_after.end();
  queued.lost_place = job.failure && no_fault_of_its_own(job.failure->failure_class);
  int64_t rank = 0;
  double servers = 0, cpus = 0;
  for (const auto& [name, role] : roles_of(job.spec)) {
    const Resources& r = role.resources;
    servers += static_cast<double>(role.replicas * r.gpus) * r.gpu_share;
    cpus += static_cast<double>(role.replicas) * r.cpus;
    for (int64_t i = 0; i < role.replicas; ++i) {
      queued.tasks.push_back({.role = name,
                              .rank = rank++,
                              .milli_cpus = milli(r.cpus),
                              .memory_bytes = r.memory.bytes,
                              .milli_gpus = milli(static_cast<double>(r.gpus) * r.gpu_share),
                              .gpu_model = r.gpu_model,
                              .gpu_share_milli = milli(r.gpu_share),
                              .gpu_memory_bytes = r.gpu_memory ? r.gpu_memory->bytes : 0,
                              .inside = job.spec.placement.inside});
    }
  }
  for (const Phase& phase : job.phases)
    if (phase.name == "running") queued.served += phase.seconds * (servers > 0 ? servers : cpus);
  return queued;
}

Duration has_run(const Job& job, Time now) {
  double ran = 0;
  for (const Phase& phase : job.phases) {
    if (phase.name == "queued") continue;
    const bool open = phase.seconds == 0 && !finished(job.state);
    ran += open ? std::max(0.0, (now - phase.started_at).seconds()) : phase.seconds;
  }
  return Duration::seconds(ran);
}

Amounts amounts_of(const Ask& ask) {
  Amounts amounts = {ask.cpus, ask.memory, ask.milli_gpus};
  if (ask.any_gpu() && count_bits(ask.models) == 1) {
    amounts.resize(kModels + static_cast<size_t>(__builtin_ctzll(ask.models)) + 1);
    amounts.back() = ask.milli_gpus;
  }
  return amounts;
}

Amounts amounts_of(const Cells& cells, const std::vector<Grant>& grants) {
  Amounts amounts(kModels + cells.models().size());
  for (const Grant& grant : grants) {
    amounts[kCpus] += grant.cpus;
    amounts[kMemory] += grant.memory;
    amounts[kGpus] += count_bits(grant.gpus) * grant.milli;
    for (const auto& [model, mask] : cells.node(grant.node).models)
      amounts[kModels + static_cast<size_t>(model)] += count_bits(grant.gpus & mask) * grant.milli;
  }
  return amounts;
}

void Cluster::State::account(const std::vector<Grant>& grants, int32_t project,
                             const Amounts& amounts, int sign) {
  for (const Grant& grant : grants) sign > 0 ? cells.take(grant) : cells.give(grant);
  quotas.charge(project, amounts, sign);
}

std::optional<Time> Running::expected_end(Time now) const {
  if (told_end > now) return told_end;
  if (expected.micros <= 0) return std::nullopt;
  return sched::expected_end(started_at, expected, now);
}

Time expected_end(Time started_at, Duration expected, Time now) {
  const Time end = started_at + expected;
  return end > now ? end : now + (now - started_at);
}

const Ask& Cluster::State::ask(Queued& queued) const {
  const std::pair<uint64_t, uint64_t> known{cells.models().size() + 1, pools_version};
  if (queued.asked_of != known) {
    queued.ask = ask(queued.job);
    queued.amounts = amounts_of(queued.ask);
    queued.asked_of = known;
  }
  return queued.ask;
}

Ask Cluster::State::ask(const QueuedJob& job) const {
  Ask made = ask_of(job, cells.models());
  for (const auto& [name, policy] : pools) {
    if (policy.by_name_only) made.not_in.insert(name);
  }
  return made;
}

const std::vector<char>* Cluster::State::open_to(const QueuedJob& job, Time now) {
  if (closing.empty()) return nullptr;
  if (open_to_at_ != now || open_to_version_ != cells.topology_version()) {
    open_to_.clear();
    open_to_at_ = now;
    open_to_version_ = cells.topology_version();
  }
  const Duration run = job.expected.micros > 0 ? job.expected : kUnknownRun;
  auto [at, fresh] = open_to_.try_emplace({job.project, run.micros / 1'000'000});
  if (fresh) {
    at->second.assign(cells.nodes().size(), 1);
    for (const int32_t index : closing) {
      const NodeInfo& info = cells.node(index).info;
      const bool opened = info.opens_at.micros != 0 && info.opens_at <= now;
      const bool may = opened || kept_for(info, job.project) || now + run <= info.closes_at;
      at->second[static_cast<size_t>(index)] = may ? 1 : 0;
    }
  }
  return &at->second;
}

const PoolPolicy& Cluster::State::policy(const std::string& pool) const {
  static const PoolPolicy none;
  const auto at = pools.find(pool);
  return at == pools.end() ? none : at->second;
}

namespace {

int64_t level_of(const std::vector<double>& levels, double served) {
  return std::upper_bound(levels.begin(), levels.end(), served) - levels.begin();
}

double servers(const Running& running) {
  const int64_t gpus = amount(running.amounts, kGpus);
  return static_cast<double>(gpus > 0 ? gpus : amount(running.amounts, kCpus)) / 1000;
}

// The step of its outlook at which it stands.
const ServiceLevel* step_after(const std::vector<ServiceLevel>& levels, double served) {
  return std::upper_bound(levels.data(), levels.data() + levels.size(), served,
                          [](double had, const ServiceLevel& one) { return had < one.from; });
}

template <typename Job>
int64_t level_of(const PoolPolicy& policy, const Job& job, double served) {
  if (!policy.by_outlook) return level_of(policy.service_levels, served);
  if (!job.levels || job.levels->empty()) return rank_level(served);
  const ServiceLevel* const after = step_after(*job.levels, served);
  return (after == job.levels->data() ? *after : *std::prev(after)).level;
}

}  // namespace

int64_t rank_level(double gpu_seconds) {
  return std::lround(kLevelsPerOctave * std::log2(std::max(1.0, gpu_seconds)));
}

double servers_of(const QueuedJob& job) {
  int64_t gpus = 0, cpus = 0;
  for (const TaskNeed& need : job.tasks) {
    gpus += need.milli_gpus;
    cpus += need.milli_cpus;
  }
  return static_cast<double>(gpus > 0 ? gpus : cpus) / 1000;
}

int64_t Cluster::State::standing(const QueuedJob& job) const {
  for (const auto& [name, policy] : pools) {
    if (!has_levels(policy) || (!job.pool.empty() && job.pool != name)) continue;
    return job.priority - kLevelStep * level_of(policy, job, job.served);
  }
  return job.priority;
}

int64_t Cluster::State::standing(const Running& running, Time now) const {
  const PoolPolicy& here = policy(running.pool);
  if (!has_levels(here)) return running.priority;
  const double had = running.served + servers(running) * (now - running.started_at).seconds();
  const int64_t level = level_of(here, running, had);
  const auto worth_it = static_cast<int64_t>(here.by_outlook ? kLevelsPerOctave : 0);
  return running.priority - kLevelStep * std::max<int64_t>(0, level - worth_it);
}

Time Cluster::State::next_level(const Running& running, Time now) const {
  const PoolPolicy& here = policy(running.pool);
  const double rate = servers(running);
  if (!has_levels(here) || rate <= 0) return {};
  const double had = running.served + rate * (now - running.started_at).seconds();
  double next = 0;
  if (!here.by_outlook) {
    const auto at = std::upper_bound(here.service_levels.begin(), here.service_levels.end(), had);
    if (at == here.service_levels.end()) return {};
    next = *at;
  } else if (running.levels) {
    const ServiceLevel* const after = step_after(*running.levels, had);
    if (after == running.levels->data() + running.levels->size()) return {};
    next = after->from;
  } else {
    next = std::max(1.0, 2 * had);
  }
  return now + Duration{static_cast<int64_t>((next - had) / rate * 1e6) + 1};
}

Cells& Cluster::State::idle() {
  if (!idle_ || idle_version_ != cells.topology_version()) {
    idle_ = std::make_unique<Cells>(cells.idle(false));
    idle_version_ = cells.topology_version();
  }
  return *idle_;
}

Cells& Cluster::State::idle_in_service() {
  if (!idle_in_service_ || idle_in_service_version_ != cells.topology_version()) {
    idle_in_service_ = std::make_unique<Cells>(cells.idle(true));
    idle_in_service_version_ = cells.topology_version();
  }
  return *idle_in_service_;
}

Cluster::Cluster() : state_(std::make_unique<State>()) {}
Cluster::~Cluster() = default;
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;

void Cluster::apply(const ClusterEvent& event) {
  std::visit(Apply{*state_}, event);
  state_->cells.settle();
  state_->quotas.settle();
}

std::vector<NodeInfo> Cluster::nodes() const {
  std::map<NodeKey, const Node*> found;
  for (const Node& node : state_->cells.nodes()) {
    if (node.present) found[node.key] = &node;
  }
  std::vector<NodeInfo> nodes;
  for (const auto& [key, node] : found) nodes.push_back(node->info);
  return nodes;
}

const QueuedJob* Cluster::waiting(const std::string& job_id) const {
  const auto key = state_->queue_keys.find(job_id);
  if (key == state_->queue_keys.end()) return nullptr;
  const auto& [project, at] = key->second;
  return &state_->queues.at(project).at(at).job;
}

LearntErrors Cluster::errors() const {
  return {state_->calibration.errors(), state_->later_calibration.errors()};
}

std::map<std::string, ProjectUse> Cluster::use() const {
  std::map<std::string, ProjectUse> found;
  for (size_t i = 0; i < state_->quotas.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    const Project& project = state_->quotas.at(index);
    ProjectUse& use = found[project.name];
    use.milli_cpus = amount(project.used, kCpus);
    use.memory_bytes = amount(project.used, kMemory);
    use.milli_gpus = amount(project.used, kGpus);
    use.share = state_->quotas.share(index, state_->all);
    for (size_t m = 0; m < state_->cells.models().size(); ++m) {
      const int64_t milli = amount(project.used, kModels + m);
      if (milli > 0) use.milli_gpus_of[state_->cells.models()[m]] = milli;
    }
  }
  return found;
}

}  // namespace hearth::sched
