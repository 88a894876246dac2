#include "control/ingest/ingest.h"

#include "base/format.h"
#include "base/log.h"
#include "control/ingest/state.h"
#include "control/ingest/task_records.h"
#include "db/tables.h"

namespace hearth::control {
namespace {

constexpr size_t kMostSyncStates = 1000;

Error gone(std::string_view what) {
  return Error::of(Code::gone, std::string(what), "the shim ends its task");
}

Result<void> check_identity(const Identity& who, const std::string& task_id) {
  if (who.kind == TokenKind::task && who.task_id == task_id) return {};
  return Error::denied("this token is not that of the task",
                       "a shim syncs its own task, with the token it was started with");
}

template <typename Item>
Result<void> check_order(const std::vector<Item>& items, std::string_view name) {
  int64_t last = 0;
  for (const Item& item : items) {
    if (item.seq <= last)
      return Error::invalid(format("{}: seq {} stands behind {}", name, item.seq, last),
                            "seqs start at 1 and grow");
    last = item.seq;
  }
  return {};
}

Result<void> check_request(const SyncHead& head, std::string_view frames) {
  if (head.records.size() > static_cast<size_t>(kMostSyncRecords) ||
      head.states.size() > kMostSyncStates || frames.size() > kMostSyncBytes)
    return Error::of(
        Code::too_large, "the sync is too large",
        format("send at most {} records and {} bytes of log", kMostSyncRecords, kMostSyncBytes));
  if (head.log_bytes != static_cast<int64_t>(frames.size()))
    return Error::invalid(
        format("log_bytes says {}, {} bytes came", head.log_bytes, frames.size()));
  TRY(check_order(head.states, "states"));
  return check_order(head.records, "records");
}

// What a sync is answered from.
struct Known {
  Task task;
  Job job;
  Marks marks;  // without the log's
  int64_t live_version = 0;
  std::map<std::string, LiveValue> live;
  bool ended() const { return finished(task.state) || finished(job.state); }
};

Result<Marks> read_marks(db::Session& session, const std::string& task_id) {
  Marks marks;
  TRY(session.query("SELECT state, metrics FROM task_marks WHERE task_id = $1", {task_id},
                    [&](const db::Row& row) -> Result<void> {
                      marks.state = row.integer(0);
                      marks.metrics = row.integer(1);
                      return {};
                    }));
  return marks;
}

Result<void> write_marks(db::Session& session, const std::string& task_id, const Marks& marks,
                         Time now) {
  TRY(session.execute(
      "INSERT INTO task_marks (task_id, state, metrics, synced_at) VALUES ($1, $2, $3, $4) "
      "ON CONFLICT (task_id) DO UPDATE SET state = excluded.state, metrics = excluded.metrics, "
      "synced_at = excluded.synced_at",
      {task_id, marks.state, marks.metrics, now.micros}));
  return {};
}

Result<void> read_live(db::Session& session, Known& known) {
  return session.query("SELECT name, value, version, at_step FROM live_params WHERE job_id = $1",
                       {known.job.id}, [&](const db::Row& row) -> Result<void> {
                         LiveValue& value = known.live[std::string(row.text(0))];
                         value.value.text = row.text(1);
                         value.version = row.integer(2);
                         if (!row.null(3)) value.at_step = row.integer(3);
                         known.live_version = std::max(known.live_version, value.version);
                         return {};
                       });
}

Result<Known> look(db::Session& session, const std::string& task_id, int64_t epoch) {
  Known known;
  auto task = TRY(db::Table<Task>::get(session, task_id));
  if (!task) return gone("the task was deleted");
  known.task = std::move(*task);
  const auto attempt = TRY(db::Table<Attempt>::get(session, known.task.attempt_id));
  auto job = TRY(db::Table<Job>::get(session, known.task.job_id));
  if (!attempt || !job) return gone("the job was deleted");
  known.job = std::move(*job);
  if (epoch < attempt->epoch)
    return gone(format("epoch {} of the attempt is over, it is at {}", epoch, attempt->epoch));
  if (epoch > attempt->epoch)
    return Error::conflict(format("the attempt is at epoch {}, not {}", attempt->epoch, epoch));
  known.marks = TRY(read_marks(session, task_id));
  TRY(read_live(session, known));
  return known;
}

// Inside a write: states and records of a sync. What it finds may be newer than what `look` found.
Result<void> write_down(db::Session& session, Context& context, const SyncHead& head,
                        const ObjectsOfRecords& objects, Known& known, SyncChanges& changes) {
  known = TRY(look(session, known.task.id, head.epoch));
  changes = {};
  auto run = TRY(db::Table<Run>::get(session, known.task.run_id));
  if (!run) return gone("the run was deleted");
  Task& task = known.task;
  known.marks.state = TRY(apply_states(session, context, task, known.job, *run, head.states,
                                       known.marks.state, changes));
  known.marks.metrics = TRY(apply_records(session, context, task, known.job, *run, head.records,
                                          known.marks.metrics, objects, changes));
  const Time now = context.clock.now();
  if (changes.run) TRY(db::Table<Run>::update(session, *run));
  if (changes.task) {
    task.last_sync_at = now;
    task.marks.state = known.marks.state;
    task.marks.metrics = known.marks.metrics;
    TRY(db::Table<Task>::update(session, task));
  }
  return write_marks(session, task.id, known.marks, now);
}

void notify(Signals& signals, const Known& known, const SyncChanges& changes) {
  if (changes.task) {
    signals.notify(kQueueTopic);
    signals.notify(job_topic(known.job.id));
  }
  if (changes.run || changes.metric_rows > 0 || changes.events)
    signals.notify(run_topic(known.task.run_id));
  if (changes.events) signals.notify(kEventsTopic);
}

SyncAnswer answer(const Known& known, const SyncHead& head, int64_t protocol, uint64_t log_mark) {
  SyncAnswer answer;
  answer.protocol = protocol;
  answer.acknowledged = known.marks;
  answer.acknowledged.log = static_cast<int64_t>(log_mark);
  answer.stop = known.task.stop_asked || known.job.stop_asked_at.micros != 0 || known.ended();
  const std::string& why = known.task.stop_class;
  if (answer.stop) answer.stop_class = why.empty() ? "cancelled" : why;
  answer.live_version = known.live_version;
  if (known.live_version > head.live_version) answer.live = known.live;
  return answer;
}

template <typename Item>
bool any_above(const std::vector<Item>& items, int64_t mark) {
  return !items.empty() && items.back().seq > mark;
}

}  // namespace

Ingest::State::State(Context the_context, IngestOptions the_options)
    : context(the_context),
      options(std::move(the_options)),
      logs(options.directory, [this](const std::string& task_id) { return last_sealed(task_id); }) {
}

Ingest::Ingest(Context context, IngestOptions options)
    : state_(std::make_unique<State>(context, std::move(options))) {}
Ingest::~Ingest() {
  stop();
}

Result<SyncAnswer> Ingest::sync(const Identity& who, const std::string& task_id,
                                const SyncHead& head, std::string_view frames) {
  TRY(check_identity(who, task_id));
  const int64_t protocol = TRY(agree(head.hello(), kShimProtocols));
  TRY(check_request(head, frames));
  Context& context = state_->context;
  Known known;
  TRY(context.database.read([&](db::Session& session) -> Result<void> {
    known = TRY(look(session, task_id, head.epoch));
    return {};
  }));
  // Nothing is taken of a sync whose end would be refused: it waits in the spool, for this server
  // or the one that comes after it.
  if (!context.database.refusing().empty())
    TRY(context.database.write([](db::Session&) -> Result<void> { return {}; }));
  uint64_t log_mark = 0;
  if (frames.empty()) {
    log_mark = TRY(state_->logs.mark(task_id));
  } else {
    log_mark = TRY(state_->logs.append(task_id, as_bytes(frames)));
    context.signals.notify(log_topic(known.job.id));
  }
  SyncChanges changes;
  if (any_above(head.states, known.marks.state) || any_above(head.records, known.marks.metrics)) {
    const ObjectsOfRecords objects = TRY(look_up_objects(context.objects, head.records));
    TRY(context.database.write([&](db::Session& session) {
      return write_down(session, context, head, objects, known, changes);
    }));
    notify(context.signals, known, changes);
    state_->count_rows(known.task.run_id, changes.metric_rows);
  }
  SyncAnswer done = answer(known, head, protocol, log_mark);
  done.refused = std::move(changes.refused);
  return done;
}

Result<SyncAnswer> Ingest::newest(const Identity& who, const std::string& task_id,
                                  const SyncHead& head) {
  TRY(check_identity(who, task_id));
  const int64_t protocol = TRY(agree(head.hello(), kShimProtocols));
  Known known;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    known = TRY(look(session, task_id, head.epoch));
    return {};
  }));
  // Whoever has nothing more to send need not stay.
  if (known.ended()) return gone("the task has ended");
  return answer(known, head, protocol, TRY(state_->logs.mark(task_id)));
}

Result<void> Ingest::start() {
  TRY(state_->logs.start());
  const std::lock_guard lock(state_->mutex);
  if (state_->running) return {};
  state_->running = true;
  state_->thread = std::thread([this] { state_->run(*this); });
  return {};
}

void Ingest::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->running = false;
  }
  state_->wake.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
  state_->logs.stop();
}

}  // namespace hearth::control
