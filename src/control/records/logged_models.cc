// Models that clients log: rows of their own, files as a run's.
#include "base/id.h"
#include "control/records/state.h"

namespace hearth::control {
namespace {

constexpr size_t kMostMembers = 2'000;  // params, and tags, of one
constexpr int64_t kMostFound = 100'000;
constexpr size_t kMostDeletedAtOnce = 2'000;

Error missing(const std::string& id) {
  return Error::not_found(format("Logged model with ID '{}' not found.", id.substr(0, 80)));
}

}  // namespace

Result<LoggedModel> Records::create_logged_model(const Identity& who, LoggedModel wanted) {
  wanted.project = State::project_of(who, wanted.project);
  TRY(state_->access.require(who, wanted.project, Grade::member));
  if (wanted.params.size() > kMostMembers || wanted.tags.size() > kMostMembers)
    return Error::invalid(format("a model has at most {} params and tags", kMostMembers));
  Context& context = state_->context;
  std::array<std::byte, 16> bytes;
  context.random.fill(bytes);
  wanted.id = "m-" + to_hex(bytes);
  if (wanted.artifact_location.empty())
    wanted.artifact_location = "mlflow-artifacts:/" + wanted.experiment_id;
  wanted.artifact_location += "/models/" + wanted.id + "/artifacts";
  if (wanted.name.empty()) wanted.name = "model-" + wanted.id.substr(2, 8);
  wanted.created_by = who.user.empty() ? who.job_id : who.user;
  wanted.created_at = context.clock.now();
  wanted.updated_at = wanted.created_at;
  wanted.status = LoggedModelStatus::pending;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    TRY(db::Table<LoggedModel>::insert(session, wanted));
    TRY(emit(session, context.clock, who.actor(), wanted.project, "logged_model.created", wanted.id,
             wanted.version));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return wanted;
}

Result<LoggedModel> Records::get_logged_model(const Identity& who, const std::string& id) {
  std::optional<LoggedModel> model;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    model = TRY(db::Table<LoggedModel>::get(session, id));
    return {};
  }));
  if (!model) return missing(id);
  TRY(state_->may(who, model->project, Grade::viewer, missing(id)));
  return std::move(*model);
}

Result<LoggedModel> Records::change_logged_model(const Identity& who, const std::string& id,
                                                 const LoggedModelChange& change) {
  const LoggedModel known = TRY(get_logged_model(who, id));
  TRY(state_->may_write(who, {FileHolder::Kind::logged_model, id, known.project}));
  LoggedModel model;
  Context& context = state_->context;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    model = TRY(db::Table<LoggedModel>::need(session, id));
    if (change.status) model.status = *change.status;
    for (const auto& [key, value] : change.params) {
      const auto [at, is_new] = model.params.emplace(key, value);
      if (!is_new && at->second != value)
        return Error::invalid(
            format("Changing param values is not allowed. Param '{}' of logged "
                   "model '{}' was already logged with value '{}'.",
                   key, id, at->second));
    }
    for (const auto& [key, value] : change.tags) {
      if (value)
        model.tags[key] = *value;
      else if (model.tags.erase(key) == 0)
        return Error::not_found(
            format("No tag with key '{}' found for model with ID '{}'.", key, id));
    }
    if (model.params.size() > kMostMembers || model.tags.size() > kMostMembers)
      return Error::invalid(format("a model has at most {} params and tags", kMostMembers));
    model.updated_at = context.clock.now();
    TRY(db::Table<LoggedModel>::update(session, model));
    TRY(emit(session, context.clock, who.actor(), model.project, "logged_model.changed", model.id,
             model.version));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return model;
}

Result<void> Records::delete_logged_model(const Identity& who, const std::string& id) {
  const LoggedModel known = TRY(get_logged_model(who, id));
  const FileHolder holder{FileHolder::Kind::logged_model, id, known.project};
  TRY(state_->may_write(who, holder));
  auto files = TRY(state_->files_below(holder, ""));
  Context& context = state_->context;
  // A model of very many files goes in several transactions; its row last.
  while (files.size() > kMostDeletedAtOnce) {
    const std::vector<Artifact> some(files.end() - kMostDeletedAtOnce, files.end());
    TRY(context.database.write([&](db::Session& session) -> Result<void> {
      for (const Artifact& file : some) {
        TRY(db::unpin(session, "artifact:" + file.id));
        TRY(db::Table<Artifact>::remove(session, file.id));
      }
      return {};
    }));
    files.resize(files.size() - kMostDeletedAtOnce);
  }
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    for (const Artifact& file : files) {
      TRY(db::unpin(session, "artifact:" + file.id));
      TRY(db::Table<Artifact>::remove(session, file.id));
    }
    TRY(db::Table<LoggedModel>::remove(session, id));
    TRY(emit(session, context.clock, who.actor(), known.project, "logged_model.deleted", id,
             known.version + 1));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return {};
}

Result<std::vector<LoggedModel>> Records::logged_models(
    const Identity& who, const std::vector<std::string>& experiment_ids) {
  const auto visible = TRY(state_->access.visible_projects(who));
  std::vector<LoggedModel> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    all.clear();
    for (const std::string& experiment : experiment_ids)
      for (LoggedModel& one : TRY(db::Table<LoggedModel>::select(
               session, "WHERE experiment_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2",
               {experiment, kMostFound})))
        if (!visible || std::find(visible->begin(), visible->end(), one.project) != visible->end())
          all.push_back(std::move(one));
    return {};
  }));
  return all;
}

}  // namespace hearth::control
