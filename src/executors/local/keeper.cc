// The thread that waits on shims: what becomes of a task after its shim has ended.
#include <algorithm>

#include <poll.h>
#include <unistd.h>

#include "base/format.h"
#include "base/log.h"
#include "executors/local/local_executor.h"
#include "os/files.h"
#include "os/tree.h"

namespace hearth::executors {
namespace {

constexpr Duration kLongestPoll = Duration::seconds(5);

std::string how(const std::optional<os::Exit>& exit) {
  return exit ? exit->text() : std::string("an end that nobody saw");
}

}  // namespace

void LocalExecutor::keep() {
  for (;;) {
    events_.deliver();
    wait_for_news();
    std::vector<os::TreeQuery> kills;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      look_at_ends_locked();
      start_due_drains_locked();
      kills = due_kills_locked();
    }
    for (const os::TreeQuery& query : kills) {
      const auto killed = os::kill_tree(query, {.first_signal = 0, .deadline = kKillDeadline});
      if (!killed.ok()) log_warning("{}: {}", query.marker, killed.error().text());
    }
    check_health();
  }
}

// Until a shim or drain ends, somebody calls wake(), or something is due.
void LocalExecutor::wait_for_news() {
  std::vector<pollfd> waiting{{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  Duration pause;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, task] : tasks_) {
      if (task.phase != Phase::shim && task.phase != Phase::draining) continue;
      waiting.push_back({.fd = task.pidfd(), .events = POLLIN, .revents = 0});
    }
    pause = std::clamp(next_due_locked() - clock_.steady(), Duration{0}, kLongestPoll);
  }
  const auto millis = static_cast<int>((pause.micros + 999) / 1000);
  if (::poll(waiting.data(), waiting.size(), millis) <= 0) return;
  uint64_t count = 0;
  if (waiting.front().revents != 0) (void)!::read(wake_.get(), &count, sizeof count);
}

Time LocalExecutor::next_due_locked() const {
  Time next = next_health_;
  size_t draining = 0;
  for (const auto& [id, task] : tasks_) draining += task.phase == Phase::draining;
  for (const auto& [id, task] : tasks_) {
    if (task.phase == Phase::drain_due && draining < kMostDrains) next = std::min(next, task.due);
    if (task.phase == Phase::shim && task.kill_at) next = std::min(next, *task.kill_at);
  }
  return next;
}

void LocalExecutor::look_at_ends_locked() {
  for (auto& [id, task] : tasks_) {
    if (task.phase == Phase::shim || task.phase == Phase::draining) look_at_end_locked(task);
  }
}

void LocalExecutor::look_at_end_locked(Tracked& task) {
  std::optional<os::Exit> exit;
  if (task.child) {
    const auto ended = task.child->wait(Duration{0});
    if (ended.ok() && !*ended) return;  // it runs
    if (ended.ok()) exit = **ended;
  } else if (task.found && task.found->alive()) {
    return;
  }
  const Phase phase = task.phase;
  task.child.reset();
  task.found.reset();
  task.kill_at.reset();
  if (phase == Phase::shim) {
    after_shim_locked(task, exit);
  } else {
    after_drain_locked(task, exit);
  }
}

void LocalExecutor::after_shim_locked(Tracked& task, const std::optional<os::Exit>& exit) {
  if (exit && exit->success()) return finish_locked(task);
  log_info("task {}: its shim ended with {}; its spool is drained", task.folder.task_id, how(exit));
  task.phase = Phase::drain_due;
  task.due = clock_.steady();
}

void LocalExecutor::after_drain_locked(Tracked& task, const std::optional<os::Exit>& exit) {
  if (exit && exit->success()) return finish_locked(task);
  // Perhaps the shim is alive after all: it had not taken its lock yet when we looked.
  if (auto shim = holder(task.folder)) {
    task.found = std::move(shim);
    task.phase = Phase::shim;
    return;
  }
  retry_drain_locked(task, "the drain ended with " + how(exit));
}

