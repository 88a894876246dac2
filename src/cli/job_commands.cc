// job list, show, logs, cancel, retry, delete, wait, why.
#include <algorithm>
#include <set>

#include <poll.h>

#include "base/format.h"
#include "base/units.h"
#include "cli/amounts.h"
#include "cli/connect.h"
#include "cli/job_follow.h"
#include "client/follow.h"
#include "domain/wire/logs.h"

namespace hearth::cli {
namespace {

using client::path_part;

constexpr Duration kFirstLook = Duration::millis(50);
constexpr Duration kLastLook = Duration::millis(1000);

std::string took(const Job& job) {
  if (job.started_at.micros == 0) return "";
  const Time end = job.finished_at.micros != 0 ? job.finished_at : system_clock().now();
  return format_duration(end - job.started_at);
}

std::string note_of(const Job& job) {
  if (job.failure && job.state == JobState::failed)
    return format("{}: {}", word(job.failure->failure_class), printable(job.failure->text));
  if (job.reason && job.state == JobState::queued) return printable(job.reason->text);
  if (job.stop_asked_at.micros != 0 && !finished(job.state)) return "stopping";
  return "";
}

Result<int> list(const Globals& globals, const ListArgs& args) {
  Server server = TRY(Server::open(globals));
  client::Query query = server.in_project();
  if (!globals.json)
    query.emplace_back("fields",
                       "id,name,state,owner,created_at,started_at,finished_at,stop_asked_at,"
                       "reason,failure,project");
  const auto items = TRY(list_items(server, "/api/v1/jobs", query, args));
  // Names are of a project: where there are several, a person is told it.
  std::set<std::string> projects;
  for (const Node& item : items)
    if (const Node* project = item.find("project")) projects.insert(project->text);
  const bool several = projects.size() > 1 && screen().out_is_terminal;
  std::vector<std::string> heads{"NAME", "STATE", "CREATED", "TOOK", "OWNER", "ID", "NOTE"};
  if (several) heads.insert(heads.begin() + 1, "PROJECT");
  return show_list<Job>(
      globals, items, &Job::id, Table(heads),
      [several](const Job& job) {
        std::vector<std::string> row{job.name,
                                     state_word(job.state, screen()),
                                     ago(job.created_at),
                                     took(job),
                                     job.owner,
                                     job.id,
                                     note_of(job)};
        if (several) row.insert(row.begin() + 1, job.project);
        return row;
      },
      "There is no job.");
}

void add_failure(Facts& facts, const Job& job) {
  if (!job.failure) return;
  // Of one that goes on it is how the attempt before ended.
  facts.add(finished(job.state) ? "failure" : "attempt before",
            format("{}: {}", word(job.failure->failure_class), printable(job.failure->text)));
  facts.add("", printable(job.failure->mend));
  if (tasks_of(job.spec) > 1)
    for (const std::string& line : job.failure->lines) facts.add("", "| " + printable(line));
}

std::string asked_words(const Role& role) {
  const Resources& asked = role.resources;
  Amounts amounts{.cpus = asked.cpus, .memory_bytes = asked.memory.bytes};
  if (asked.gpus > 0) amounts.gpus = static_cast<double>(asked.gpus);
  std::vector<std::string> parts{words_of(amounts)};
  if (!asked.gpu_model.empty()) parts.push_back(format("of {}", join(asked.gpu_model, " or ")));
  if (asked.gpu_share < 1) parts.push_back(format("{} of each GPU", number_text(asked.gpu_share)));
  if (asked.gpu_memory)
    parts.push_back(format("{} on each GPU", format_size(asked.gpu_memory->bytes)));
  const std::string words = joined(parts, ", ");
  return role.replicas > 1 ? format("{} times {}", role.replicas, words) : words;
}

// What the scheduler goes by.
void add_asked(Facts& facts, const Job& job) {
  const bool several = job.spec.roles.size() > 1;
  for (const auto& [name, role] : roles_of(job.spec))
    facts.add(several ? "asks for, " + name : "asks for", printable(asked_words(role)));
  facts
      .add("priority",
           format("{}{}", job.priority, job.spec.opportunistic ? ", opportunistic" : ""))
      .add("pool", job.spec.pool)
      .add("time limit", job.spec.time_limit ? format_duration(job.spec.time_limit->duration) : "");
}

// The phase that goes on has no length yet.
Duration length_of(const Job& job, const Phase& phase) {
  const bool open = &phase == &job.phases.back() && !finished(job.state) && phase.seconds == 0;
  return open ? system_clock().now() - phase.started_at : Duration::seconds(phase.seconds);
}

void print_job(const Job& job) {
  Facts facts;
  facts.add("name", job.name).add("id", job.id).add("state", state_word(job.state, screen()));
  if (job.reason && job.state == JobState::queued) {
    facts.add("waits", printable(job.reason->text));
    facts.add("", printable(job.reason->mend));
  }
  add_failure(facts, job);
  facts.add("project", job.project)
      .add("owner", job.owner)
      .add("run", job.run_id)
      .add("attempts", job.attempts > 0 ? std::to_string(job.attempts) : "");
  add_asked(facts, job);
  facts.add("created", ago(job.created_at))
      .add("started", ago(job.started_at))
      .add("finished", ago(job.finished_at))
      .add("took", took(job))
      .add("stop asked", job.stop_asked_at.micros != 0
                             ? format("{} by {}", ago(job.stop_asked_at), job.stop_asked_by)
                             : "");
  for (const auto& [name, role] : roles_of(job.spec)) {
    std::string command = role.command.text;
    for (const std::string& part : role.command.words)
      command += (command.empty() ? "" : " ") + part;
    facts.add(job.spec.roles.empty() ? "command" : "role " + name, printable(command));
  }
  for (const auto& [name, param] : job.spec.params)
    facts.add("param " + name, printable(any_text(param.value)) + (param.live ? "  (live)" : ""));
  if (!job.code_digest.empty())
    facts.add("code", format("{} ({})", job.code_digest, format_size(job.code_size_bytes)));
  if (!job.git.commit.empty())
    facts.add("git", format("{} {}{}", job.git.commit.substr(0, 12), job.git.branch,
                            job.git.dirty ? ", with uncommitted changes" : ""));
  facts.print();
  if (job.phases.empty()) return;
  put("\n");
  Table table({"PHASE", "ATTEMPT", "BEGAN", "SECONDS"});
  for (const Phase& phase : job.phases)
    table.row({phase.name, phase.attempt > 0 ? std::to_string(phase.attempt) : "",
               when(phase.started_at), format("{:.2f}", length_of(job, phase).seconds())});
  table.print("");
}

std::string end_of(const Task& task) {
  if (task.failure)
    return format("{}: {}", word(task.failure->failure_class), printable(task.failure->text));
  return task.exit_code ? format("exit code {}", *task.exit_code) : "";
}

// Of the last attempt.
Result<void> print_tasks(Server& server, const Job& job) {
  auto tasks = TRY(server.api().list<Task>("/api/v1/jobs/" + job.id + "/tasks"));
  std::erase_if(tasks, [&](const Task& task) { return task.attempt_id != job.attempt_id; });
  if (tasks.empty()) return {};
  std::sort(tasks.begin(), tasks.end(),
            [](const Task& a, const Task& b) { return a.rank < b.rank; });
  put("\n");
  Table table({"RANK", "ROLE", "NODE", "GPUS", "STATE", "TOOK", "END"});
  for (const Task& task : tasks) {
    const Time end = task.saving_at.micros != 0     ? task.saving_at
                     : task.finished_at.micros != 0 ? task.finished_at
                                                    : system_clock().now();
    table.row({std::to_string(task.rank), task.role, task.node,
               printable(format("{}", join(task.gpus, ","))), std::string(word(task.state)),
               task.running_at.micros == 0 ? "" : format_duration(end - task.running_at),
               end_of(task)});
  }
  table.print("");
  return {};
}

Result<int> show(const Globals& globals, const std::string& name) {
  Server server = TRY(Server::open(globals));
  const std::string answer = TRY(server.api().get("/api/v1/jobs/" + TRY(server.job_id(name))));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto job = TRY(from_json<Job>(answer, Origin::server, client::Client::kMostAnswerBytes));
  if (globals.quiet) {
    put(job.id + "\n");
    return kExitOk;
  }
  print_job(job);
  const auto roles = roles_of(job.spec);
  const bool has_gpus =
      std::ranges::any_of(roles, [](const auto& entry) { return entry.second.resources.gpus > 0; });
  if (has_gpus || tasks_of(job.spec) > 1) TRY(print_tasks(server, job));
  return kExitOk;
}

struct LogArgs {
  std::string job, attempt, since, grep;
  std::optional<int64_t> rank, tail;
  bool follow = false, timestamps = false;
};

Result<void> check_tail(const LogArgs& args) {
  if (!args.grep.empty() || !args.since.empty() || args.attempt == "all")
    return Error::invalid("--tail goes with neither --grep, --since nor --attempt all",
                          "`hearth job logs JOB --grep RE | tail` does");
  if (*args.tail < 1 || *args.tail > kMostShownLines)
    return Error::invalid(format("--tail takes 1 to {}, not {}", kMostShownLines, *args.tail));
  return {};
}

// As a stream has it (LogStream of the server).
std::string line_json(const LogLines& of, const LogLine& line) {
  return format(
      R"({{"task":"{}","seq":{},"time":"{}","attempt":{},"rank":{},"stream":"{}","text":{}{}}})",
      of.task_id, line.seq, to_rfc3339(line.time), of.attempt, of.rank, line.stream,
      json_quote(line.text), line.partial ? R"(,"partial":true)" : "");
}

// The last lines of one task; where they end, for whoever goes on from there.
Result<std::string> print_tail(const Globals& globals, Server& server, const LogArgs& args) {
  client::Query query = {{"tail", std::to_string(*args.tail)},
                         {"rank", args.rank ? std::to_string(*args.rank) : ""},
                         {"attempt", args.attempt},
                         {"project", server.project()}};
  const std::string answer =
      TRY(server.api().get("/api/v1/jobs/" + path_part(args.job) + "/logs/lines", query));
  const auto found =
      TRY(from_json<LogLines>(answer, Origin::server, client::Client::kMostAnswerBytes));
  if (globals.json && !args.follow) {
    print_json(answer);
    return std::string();
  }
  for (const LogLine& line : found.lines)
    if (globals.json)
      put(line_json(found, line) + "\n");
    else
      put((args.timestamps ? to_rfc3339(line.time) + " " : "") + line.text +
          (line.partial ? "" : "\n"));
  if (found.task_id.empty()) return std::string();
  return format("{}:{}", found.task_id,
                found.lines.empty() ? found.next_from - 1 : found.lines.back().seq);
}

Result<int> logs(const Globals& globals, const LogArgs& args) {
  if (args.tail) TRY(check_tail(args));
  Server server = TRY(Server::open(globals));
  std::string after;
  if (args.tail) {
    after = TRY(print_tail(globals, server, args));
    if (!args.follow) return kExitOk;
  }
  client::Query query;
  // The tail is that of one task, and so is what follows it.
  const auto rank = args.tail ? std::optional(args.rank.value_or(0)) : args.rank;
  query.emplace_back("rank", rank ? std::to_string(*rank) : "");
  query.emplace_back("attempt", args.attempt);
  query.emplace_back("since", args.since);
  query.emplace_back("grep", args.grep);
  if (args.follow) {
    const Job job = TRY(server.job(args.job));
    LogView view;
    view.query = query;
    view.after = after;
    view.timestamps = args.timestamps;
    const Job ended = TRY(follow_job(globals, job, view));
    say_end(ended);
    return exit_of(ended);
  }
  query.emplace_back("project", server.project());
  if (globals.json) {
    client::FollowOptions options;
    options.take = [](const client::StreamEvent& event) {
      put(event.data + "\n");
      return std::ferror(stdout) == 0;  // `| head` has had enough
    };
    TRY(client::follow(server.api(), "/api/v1/jobs/" + path_part(args.job) + "/logs", query,
                       options));
    return kExitOk;
  }
  query.emplace_back("timestamps", args.timestamps ? "1" : "");
  bool written = true;
  const auto done = server.api().stream("/api/v1/jobs/" + path_part(args.job) + "/logs", query,
                                        "text/plain", [&](std::string_view piece) {
                                          written = std::fwrite(piece.data(), 1, piece.size(),
                                                                stdout) == piece.size();
                                          return written;
                                        });
  if (!written) return kExitOk;  // `| head` has had enough
  TRY(done);
  return kExitOk;
}

// The same change for several jobs: all are tried, the first error is told by the exit code.
Result<int> for_each_job(
    const Globals& globals, const std::vector<std::string>& names,
    const std::function<Result<std::string>(Server&, const std::string&)>& change,
    std::string_view done) {
  Server server = TRY(Server::open(globals));
  int code = kExitOk;
  for (const std::string& name : names) {
    auto answer = [&]() -> Result<std::string> {
      return change(server, TRY(server.job_id(name)));
    }();
    if (!answer.ok()) {
      const int exit_code = fail(answer.error());
      if (code == kExitOk) code = exit_code;
    } else if (globals.json) {
      print_json(answer->empty() ? "{}" : *answer);
    } else if (!globals.quiet) {
      std::fprintf(stderr, "%s: %.*s\n", name.c_str(), static_cast<int>(done.size()), done.data());
    }
  }
  return code;
}

struct WaitArgs {
  std::vector<std::string> jobs;
  std::string timeout;
};

Result<int> wait(const Globals& globals, const WaitArgs& args) {
  std::optional<Time> until;
  if (!args.timeout.empty()) until = system_clock().steady() + TRY(parse_duration(args.timeout));
  Server server = TRY(Server::open(globals));
  std::vector<std::string> ids;
  for (const std::string& name : args.jobs) ids.push_back(TRY(server.job_id(name)));
  std::vector<Job> ended;
  Duration pause = kFirstLook;
  for (const std::string& id : ids) {
    for (;;) {
      auto job = server.api().get_as<Job>("/api/v1/jobs/" + id);
      // A server that restarts is waited for like the job itself.
      if (!job.ok() && job.error().code != Code::unreachable) return job.error();
      if (job.ok() && finished(job->state)) {
        ended.push_back(std::move(*job));
        break;
      }
      if (until && system_clock().steady() >= *until)
        return fail(kExitTimeout, "wait_over",
                    format("{} has not ended within {}", job.ok() ? job->name : id, args.timeout));
      Duration now = pause;
      if (until) now = std::min(now, *until - system_clock().steady());
      poll(nullptr, 0, static_cast<int>(std::max<int64_t>(1, now.micros / 1000)));
      pause = std::min(Duration{pause.micros * 3 / 2}, kLastLook);
    }
  }
  int code = kExitOk;
  std::string json = "[";
  for (const Job& job : ended) {
    code = std::max(code, exit_of(job));
    json += (json.size() > 1 ? "," : "") + to_json(job);
    if (!globals.json && !globals.quiet) say_end(job);
  }
  if (globals.json) print_json(json + "]");
  return code;
}

Result<int> why(const Globals& globals, const std::string& name) {
  Server server = TRY(Server::open(globals));
  const Job job = TRY(server.job(name));
  const std::string answer = TRY(server.api().get("/api/v1/jobs/" + job.id + "/why"));
  if (globals.json) {
    print_json(answer);
    return kExitOk;
  }
  const auto reason = TRY(from_json<Reason>(answer));
  put(printable(reason.text) + "\n");
  if (!reason.mend.empty()) put("  " + printable(reason.mend) + "\n");
  if (!job.failure) return kExitOk;
  // It ran before: it was evicted, or is tried again.
  if (job.state == JobState::queued && !job.failure->text.empty())
    put(format("attempt {} ended: {}\n", job.attempts, printable(job.failure->text)));
  if (job.failure->lines.empty()) return kExitOk;
  put("the last lines before that:\n");
  for (const std::string& line : job.failure->lines) put("  | " + printable(line) + "\n");
  return kExitOk;
}

Result<int> checkpoints(const Globals& globals, const std::string& name) {
  Server server = TRY(Server::open(globals));
  const std::string id = TRY(server.job_id(name));
  return show_list<Checkpoint>(
      globals, TRY(list_items(server, "/api/v1/jobs/" + id + "/checkpoints", {})), &Checkpoint::id,
      Table({"ID", "STEP", "SIZE", "CREATED"}),
      [](const Checkpoint& one) -> std::vector<std::string> {
        return {one.id, std::to_string(one.step), format_size(one.size_bytes), ago(one.created_at)};
      },
      "It has no checkpoint.");
}

struct RetryArgs {
  std::vector<std::string> jobs;
  std::string checkpoint;
};

Result<int> retry(const Globals& globals, const RetryArgs& args) {
  if (!args.checkpoint.empty() && args.jobs.size() != 1)
    return Error::invalid("--checkpoint is of one job", "name one job");
  const std::string body = to_json(RetryBody{args.checkpoint});
  return for_each_job(
      globals, args.jobs,
      [&](Server& server, const std::string& id) {
        return server.api().send("POST", "/api/v1/jobs/" + id + "/retry", body);
      },
      "is tried again");
}

void add_changes(Tree& tree, Group& group) {
  const Globals& globals = tree.globals();
  auto cancelled = std::make_shared<std::vector<std::string>>();
  group.command("cancel", "Asks jobs to end")
      .needs(*cancelled, "JOB", "ids or names")
      .does([cancelled, &globals] {
        return for_each_job(
            globals, *cancelled,
            [](Server& server, const std::string& id) {
              return server.api().send("POST", "/api/v1/jobs/" + id + "/cancel", "{}");
            },
            "asked to end");
      });
  auto again = std::make_shared<RetryArgs>();
  group.command("retry", "Tries ended jobs again, from their last checkpoint")
      .needs(again->jobs, "JOB", "ids or names")
      .option(again->checkpoint, "--checkpoint", "ID", "goes on from this one instead")
      .does([again, &globals] { return retry(globals, *again); });
  auto saved = std::make_shared<std::string>();
  group.command("checkpoints", "Lists the checkpoints that a job has saved and that are kept")
      .needs(*saved, "JOB", "id or name")
      .does([saved, &globals] { return checkpoints(globals, *saved); });
  auto gone = std::make_shared<std::vector<std::string>>();
  group.command("delete", "Deletes ended jobs with their logs")
      .needs(*gone, "JOB", "ids or names")
      .does([gone, &globals] {
        return for_each_job(
            globals, *gone,
            [](Server& server, const std::string& id) {
              return server.api().send("DELETE", "/api/v1/jobs/" + id);
            },
            "deleted");
      });
}

}  // namespace

void add_job_commands(Tree& tree) {
  const Globals& globals = tree.globals();
  Group group = tree.group("job", "Everything that runs");
  add_job_submit_commands(tree, group);

  auto list_args = std::make_shared<ListArgs>();
  Command list_command = group.command("list", "Lists jobs, the newest first");
  add_list_options(list_command, *list_args, "state = running and params.lr < 0.1");
  list_command.does([list_args, &globals] { return list(globals, *list_args); });

  auto shown = std::make_shared<std::string>();
  group.command("show", "Shows one job and its timeline")
      .needs(*shown, "JOB", "id or name")
      .does([shown, &globals] { return show(globals, *shown); });

  auto log_args = std::make_shared<LogArgs>();
  group.command("logs", "Prints the lines its tasks wrote; with --json one JSON document a line")
      .needs(log_args->job, "JOB", "id or name")
      .flag(log_args->follow, "--follow,-f", "goes on until the job ends")
      .option(log_args->rank, "--rank", "N", "of this task alone")
      .option(log_args->tail, "--tail", "N", "only its last N lines; rank 0 unless said otherwise")
      .option(log_args->attempt, "--attempt", "N|all", "default: the last")
      .option(log_args->since, "--since", "T", "a time, or how long ago: 10m")
      .option(log_args->grep, "--grep", "RE", "only lines that match (RE2)")
      .flag(log_args->timestamps, "--timestamps", "each line begins with its time")
      .does([log_args, &globals] { return logs(globals, *log_args); });

  add_changes(tree, group);

  auto waited = std::make_shared<WaitArgs>();
  group.command("wait", "Waits for the end of jobs; exits 0 if all succeeded, else 1")
      .needs(waited->jobs, "JOB", "ids or names")
      .option(waited->timeout, "--timeout", "D", "exits 9 after so long: 10m")
      .does([waited, &globals] { return wait(globals, *waited); });

  auto asked = std::make_shared<std::string>();
  group.command("why", "Why it waits, or how it failed, and what to do")
      .needs(*asked, "JOB", "id or name")
      .does([asked, &globals] { return why(globals, *asked); });
  group.later("shell", "Opens a shell beside a running task");
}

}  // namespace hearth::cli
