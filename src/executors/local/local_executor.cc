#include "executors/local/local_executor.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>
#include <set>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/format.h"
#include "base/log.h"
#include "executors/local/ports.h"
#include "executors/local/shim_group.h"
#include "executors/local/stale_groups.h"
#include "hw/machine.h"
#include "hw/node.h"
#include "os/cgroup.h"
#include "os/files.h"
#include "os/system.h"

namespace hearth::executors {

LocalExecutor::LocalExecutor(LocalOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

Result<std::unique_ptr<LocalExecutor>> LocalExecutor::open(LocalOptions options, Clock& clock) {
  if (options.node_name.empty()) options.node_name = os::hostname();
  if (options.environment.empty()) options.environment = os::current_environment();
  std::unique_ptr<LocalExecutor> executor(new LocalExecutor(std::move(options), clock));
  TRY(executor->prepare());
  return executor;
}

Result<void> LocalExecutor::prepare() {
  // With task uids the tasks pass through it; nobody lists it.
  TRY(os::make_directories(options_.work_directory, 0711));
  wake_ = os::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return Error::from_errno("eventfd", errno);
  if (options_.leave_unit) shim_groups_ = shim_groups(hw::Root());
  if (const auto made = make_shim_groups(); !made.ok()) {
    log_warning("shims stay in the server's unit: {}", made.error().text());
    shim_groups_.clear();
  }
  groups_ = os::detect_cgroups({.parent = options_.cgroup_parent});
  remove_stale_groups(groups_);
  machine_.cpus = hw::cpus(hw::Root());
  machine_.memory = hw::memory(hw::Root());
  auto gpus = hw::Gpus::open(options_.nvml);
  if (gpus) gpus_ = *gpus;
  auto topology = hw::topology(gpus_.get(), gpus.why());
  if (topology) topology_ = std::move(*topology);
  next_health_ = clock_.steady() + options_.health_every;
  for (const std::string& name : TRY(leftovers(options_.work_directory))) {
    std::string left = name;
    if (!leftovers_.try_push(left)) break;  // the next start takes the rest
  }
  keeper_ = std::thread([this] { keep(); });
  cleaner_ = std::thread([this] { clean(); });
  if (moves_wait()) mover_ = std::thread([this] { expect_moves(); });
  return {};
}

LocalExecutor::~LocalExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  leftovers_.close();
  moves_.close();
  wake();
  if (keeper_.joinable()) keeper_.join();
  if (cleaner_.joinable()) cleaner_.join();
  if (mover_.joinable()) mover_.join();
  remove_groups();
}

Result<void> LocalExecutor::make_shim_groups() const {
  for (const std::string& group : shim_groups_) TRY(os::make_directories(group));
  return {};
}

// While tasks run their groups stay. A shim whose task has ended is about to go too.
void LocalExecutor::remove_groups() {
  const Time end = clock_.steady() + kEndingWait;
  for (const auto& [id, task] : tasks_) {
    if (task.pidfd() < 0 || !os::exists(task.folder.exit())) continue;
    const Duration left = std::clamp(end - clock_.steady(), Duration{0}, kEndingWait);
    pollfd waiting{.fd = task.pidfd(), .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, static_cast<int>(left.micros / 1000));
  }
  remove_stale_groups(groups_);
  os::remove_parents(groups_);
  for (const std::string& group : shim_groups_) ::rmdir(group.c_str());
}

void LocalExecutor::wake() const {
  const uint64_t one = 1;
  if (wake_) (void)!::write(wake_.get(), &one, sizeof one);
}

Result<os::Process> LocalExecutor::spawn_shim(const TaskFolder& folder, Way way) const {
  const auto log = TRY(os::File::open_append(folder.log(), 0600));
  os::SpawnOptions options;
  options.program = options_.program;
  options.argv = options_.shim;
  if (way == Way::drain) options.argv.emplace_back("--drain");
  options.argv.push_back(folder.path);
  options.environment = options_.environment;
  options.working_directory = folder.path;
  options.standard_out = os::Stdio::from(log.fd());
  options.standard_error = os::Stdio::from(log.fd());
  for (const std::string& group : shim_groups_)
    options.enter_groups.push_back(os::group_entry(group));
  auto child = os::spawn(options);
  // Another server of this user removes the group at its end when nobody is in it.
  for (int tries = 1; !child.ok() && !shim_groups_.empty() && tries < kGroupTries; ++tries) {
    TRY(make_shim_groups());
    child = os::spawn(options);
  }
  return child;
}

os::TreeQuery LocalExecutor::tree_of(const Tracked& task) const {
  os::TreeQuery query;
  if (task.child) query.roots.push_back({task.child->pid(), task.child->start_time()});
  if (task.found) query.roots.push_back({task.found->pid(), task.found->start_time()});
  query.marker = task.folder.marker();
  return query;
}

// All or none: when one cannot be started, those that were are ended.
Result<std::vector<LocalExecutor::Tracked>> LocalExecutor::spawn_all(
    const std::vector<TaskFolder>& folders) {
  std::vector<Tracked> started;
  for (const TaskFolder& folder : folders) {
    auto child = spawn_shim(folder, Way::run);
    if (child.ok()) {
      started.push_back({.folder = folder, .child = std::move(child).value()});
      continue;
    }
    for (Tracked& task : started) {
      ignore(os::kill_tree(tree_of(task), {.first_signal = 0, .deadline = kKillDeadline}));
      ignore(task.child->wait(kKillDeadline));
    }
    return Error::unavailable("the shim cannot be started: " + child.error().detail,
                              child.error().mend);
  }
  return started;
}

// The topology file may be another one than when the attempt was placed, or gone.
Result<void> LocalExecutor::check_nodes(const Launch& launch) const {
  std::set<std::string> known{""};  // "": any
  for (const NodeInfo& node : options_.lent) known.insert(node.name);
  if (options_.lent.empty()) known.insert(options_.node_name);
  for (const std::string& name : launch.nodes)
    if (!known.contains(name))
      return Error::unavailable(format("node {} is not here any more", name),
                                "a node of a topology file is there while its file is given");
  return {};
}

Result<Launch> LocalExecutor::with_ports(const Launch& launch) const {
  std::set<int64_t> held;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, task] : tasks_)
      if (!task.over() && task.folder.first_port != 0) held.insert(task.folder.first_port);
  }
  Launch whole = launch;
  TRY(allot_ports(whole.tasks, std::hash<std::string>{}(launch.attempt_id), held));
  return whole;
}

