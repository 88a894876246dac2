// `hearth down`: ends the server of a data directory; its tasks go on unless they are cancelled.
#include <csignal>
#include <cstdio>
#include <set>
#include <thread>

#include "app/commands.h"
#include "app/local_api.h"
#include "app/server.h"
#include "base/format.h"
#include "cli/output.h"
#include "domain/codec.h"
#include "os/files.h"
#include "os/process.h"

namespace hearth::app {
namespace {

constexpr Duration kStopTime = Duration::seconds(60);
constexpr Duration kBegins = Duration::seconds(5);  // a draining
constexpr Duration kLook = Duration::seconds(1);
constexpr Duration kLookSoon = Duration::millis(50);
constexpr std::string_view kActive = "preparing%2Crunning%2Csaving";

using Jobs = std::vector<std::pair<std::string, std::string>>;  // id, name

Result<Jobs> jobs_in(const DataPaths& paths, std::string_view states) {
  Jobs jobs;
  const Node answer = TRY(local_call(
      paths, "GET",
      format("/api/v1/jobs?limit=1000&fields=id,name&filter=state%20in%20({})", states)));
  const Node* items = answer.find("items");
  if (items == nullptr) return Error::internal("the server's list of jobs has no items");
  for (const Node& job : items->items)
    if (job.find("id") != nullptr && job.find("name") != nullptr)
      jobs.emplace_back(job.find("id")->text, job.find("name")->text);
  return jobs;
}

// What is told on the way; with --json stdout is the answer's alone.
std::FILE* words_go_to(const cli::DownArgs& args) {
  return args.json ? stderr : stdout;
}

// Until none is left: what waits first, or it would start in the place of what has ended.
Result<void> cancel_all(const DataPaths& paths, std::FILE* words) {
  std::set<std::string> told;
  Time until = system_clock().steady() + kStopTime;
  for (;;) {
    Jobs jobs = TRY(jobs_in(paths, "queued"));
    if (jobs.empty()) jobs = TRY(jobs_in(paths, kActive));
    if (jobs.empty()) return {};
    for (const auto& [id, name] : jobs) {
      if (!told.insert(id).second) continue;
      std::fprintf(words, "cancelling %s\n", name.c_str());
      const auto done = local_call(paths, "POST", "/api/v1/jobs/" + id + "/cancel", "{}");
      if (!done.ok() && done.error().code != Code::conflict) return done.error();
      until = system_clock().steady() + kStopTime;
    }
    if (system_clock().steady() > until)
      return Error::of(Code::timeout,
                       format("some jobs have not ended after {}", kStopTime.seconds()),
                       "say it again, or end the server with `hearth down`: they go on");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

Result<int64_t> pid_of_server(const DataPaths& paths) {
  const auto pid = TRY(os::lock_holder(paths.lock()));
  if (pid) return *pid;
  return Error::of(Code::unreachable, format("no server runs on {}", paths.root),
                   "give its data directory with --data DIR");
}

// A server of an earlier version does not say so, and does not know how to go back.
Result<bool> is_drained(const DataPaths& paths) {
  const Node status = TRY(local_call(paths, "GET", "/api/v1/status"));
  const Node* draining = status.find("draining");
  return draining != nullptr && draining->text == "true";
}

Result<void> resume(const DataPaths& paths) {
  const int64_t pid = TRY(pid_of_server(paths));
  auto server = TRY(os::ProcessRef::open(pid));
  if (!TRY(is_drained(paths)))
    return Error::conflict("the server is not being drained", "`hearth status` shows how it is");
  TRY(server.send_signal(SIGUSR2));
  const Time until = system_clock().steady() + kStopTime;
  while (TRY(is_drained(paths))) {
    if (system_clock().steady() > until)
      return Error::of(Code::timeout, format("the server (pid {}) is drained all the same", pid));
    std::this_thread::sleep_for(std::chrono::microseconds(kLookSoon.micros));
  }
  return {};
}

Result<void> wait_drained(const os::ProcessRef& server, const DataPaths& paths, size_t jobs,
                          std::FILE* words) {
  if (jobs > 0)
    std::fprintf(words,
                 "waiting for %zu job(s) to end; Ctrl-C leaves the server draining, "
                 "`hearth down --resume` lets jobs start again\n",
                 jobs);
  std::fflush(words);
  // It is seen to begin, so that its end is told from its not having begun; an earlier version says
  // nothing of it.
  const Time soon = system_clock().steady() + kBegins;
  bool begun = false;
  while (!server.wait_ended(begun || system_clock().steady() > soon ? kLook : kLookSoon)) {
    const auto drained = is_drained(paths);
    if (begun && drained.ok() && !*drained)
      return Error::conflict(
          "the draining was ended by `hearth down --resume`; the server goes on");
    begun = begun || (drained.ok() && *drained);
  }
  return {};
}

Result<void> end_server(const cli::DownArgs& args, const DataPaths& paths) {
  const int64_t pid = TRY(pid_of_server(paths));
  auto server = TRY(os::ProcessRef::open(pid));  // at once: a number may become another process's
  if (args.cancel) TRY(cancel_all(paths, words_go_to(args)));
  const auto listed = jobs_in(paths, kActive);  // only to tell of them: a stuck server is ended too
  if (!listed.ok())
    std::fprintf(words_go_to(args), "which jobs run is not known: %s\n",
                 listed.error().text().c_str());
  const Jobs jobs = listed.ok() ? *listed : Jobs();
  TRY(server.send_signal(args.drain ? SIGUSR1 : SIGTERM));
  if (args.drain)
    TRY(wait_drained(server, paths, jobs.size(), words_go_to(args)));
  else if (!server.wait_ended(kStopTime))
    return Error::of(Code::timeout, format("the server (pid {}) still runs", pid));
  const bool go_on = !args.drain && !args.cancel && !jobs.empty();
  if (args.json) {
    std::string list;
    for (const auto& [id, name] : go_on ? jobs : Jobs())
      list += format(R"({}{{"id":{},"name":{}}})", list.empty() ? "" : ",", json_quote(id),
                     json_quote(name));
    cli::print_json(format(R"({{"stopped":true,"jobs_that_go_on":[{}]}})", list));
    return {};
  }
  std::printf("stopped\n");
  if (go_on) {
    std::printf("%zu job(s) go on; `hearth up` finds them again:\n", jobs.size());
    for (const auto& [id, name] : jobs) std::printf("  %s\n", name.c_str());
  }
  return {};
}

}  // namespace

int down(const cli::DownArgs& args) {
  if (args.resume && (args.drain || args.cancel))
    return fail(Error::invalid(
        "--resume lets jobs start again, --drain and --cancel end the server", "give one of them"));
  const DataPaths paths = data_paths(args.data);
  const auto done = args.resume ? resume(paths) : end_server(args, paths);
  if (!done.ok()) return fail(done.error());
  if (args.resume && args.json)
    cli::print_json(R"({"resumed":true})");
  else if (args.resume)
    std::printf("jobs start again\n");
  return 0;
}

}  // namespace hearth::app
