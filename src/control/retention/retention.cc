#include "control/retention/retention.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "control/retention/sweep.h"

namespace hearth::control {

struct Retention::State {
  State(Context c, RetentionOptions o) : context(c), options(o) {}

  // Never ahead of what has passed since the start: a clock that is set forward makes nothing old.
  Time now() const {
    return std::min(context.clock.now(), started + (context.clock.steady() - started_steady));
  }

  Context context;
  const RetentionOptions options;
  const Time started = context.clock.now(), started_steady = context.clock.steady();
  std::mutex sweeping;  // one at a time
  Time checkpoints_seen{0};
  std::mutex mutex;  // guards the rest
  std::condition_variable stop_asked;
  bool stopping = false;
  std::thread thread;
};

Retention::Retention(Context context, RetentionOptions options)
    : state_(std::make_unique<State>(context, options)) {}

Retention::~Retention() {
  stop();
}

void Retention::start() {
  state_->thread = std::thread([this] {
    std::unique_lock lock(state_->mutex);
    const auto stopping = [&] { return state_->stopping; };
    while (!state_->stop_asked.wait_for(lock, state_->options.period.chrono(), stopping)) {
      lock.unlock();
      if (auto swept = sweep(); !swept.ok()) log_warning("retention: {}", swept.error().text());
      lock.lock();
    }
  });
}

void Retention::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->stop_asked.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

Result<void> Retention::sweep() {
  const std::lock_guard lock(state_->sweeping);
  const Context& context = state_->context;
  const RetentionOptions& options = state_->options;
  const Time now = state_->now();
  TRY(forget_rows(context, options, now));
  TRY(forget_events(context, now - options.event_life));
  if (options.log_life.micros > 0) TRY(forget_logs(context, now - options.log_life));
  TRY(forget_checkpoints(context, state_->checkpoints_seen));
  state_->checkpoints_seen = now;
  TRY(context.objects.sweep_uploads(options.abandoned_upload));
  TRY(mark_dying(context, now));
  return remove_dying(context, *this, now - options.object_grace);
}

}  // namespace hearth::control
