#include "control/jobs/jobs.h"

#include "base/format.h"
#include "base/id.h"
#include "control/access/access.h"
#include "control/emit.h"
#include "control/jobs/live.h"
#include "control/jobs/loop.h"
#include "control/jobs/submit.h"
#include "control/jobs/update.h"
#include "control/notify/notify.h"

namespace hearth::control {

struct Jobs::State {
  State(Context c, Access& a, executors::Executor& e, JobsOptions o)
      : context(c), access(a), executor(e), options(o), loop(c, a, e, std::move(o)) {}

  Result<Job> find(db::Session& session, const std::string& id_or_name,
                   const std::string& project) {
    auto job = is_id(id_or_name)
                   ? TRY(db::Table<Job>::get(session, id_or_name))
                   : TRY(db::Table<Job>::find(session, "WHERE project = $1 AND name = $2",
                                              {project.empty() ? "default" : project, id_or_name}));
    if (!job) return missing(id_or_name);
    return std::move(*job);
  }
  static Error missing(const std::string& id_or_name) {
    return Error::not_found(format("there is no job '{}'", id_or_name),
                            "`hearth job list` shows those there are; --project names another "
                            "project");
  }
  // A job that the identity may not see is not there for it.
  Result<void> may(const Identity& who, const Job& job, Grade least) {
    if (who.kind == TokenKind::task && who.job_id != job.id) return missing(job.id);
    if (who.kind == TokenKind::job && least > Grade::viewer && who.job_id != job.id)
      return Error::denied("a job's token changes nothing of another job");
    return access.require(who, job.project, least);
  }
  // Others' jobs are the maintainers' to stop.
  Result<void> may_change(const Identity& who, const Job& job) {
    TRY(may(who, job, Grade::member));
    if (who.user == job.owner || who.job_id == job.id) return {};
    return access.require(who, job.project, Grade::maintainer);
  }
  // Looks the job up, checks the right, and runs `change` on it in one write.
  Result<Job> change(const Identity& who, const std::string& id, std::string_view kind,
                     const std::function<Result<void>(db::Session&, Job&)>& change) {
    // The right is asked before: a write's function reads nothing but its own session.
    const std::string job_id = TRY(changeable(who, id));
    Job job;
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      job = TRY(find(session, job_id, who.project));
      const JobState before = job.state;
      TRY(change(session, job));
      TRY(db::Table<Job>::update(session, job));
      const Event event =
          TRY(emit(session, context.clock, who.actor(), job.project, std::string(kind), job.id,
                   job.version, format(R"({{"state":"{}"}})", word(job.state))));
      if (before != job.state && finished(job.state))
        TRY(queue_deliveries(session, job, event, context.clock, context.random));
      return {};
    }));
    wake(job);
    return job;
  }
  // The id of a job that the identity may change.
  Result<std::string> changeable(const Identity& who, const std::string& id) {
    Job job;
    TRY(context.database.read([&](db::Session& session) -> Result<void> {
      job = TRY(find(session, id, who.project));
      return {};
    }));
    TRY(may_change(who, job));
    return job.id;
  }
  void wake(const Job& job) {
    context.signals.notify(kQueueTopic);
    context.signals.notify(kEventsTopic);
    context.signals.notify(job_topic(job.id));
  }
  template <typename T>
  Result<std::vector<T>> rows(const Identity& who, const std::string& id, std::string_view tail) {
    Job job;
    std::vector<T> all;
    TRY(context.database.read([&](db::Session& session) -> Result<void> {
      job = TRY(find(session, id, who.project));
      all = TRY(db::Table<T>::select(session, tail, {job.id}));
      return {};
    }));
    TRY(may(who, job, Grade::viewer));
    return all;
  }

  Context context;
  Access& access;
  executors::Executor& executor;
  const JobsOptions options;
  JobLoop loop;
};

Jobs::Jobs(Context context, Access& access, executors::Executor& executor, JobsOptions options)
    : state_(std::make_unique<State>(context, access, executor, std::move(options))) {}
Jobs::~Jobs() = default;

Result<void> Jobs::start() {
  return state_->loop.start();
}
void Jobs::stop() {
  state_->loop.stop();
}
void Jobs::hold() {
  state_->loop.hold();
}

void Jobs::release() {
  state_->loop.release();
}