void LocalExecutor::retry_drain_locked(Tracked& task, const std::string& why) {
  const bool gone = !os::status(task.folder.path).ok();
  if (gone || ++task.drains >= kDrainTries) {
    task.phase = Phase::lost;
    report_locked(task, TaskEvent::Kind::lost,
                  gone ? format("its directory {} is gone", task.folder.path)
                       : format("what it had not sent yet cannot be read: {} (see {})", why,
                                task.folder.log()));
    return;
  }
  log_warning("task {}: {}; tried again", task.folder.task_id, why);
  task.phase = Phase::drain_due;
  const int64_t factor = int64_t{1} << (task.drains - 1);
  task.due = clock_.steady() + Duration{options_.drain_pause.micros * factor};
}

void LocalExecutor::finish_locked(Tracked& task) {
  // For a later server: nothing is left to drain. Without it the drain is run again, in vain.
  const auto marked = os::write_file_atomic(task.folder.drained(), "", 0600, os::Sync::no);
  if (!marked.ok()) log_warning("task {}: {}", task.folder.task_id, marked.error().text());
  task.phase = Phase::ended;
  report_locked(task, TaskEvent::Kind::ended);
}

void LocalExecutor::start_due_drains_locked() {
  const Time now = clock_.steady();
  size_t running = 0;
  for (const auto& [id, task] : tasks_) running += task.phase == Phase::draining;
  for (auto& [id, task] : tasks_) {
    if (running >= kMostDrains) return;
    if (task.phase != Phase::drain_due || task.due > now) continue;
    auto child = spawn_shim(task.folder, Way::drain);
    if (!child.ok()) {
      retry_drain_locked(task, child.error().detail);
      continue;
    }
    task.child = std::move(child).value();
    task.phase = Phase::draining;
    ++running;
  }
}

std::vector<os::TreeQuery> LocalExecutor::due_kills_locked() {
  std::vector<os::TreeQuery> kills;
  const Time now = clock_.steady();
  for (auto& [id, task] : tasks_) {
    if (task.phase != Phase::shim || !task.kill_at || *task.kill_at > now) continue;
    kills.push_back(tree_of(task));
    task.kill_at = now + kKillDeadline;  // once more, should it survive
  }
  return kills;
}

void LocalExecutor::check_health() {
  std::vector<hw::GpuDevice> known;
  {
    const std::lock_guard lock(mutex_);
    if (clock_.steady() < next_health_) return;
    next_health_ = clock_.steady() + options_.health_every;
    known = topology_.gpus;
  }
  if (gpus_ == nullptr || !options_.lent.empty()) return;
  auto list = gpus_->list();
  // One that does not answer has lost its names: those known so far stay, so that it is seen as a
  // sick GPU and not as another one.
  for (hw::GpuDevice& gpu : list) {
    const auto before = std::find_if(known.begin(), known.end(),
                                     [&](const auto& one) { return one.index == gpu.index; });
    if (gpu.fault.empty() || before == known.end()) continue;
    hw::GpuDevice named = *before;
    named.fault = gpu.fault;
    gpu = std::move(named);
  }
  if (list == known) return;
  hw::Topology fresh;
  if (list.size() != known.size()) {  // the driver has lost or found some: look at all anew
    if (auto topology = hw::topology(gpus_.get(), "")) fresh = std::move(*topology);
  }
  const std::lock_guard lock(mutex_);
  if (list.size() == known.size()) {
    topology_.gpus = std::move(list);
  } else {
    topology_ = std::move(fresh);
  }
  events_.push(NodeEvent{node()});
}

void LocalExecutor::report_locked(const Tracked& task, TaskEvent::Kind kind, std::string text) {
  events_.push(TaskEvent{.kind = kind,
                         .attempt_id = task.folder.attempt_id,
                         .task_id = task.folder.task_id,
                         .epoch = task.folder.epoch,
                         .text = std::move(text)});
}

}  // namespace hearth::executors
