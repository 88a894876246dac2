// What an import from another store brings of models: records with the ids, numbers and times they
// had there.
#include "base/id.h"
#include "control/records/state.h"

namespace hearth::control {
namespace {

Result<void> may_import(const Identity& who) {
  if (who.job_id.empty()) return {};
  return Error::denied("a job's token imports nothing", "use your own token");
}

// Times that the other store did not know.
template <typename T>
void fill_times(T& noun, Time now) {
  if (noun.created_at.micros == 0) noun.created_at = now;
  if (noun.updated_at.micros == 0) noun.updated_at = noun.created_at;
}

bool is_open(LoggedModelStatus status) {
  return status == LoggedModelStatus::unspecified || status == LoggedModelStatus::pending;
}

}  // namespace

Result<LoggedModel> Records::import_logged_model(const Identity& who, const LoggedModel& wanted) {
  TRY(may_import(who));
  TRY(state_->access.require(who, wanted.project, Grade::member));
  Context& context = state_->context;
  LoggedModel model;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    auto there = TRY(db::Table<LoggedModel>::get(session, wanted.id));
    if (there && there->project != wanted.project)
      return Error::of(Code::exists, format("the id {} is that of another model", wanted.id),
                       "a logged model can be in one project only; delete it there first");
    if (there) {
      model = *there;
      model.params.insert(wanted.params.begin(), wanted.params.end());
      model.tags.insert(wanted.tags.begin(), wanted.tags.end());
      // It was not done yet when an earlier import took it.
      if (is_open(model.status)) {
        model.status = wanted.status;
        model.status_message = wanted.status_message;
      }
      if (*there == model) return {};
    } else {
      model = wanted;
      if (model.artifact_location.empty())
        model.artifact_location = "mlflow-artifacts:/" + model.experiment_id;
      model.artifact_location += "/models/" + model.id + "/artifacts";
      model.created_by = who.user;
      model.version = 0;
      fill_times(model, context.clock.now());
    }
    if (there)
      TRY(db::Table<LoggedModel>::update(session, model));
    else
      TRY(db::Table<LoggedModel>::insert(session, model));
    TRY(emit(session, context.clock, who.actor(), model.project,
             there ? "logged_model.changed" : "logged_model.created", model.id, model.version));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return model;
}

Result<Model> Records::import_model(const Identity& who, const std::string& project,
                                    const Model& wanted) {
  TRY(may_import(who));
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  Context& context = state_->context;
  Model model;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    auto there = TRY(
        db::Table<Model>::find(session, "WHERE project = $1 AND name = $2", {where, wanted.name}));
    model = there.value_or(Model{});
    if (!there) {
      model.id = new_id(context.clock, context.random);
      model.name = wanted.name;
      model.project = where;
      model.created_at = wanted.created_at;
      model.updated_at = wanted.updated_at;
      fill_times(model, context.clock.now());
    }
    // What is here stays.
    if (model.description.empty()) model.description = wanted.description;
    model.tags.insert(wanted.tags.begin(), wanted.tags.end());
    for (const auto& [alias, number] : wanted.aliases) {
      TRY(check_version_word(alias, "an alias"));
      if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos)
        return Error::invalid(format("the alias '{}' points at '{}'", alias, number),
                              "give the number of a version");
      TRY(State::find_model_version(session, where, format("{}@{}", wanted.name, number)));
      model.aliases.emplace(alias, number);
    }
    if (there && *there == model) return {};
    if (there)
      TRY(db::Table<Model>::update(session, model));
    else
      TRY(db::Table<Model>::insert(session, model));
    TRY(emit(session, context.clock, who.actor(), where, there ? "model.changed" : "model.created",
             model.id, model.version, format(R"({{"model":{}}})", json_quote(model.name))));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return model;
}

Result<ModelVersion> Records::import_model_version(const Identity& who, const std::string& project,
                                                   const ModelVersion& wanted,
                                                   const std::optional<FileHolder>& files,
                                                   const std::string& path) {
  TRY(may_import(who));
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  const std::string stage = wanted.stage.empty() ? "None" : TRY(stage_named(wanted.stage));
  Context& context = state_->context;
  ModelBytes bytes;
  if (files) {
    TRY(state_->access.require(who, files->project, Grade::viewer));
    bytes = TRY(bytes_of(context.objects, TRY(state_->files_below(*files, path)), path));
  }
  ModelVersion version;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    auto model = TRY(
        db::Table<Model>::find(session, "WHERE project = $1 AND name = $2", {where, wanted.model}));
    if (!model) return Error::not_found(format("there is no model '{}'", wanted.model));
    const auto there = TRY(
        db::Table<ModelVersion>::find(session, "WHERE project = $1 AND model = $2 AND number = $3",
                                      {where, wanted.model, wanted.number}));
    if (there && (there->source != wanted.source || there->created_at != wanted.created_at))
      return Error::of(
          Code::exists,
          format("model {} has another version {} already", wanted.model, wanted.number),
          "rename the model here, or import into another project");
    if (there) {
      version = *there;
      version.tags.insert(wanted.tags.begin(), wanted.tags.end());
    } else {
      version = wanted;
      version.id = new_id(context.clock, context.random);
      version.project = where;
      version.version = 0;
      version.stage = stage == "None" ? "" : stage;
      fill_times(version, context.clock.now());
    }
    if (files) {
      version.location = wanted.location;
      version.digest = bytes.digest;
      version.directory = bytes.directory;
      version.file_name = bytes.file_name;
      version.size_bytes = bytes.size_bytes;
    }
    if (there && *there == version) return {};
    if (there)
      TRY(db::Table<ModelVersion>::update(session, version));
    else
      TRY(db::Table<ModelVersion>::insert(session, version));
    if (files) {
      TRY(db::unpin(session, "model:" + version.id));
      TRY(state_->keep(session, bytes.pins, "model:" + version.id));
    }
    if (model->versions < version.number) {
      model->versions = version.number;
      TRY(db::Table<Model>::update(session, *model));
    }
    TRY(emit(
        session, context.clock, who.actor(), where,
        there ? "model.version_changed" : "model.version_added", version.id, version.version,
        format(R"({{"model":{},"number":{},"run_id":{},"digest":"{}"}})", json_quote(version.model),
               version.number, json_quote(version.run_id), version.digest)));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return version;
}

}  // namespace hearth::control