// While the job is being planned and its shim gets ready, so that its process need not wait.
void LocalExecutor::expect_start() {
  std::monostate soon;
  moves_.try_push(soon);
}

Result<void> LocalExecutor::start(const Launch& launch) {
  const std::lock_guard one_at_a_time(start_mutex_);
  const auto there = TRY(read_attempt(options_.work_directory, launch.attempt_id));
  if (!there.empty()) {
    if (there.front().epoch == launch.epoch) {  // started already
      const std::lock_guard lock(mutex_);
      for (const TaskFolder& folder : there) adopt(folder);
      return {};
    }
    return Error::conflict(
        format("attempt {} is here with epoch {}", launch.attempt_id, there.front().epoch),
        "stop and forget it first");
  }
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() + launch.tasks.size() > kMostTasks) {
      return Error::unavailable(format("this machine runs {} tasks already", tasks_.size()));
    }
  }
  TRY(check_nodes(launch));
  expect_start();
  const auto folders = TRY(write_attempt(options_.work_directory, TRY(with_ports(launch))));
  auto started = spawn_all(folders);
  if (!started.ok()) {
    ignore(os::remove_tree(options_.work_directory + "/" + launch.attempt_id));
    return std::move(started).error();
  }
  {
    const std::lock_guard lock(mutex_);
    for (Tracked& task : *started) {
      report_locked(task, TaskEvent::Kind::started);
      tasks_[task.folder.task_id] = std::move(task);
    }
  }
  wake();
  return {};
}

LocalExecutor::Tracked& LocalExecutor::adopt(const TaskFolder& folder) {
  const auto [at, fresh] = tasks_.try_emplace(folder.task_id);
  Tracked& task = at->second;
  if (!fresh) return task;
  task.folder = folder;
  task.found = holder(folder);
  if (task.found) return task;
  task.phase = os::status(folder.drained()).ok() ? Phase::ended : Phase::drain_due;
  task.due = clock_.steady();
  return task;
}