Result<Job> Jobs::submit(const Identity& who, const SubmitRequest& request) {
  const JobSpec spec = TRY(read_spec(request));
  TRY(state_->access.require(who, spec.project, Grade::member));
  state_->executor.expect_start();
  int64_t code_size = 0;
  if (!spec.code.directory.empty() && request.code_digest.empty())
    return Error::invalid("the job has `code` but no bundle came with it",
                          "submit it with `hearth job submit`, which uploads the directory");
  for (const std::string& digest : {request.code_digest, request.git.diff_digest}) {
    if (digest.empty()) continue;
    const auto size = TRY(state_->context.objects.have(digest));
    if (!size)
      return Error::invalid(format("object {} is not here", digest),
                            "upload it, then submit again");
    if (digest == request.code_digest) code_size = *size;
  }
  Job draft;
  draft.spec = spec;
  draft.project = spec.project;
  if (auto reason = state_->loop.never_fits(sched::queued_job(draft))) {
    sched::explain(*reason);
    return Error::invalid("this job could never start: " + reason->text, reason->mend);
  }
  Job job;
  TRY(state_->context.database.write([&](db::Session& session) -> Result<void> {
    job = TRY(write_job(session, state_->context, state_->access, state_->options, who, request,
                        spec, code_size));
    if (request.on_written) TRY(request.on_written(session, job));
    return {};
  }));
  state_->wake(job);
  return job;
}

namespace {

// GPUs of a model count as such where no other would do.
Amounts amounts_of(const sched::QueuedJob& job) {
  Amounts all{.cpus = 0, .gpus = 0, .memory_bytes = 0};
  for (const sched::TaskNeed& task : job.tasks) {
    const double gpus = static_cast<double>(task.milli_gpus) / 1000;
    *all.cpus += static_cast<double>(task.milli_cpus) / 1000;
    *all.gpus += gpus;
    *all.memory_bytes += task.memory_bytes;
    if (task.gpu_model.size() == 1) all.gpu_models[task.gpu_model.front()] += gpus;
  }
  return all;
}

}  // namespace

Result<CheckAnswer> Jobs::check(const Identity& who, const SubmitRequest& request) {
  CheckAnswer answer;
  answer.spec = TRY(read_spec(request));
  TRY(state_->access.require(who, answer.spec.project, Grade::member));
  TRY(state_->context.database.read([&](db::Session& session) {
    return check_uses(session, state_->access, state_->options, answer.spec);
  }));
  Job draft;
  draft.id = new_id(state_->context.clock, state_->context.random);
  draft.spec = answer.spec;
  draft.project = answer.spec.project;
  draft.owner = who.user;
  draft.priority = answer.spec.priority;
  draft.created_at = state_->context.clock.now();
  const sched::QueuedJob queued = sched::queued_job(draft);
  answer.asks = amounts_of(queued);
  if (auto reason = state_->loop.never_fits(queued)) {
    sched::explain(*reason);
    answer.reason = *reason;
    return answer;
  }
  answer.runnable = true;
  JobLoop::Outlook outlook = state_->loop.would_wait(queued);
  answer.reason = std::move(outlook.reason);
  answer.start = outlook.start;
  return answer;
}

Result<Job> Jobs::get(const Identity& who, const std::string& id_or_name,
                      const std::string& project) {
  Job job;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    job = TRY(state_->find(session, id_or_name, project));
    return {};
  }));
  TRY(state_->may(who, job, Grade::viewer));
  if (job.state == JobState::queued)
    if (const auto reason = state_->loop.reason_of(job.id)) job.reason = reason;
  return job;
}

Result<Job> Jobs::why(const Identity& who, const std::string& id_or_name,
                      const std::string& project) {
  Job job = TRY(get(who, id_or_name, project));
  if (job.state == JobState::queued)
    if (const auto reason = state_->loop.why(job.id)) job.reason = reason;
  return job;
}

Result<db::ListPage<Job>> Jobs::list(const Identity& who, const std::string& project,
                                     db::ListQuery query) {
  db::ListPage<Job> page;
  if (!TRY(state_->access.narrow(who, project, query))) return page;
  if (who.kind == TokenKind::task) {  // sees no other job
    query.values.emplace_back(who.job_id);
    query.where += format(" AND id = ${}", query.values.size());
  }
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    page = TRY(db::Table<Job>::list(session, query));
    return {};
  }));
  for (Job& job : page.items)
    if (job.state == JobState::queued)
      if (const auto reason = state_->loop.reason_of(job.id)) job.reason = reason;
  return page;
}

namespace {

// A row is there only while the whole checkpoint is.
Result<void> check_checkpoint(db::Session& session, const Job& job, const std::string& id) {
  const auto found = TRY(db::Table<Checkpoint>::get(session, id));
  if (found && found->job_id == job.id) return {};
  return Error::not_found(format("job {} has no checkpoint '{}'", job.name, id),
                          format("`hearth job checkpoints {}` lists those it has", job.name));
}

}  // namespace

