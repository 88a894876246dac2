// A shim without a server: `test_shim DIR` and `test_shim --drain DIR`. It holds DIR/lock while it
// lives, writes what it does into DIR/history, and follows MOCK_TASK of its order:
//
//   end=ends      after `run` it exits with 0
//   end=vanishes  after `run` it dies by SIGKILL
//   end=hangs     until it is told to end
//   ignores_stop=1   it ignores SIGTERM, and so does a child in a session of its own
//
// A drain fails while DIR/drain_fails is there.
#include <ctime>
#include <string>
#include <string_view>

#include <signal.h>
#include <unistd.h>

#include "domain/codec.h"
#include "executors/local/task_folder.h"
#include "executors/mock_task.h"
#include "os/files.h"
#include "os/process.h"

namespace {

using namespace hearth;

// Waits for SIGTERM (blocked by main) at most so long; true when it came.
bool told_to_end(Duration at_most) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  const timespec wait{at_most.micros / 1'000'000, at_most.micros % 1'000'000 * 1000};
  return ::sigtimedwait(&set, nullptr, &wait) == SIGTERM;
}

void note(const executors::TaskFolder& folder, const std::string& what) {
  ignore(os::append_file(folder.path + "/history", what + "\n", os::Sync::no));
}

// Waits while a shim or another drain is still there.
Result<os::FileLock> lock(const executors::TaskFolder& folder) {
  for (int i = 0; i < 100; ++i) {
    auto lock = os::FileLock::acquire(folder.lock());
    if (lock.ok()) return lock;
    if (told_to_end(Duration::millis(100))) break;
  }
  return os::FileLock::acquire(folder.lock());
}

int drain(const executors::TaskFolder& folder) {
  const auto held = lock(folder);
  if (!held.ok()) return 75;
  note(folder, "drain");
  return os::status(folder.path + "/drain_fails").ok() ? 1 : 0;
}

void start_stubborn_child(const executors::TaskFolder& folder) {
  os::SpawnOptions options;
  options.argv = {"/bin/sh", "-c", "trap '' TERM; while true; do sleep 1; done"};
  options.environment = {folder.marker(), "PATH=/usr/bin:/bin"};
  ignore(os::spawn(options));
}

int run(const executors::TaskFolder& folder) {
  const auto held = os::FileLock::acquire(folder.lock());
  if (!held.ok()) return 75;
  const auto text = os::read_file(folder.order(), executors::kMostOrderBytes);
  if (!text.ok()) return 66;
  auto spec = from_json<TaskSpec>(*text);
  if (!spec.ok()) return 66;
  const auto script = executors::parse_mock_task(spec->env["MOCK_TASK"]);
  if (!script.ok()) return 64;
  if (script->ignores_stop) {
    ::signal(SIGTERM, SIG_IGN);
    sigset_t set;  // while it is blocked, an ignored signal would be waited for all the same
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    start_stubborn_child(folder);
  }
  note(folder, "run");
  const bool hangs = script->end == executors::MockTask::End::hangs;
  const bool told = told_to_end(hangs ? Duration::seconds(3600) : script->run);
  note(folder, told ? "stopped" : "end");
  if (script->end == executors::MockTask::End::vanishes) ::kill(::getpid(), SIGKILL);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool drains = argc == 3 && std::string_view(argv[1]) == "--drain";
  if (argc != 2 && !drains) return 64;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  executors::TaskFolder folder;
  folder.path = argv[argc - 1];
  folder.task_id = folder.path.substr(folder.path.rfind('/') + 1);
  return drains ? drain(folder) : run(folder);
}
