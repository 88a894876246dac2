// A job and its tries: Job -> Attempt (one gang) -> Task (one process of one role).
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/job_spec.h"

namespace hearth {

enum class AttemptState { starting, running, saving, succeeded, failed, cancelled };
template <>
struct Words<AttemptState> {
  static constexpr std::string_view name = "AttemptState";
  static constexpr std::array<std::string_view, 6> words{"starting",  "running", "saving",
                                                         "succeeded", "failed",  "cancelled"};
};

enum class TaskState { created, preparing, starting, running, saving, stopping, succeeded, failed };
template <>
struct Words<TaskState> {
  static constexpr std::string_view name = "TaskState";
  static constexpr std::array<std::string_view, 8> words{
      "created", "preparing", "starting", "running", "saving", "stopping", "succeeded", "failed"};
};
constexpr bool finished(TaskState s) {
  return s == TaskState::succeeded || s == TaskState::failed;
}
constexpr bool finished(AttemptState s) {
  return s == AttemptState::succeeded || s == AttemptState::failed || s == AttemptState::cancelled;
}
constexpr bool finished(JobState s) {
  return s == JobState::succeeded || s == JobState::failed || s == JobState::cancelled;
}

// One change that alone would start a waiting job now.
struct Change {
  // As in a job file ("resources.gpus", "roles.worker.replicas"), or "limit.gpus" (cpus, memory, a
  // GPU model) of a project's quota.
  std::string field;
  std::string value;    // as it is written there
  std::string project;  // of a limit: whose
  bool operator==(const Change&) const = default;
};
template <>
struct Describe<Change> {
  static constexpr std::string_view name = "Change",
                                    doc = "One change that alone would start a waiting job now.";
  static void fields(Fields<Change>& f) {
    f("field", &Change::field,
      "of the job file, or `limit.gpus` (cpus, memory, a GPU model) of a quota");
    f("value", &Change::value, "what to write there");
    f("project", &Change::project, "of a limit: whose");
  }
};

// Why a job waits: a code with numbers from the deciding code; `text` is made at the edge.
struct Reason {
  std::string code;  // "gpus_short", "cpus_short", "memory_short", "no_node", "back_off", "behind"
  std::map<std::string, double> numbers;
  std::string text;
  std::string mend;                            // the smallest change that would start it
  std::map<std::string, std::string> names{};  // of the project, the model... that stops it
  std::vector<Change> changes{};               // each alone starts it now; the smallest first
  bool operator==(const Reason&) const = default;
};
template <>
struct Describe<Reason> {
  static constexpr std::string_view name = "Reason", doc = "Why a job waits.";
  static void fields(Fields<Reason>& f) {
    f("code", &Reason::code, "for programs");
    f("numbers", &Reason::numbers, "what the text's numbers are");
    f("text", &Reason::text, "for people");
    f("mend", &Reason::mend, "the smallest change that would start it");
    f("names", &Reason::names, "of the project, the model, the jobs that stop it");
    f("changes", &Reason::changes,
      "each alone would start it now, found by trial; the smallest first");
  }
};

constexpr size_t kMostFailureLines = 10;
constexpr size_t kMostFailureLineBytes = 300;

struct Failure {
  FailureClass failure_class = FailureClass::exit;
  std::optional<int64_t> exit_code;
  std::optional<int64_t> signal;
  int64_t rank = 0;
  std::string role;
  std::string text, mend;
  std::vector<std::string> lines;
  bool operator==(const Failure&) const = default;
};
template <>
struct Describe<Failure> {
  static constexpr std::string_view name = "Failure", doc = "How a job, attempt or task failed.";
  static void fields(Fields<Failure>& f) {
    f("class", &Failure::failure_class, "decides whether it is tried again");
    f("exit_code", &Failure::exit_code, "of the process");
    f("signal", &Failure::signal, "that ended the process");
    f("rank", &Failure::rank, "of the task that failed first");
    f("role", &Failure::role, "of the task that failed first");
    f("text", &Failure::text, "what happened, in words");
    f("mend", &Failure::mend, "what can be done about it");
    f("lines", &Failure::lines, "what that task wrote last").max(kMostFailureLines);
  }
};

// One stretch of the timeline: queued, preparing, starting, running, saving, stopping.
struct Phase {
  std::string name;
  Time started_at;
  double seconds = 0;
  int64_t attempt = 0;
  bool operator==(const Phase&) const = default;
};
template <>
struct Describe<Phase> {
  static constexpr std::string_view name = "Phase", doc = "One stretch of a job's timeline.";
  static void fields(Fields<Phase>& f) {
    f("name", &Phase::name, "queued, preparing, starting, running, saving or stopping");
    f("started_at", &Phase::started_at, "when");
    f("seconds", &Phase::seconds, "how long; 0 while it lasts");
    f("attempt", &Phase::attempt, "number of the attempt, from 1; 0 before the first");
  }
};

// What the code came from; the uncommitted diff is kept as an object.
struct GitState {
  std::string commit, branch, remote, diff_digest;
  bool dirty = false;
  bool operator==(const GitState&) const = default;
};
template <>
struct Describe<GitState> {
  static constexpr std::string_view name = "GitState", doc = "Where the code came from.";
  static void fields(Fields<GitState>& f) {
    f("commit", &GitState::commit, "hash").max(64);
    f("branch", &GitState::branch, "name").max(256);
    f("remote", &GitState::remote, "address, without credentials").max(1024);
    f("diff_digest", &GitState::diff_digest, "object with the uncommitted diff");
    f("dirty", &GitState::dirty, "the working tree differed from the commit");
  }
};

struct Job {
  std::string id;
  std::string name;  // fashion-cnn-7
  int64_t number = 0;
  std::string project, owner;  // names
  JobState state = JobState::queued;
  std::string run_id;
  JobSpec spec;
  std::string source;  // the job file as it was sent
  std::string code_digest;
  int64_t code_size_bytes = 0;
  GitState git;
  int64_t priority = 50;
  int64_t attempts = 0;
  int64_t retries_used = 0;
  std::string attempt_id;  // the last one
  // A retry asked for this checkpoint: until an attempt behind that one has saved one of its own.
  std::string resume_checkpoint_id;
  int64_t resume_after_attempt = 0;
  std::optional<Reason> reason;
  std::optional<Failure> failure;
  Time created_at, started_at, finished_at, stop_asked_at, next_attempt_at;
  std::string stop_asked_by;
  std::vector<Phase> phases;
  int64_t version = 0;
  bool operator==(const Job&) const = default;
};
template <>
struct Describe<Job> {
  static constexpr std::string_view name = "Job", doc = "Everything that runs.";
  static void fields(Fields<Job>& f) {
    f("id", &Job::id, "ULID");
    f("name", &Job::name, "the spec's name and a counter");
    f("number", &Job::number, "counts per name and project");
    f("project", &Job::project, "project name");
    f("owner", &Job::owner, "who submitted it");
    f("state", &Job::state, "where it is");
    f("run_id", &Job::run_id, "its record over all attempts");
    f("spec", &Job::spec, "the job file, decoded");
    f("source", &Job::source, "the job file as it was sent").secret();
    f("code_digest", &Job::code_digest, "object with the code bundle");
    f("code_size_bytes", &Job::code_size_bytes, "of the bundle");
    f("git", &Job::git, "where the code came from");
    f("priority", &Job::priority, "0 to 100");
    f("attempts", &Job::attempts, "tries so far");
    f("retries_used", &Job::retries_used, "tries that counted against retries.limit");
    f("attempt_id", &Job::attempt_id, "the last attempt");
    f("resume_checkpoint_id", &Job::resume_checkpoint_id,
      "what a retry asked to go on from; empty: the newest checkpoint");
    f("resume_after_attempt", &Job::resume_after_attempt,
      "... until an attempt of a greater number has saved a checkpoint");
    f("reason", &Job::reason, "why it waits");
    f("failure", &Job::failure, "how it failed");
    f("created_at", &Job::created_at, "when it was submitted");
    f("started_at", &Job::started_at, "when the user's process first started");
    f("finished_at", &Job::finished_at, "when it ended");
    f("stop_asked_at", &Job::stop_asked_at, "when somebody asked it to end");
    f("stop_asked_by", &Job::stop_asked_by, "who did");
    f("next_attempt_at", &Job::next_attempt_at, "not tried again before");
    f("phases", &Job::phases, "the timeline");
    f("version", &Job::version, "counts changes; ETag and If-Match");
  }
};

// Which node and GPUs a task was given.
struct Place {
  std::string role;
  int64_t rank = 0;
  std::string node;
  std::vector<std::string> gpus;  // UUIDs
  int64_t gpu_milli = 1000;       // of each; a share when less than 1000
  bool operator==(const Place&) const = default;
};
template <>
struct Describe<Place> {
  static constexpr std::string_view name = "Place", doc = "Where one task runs.";
  static void fields(Fields<Place>& f) {
    f("role", &Place::role, "of the task");
    f("rank", &Place::rank, "of the task, over all roles");
    f("node", &Place::node, "name");
    f("gpus", &Place::gpus, "UUIDs");
    f("gpu_milli", &Place::gpu_milli, "thousandths of each that it may use");
  }
};

struct Attempt {
  std::string id, job_id;
  int64_t number = 1;
  int64_t epoch = 1;  // fences an executor against an older order
  std::string project, pool;
  AttemptState state = AttemptState::starting;
  std::vector<Place> places;
  std::optional<Failure> failure;
  std::string resume_checkpoint_id;
  std::optional<int64_t> resume_step;
  Time created_at, started_at, finished_at;
  int64_t version = 0;
  bool operator==(const Attempt&) const = default;
};
template <>
struct Describe<Attempt> {
  static constexpr std::string_view name = "Attempt",
                                    doc = "One try of a job: one gang allocation.";
  static void fields(Fields<Attempt>& f) {
    f("id", &Attempt::id, "ULID");
    f("job_id", &Attempt::job_id, "whose try");
    f("number", &Attempt::number, "from 1");
    f("epoch", &Attempt::epoch, "fences an executor against an older order");
    f("project", &Attempt::project, "project name");
    f("pool", &Attempt::pool, "where");
    f("state", &Attempt::state, "where it is");
    f("places", &Attempt::places, "what each task was given");
    f("failure", &Attempt::failure, "how it failed");
    f("resume_checkpoint_id", &Attempt::resume_checkpoint_id, "what it started from");
    f("resume_step", &Attempt::resume_step, "the step of that, which may be gone since");
    f("created_at", &Attempt::created_at, "when it was allocated");
    f("started_at", &Attempt::started_at, "when all its processes ran");
    f("finished_at", &Attempt::finished_at, "when it ended");
    f("version", &Attempt::version, "counts changes");
  }
};

// High-water marks: all up to and including this seq is durable in the server.
struct Marks {
  int64_t state = 0, metrics = 0, log = 0;
  bool operator==(const Marks&) const = default;
};
template <>
struct Describe<Marks> {
  static constexpr std::string_view name = "Marks", doc = "High-water marks of a task's streams.";
  static void fields(Fields<Marks>& f) {
    f("state", &Marks::state, "last state record");
    f("metrics", &Marks::metrics, "last metric record");
    f("log", &Marks::log, "last log line");
  }
};

struct Task {
  std::string id, attempt_id, job_id, project, run_id;
  std::string role = "worker";
  int64_t rank = 0;
  int64_t attempt_number = 1;
  std::string node;
  std::vector<std::string> gpus;
  TaskState state = TaskState::created;
  std::optional<Failure> failure;
  std::optional<int64_t> exit_code;
  Time created_at, preparing_at, starting_at, running_at, saving_at, stopping_at, finished_at;
  Time last_sync_at;
  Marks marks;
  bool stop_asked = false;
  std::string stop_class;  // why: "gang" (another task failed), "preemption", "cancelled"
  std::string stop_text;   // of a preemption: for whom or what, in words
  std::string limits;      // "cgroup v1", "cgroup v2", "watched": how memory is limited
  int64_t version = 0;
  bool operator==(const Task&) const = default;
};
template <>
struct Describe<Task> {
  static constexpr std::string_view name = "Task", doc = "One process of one role of one attempt.";
  static void fields(Fields<Task>& f) {
    f("id", &Task::id, "ULID");
    f("attempt_id", &Task::attempt_id, "its attempt");
    f("job_id", &Task::job_id, "its job");
    f("project", &Task::project, "project name");
    f("run_id", &Task::run_id, "where its metrics go");
    f("role", &Task::role, "worker, ps, chief...");
    f("rank", &Task::rank, "over all roles, from 0");
    f("attempt_number", &Task::attempt_number, "from 1");
    f("node", &Task::node, "where");
    f("gpus", &Task::gpus, "UUIDs it was given");
    f("state", &Task::state, "where it is");
    f("failure", &Task::failure, "how it failed");
    f("exit_code", &Task::exit_code, "of its process");
    f("created_at", &Task::created_at, "when it was allocated");
    f("preparing_at", &Task::preparing_at, "when its shim began");
    f("starting_at", &Task::starting_at, "when code and data were ready");
    f("running_at", &Task::running_at, "when its process ran");
    f("saving_at", &Task::saving_at, "when its process had ended");
    f("stopping_at", &Task::stopping_at, "when it was told to end");
    f("finished_at", &Task::finished_at, "when all was saved");
    f("last_sync_at", &Task::last_sync_at, "when it was last heard of");
    f("marks", &Task::marks, "what of its streams is durable here");
    f("stop_asked", &Task::stop_asked, "it has been told to end");
    f("stop_class", &Task::stop_class, "why: gang, preemption or cancelled");
    f("stop_text", &Task::stop_text, "of a preemption: for whom or what");
    f("limits", &Task::limits, "how its memory is limited");
    f("version", &Task::version, "counts changes");
  }
};

}  // namespace hearth
