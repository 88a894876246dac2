#include "executors/mock/mock_executor.h"

#include <algorithm>

#include "base/format.h"
#include "base/id.h"

namespace hearth::executors {
namespace {

constexpr Duration kLongestSleep = Duration::seconds(1);
constexpr std::string_view kTopic = "mock";

MockTask script_of(const TaskSpec& spec) {
  const auto text = spec.env.find("MOCK_TASK");
  if (text == spec.env.end()) return {};
  const auto parsed = parse_mock_task(text->second);
  if (parsed.ok()) return *parsed;
  return {.start_error = parsed.error().detail};
}

NodeInfo node_of(const MockOptions& options, int64_t number) {
  NodeInfo node;
  node.name = format("mock-{}", number);
  node.pool = options.pool;
  node.cpus = options.cpus;
  node.memory_bytes = options.memory;
  for (int64_t i = 0; i < options.gpus; ++i) {
    Gpu gpu;
    gpu.uuid = format("GPU-mock-{}-{}", number, i);
    gpu.model = options.gpu_model;
    gpu.index = i;
    gpu.memory_bytes = int64_t{80} << 30;
    gpu.numa = format("numa{}", i * 2 / options.gpus);
    gpu.link = format("nvlink{}", i / 2);
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

}  // namespace

MockExecutor::MockExecutor(MockOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock) {
  for (int64_t i = 0; i < options_.nodes; ++i) nodes_.push_back(node_of(options_, i));
  if (options_.own_thread) thread_ = std::thread([this] { loop(); });
}

MockExecutor::~MockExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  signals_.notify(kTopic);
  if (thread_.joinable()) thread_.join();
}

void MockExecutor::loop() {
  for (;;) {
    const uint64_t version = signals_.version(kTopic);
    run_due();
    const Time next = next_due();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    Duration sleep = kLongestSleep;
    if (next.micros != 0) sleep = std::clamp(next - clock_.steady(), Duration{0}, kLongestSleep);
    signals_.wait_for(kTopic, version, sleep.micros);
  }
}

Result<void> MockExecutor::start(const Launch& launch) {
  const std::lock_guard lock(mutex_);
  if (launch.tasks.empty()) return Error::invalid("the attempt has no task");
  for (const auto& [id, task] : tasks_) {
    if (task.spec.attempt_id != launch.attempt_id) continue;
    if (task.spec.epoch == launch.epoch) return {};  // started already
    return Error::conflict(
        format("attempt {} is here with epoch {}", launch.attempt_id, task.spec.epoch),
        "stop and forget it first");
  }
  if (tasks_.size() + launch.tasks.size() > kMostTasks) {
    return Error::unavailable(format("the mock runs {} tasks already", tasks_.size()));
  }
  std::vector<MockTask> scripts;
  for (const TaskSpec& spec : launch.tasks) {
    if (!is_id(spec.task_id)) return Error::invalid("a task's id is no id");
    scripts.push_back(options_.script ? options_.script(spec) : script_of(spec));
    if (!scripts.back().start_error.empty()) return Error::unavailable(scripts.back().start_error);
  }
  for (size_t i = 0; i < launch.tasks.size(); ++i) {
    Tracked task{.spec = launch.tasks[i], .script = scripts[i], .due = clock_.steady()};
    task.spec.attempt_id = launch.attempt_id;
    task.spec.epoch = launch.epoch;
    if (i < launch.nodes.size()) task.node = launch.nodes[i];
    report_locked(task, TaskEvent::Kind::started);
    tasks_[task.spec.task_id] = std::move(task);
  }
  signals_.notify(kTopic);
  return {};
}

Result<void> MockExecutor::stop(const std::string& attempt_id, Duration grace) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, task] : tasks_) {
      if (task.spec.attempt_id != attempt_id || task.step == Step::over) continue;
      task.stopped = true;
      task.step = Step::end;
      task.due = task.script.ignores_stop ? clock_.steady() + grace : clock_.steady();
    }
  }
  signals_.notify(kTopic);
  return {};
}

Result<std::vector<Found>> MockExecutor::recover() {
  const std::lock_guard lock(mutex_);
  std::vector<Found> found;
  for (const auto& [id, task] : tasks_) {
    const bool over = task.step == Step::over;
    found.push_back({.attempt_id = task.spec.attempt_id,
                     .task_id = id,
                     .epoch = task.spec.epoch,
                     .alive = !over,
                     .drained = over && !task.lost});
  }
  return found;
}

Result<void> MockExecutor::forget(const std::string& attempt_id) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, task] : tasks_) {
    if (task.spec.attempt_id == attempt_id && task.step != Step::over) {
      return Error::conflict(format("task {} has not ended", id));
    }
  }
  std::erase_if(tasks_, [&](const auto& one) { return one.second.spec.attempt_id == attempt_id; });
  return {};
}

void MockExecutor::watch(Watcher* watcher) {
  events_.watch(watcher);
  if (watcher == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    for (const NodeInfo& node : nodes_) events_.push(NodeEvent{node});
  }
  signals_.notify(kTopic);
}

Result<std::vector<NodeInfo>> MockExecutor::topology() {
  const std::lock_guard lock(mutex_);
  return nodes_;
}

Capabilities MockExecutor::capabilities() {
  return {.gangs = true, .limits = "mock"};
}

