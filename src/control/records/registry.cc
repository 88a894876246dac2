// What clients make of the registry: models and versions created, renamed, described, promoted,
// deleted. Reading is models.cc's.
#include "base/id.h"
#include "control/records/state.h"

namespace hearth::control {
namespace {

constexpr size_t kMostModelTags = 2'000;
constexpr std::array<std::string_view, 4> kStages{"None", "Staging", "Production", "Archived"};

Result<std::optional<Model>> find_model(db::Session& session, const std::string& project,
                                        const std::string& name) {
  return db::Table<Model>::find(session, "WHERE project = $1 AND name = $2", {project, name});
}

Result<Model> model_of(db::Session& session, const std::string& project, const std::string& name) {
  auto found = TRY(find_model(session, project, name));
  if (!found) return Error::not_found(format("Registered Model with name={} not found", name));
  return std::move(*found);
}

Result<void> check_name_is_free(db::Session& session, const std::string& project,
                                const std::string& name) {
  if (!TRY(find_model(session, project, name))) return {};
  return Error::of(Code::exists, format("Registered Model (name={}) already exists.", name));
}

Result<ModelVersion> version_of(db::Session& session, const std::string& project,
                                const std::string& name, int64_t number) {
  auto found = TRY(db::Table<ModelVersion>::find(
      session, "WHERE project = $1 AND model = $2 AND number = $3", {project, name, number}));
  if (!found)
    return Error::not_found(format("Model Version (name={}, version={}) not found", name, number));
  return std::move(*found);
}

Result<void> apply_tags(std::map<std::string, std::string>& tags,
                        const std::map<std::string, std::optional<std::string>>& changes) {
  for (const auto& [key, value] : changes) {
    if (value)
      tags[key] = *value;
    else
      tags.erase(key);
  }
  if (tags.size() <= kMostModelTags) return {};
  return Error::invalid(format("at most {} tags", kMostModelTags));
}

std::string changed_name(const std::string& model, int64_t number = 0) {
  if (number == 0) return format(R"({{"model":{}}})", json_quote(model));
  return format(R"({{"model":{},"number":{}}})", json_quote(model), number);
}

// Marks the model as changed now.
Result<void> touch(db::Session& session, Model& model, Time now) {
  model.updated_at = now;
  return db::Table<Model>::update(session, model);
}

}  // namespace

Result<std::string> stage_named(const std::string& text) {
  for (const std::string_view stage : kStages) {
    bool same = stage.size() == text.size();
    for (size_t i = 0; same && i < stage.size(); ++i)
      same = std::tolower(static_cast<unsigned char>(stage[i])) ==
             std::tolower(static_cast<unsigned char>(text[i]));
    if (same) return std::string(stage);
  }
  return Error::invalid(format("Invalid Model Version stage: {}. Value must be one of {}.",
                               text.substr(0, 80), join(kStages, ", ")));
}

Result<ModelBytes> bytes_of(objects::Objects& objects, const std::vector<Artifact>& files,
                            const std::string& path) {
  ModelBytes bytes;
  if (files.empty()) return bytes;
  if (files.size() == 1 && files.front().path == path) {
    bytes.digest = files.front().digest;
    bytes.size_bytes = files.front().size_bytes;
    bytes.file_name = path;
    bytes.pins = {bytes.digest};
    return bytes;
  }
  Manifest manifest;
  const size_t skip = path.empty() ? 0 : path.size() + 1;
  for (const Artifact& file : files) {
    manifest.files.push_back({file.path.substr(skip), file.digest, file.size_bytes, 0, false});
    bytes.size_bytes += file.size_bytes;
    bytes.pins.push_back(file.digest);
  }
  bytes.digest = TRY(objects.put(to_json(manifest))).digest;
  bytes.pins.push_back(bytes.digest);
  bytes.directory = true;
  bytes.file_name = path;
  return bytes;
}

Result<std::vector<ModelVersion>> Records::State::versions_of(db::Session& session,
                                                              const std::string& project,
                                                              const std::string& model) {
  return db::Table<ModelVersion>::select(
      session, "WHERE project = $1 AND model = $2 ORDER BY number DESC LIMIT $3",
      {project, model, kMostVersions});
}

Result<std::vector<Model>> Records::all_models(const Identity& who, const std::string& project) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::viewer));
  std::vector<Model> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    all = TRY(db::Table<Model>::select(session, "WHERE project = $1 ORDER BY name LIMIT $2",
                                       {where, State::kMostModels}));
    return {};
  }));
  return all;
}

