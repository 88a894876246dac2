#include "shim/shim.h"

#include <poll.h>

#include "base/even_clock.h"
#include "base/format.h"
#include "base/log.h"
#include "shim/layout.h"
#include "shim/task.h"

namespace hearth::shim {
namespace {

constexpr int64_t kMostTaskBytes = 16 << 20;
constexpr Duration kLockWait = Duration::seconds(10);
constexpr int kLockLookMillis = 100;

// A drain waits a little for a shim that is about to end.
Result<os::FileLock> lock(const Layout& layout, bool patient) {
  const Time end = system_clock().steady() + kLockWait;
  for (;;) {
    auto held = os::FileLock::acquire(layout.lock());
    const bool busy = !held.ok() && held.error().code == Code::conflict;
    if (!busy || !patient || system_clock().steady() >= end) return held;
    poll(nullptr, 0, kLockLookMillis);
  }
}

Result<int> run_task(const ShimOptions& options, const Layout& layout) {
  const std::string text = TRY(os::read_file(layout.task(), kMostTaskBytes));
  const auto spec = TRY(from_json<TaskSpec>(text, Origin::server, kMostTaskBytes));
  if (auto known = check_order_protocol(spec.protocol, options.protocols); !known.ok())
    return std::move(known).error().with(layout.task());
  // Ended, and the server has all of it.
  if (os::exists(layout.exit()) && !os::exists(layout.spool())) return kShimDone;
  EvenClock clock(system_clock(), Duration::seconds(spec.clock_ahead_seconds));
  const auto spool = TRY(Spool::open(layout.spool(), spec.spool_bytes, clock));
  Task task(options, layout, spec, *spool);
  // A state that is there is an earlier shim's: nothing starts twice.
  if (options.drain || spool->last_state()) return task.drain();
  return task.run();
}

}  // namespace

int run_shim(const ShimOptions& options) {
  const Layout layout{os::absolute_path(options.directory)};
  const auto held = lock(layout, options.drain);
  if (!held.ok()) {
    log_error("{}", held.error().text());
    return held.error().code == Code::conflict ? kShimBusy : kShimFailed;
  }
  const auto done = run_task(options, layout);
  if (done.ok()) return *done;
  log_error("{}", done.error().text());
  return kShimFailed;
}

}  // namespace hearth::shim
