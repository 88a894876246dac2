#include "shim/task.h"

#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/format.h"
#include "base/log.h"
#include "base/units.h"
#include "shim/gang.h"
#include "shim/packages.h"
#include "shim/variables.h"

namespace hearth::shim {
namespace {

constexpr Duration kLook = Duration::seconds(2);         // for checkpoints of other code
constexpr Duration kMemoryLook = Duration::millis(250);  // where no control group limits it
constexpr Duration kSlowestMemoryLook = Duration::seconds(2);
constexpr int kMemoryShare = 20;                           // a look takes at most 1/20 of the time
constexpr Duration kPackagesAfter = Duration::seconds(2);  // short tasks are spared the cost
constexpr Duration kDrainPipes = Duration::seconds(2);
constexpr Duration kRestGrace = Duration::seconds(1);
constexpr Duration kKillDeadline = Duration::seconds(30);
constexpr int64_t kFullDisk = 4 << 20;
constexpr int kRestScore = 500;  // the kernel ends tasks before it ends us
constexpr int kGroupTries = 5;   // another server at its end may remove the empty parent

}  // namespace

Task::Task(const ShimOptions& options, const Layout& layout, const TaskSpec& spec, Spool& spool)
    : options_(options), layout_(layout), spec_(spec), spool_(spool) {}

Task::~Task() {
  if (packages_.joinable()) packages_.join();
  if (mover_.joinable()) mover_.join();
}

// --- what the threads and the kernel tell us -------------------------------------------------

void Task::wake() {
  const uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) < 0) log_warning("waking the shim: errno {}", errno);
}

void Task::order_stop(const std::string& stop_class, Duration grace, bool by_signal) {
  {
    const std::lock_guard lock(mutex_);
    // The server's word says more than a signal.
    if (stop_.asked && (by_signal || !stop_.stop_class.empty())) return;
    stop_ = {true, stop_class, grace};
  }
  wake();
}

Task::Stop Task::stop() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void Task::take_signals() {
  for (;;) {
    const auto signal = signals_.read();
    if (!signal.ok() || !*signal) return;
    order_stop("", Duration::seconds(spec_.grace_seconds), true);
  }
}