Result<std::vector<ModelVersion>> Records::all_versions(const Identity& who,
                                                        const std::string& project,
                                                        const std::string& name,
                                                        const std::string& run_id) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::viewer));
  std::vector<ModelVersion> all;
  TRY(state_->context.database.read([&](db::Session& session) -> Result<void> {
    constexpr std::string_view kTail = "ORDER BY model, number DESC LIMIT ";
    const std::string tail = format("{}{}", kTail, State::kMostFoundVersions);
    if (!name.empty())
      all = TRY(db::Table<ModelVersion>::select(
          session, "WHERE project = $1 AND model = $2 " + tail, {where, name}));
    else if (!run_id.empty())
      all = TRY(db::Table<ModelVersion>::select(
          session, "WHERE project = $1 AND run_id = $2 " + tail, {where, run_id}));
    else
      all = TRY(db::Table<ModelVersion>::select(session, "WHERE project = $1 " + tail, {where}));
    return {};
  }));
  return all;
}

Result<Model> Records::create_model(const Identity& who, const std::string& project,
                                    const std::string& name, const ModelChange& with) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  Context& context = state_->context;
  Model model;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    TRY(check_name_is_free(session, where, name));
    model = Model();
    model.id = new_id(context.clock, context.random);
    model.name = name;
    model.project = where;
    model.description = with.description.value_or("");
    TRY(apply_tags(model.tags, with.tags));
    model.created_at = context.clock.now();
    model.updated_at = model.created_at;
    TRY(db::Table<Model>::insert(session, model));
    TRY(emit(session, context.clock, who.actor(), where, "model.created", model.id, model.version,
             changed_name(name)));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return model;
}

Result<Model> Records::rename_model(const Identity& who, const std::string& project,
                                    const std::string& name, const std::string& new_name) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  Context& context = state_->context;
  Model model;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    model = TRY(model_of(session, where, name));
    if (name == new_name) return {};
    TRY(check_name_is_free(session, where, new_name));
    model.name = new_name;
    TRY(touch(session, model, context.clock.now()));
    for (ModelVersion& version : TRY(State::versions_of(session, where, name))) {
      version.model = new_name;
      TRY(db::Table<ModelVersion>::update(session, version));
    }
    TRY(emit(session, context.clock, who.actor(), where, "model.renamed", model.id, model.version,
             format(R"({{"model":{},"was":{}}})", json_quote(new_name), json_quote(name))));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return model;
}

Result<Model> Records::change_model(const Identity& who, const std::string& project,
                                    const std::string& name, const ModelChange& change) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  Context& context = state_->context;
  Model model;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    model = TRY(model_of(session, where, name));
    if (change.description) model.description = *change.description;
    TRY(apply_tags(model.tags, change.tags));
    TRY(touch(session, model, context.clock.now()));
    TRY(emit(session, context.clock, who.actor(), where, "model.changed", model.id, model.version,
             changed_name(name)));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return model;
}

Result<void> Records::delete_model(const Identity& who, const std::string& project,
                                   const std::string& name) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  if (!who.job_id.empty())
    return Error::denied("a job's token deletes no model", "use your own token");
  Context& context = state_->context;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    const Model model = TRY(model_of(session, where, name));
    for (const ModelVersion& version : TRY(State::versions_of(session, where, name))) {
      TRY(db::unpin(session, "model:" + version.id));
      TRY(db::Table<ModelVersion>::remove(session, version.id));
    }
    TRY(db::Table<Model>::remove(session, model.id));
    TRY(emit(session, context.clock, who.actor(), where, "model.deleted", model.id,
             model.version + 1, changed_name(name)));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return {};
}

