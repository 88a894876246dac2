// `hearth down`: ends the server of a data directory; its tasks go on unless they are cancelled.
#include <csignal>
#include <cstdio>
#include <set>
#include <thread>

#include "app/commands.h"
#include "app/local_api.h"
#include "app/server.h"
#include "base/format.h"
#include "os/files.h"
#include "os/process.h"

namespace hearth::app {
namespace {

constexpr Duration kStopTime = Duration::seconds(60);
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

// Until none is left: what waits first, or it would start in the place of what has ended.
Result<void> cancel_all(const DataPaths& paths) {
  std::set<std::string> told;
  Time until = system_clock().steady() + kStopTime;
  for (;;) {
    Jobs jobs = TRY(jobs_in(paths, "queued"));
    if (jobs.empty()) jobs = TRY(jobs_in(paths, kActive));
    if (jobs.empty()) return {};
    for (const auto& [id, name] : jobs) {
      if (!told.insert(id).second) continue;
      std::printf("cancelling %s\n", name.c_str());
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

Result<void> end_server(const cli::DownArgs& args, const DataPaths& paths) {
  const auto pid = TRY(os::lock_holder(paths.lock()));
  if (!pid)
    return Error::of(Code::unreachable, format("no server runs on {}", paths.root),
                     "give its data directory with --data DIR");
  if (args.cancel) TRY(cancel_all(paths));
  const auto listed = jobs_in(paths, kActive);  // only to tell of them: a stuck server is ended too
  if (!listed.ok()) std::printf("which jobs run is not known: %s\n", listed.error().text().c_str());
  const Jobs jobs = listed.ok() ? *listed : Jobs();
  auto server = TRY(os::ProcessRef::open(*pid));
  TRY(server.send_signal(args.drain ? SIGUSR1 : SIGTERM));
  if (args.drain && !jobs.empty()) std::printf("waiting for %zu job(s) to end\n", jobs.size());
  if (!args.drain && !server.wait_ended(kStopTime))
    return Error::of(Code::timeout, format("the server (pid {}) still runs", *pid));
  while (args.drain && !server.wait_ended(Duration::seconds(1))) {
  }
  std::printf("stopped\n");
  if (!args.drain && !args.cancel && !jobs.empty()) {
    std::printf("%zu job(s) go on; `hearth up` finds them again:\n", jobs.size());
    for (const auto& [id, name] : jobs) std::printf("  %s\n", name.c_str());
  }
  return {};
}

}  // namespace

int down(const cli::DownArgs& args) {
  const auto done = end_server(args, data_paths(args.data));
  return done.ok() ? 0 : fail(done.error());
}

}  // namespace hearth::app