// While something is fetched from a server that is away.
bool Task::keep_on(Duration pause) {
  pollfd fds[2] = {{signals_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  poll(fds, 2, static_cast<int>(pause.micros / 1000));
  take_signals();
  const std::lock_guard lock(mutex_);
  return !stop_.asked && !gone_;
}

os::TreeQuery Task::tree() const {
  os::TreeQuery query;
  if (process_.valid()) {
    query.roots = {{process_.pid(), process_.start_time()}};
    query.sessions = {process_.pid()};
  }
  if (group_) query.cgroup_procs = group_->procs_files();
  // The marker finds those that left session and parent; a control group nobody leaves.
  if (!group_) query.marker = marker_of(spec_);
  return query;
}

StateRecord Task::state(TaskState to) const {
  StateRecord record;
  record.state = to;
  return record;
}

// --- the way ---------------------------------------------------------------------------------

Result<void> Task::open() {
  signals_ = TRY(os::SignalFd::make({SIGTERM, SIGINT, SIGHUP}));
  os::ignore_signal(SIGPIPE);
  TRY(os::become_subreaper());
  wake_ = os::Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return Error::from_errno("making an event descriptor", errno);
  // Before the syncer may replace it.
  TRY(os::write_file_atomic(layout_.live(), "{\"version\":0,\"values\":{}}\n", 0644, os::Sync::no));
  syncer_ = std::make_unique<Syncer>(
      options_, spec_, spool_, layout_.live(),
      Syncer::Hooks{[this](const SyncAnswer& answer) {
                      order_stop(answer.stop_class.empty() ? "cancelled" : answer.stop_class,
                                 Duration::seconds(answer.grace_seconds), false);
                    },
                    [this] {
                      {
                        const std::lock_guard lock(mutex_);
                        gone_ = true;
                      }
                      order_stop("lost", Duration::seconds(1), false);
                      wake();
                    }});
  return {};
}

int Task::run() {
  auto lived = open();
  if (lived.ok()) {
    // The server has begun this when it started us; we may have needed longer than that holds.
    if (options_.cgroups && detect_groups().version == os::CgroupVersion::v2)
      mover_ = std::thread([this] { ignore(os::expect_move(options_.cgroup_mount)); });
    syncer_->start();
    lived = live();
  }
  if (!lived.ok()) {
    log_error("{}", lived.error().text());
    kill_rest();
    return kShimFailed;
  }
  return ship();
}

Result<void> Task::live() {
  TRY(spool_.add_state(state(TaskState::preparing)));
  if (!TRY(prepare_task())) return {};
  TRY(spool_.add_state(state(TaskState::starting)));
  if (!TRY(start_process())) return {};
  watch();
  if (is_mpi(spec_) && spec_.rank == 0) end_mpi(spec_, layout_);
  if (packages_.joinable()) packages_.join();
  StateRecord saving = state(TaskState::saving);
  saving.environment = found_packages_;
  saving.failure = failure_of(spec_, ending_);  // a gang need not wait until we have saved
  TRY(spool_.add_state(std::move(saving)));
  kill_rest();
  // Its own are gone now: who listens there still is another.
  const bool failed = ending_.exit && !ending_.exit->success() && !ending_.stopped;
  if (failed) ending_.taken_port = taken_port(spec_);
  TRY(save_rest());
  return finish(failure_of(spec_, ending_));
}

Result<bool> Task::prepare_task() {
  auto prepared =
      prepare(spec_, layout_, options_, [this](Duration pause) { return keep_on(pause); });
  take_signals();
  if (stop().asked) {
    ending_.stopped = true;
    ending_.stop_class = stop().stop_class;
    TRY(finish(failure_of(spec_, ending_)));
    return false;
  }
  if (!prepared.ok()) {
    TRY(finish(start_failure(spec_, prepared.error())));
    return false;
  }
  prepared_ = std::move(*prepared);
  return true;
}

os::CgroupSupport Task::detect_groups() const {
  return os::detect_cgroups(
      {.mount = options_.cgroup_mount, .parent = options_.cgroup_parent, .probe = false});
}

void Task::make_group() {
  if (!options_.cgroups) return;
  os::CgroupSupport support = detect_groups();
  if (support.version == os::CgroupVersion::none || !support.memory) return;
  const std::string name = "task-" + spec_.task_id;
  os::CgroupLimits limits{.memory_bytes = spec_.resources.memory.bytes,
                          .cpus = spec_.resources.cpus};
  if (spec_.resources.cpu_limit == CpuLimit::hard) limits.cpu_quota = spec_.resources.cpus;
  // Its name first: whoever comes after us must find it.
  if (!os::write_file_atomic(layout_.cgroup(), name, 0600, os::Sync::no).ok()) return;
  auto group = os::Cgroup::create(support, name, limits);
  for (int tries = 1; !group.ok() && group.error().code == Code::not_found && tries < kGroupTries;
       ++tries) {
    support = detect_groups();
    group = os::Cgroup::create(support, name, limits);
  }
  if (!group.ok()) {
    log_warning("no control group: {}", group.error().text());
    return;
  }
  group_ = std::move(*group);
  ending_.out_of_memory = false;
}

Result<os::Process> Task::spawn_process() {
  os::SpawnOptions options;
  options.argv = prepared_.argv;
  options.environment = prepared_.environment;
  options.working_directory = layout_.work();
  options.standard_out = os::Stdio::from(output_->out_for_child());
  options.standard_error = os::Stdio::from(output_->err_for_child());
  options.oom_score_adj = kRestScore;
  if (group_) options.enter_groups = group_->entry_files();
  if (spec_.uid >= 0)
    options.identity = os::Identity{static_cast<uid_t>(spec_.uid),
                                    static_cast<gid_t>(spec_.gid < 0 ? spec_.uid : spec_.gid),
                                    {}};
  options.no_new_privileges = spec_.uid >= 0;
  return os::spawn(options);
}

// Of the first process of a gang alone: all ranks print the same.
std::unique_ptr<LogMetrics> Task::log_metrics() {
  if (spec_.metrics.from_logs == LineReading::never || spec_.rank != 0) return nullptr;
  auto patterns = track::LineMetrics::make(spec_.metrics.patterns);
  if (!patterns.ok()) {
    log_error("{}", patterns.error().text());  // the server checked them when the job came in
    return nullptr;
  }
  return std::make_unique<LogMetrics>(
      std::move(*patterns), spec_.metrics.from_logs, gate_, spool_,
      [this](const std::string& words) { output_->say("hearth: " + words); });
}

std::unique_ptr<EventFiles> Task::event_files(std::function<void(std::string)> complain) {
  if (!spec_.metrics.event_files || spec_.rank != 0) return nullptr;
  const auto save = [this](std::string path, std::string name, std::string kind, int64_t step) {
    const auto added = saver_->wish({"artifact", path, name, kind, step});
    if (!added.ok()) log_error("{}", added.error().text());
  };
  return std::make_unique<EventFiles>(spec_, layout_, spool_, gate_,
                                      EventFiles::Hooks{save, std::move(complain)});
}

Result<bool> Task::start_process() {
  if (const auto taken = taken_port(spec_)) {
    const std::string words =
        format("port {}, which it was allotted, was taken by another program", *taken);
    const Error error = Error::of(Code::busy, words, "another attempt gets other ports");
    TRY(finish(start_failure(spec_, error)));
    return false;
  }
  std::vector<std::string> secrets{spec_.shim_token, spec_.job_token};
  if (!spec_.gang_secret.empty()) secrets.push_back(spec_.gang_secret);
  for (const auto& [name, value] : spec_.secrets) secrets.push_back(value);
  output_ = TRY(OutputPump::make(spool_, secrets, log_metrics()));
  const auto complain = [this](const std::string& words) { output_->say("hearth: " + words); };
  saver_ = std::make_unique<Saver>(
      spec_, spool_, SaverPaths{layout_.work(), prepared_.checkpoint_directory, layout_.made()},
      complain);
  saver_->start();
  sdk_ = TRY(
      SdkServer::start(layout_.socket(), spec_.uid, spool_,
                       {[this](const std::string& line) {
                          const auto wish = wish_of(line);
                          // A model is registered when the task has succeeded.
                          if (wish.ok() && wish->kind != "model") saver_->add(line);
                        },
                        complain, [this](const auto& values) { gate_.client_logged(values); }}));
  if (spec_.outputs.checkpoints) {
    checkpoints_.emplace(prepared_.checkpoint_directory);
    checkpoints_->begin();
  }
  make_group();
  auto process = spawn_process();
  // A group that cannot be entered: rather watched than not at all.
  if (!process.ok() && group_ && process.error().code != Code::not_found &&
      process.error().code != Code::invalid) {
    drop_group();
    process = spawn_process();
  }
  output_->child_started();
  if (!process.ok()) {
    sdk_->finish({});
    output_->finish({});
    drop_group();
    TRY(finish(start_failure(spec_, process.error())));
    return false;
  }
  process_ = std::move(*process);
  events_ = event_files(complain);
  if (events_) events_->start();
  started_ = system_clock().steady();
  StateRecord running = state(TaskState::running);
  running.environment = prepared_.machine;
  running.dataset_fingerprints = prepared_.fingerprints;
  running.limits = !group_ ? "watched" : group_->folders().contains("") ? "cgroup v2" : "cgroup v1";
  TRY(spool_.add_state(std::move(running)));
  return true;
}

// --- while it runs ---------------------------------------------------------------------------

void Task::watch() {
  if (!spec_.gpus.empty())
    if (auto gpus = hw::Gpus::open(options_.nvml); gpus.ok()) gpus_ = *gpus;
  sampler_ = std::make_unique<hw::Sampler>(hw::SampleTarget{group_, tree(), spec_.gpus},
                                           gpus_.get(), spool_.clock());
  if (!group_) memory_.emplace(tree());
  next_sample_ = started_ + options_.first_sample;
  next_memory_ = started_ + kMemoryLook;
  next_look_ = started_ + kLook;
  for (;;) {
    const auto exit = process_.wait({});
    if (!exit.ok()) {
      log_error("{}", exit.error().text());
      break;
    }
    if (*exit) {
      ending_.exit = **exit;
      break;
    }
    wait_for_something();
    take_signals();
    look_after(system_clock().steady());
  }
  ending_.stopped = ending_.stopped || stopping_;
  if (ending_.stopped) ending_.stop_class = stop().stop_class;
  if (group_) {
    if (const auto stats = group_->stats(); stats.ok() && stats->oom_kills > 0)
      ending_.out_of_memory = true;
    sample(system_clock().steady());  // all that was used
  }
  if (!(ending_.exit && ending_.exit->success()))
    if (const auto space = os::free_space(layout_.work()); space.ok())
      ending_.disk_full = space->free_bytes < kFullDisk;
}

void Task::wait_for_something() {
  const Time now = system_clock().steady();
  Time next = std::min(next_sample_, kill_at_.micros != 0 ? kill_at_ : next_sample_);
  if (memory_) next = std::min(next, next_memory_);
  if (checkpoints_) next = std::min(next, next_look_);
  if (spec_.time_limit_seconds > 0 && !stopping_)
    next = std::min(next, started_ + Duration::seconds(spec_.time_limit_seconds));
  pollfd fds[3] = {
      {process_.pidfd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  const int64_t micros = std::max<int64_t>(0, (next - now).micros);
  poll(fds, 3, static_cast<int>(std::min<int64_t>((micros + 999) / 1000, 60'000)));
  uint64_t count = 0;
  if (fds[2].revents != 0 && ::read(wake_.get(), &count, sizeof count) < 0) count = 0;
}

void Task::look_after(Time now) {
  if (stop().asked && !stopping_) handle_stop(now);
  if (spec_.time_limit_seconds > 0 && !stopping_ &&
      now >= started_ + Duration::seconds(spec_.time_limit_seconds)) {
    ending_.time_limit = true;
    order_stop("time_limit", Duration::seconds(spec_.grace_seconds), false);
    handle_stop(now);
  }
  if (kill_at_.micros != 0 && now >= kill_at_) {
    kill_at_ = {};
    end_process(SIGKILL);
  }
  if (memory_ && now >= next_memory_) watch_memory(now);
  if (now >= next_sample_) sample(now);
  if (checkpoints_ && now >= next_look_) look_for_checkpoints(now, false);
  if (!packages_.joinable() && now >= started_ + kPackagesAfter) describe_packages();
  // Not while a helper of our own runs: its end is not ours to take here.
  if (!describing_.load()) os::reap_orphans({process_.pid()});
}

void Task::handle_stop(Time now) {
  stopping_ = true;
  if (const auto written = spool_.add_state(state(TaskState::stopping)); !written.ok())
    log_error("{}", written.error().text());
  end_process(SIGTERM);
  kill_at_ = now + stop().grace;
}

// SIGTERM to the group of the user's process, SIGKILL to all there is.
void Task::end_process(int signal) {
  if (signal == SIGTERM) {
    // Its number is its group's, and nobody else's before we have waited for it.
    if (kill(-process_.pid(), SIGTERM) != 0 && errno != ESRCH)
      log_warning("ending the process group: errno {}", errno);
    return;
  }
  const auto killed = os::kill_tree(tree(), {.first_signal = 0, .deadline = kKillDeadline});
  if (!killed.ok()) log_error("{}", killed.error().text());
}

void Task::watch_memory(Time now) {
  const os::TreeSample sample = memory_->sample();
  const Time after = system_clock().steady();
  next_memory_ = after + std::clamp(Duration{(after - now).micros * kMemoryShare}, kMemoryLook,
                                    kSlowestMemoryLook);
  if (spec_.resources.memory.bytes <= 0 || ending_.out_of_memory ||
      sample.pss_bytes + sample.swap_bytes <= spec_.resources.memory.bytes)
    return;
  ending_.out_of_memory = true;
  output_->say(format("hearth: the task uses {}, its limit is {}: it is ended",
                      format_size(sample.pss_bytes + sample.swap_bytes),
                      format_size(spec_.resources.memory.bytes)));
  end_process(SIGKILL);
}

void Task::sample(Time now) {
  next_sample_ = now + options_.sample_interval;
  TaskRecord record{.kind = "sample"};
  record.values = hw::values(sampler_->sample(), spec_.gpus);
  if (const auto added = spool_.add_record(std::move(record)); !added.ok())
    log_error("{}", added.error().text());
}

void Task::look_for_checkpoints(Time now, bool ended) {
  next_look_ = now + kLook;
  for (const SaveWish& wish : checkpoints_->look(now, tree(), ended))
    if (const auto added = saver_->wish(wish); !added.ok()) log_error("{}", added.error().text());
}

void Task::describe_packages() {
  describing_.store(true);
  packages_ = std::thread([this, python = python_among(os::find_tree(tree()))] {
    found_packages_ =
        packages_of(python, prepared_.environment, layout_.temporary(), spec_.uid, spec_.gid);
    describing_.store(false);
  });
}

// --- the end ---------------------------------------------------------------------------------

void Task::kill_rest() {
  if (!process_.valid() && !group_) return;
  // Nobody leaves a control group: when it is empty there is nothing to look for.
  const auto left = group_ ? group_->processes() : Result<std::vector<pid_t>>(Error{});
  if (!left.ok() || !left->empty()) {
    const auto killed = os::kill_tree(
        tree(), {.first_signal = SIGTERM, .grace = kRestGrace, .deadline = kKillDeadline});
    if (!killed.ok()) log_error("{}", killed.error().text());
  }
  if (group_) ignore(group_->kill_all(kKillDeadline));
  os::reap_orphans({});
  drop_group();
}

void Task::drop_group() {
  if (!group_) return;
  if (const auto removed = group_->remove(); !removed.ok()) log_error("{}", removed.error().text());
  group_.reset();
  ignore(os::remove_file(layout_.cgroup()));
}

Result<void> Task::save_rest() {
  sdk_->finish(kDrainPipes);
  if (events_) events_->finish();
  TRY(spool_.sync_records());
  if (checkpoints_) look_for_checkpoints(system_clock().steady(), true);
  const bool succeeded = !failure_of(spec_, ending_);
  for (const std::string& line : spool_.open_saves()) {
    const auto wish = wish_of(line);
    if (!wish.ok() || wish->kind != "model") continue;
    if (succeeded) saver_->add(line);
    if (!succeeded) TRY(spool_.finish_save(line));
  }
  TRY(saver_->add_outputs(succeeded));
  if (syncer_->is_gone()) saver_->give_up();
  saver_->finish([this] {
    take_signals();
    return stop().asked;
  });
  if (ending_.disk_full)  // what it filled the disk with is saved or will never be
    for (const std::string& path : {layout_.temporary(), layout_.work()})
      ignore(os::remove_tree(path));
  output_->finish(kDrainPipes);
  ending_.last_exception = output_->last_exception();
  return {};
}

// The end stands on disk before anybody is told.
Result<void> Task::finish(std::optional<Failure> failure) {
  StateRecord last = state(failure ? TaskState::failed : TaskState::succeeded);
  if (ending_.exit && ending_.exit->signal == 0) last.exit_code = ending_.exit->code;
  if (failure && failure->text.empty()) failure->text = "the task was lost";
  if (failure && output_) {
    failure->text = output_->redactor().clean(failure->text);
    if (ending_.exit && !ending_.stopped) failure->lines = output_->last_lines();
  }
  last.failure = std::move(failure);
  TRY(spool_.add_state(last));
  if (const auto written = write_exit(last); !written.ok())
    log_warning("{}", written.error().text());  // once more when work/ is gone
  return {};
}

Result<void> Task::write_exit(const StateRecord& last) const {
  return os::write_file_atomic(layout_.exit(), to_json(last) + "\n", 0600, os::Sync::no);
}

int Task::ship() {
  const bool all = syncer_->finish();
  if (!all) return kShimFailed;
  clean_up();
  return kShimDone;
}

void Task::clean_up() {
  const auto remove = [](const std::string& path) {
    if (const auto removed = os::remove_tree(path); !removed.ok())
      log_warning("{}", removed.error().text());
  };
  remove(layout_.work());
  remove(layout_.temporary());
  const auto last = spool_.last_state();
  if (last && !os::exists(layout_.exit()))
    if (const auto written = write_exit(*last); !written.ok())
      log_error("{}", written.error().text());
  // In one step, so that nobody takes half a spool for a whole one.
  if (const auto moved = os::rename_file(layout_.spool(), layout_.spent()); !moved.ok())
    log_warning("{}", moved.error().text());
  remove(layout_.spent());
  remove(layout_.made());
  for (const std::string& path :
       {layout_.params(), layout_.live(), layout_.socket(), layout_.events()})
    ignore(os::remove_file(path));
}

int Task::drain() {
  if (const auto opened = open(); !opened.ok()) {
    log_error("{}", opened.error().text());
    return kShimFailed;
  }
  // All that still bears the task's mark, and its group.
  if (const auto name = os::read_file(layout_.cgroup(), 1024); name.ok()) {
    if (auto group = os::Cgroup::open(detect_groups(), std::string(trim(*name))); group.ok())
      group_ = std::move(*group);
  }
  os::TreeQuery all = tree();
  all.marker = marker_of(spec_);
  const auto killed = os::kill_tree(all, {.first_signal = 0, .deadline = kKillDeadline});
  if (!killed.ok()) log_error("{}", killed.error().text());
  kill_rest();

  const auto last = spool_.last_state();
  syncer_->start();
  if (!last || !finished(last->state)) {
    const std::string path =
        spec_.outputs.checkpoints ? spec_.outputs.checkpoints->path : "checkpoints";
    saver_ = std::make_unique<Saver>(
        spec_, spool_, SaverPaths{layout_.work(), layout_.work() + "/" + path, layout_.made()},
        [](const std::string& words) { log_warning("{}", words); });
    events_ = event_files([](const std::string& words) { log_warning("{}", words); });
    for (const std::string& line : spool_.open_saves())
      if (const auto wish = wish_of(line); wish.ok() && wish->kind != "model") saver_->add(line);
    saver_->start();
    if (events_) events_->finish();
    saver_->finish([] { return true; });
    Failure failure;
    failure.failure_class = FailureClass::lost;
    failure.rank = spec_.rank;
    failure.role = spec_.role;
    failure.text = "the task's supervisor died, and the task was ended with it";
    if (const auto done = finish(failure); !done.ok()) {
      log_error("{}", done.error().text());
      return kShimFailed;
    }
  }
  return ship();
}

}  // namespace hearth::shim