std::optional<Time> MockExecutor::due_of(const Tracked& task) {
  if (task.step == Step::over) return std::nullopt;
  const bool hangs = task.step == Step::end && task.script.end == MockTask::End::hangs;
  const bool polls = task.poll.micros != 0;
  if (hangs && !task.stopped) return polls ? std::optional(task.poll) : std::nullopt;
  return polls ? std::min(task.due, task.poll) : task.due;
}

Time MockExecutor::next_due() const {
  const std::lock_guard lock(mutex_);
  Time next;
  for (const auto& [id, task] : tasks_) {
    const auto due = due_of(task);
    if (due && (next.micros == 0 || *due < next)) next = *due;
  }
  return next;
}

size_t MockExecutor::running() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(
      tasks_.begin(), tasks_.end(), [](const auto& one) { return one.second.step != Step::over; }));
}

void MockExecutor::set_ready(const std::string& node, bool ready) {
  const std::lock_guard lock(mutex_);
  for (NodeInfo& one : nodes_) {
    if (one.name != node) continue;
    one.ready = ready;
    one.problem = ready ? "" : "set so by a test";
    events_.push(NodeEvent{one});
  }
  signals_.notify(kTopic);
}

void MockExecutor::run_due() {
  events_.deliver();
  for (;;) {
    std::string first;
    {
      const std::lock_guard lock(mutex_);
      Time earliest = clock_.steady();
      for (const auto& [id, task] : tasks_) {
        const auto due = due_of(task);
        if (!due || *due > earliest || (!first.empty() && *due == earliest)) continue;
        first = id;
        earliest = *due;
      }
    }
    if (first.empty()) return;
    advance(first);
    events_.deliver();
  }
}

// One step of one task; what is due after it follows in the next round.
void MockExecutor::advance(const std::string& task_id) {
  std::vector<StateRecord> states;
  TaskSpec spec;
  {
    const std::lock_guard lock(mutex_);
    const auto at = tasks_.find(task_id);
    if (at == tasks_.end()) return;
    // A stop() since run_due() chose this task may have moved its step to a later time.
    const auto due = due_of(at->second);
    if (!due || *due > clock_.steady()) return;
    spec = at->second.spec;
    step_locked(at->second, states);
  }
  tell(spec, states);
  const std::lock_guard lock(mutex_);
  const auto at = tasks_.find(task_id);
  if (at == tasks_.end() || at->second.step != Step::over) return;
  report_locked(at->second, at->second.lost ? TaskEvent::Kind::lost : TaskEvent::Kind::ended,
                at->second.lost ? "the script lets it vanish" : "");
}

void MockExecutor::step_locked(Tracked& task, std::vector<StateRecord>& states) {
  const Time now = clock_.steady();
  const bool hangs = task.script.end == MockTask::End::hangs && !task.stopped;
  if (task.poll.micros != 0 && task.poll <= now && (task.due > now || hangs)) {
    task.poll = now + options_.poll_every;  // only asks
    return;
  }
  switch (task.step) {
    case Step::prepare:
      states.push_back(record_locked(task, TaskState::preparing));
      task.step = Step::run;
      task.due = task.due + task.script.prepare;
      break;
    case Step::run:
      states.push_back(record_locked(task, TaskState::starting));
      states.push_back(record_locked(task, TaskState::running));
      task.step = Step::end;
      task.due = task.due + task.script.run;
      if (options_.sync) task.poll = now + options_.poll_every;
      break;
    case Step::end:
      task.step = Step::over;
      task.lost = task.script.end == MockTask::End::vanishes;
      if (!task.lost) states.push_back(last_state_locked(task));
      break;
    case Step::over:
      break;
  }
}

StateRecord MockExecutor::record_locked(Tracked& task, TaskState state) {
  StateRecord record;
  record.seq = ++task.state_seq;
  record.time = clock_.now();
  record.state = state;
  if (state == TaskState::preparing) record.limits = "mock";
  return record;
}

StateRecord MockExecutor::last_state_locked(Tracked& task) {
  const bool well = !task.stopped && task.script.failure_class == FailureClass::exit &&
                    task.script.exit_code == 0;
  StateRecord record = record_locked(task, well ? TaskState::succeeded : TaskState::failed);
  record.exit_code = task.script.exit_code;
  if (well) return record;
  Failure failure;
  failure.failure_class = task.stopped ? FailureClass::cancelled : task.script.failure_class;
  failure.role = task.spec.role;
  failure.rank = task.spec.rank;
  failure.exit_code = task.script.exit_code;
  failure.text = task.stopped ? "stopped" : format("exit code {}", task.script.exit_code);
  record.failure = std::move(failure);
  return record;
}

void MockExecutor::tell(const TaskSpec& spec, const std::vector<StateRecord>& states) {
  if (!options_.sync) return;
  SyncHead head;
  head.protocol = spec.protocol;
  head.epoch = spec.epoch;
  head.states = states;
  const auto answer = options_.sync(spec, head);
  if (answer.ok() && answer->stop) {
    ignore(stop(spec.attempt_id, Duration::seconds(answer->grace_seconds)));
  } else if (!answer.ok() && answer.error().code == Code::gone) {
    ignore(stop(spec.attempt_id, Duration{0}));
  }
}

void MockExecutor::report_locked(const Tracked& task, TaskEvent::Kind kind, std::string text) {
  events_.push(TaskEvent{.kind = kind,
                         .attempt_id = task.spec.attempt_id,
                         .task_id = task.spec.task_id,
                         .epoch = task.spec.epoch,
                         .text = std::move(text)});
}

}  // namespace hearth::executors
