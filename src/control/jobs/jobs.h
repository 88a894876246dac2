// Jobs from submit to end: the service the API calls, and the loop that starts, watches and ends
// attempts. The rules are pure and stand in state.h (the table) and update.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/even_clock.h"
#include "control/context.h"
#include "db/table.h"
#include "domain/identity.h"
#include "domain/job.h"
#include "domain/part_done.h"
#include "domain/run.h"
#include "domain/wire/api.h"
#include "executors/executor.h"
#include "sched/scheduler.h"

namespace hearth::control {

struct SubmitRequest {
  std::string yaml;              // the job file as it is...
  std::optional<Node> json;      // ...or its tree
  std::vector<std::string> set;  // "params.lr=0.1"
  std::string code_digest;       // of an uploaded bundle; required when the spec has code
  GitState git;
  // Runs in the transaction that makes the job (the answer kept for an Idempotency-Key).
  std::function<Result<void>(db::Session&, const Job&)> on_written;
};

// What a submit would do, for `job check` and the page's form.
struct CheckAnswer {
  JobSpec spec;
  bool runnable = false;
  Reason reason;  // why it would wait; code "now" when it would start at once
  Amounts asks;   // of all its tasks
  std::optional<StartGuess> start;
};

struct LiveChange {
  std::string name;
  AnyJson value;
};

class Access;

struct JobsOptions {
  std::string server_socket, server_url, objects_directory;
  std::vector<std::string>
      path_roots;  // for `datasets: path`; empty: any (an ordinary user's server)
  std::optional<std::pair<int64_t, int64_t>> task_uids;
  // The context's clock, when it leaves out jumps of the wall: they are taken over once no job is
  // queued or runs.
  EvenClock* clock = nullptr;
  // How far a run is; null: no run tells. Called by the loop's thread.
  std::function<std::optional<PartDone>(const std::string& run_id)> part_done;
};

// By the last plan.
struct WaitingJobs {
  std::map<std::string, int64_t> by_reason;  // how many, by the code of their reason
  Time queued_since;                         // of the one that has waited longest; {0}: none waits
};

class Jobs {
 public:
  Jobs(Context context, Access& access, executors::Executor& executor, JobsOptions options);
  ~Jobs();

  Result<Job> submit(const Identity& who, const SubmitRequest& request);
  Result<CheckAnswer> check(const Identity& who, const SubmitRequest& request);
  Result<Job> get(const Identity& who, const std::string& id_or_name, const std::string& project);
  // As get(), with the reason of a job that waits in full.
  Result<Job> why(const Identity& who, const std::string& id_or_name, const std::string& project);
  Result<db::ListPage<Job>> list(const Identity& who, const std::string& project,
                                 db::ListQuery query);
  Result<Job> cancel(const Identity& who, const std::string& id);
  // A new attempt of an ended job, from that checkpoint of it ("": from the newest).
  Result<Job> retry(const Identity& who, const std::string& id, const std::string& checkpoint = "");
  Result<void> remove(const Identity& who, const std::string& id);  // ended jobs only
  Result<std::vector<Attempt>> attempts(const Identity& who, const std::string& id);
  Result<std::vector<Task>> tasks(const Identity& who, const std::string& id);
  Result<std::vector<Checkpoint>> checkpoints(const Identity& who, const std::string& id);
  Result<std::vector<NodeInfo>> nodes(const Identity& who);
  // The cluster as the scheduler sees it now.
  std::vector<NodeInfo> cluster_nodes();
  std::map<std::string, sched::ProjectUse> cluster_use();
  WaitingJobs waiting();

  // Live parameters: bounds and types of the job file are enforced.
  Result<Job> set_live(const Identity& who, const std::string& id,
                       const std::vector<LiveChange>& changes);

  // The loop: recover() what ran before, then schedule and reconcile until stop().
  Result<void> start();
  void stop();
  void hold();     // start no job from now on
  void release();  // start jobs again

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth::control