Result<std::vector<Found>> LocalExecutor::recover() {
  std::vector<Found> found;
  const auto folders = TRY(read_attempts(options_.work_directory));
  {
    const std::lock_guard lock(mutex_);
    for (const TaskFolder& folder : folders) {
      const Tracked& task = adopt(folder);
      found.push_back({.attempt_id = folder.attempt_id,
                       .task_id = folder.task_id,
                       .epoch = folder.epoch,
                       .alive = task.phase == Phase::shim,
                       .drained = task.phase == Phase::ended});
    }
  }
  wake();
  return found;
}

Result<void> LocalExecutor::stop(const std::string& attempt_id, Duration grace) {
  {
    const std::lock_guard lock(mutex_);
    const Time kill_at = clock_.steady() + grace;
    for (auto& [id, task] : tasks_) {
      if (task.folder.attempt_id != attempt_id || task.phase != Phase::shim) continue;
      if (!task.kill_at || kill_at < *task.kill_at) task.kill_at = kill_at;
      const auto asked = task.child   ? task.child->send_signal(SIGTERM)
                         : task.found ? task.found->send_signal(SIGTERM)
                                      : Result<void>{};
      if (!asked.ok()) log_warning("task {}: {}", id, asked.error().text());
    }
  }
  wake();
  return {};
}

Result<void> LocalExecutor::forget(const std::string& attempt_id) {
  const std::string folder = options_.work_directory + "/" + attempt_id;
  std::string left = leftover_name(attempt_id);
  {
    const std::lock_guard lock(mutex_);
    for (const TaskFolder& task : TRY(read_attempt(options_.work_directory, attempt_id))) {
      if (!adopt(task).over()) {
        return Error::conflict(format("task {} has not ended, or is not drained", task.task_id));
      }
    }
    std::erase_if(tasks_, [&](const auto& one) {
      return one.second.folder.attempt_id == attempt_id && one.second.over();
    });
    const auto moved = os::rename_file(folder, options_.work_directory + "/" + left);
    if (!moved.ok() && moved.error().code == Code::not_found) return {};
    TRY(moved);
  }
  if (leftovers_.try_push(left)) return {};
  return os::remove_tree(options_.work_directory + "/" + left);
}

void LocalExecutor::clean() {
  while (const auto name = leftovers_.pop()) {
    const auto removed = os::remove_tree(options_.work_directory + "/" + *name);
    if (!removed.ok()) log_warning("{} is left behind: {}", *name, removed.error().text());
  }
}

// Whether shims or tasks enter a group of version 2.
bool LocalExecutor::moves_wait() const {
  return groups_.version == os::CgroupVersion::v2 ||
         std::any_of(shim_groups_.begin(), shim_groups_.end(), [](const std::string& group) {
           return os::group_entry(group).ends_with("/cgroup.procs");
         });
}

void LocalExecutor::expect_moves() {
  while (moves_.pop()) {
    if (const auto done = os::expect_move(); !done.ok()) {
      log_debug("tasks may wait for their control groups: {}", done.error().text());
      return;
    }
  }
}

void LocalExecutor::watch(Watcher* watcher) {
  events_.watch(watcher);
  if (watcher == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    for (NodeInfo& one : nodes()) events_.push(NodeEvent{std::move(one)});
  }
  wake();
}

NodeInfo LocalExecutor::node() const {
  NodeInfo node = hw::node_info(options_.node_name, machine_, topology_);
  node.pool = options_.pool;
  node.cpus = std::max(0.0, node.cpus - options_.reserved_cpus);
  node.memory_bytes = std::max<int64_t>(0, node.memory_bytes - options_.reserved_memory);
  return node;
}

Result<std::vector<NodeInfo>> LocalExecutor::topology() {
  const std::lock_guard lock(mutex_);
  return nodes();
}

std::vector<NodeInfo> LocalExecutor::nodes() const {
  if (!options_.lent.empty()) return options_.lent;
  return {node()};
}

Capabilities LocalExecutor::capabilities() {
  return {.gangs = true,
          .limits = !groups_.memory                            ? "watched"
                    : groups_.version == os::CgroupVersion::v1 ? "cgroup v1"
                                                               : "cgroup v2"};
}

}  // namespace hearth::executors