Result<Job> Jobs::cancel(const Identity& who, const std::string& id) {
  return state_->change(
      who, id, "job.cancel_asked", [&](db::Session& session, Job& job) -> Result<void> {
        if (finished(job.state))
          return Error::conflict(format("job {} has already {}", job.name, word(job.state)));
        const Time now = state_->context.clock.now();
        if (job.stop_asked_at.micros == 0) {
          job.stop_asked_at = now;
          job.stop_asked_by = who.user.empty() ? "the job itself" : who.user;
        }
        if (job.state != JobState::queued) return {};  // the loop tells the tasks
        job.failure = Failure{
            FailureClass::cancelled, {}, {}, 0, "", "cancelled by " + job.stop_asked_by, ""};
        CHECK(advance(job, JobTrigger::cancel_waiting, now));
        auto run = TRY(db::Table<Run>::get(session, job.run_id));
        if (!run) return {};
        run->status = RunStatus::killed;
        run->finished_at = now;
        return db::Table<Run>::update(session, *run);
      });
}

Result<Job> Jobs::retry(const Identity& who, const std::string& id, const std::string& checkpoint) {
  return state_->change(
      who, id, "job.retry_asked", [&](db::Session& session, Job& job) -> Result<void> {
        if (!advance(job, JobTrigger::retry_asked, state_->context.clock.now()))
          return Error::conflict(format("job {} is {}", job.name, word(job.state)),
                                 "only an ended job can be tried again");
        if (!checkpoint.empty()) TRY(check_checkpoint(session, job, checkpoint));
        job.resume_checkpoint_id = checkpoint;
        job.resume_after_attempt = checkpoint.empty() ? 0 : job.attempts;
        auto run = TRY(db::Table<Run>::get(session, job.run_id));
        if (!run) return {};
        run->status = RunStatus::scheduled;
        run->finished_at = {};
        return db::Table<Run>::update(session, *run);
      });
}

Result<void> Jobs::remove(const Identity& who, const std::string& id) {
  const std::string job_id = TRY(state_->changeable(who, id));
  Job job;
  TRY(state_->context.database.write([&](db::Session& session) -> Result<void> {
    job = TRY(state_->find(session, job_id, who.project));
    if (!finished(job.state))
      return Error::conflict(format("job {} is {}", job.name, word(job.state)),
                             format("`hearth job cancel {}` ends it first", job.name));
    for (const std::string& holder : {"code:" + job.id, "job:" + job.id})
      TRY(db::unpin(session, holder));
    for (const Checkpoint& c :
         TRY(db::Table<Checkpoint>::select(session, "WHERE job_id = $1", {job.id}))) {
      TRY(db::unpin(session, "checkpoint:" + c.id));
      TRY(db::Table<Checkpoint>::remove(session, c.id));
    }
    for (const Task& task : TRY(db::Table<Task>::select(session, "WHERE job_id = $1", {job.id}))) {
      TRY(db::unpin(session, "log:" + task.id));
      TRY(session.execute("DELETE FROM log_segments WHERE task_id = $1", {task.id}));
      TRY(session.execute("DELETE FROM task_marks WHERE task_id = $1", {task.id}));
    }
    TRY(session.execute("DELETE FROM tasks WHERE job_id = $1", {job.id}));
    TRY(session.execute("DELETE FROM attempts WHERE job_id = $1", {job.id}));
    TRY(session.execute("DELETE FROM live_params WHERE job_id = $1", {job.id}));
    TRY(db::Table<Job>::remove(session, job.id));
    TRY(emit(session, state_->context.clock, who.actor(), job.project, "job.deleted", job.id,
             job.version + 1));
    return {};
  }));
  state_->wake(job);
  return {};
}

Result<std::vector<Attempt>> Jobs::attempts(const Identity& who, const std::string& id) {
  return state_->rows<Attempt>(who, id, "WHERE job_id = $1 ORDER BY number");
}
Result<std::vector<Task>> Jobs::tasks(const Identity& who, const std::string& id) {
  return state_->rows<Task>(who, id, "WHERE job_id = $1 ORDER BY attempt_id, rank");
}
Result<std::vector<Checkpoint>> Jobs::checkpoints(const Identity& who, const std::string& id) {
  return state_->rows<Checkpoint>(who, id, "WHERE job_id = $1 ORDER BY created_at");
}

Result<std::vector<NodeInfo>> Jobs::nodes(const Identity& who) {
  (void)who;  // everybody who is signed in may see the cluster
  return state_->loop.nodes();
}

std::vector<NodeInfo> Jobs::cluster_nodes() {
  return state_->loop.nodes();
}
std::map<std::string, sched::ProjectUse> Jobs::cluster_use() {
  return state_->loop.use();
}
WaitingJobs Jobs::waiting() {
  return state_->loop.waiting();
}

Result<Job> Jobs::set_live(const Identity& who, const std::string& id,
                           const std::vector<LiveChange>& changes) {
  std::vector<std::string> tasks;
  Job job = TRY(
      state_->change(who, id, "job.live_asked", [&](db::Session& session, Job& j) -> Result<void> {
        tasks = TRY(write_live(session, state_->context, who, j, changes));
        return {};
      }));
  for (const std::string& task : tasks) state_->context.signals.notify(task_topic(task));
  return job;
}

}  // namespace hearth::control