Result<ModelVersion> Records::create_model_version(const Identity& who, const std::string& project,
                                                   const std::string& name,
                                                   NewModelVersion wanted) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  Context& context = state_->context;
  ModelBytes bytes;
  if (wanted.files) {
    TRY(state_->access.require(who, wanted.files->project, Grade::viewer));
    const auto files = TRY(state_->files_below(*wanted.files, wanted.path));
    bytes = TRY(bytes_of(context.objects, files, wanted.path));
    if (wanted.files->kind == FileHolder::Kind::run && wanted.run_id.empty())
      wanted.run_id = wanted.files->id;
  }
  ModelVersion version;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    Model model = TRY(model_of(session, where, name));
    version = ModelVersion();
    version.id = new_id(context.clock, context.random);
    version.model = name;
    version.project = where;
    version.number = ++model.versions;
    version.digest = bytes.digest;
    version.directory = bytes.directory;
    version.file_name = bytes.file_name;
    version.size_bytes = bytes.size_bytes;
    version.run_id = wanted.run_id;
    version.job_id = who.job_id;
    version.created_by = who.user.empty() ? who.job_id : who.user;
    version.description = wanted.description;
    version.source = wanted.source;
    version.location = wanted.location;
    version.run_link = wanted.run_link;
    version.logged_model_id = wanted.logged_model_id;
    version.tags = wanted.tags;
    version.created_at = context.clock.now();
    version.updated_at = version.created_at;
    TRY(touch(session, model, version.created_at));
    TRY(db::Table<ModelVersion>::insert(session, version));
    TRY(state_->keep(session, bytes.pins, "model:" + version.id));
    TRY(emit(session, context.clock, who.actor(), where, "model.version_added", version.id,
             version.version,
             format(R"({{"model":{},"number":{},"run_id":{},"digest":"{}"}})", json_quote(name),
                    version.number, json_quote(version.run_id), version.digest)));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return version;
}

Result<ModelVersion> Records::change_model_version(const Identity& who, const std::string& project,
                                                   const std::string& name, int64_t number,
                                                   const VersionChange& change) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  if (change.stage && !who.job_id.empty())
    return Error::denied("a job's token promotes no model", "use your own token");
  const std::string stage = change.stage ? TRY(stage_named(*change.stage)) : "";
  if (change.archive_others && stage != "Staging" && stage != "Production")
    return Error::invalid(
        "archive_existing_versions goes only with the stages Staging and "
        "Production");
  Context& context = state_->context;
  ModelVersion version;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    Model model = TRY(model_of(session, where, name));
    version = TRY(version_of(session, where, name, number));
    const Time now = context.clock.now();
    if (change.description) version.description = *change.description;
    TRY(apply_tags(version.tags, change.tags));
    version.updated_at = now;
    const std::string before = version.stage.empty() ? "None" : version.stage;
    if (change.stage) version.stage = stage == "None" ? "" : stage;
    TRY(db::Table<ModelVersion>::update(session, version));
    if (!change.stage) {
      TRY(emit(session, context.clock, who.actor(), where, "model.version_changed", version.id,
               version.version, changed_name(name, number)));
      return {};
    }
    if (change.archive_others)
      for (ModelVersion& other : TRY(State::versions_of(session, where, name))) {
        if (other.number == number || other.stage != stage) continue;
        other.stage = "Archived";
        other.updated_at = now;
        TRY(db::Table<ModelVersion>::update(session, other));
      }
    TRY(touch(session, model, now));
    TRY(emit(session, context.clock, who.actor(), where, "model.stage_set", version.id,
             version.version,
             format(R"({{"model":{},"number":{},"stage":"{}","was":"{}"}})", json_quote(name),
                    number, stage, before)));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return version;
}

Result<void> Records::delete_model_version(const Identity& who, const std::string& project,
                                           const std::string& name, int64_t number) {
  const std::string where = State::project_of(who, project);
  TRY(state_->access.require(who, where, Grade::member));
  if (!who.job_id.empty())
    return Error::denied("a job's token deletes no model", "use your own token");
  Context& context = state_->context;
  TRY(context.database.write([&](db::Session& session) -> Result<void> {
    Model model = TRY(model_of(session, where, name));
    const ModelVersion version = TRY(version_of(session, where, name, number));
    std::erase_if(model.aliases,
                  [&](const auto& alias) { return alias.second == std::to_string(number); });
    TRY(touch(session, model, context.clock.now()));
    TRY(db::unpin(session, "model:" + version.id));
    TRY(db::Table<ModelVersion>::remove(session, version.id));
    TRY(emit(session, context.clock, who.actor(), where, "model.version_deleted", version.id,
             version.version + 1, changed_name(name, number)));
    return {};
  }));
  context.signals.notify(kEventsTopic);
  return {};
}

}  // namespace hearth::control
