// The service: what it is made of, who may, its upkeep.
#include "control/tracking/tracking.h"

#include "base/id.h"
#include "base/log.h"
#include "control/tracking/state.h"

namespace hearth::control {

Tracking::State::State(Context the_context, Access& the_access, TrackingOptions the_options)
    : context(the_context),
      access(the_access),
      options(the_options),
      index(context.database, options.most_index_bytes, options.few_runs),
      relaxed(
          options.relaxed_window,
          [this](std::vector<RelaxedBatch> batches) { return write_relaxed(std::move(batches)); },
          [](const Error& error) {
            log_error("metrics that were answered in relaxed mode are lost: {}", error.text());
          }) {
  rows_waiting_bound.set(static_cast<double>(options.most_waiting_rows));
}

std::string Tracking::State::new_id_of(Context& context) {
  return new_id(context.clock, context.random);
}

Result<void> Tracking::State::may(const Identity& who, const std::string& project, Grade least,
                                  const Error& missing) {
  auto allowed = access.require(who, project, least);
  if (!allowed.ok() && allowed.error().code == Code::not_found) return missing;
  return allowed;
}

Result<std::optional<std::set<std::string>>> Tracking::State::visible(const Identity& who,
                                                                      const std::string& project) {
  using Names = std::optional<std::set<std::string>>;
  if (!project.empty()) {
    TRY(access.require(who, project, Grade::viewer));
    return Names(std::set{project});
  }
  const auto names = TRY(access.visible_projects(who));
  if (!names) return Names();
  return Names(std::set<std::string>(names->begin(), names->end()));
}

Tracking::Tracking(Context context, Access& access, TrackingOptions options)
    : state_(std::make_unique<State>(context, access, options)) {}

Tracking::~Tracking() {
  stop();
}

Result<void> Tracking::start() {
  state_->relaxed.start();
  const std::lock_guard lock(state_->mutex);
  if (state_->running) return {};
  state_->running = true;
  state_->stopping = false;
  state_->thread = std::thread([this] { state_->run(*this); });
  return {};
}

void Tracking::stop() {
  state_->relaxed.stop();
  {
    const std::lock_guard lock(state_->mutex);
    state_->running = false;
    state_->stopping = true;
  }
  state_->wake.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

Result<void> Tracking::load() {
  return state_->index.load();
}

}  // namespace hearth::control
