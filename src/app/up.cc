// `hearth up`: runs the server in the foreground, or with --detach beside the terminal.
#include <csignal>
#include <cstdio>
#include <thread>

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/local_api.h"
#include "app/logging.h"
#include "app/prometheus.h"
#include "app/server.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/output.h"
#include "client/contexts.h"
#include "domain/codec.h"
#include "os/files.h"
#include "os/process.h"
#include "os/signals.h"
#include "os/system.h"

namespace hearth::app {
namespace {

constexpr Duration kReadyTime = Duration::seconds(60);
constexpr size_t kToldLines = 400;  // of the log of one that did not start
// Memory that is given free stays with the process up to here, and pieces up to here are not mapped
// one by one: bodies, rows and merges come and go all the time, and each page that is given back to
// the kernel is cleared anew when it is wanted again. Per arena, of which there are as many as
// cores, not glibc's eight a core: each would be cleared and kept by itself.
constexpr int kLeastArenas = 2;
constexpr int kMostKept = 16 << 20;
constexpr int kMostUnmapped = 8 << 20;

// Arguments for the server that goes on when the terminal is gone: all but --detach, which a file
// of options may say, too, and --json, which is for whoever waits for it.
std::vector<std::string> without_detach() {
  std::vector<std::string> all;
  const auto text = os::read_file("/proc/self/cmdline", 1 << 20);
  if (!text.ok()) return all;
  for (const std::string_view word : split(*text, '\0'))
    if (word != "--detach" && word != "--json" && !word.empty()) all.emplace_back(word);
  all.emplace_back("--detach=false");
  return all;
}

Result<std::string> last_lines(const std::string& path, size_t lines) {
  const std::string text = TRY(os::read_file(path, 64 << 20));
  size_t at = text.size();
  for (size_t n = 0; n <= lines && at != std::string::npos && at > 0; ++n)
    at = text.rfind('\n', at - 1);
  return text.substr(at == std::string::npos || at == 0 ? 0 : at + 1);
}

// The user's own file; a server starts without it as well.
client::Contexts known_contexts() {
  return client::load_contexts().value_or({});
}

// What to say where this server is known beside another of its installation (client::place_server),
// which commands go on meaning; else "".
std::string beside_words(const client::Contexts& known, const std::string& url) {
  for (const auto& [name, context] : known.contexts)
    if (context.url == url && name != known.current && name != context.server_id)
      return format("commands mean {} by default; this server: hearth --context {}", known.current,
                    name);
  return "";
}

// What to say where the start of a new server has become what commands mean by default; "" where
// nothing changed, or nothing was known before.
std::string switched_words(const client::Contexts& before, const client::Contexts& after) {
  const auto was = before.contexts.find(before.current);
  const auto is = after.contexts.find(after.current);
  if (was == before.contexts.end() || is == after.contexts.end() || was->first == is->first)
    return "";
  return format(
      "commands speak to this server by default now (context {}, {}), no longer to {} ({}); "
      "back: hearth context use {}",
      is->first, is->second.url, was->first, was->second.url, was->first);
}

// What went wrong, as the server itself said by its exit code.
Code code_of(const os::Exit& exit) {
  for (const Code code : {Code::invalid, Code::conflict, Code::not_found, Code::denied})
    if (exit.signal == 0 && exit.code == info(code).exit_code) return code;
  return Code::unavailable;
}

Result<void> detach(const DataPaths& paths) {
  TRY(make_data_directories(paths));
  if (const auto holder = TRY(os::lock_holder(paths.lock())))
    return Error::conflict(format("a server already runs on {} (pid {})", paths.root, *holder),
                           "`hearth status` shows it, `hearth down` stops it");
  const os::Fd log(
      open(paths.server_log().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!log) return Error::from_errno(paths.server_log(), errno);
  os::SpawnOptions options;
  options.argv = without_detach();
  options.argv[0] = TRY(os::own_executable());
  options.environment = os::current_environment();
  options.standard_out = options.standard_error = os::Stdio::from(log.get());
  os::Process child = TRY(os::spawn(options));
  const Time until = system_clock().steady() + kReadyTime;
  while (system_clock().steady() < until) {
    if (const auto exit = TRY(child.wait(Duration::millis(50)))) {
      const auto said = last_lines(paths.server_log(), kToldLines);
      return Error::of(
          code_of(*exit),
          format("the server ended with {}:\n{}", exit->text(), said.ok() ? *said : std::string()),
          format("all that it said: {}", paths.server_log()));
    }
    const auto file = read_server_file(paths.server_file());
    if (file.ok() && file->pid == child.pid()) return {};
  }
  return Error::of(Code::timeout,
                   format("the server was not ready after {}", format_duration(kReadyTime)),
                   format("look into {}", paths.server_log()));
}

// A terminal that goes sends this too: the server stays either way.
void reload(HearthServer& server) {
  const auto done = server.reload();
  if (done.ok())
    log_info("SIGHUP: certificate and key, where there are, were read again");
  else
    log_error("SIGHUP: the certificate stays as it was: {}", done.error().text());
}

Result<void> run_in_foreground(const cli::UpArgs& args) {
  // Signals are read as events; blocked before the first thread starts.
  auto signals = TRY(os::SignalFd::make({SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}));
  os::ignore_signal(SIGPIPE);
  const client::Contexts before = known_contexts();
  auto server = TRY(HearthServer::start(args));
  log_info("Hearth is ready at {}", server->url());
  if (const std::string words = switched_words(before, known_contexts()); !words.empty())
    log_info("{}", words);
  if (isatty(STDERR_FILENO)) {
    const auto link = server->sign_in_link();
    if (link.ok()) std::fprintf(stderr, "\n  Sign in: %s\n\n", link->c_str());
  }
  for (;;) {
    pollfd wait{signals.fd(), POLLIN, 0};
    poll(&wait, 1, server->held() ? 500 : -1);
    if (server->held() && server->idle()) break;
    const auto signal = TRY(signals.read());
    if (!signal) continue;
    if (signal->signal == SIGHUP) {
      reload(*server);
      continue;
    }
    if (signal->signal == SIGUSR1) {
      log_info("draining: no job starts any more; the server ends when none runs");
      server->hold();
      continue;
    }
    if (signal->signal == SIGUSR2) {
      if (server->held()) log_info("the draining is over: jobs start again");
      server->release();
      continue;
    }
    log_info("stopping on {}", os::signal_name(signal->signal));
    break;
  }
  const int64_t running = server->stop();
  if (running > 0)
    log_info("{} task(s) go on without the server; they report when it is back", running);
  return {};
}

}  // namespace

int up(const cli::UpArgs& args) {
  const DataPaths paths = data_paths(args.data);
  if (args.detach) {
    const client::Contexts before = known_contexts();
    const auto done = detach(paths);
    if (!done.ok()) return fail(done.error());
    const auto file = read_server_file(paths.server_file());
    if (!file.ok()) return fail(file.error());
    const auto link = local_sign_in_link(paths);
    if (args.json) {
      cli::print_json(format(R"({{"url":{},"pid":{},"sign_in":{}}})", json_quote(file->url),
                             file->pid, json_quote(link.ok() ? *link : "")));
    } else {
      std::printf("Hearth runs at %s (pid %lld)\n", file->url.c_str(),
                  static_cast<long long>(file->pid));
      if (link.ok()) std::printf("Sign in: %s\n", link->c_str());
    }
    const client::Contexts after = known_contexts();
    for (const std::string& words : {switched_words(before, after), beside_words(after, file->url)})
      if (!words.empty()) std::fprintf(stderr, "Note: %s\n", words.c_str());
    return 0;
  }
  mallopt(M_ARENA_MAX,
          std::max(kLeastArenas, static_cast<int>(std::thread::hardware_concurrency())));
  mallopt(M_TRIM_THRESHOLD, kMostKept);
  mallopt(M_MMAP_THRESHOLD, kMostUnmapped);
  log_to_stderr();
  use_prometheus();
  const auto done = run_in_foreground(args);
  return done.ok() ? 0 : fail(done.error());
}

}  // namespace hearth::app
